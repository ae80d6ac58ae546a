"""Prices for the columns of a table, before there is a forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.ensemble import Ensemble
from formulations.instance.usage import Usage
from prunemodels.forests.costs import Costs, cost_items


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
        of the columns.
    evaluation_cost
        a, one number or one a column.

    Returns
    -------
    CostItems, NDArray
        the items, and a_f as float64, shape (n_features,).

    Raises
    ------
    InvalidInputError
        for prices that do not fit the columns, are negative or not finite.
    CapacityOverflowError
        for prices too far apart for 64-bit integers.
    """
    nowhere, column = np.full(1, -1, dtype=np.int32), np.zeros((1, 1))
    where = (nowhere, nowhere, nowhere, column[0], column[0] > 0, column)
    named = None if names is None else tuple(str(n) for n in names)
    leaf = Ensemble(np.array([0, 1]), *where, n_features, "regression", feature_names=named)  # what fits it fits all forests
    items = cost_items(1 if costs is None else costs, leaf)
    usage = Usage.build(leaf, items, np.zeros((1, n_features)), evaluation_cost=evaluation_cost)
    usage.in_integers()  # refuses prices too far apart
    return items, np.array([float(a) for a in usage.evaluation])
