"""Prices for the columns of a table, for models that are not forests or not trained yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.ensemble import Ensemble
from formulations.instance.usage import Usage
from prunemodels.models.costs import Costs, cost_items


def column_prices(
    costs: Costs | None,
    n_features: int,
    names: Sequence[str] | None = None,
    *,
    evaluation_cost: EvaluationCost = 0,
) -> tuple[CostItems, NDArray[np.float64]]:
    """Read prices as any forest that is trained on these columns would.

    Parameters
    ----------
    costs
        as in `cost_items`; None: 1 for each column.
    n_features, names
        number and names of the columns.
    evaluation_cost
        price a of evaluating a split: one number, or one per column.

    Returns
    -------
    CostItems, NDArray
        the items; and the evaluation prices a_f as float64, shape (n_features,).

    Raises
    ------
    InvalidInputError
        for prices that do not fit the columns, are negative or not finite.
    CapacityOverflowError
        for prices too far apart for 64-bit integers.
    """
    leaf = one_leaf(n_features, names)
    items = cost_items(1 if costs is None else costs, leaf)
    usage = Usage.build(leaf, items, np.zeros((1, n_features)), evaluation_cost=evaluation_cost)
    usage.in_integers()  # refuses prices too far apart
    return items, np.array([float(a) for a in usage.evaluation])


def one_leaf(n_features: int, names: Sequence[str] | None) -> Ensemble:
    """A forest of one leaf: prices that fit it fit every forest on these columns."""
    none, zero = np.full(1, -1, dtype=np.int32), np.zeros((1, 1))
    feature_names = None if names is None else tuple(str(n) for n in names)
    arrays = {"left": none, "right": none, "feature": none, "threshold": zero[0], "missing_left": zero[0] > 0, "value": zero}
    return Ensemble(np.array([0, 1]), **arrays, n_features=n_features, task="regression", feature_names=feature_names)
