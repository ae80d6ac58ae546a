"""The instance that both papers draw: Figure 1 of NWS15, Figure 4 of BP16.

    tree 1:  1 (feature 1) -> 2, 3 (feature 2);   3 -> 4, 5
    tree 2:  6 (feature 2) -> 7 (feature 1), 10 (feature 3);   7 -> 8, 9;   10 -> 11, 12

One example, which reaches 4 and 11. Here nodes and features count from 0: the papers' node k is k - 1. The papers give no errors;
those here are ours, small enough to prune by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem

ERRORS: Mapping[int, float] = {1: 4, 2: 0, 3: 2, 4: 0, 5: 0, 6: 4, 7: 1, 8: 0, 9: 0, 10: 2, 11: 0, 12: 1}
"""Errors by the papers' node numbers: e_1 = 4 of 4 examples wrong if tree 1 is cut down to its root, ..."""


def two_trees(errors: Mapping[int, float] = ERRORS, prices: Sequence[Price] = (1, 1, 1), weight: float = 4.0) -> PruningProblem:
    """The papers' two trees as an instance.

    Parameters
    ----------
    errors
        e_h of each of the nodes 1 to 12, in the papers' numbers.
    prices
        of features 1 to 3.
    weight
        W_t, the weight of the error sample, the same in both trees.
    """
    if sorted(errors) != list(range(1, 13)):
        raise InvalidInputError(f"errors has the nodes {sorted(errors)}; give one error for each of 1 to 12")
    none = -1
    ensemble = Ensemble(
        tree_start=np.array([0, 5, 12]),
        left=np.array([1, none, 3, none, none, 6, 7, none, none, 10, none, none], dtype=np.int32),
        right=np.array([2, none, 4, none, none, 9, 8, none, none, 11, none, none], dtype=np.int32),
        feature=np.array([0, none, 1, none, none, 1, 0, none, none, 2, none, none], dtype=np.int32),
        # the example is (1, 1, 0): right of node 1, left of node 3, right of node 6, left of node 10
        threshold=np.array([0.5, 0, 1.5, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0, 0]),
        missing_left=np.zeros(12, dtype=bool),
        value=np.ones((12, 1)),
        n_features=3,
        task="classification",
        classes=np.array([0]),
        feature_names=("1", "2", "3"),
    )
    e = np.array([errors[k] for k in range(1, 13)], dtype=np.float64)
    sample = NodeErrors((ErrorComponent(e, np.full(2, weight)),))
    return PruningProblem.build(ensemble, sample, np.array([[1.0, 1.0, 0.0]]), CostItems.plain(prices, ["1", "2", "3"]))
