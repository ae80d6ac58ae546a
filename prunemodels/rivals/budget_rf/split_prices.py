"""The price of a split on a feature while a tree is grown.

    c(t) = sum of the prices of the items that feature t needs  +  a_t                                                     (1)

With free reuse, an item counts only if no split above needs it. Items that are paid once for all examples are left out: no
example pays them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems, EvaluationCost
from prunemodels.forests.column_prices import column_prices
from prunemodels.forests.costs import Costs


class SplitPrices(NamedTuple):
    """The prices of (1), as arrays for compiled code.

    Parameters
    ----------
    first
        int64, shape (F + 1,): feature t needs the items ``item[first[t] : first[t + 1]]``.
    item
        int32: indices of items.
    price
        float64, shape (M,): of the items.
    evaluation
        float64, shape (F,): a_t.
    reuse_is_free
        whether items that a split above needs cost nothing.
    """

    first: NDArray[np.int64]
    item: NDArray[np.int32]
    price: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    reuse_is_free: bool


def checked_prices(
    costs: Costs | None, evaluation_cost: EvaluationCost, n_features: int, names: tuple[str, ...] | None
) -> tuple[CostItems, NDArray[np.float64]]:
    """Turn prices as users write them into items and a_t of each feature, shape (F,).

    Raises
    ------
    InvalidInputError
        if they do not fit the features, or are invalid.
    """
    return column_prices(costs, n_features, names, evaluation_cost=evaluation_cost)


def split_prices(items: CostItems, evaluation: NDArray[np.float64], reuse_is_free: bool) -> SplitPrices:
    """Prices for growing trees."""
    first = np.concatenate([[0], np.cumsum([len(needed) for needed in items.needs])]).astype(np.int64)
    item = np.array([m for needed in items.needs for m in needed], dtype=np.int32)
    return SplitPrices(first, item, np.where(items.paid_once, 0.0, items.price), evaluation, bool(reuse_is_free))


@njit(cache=True, nogil=True)
def _split_price(t, paid, prices):  # type: ignore[no-untyped-def]
    """(1) of feature t where `paid` items cost nothing."""
    cost = prices.evaluation[t]
    for m in prices.item[prices.first[t] : prices.first[t + 1]]:
        if not paid[m]:
            cost += prices.price[m]
    return cost


@njit(cache=True, nogil=True)
def _mark_paid(node, parent, feature, prices, paid):  # type: ignore[no-untyped-def]
    """Mark the items that the splits above a node need; none if a reused item is charged again."""
    paid[:] = False
    if prices.reuse_is_free:
        while parent[node] >= 0:
            node = parent[node]
            t = feature[node]
            paid[prices.item[prices.first[t] : prices.first[t + 1]]] = True
