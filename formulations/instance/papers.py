"""The instance that both papers draw: Figure 1 of NWS15, Figure 4 of BP16.

    tree 1:  1 (feature 1) -> 2, 3 (feature 2);   3 -> 4, 5
    tree 2:  6 (feature 2) -> 7 (feature 1), 10 (feature 3);   7 -> 8, 9;   10 -> 11, 12

One example, which reaches 4 and 11. Here nodes and features count from 0: the papers' node k is k - 1. The papers give no errors;
those here are ours, small enough to prune by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from formulations.arguments import Positive, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem

ERRORS: Mapping[int, float] = {1: 4, 2: 0, 3: 2, 4: 0, 5: 0, 6: 4, 7: 1, 8: 0, 9: 0, 10: 2, 11: 0, 12: 1}
"""Errors by the papers' node numbers: e_1 = 4 of 4 examples wrong if tree 1 is cut down to its root, ..."""


@checked
def two_trees(
    errors: Mapping[int, float] | None = None, prices: Sequence[Price] = (1, 1, 1), weight: Positive = 4.0
) -> PruningProblem:
    """The two trees that NWS15 and BP16 draw, as an instance of one example.

    Parameters
    ----------
    errors
        e_h of the nodes 1 to 12 where it is another than here, in the papers' numbers.
    prices
        of features 1 to 3.
    weight
        W_t, the weight of the error sample, the same in both trees.

    Raises
    ------
    InvalidInputError
        for a node that the trees do not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> problem
    PruningProblem(Ensemble(2 trees, 5 splits, 3 features, classification), 1 cost rows, 4 usage arcs)
    >>> pm.solve(pm.datasets.two_trees({3: 1}, prices=(1, 2, 1)), lam=0.1).pruning
    Pruning(cost=4, error=0.125, 5 splits)
    """
    e_of = {**ERRORS, **(errors or {})}
    if len(e_of) > len(ERRORS):
        raise InvalidInputError(f"errors has the nodes {sorted(errors or {})}; the trees have the nodes 1 to 12")
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
    e = np.array([e_of[k] for k in range(1, 13)], dtype=np.float64)
    sample = NodeErrors((ErrorComponent(e, np.full(2, weight)),))
    return PruningProblem.build(ensemble, sample, np.array([[1.0, 1.0, 0.0]]), CostItems.plain(prices, ["1", "2", "3"]))
