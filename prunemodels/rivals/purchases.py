"""Purchases of boosted rivals while their trees grow: what each example has bought, and what the model has.

An item that the model has, as GreedyMiser counts all items and CEGB those that are paid once, is free for all examples. Of the
others each example pays for itself. CEGB17's penalty, from prices as users write them:

    penalty of splitting leaf p by feature f
        = a_f w(p)  +  sum over m in items(f) that each example pays:  c_m * (weight of the examples in p without m)
                    +  sum over m in items(f) that are paid once:      c_m * W, if no example has m                     (1)

w(p) is the weight of p's examples, W that of all. This is CEGB17's eq. (13) with two changes. A feature may need several items,
and share them with other features. The price of an item paid once, as everywhere in this package, is what it adds to the mean
cost; CEGB17's gamma, which is compared with a sum over the examples, is W c_m.

Purchases last over all trees of a model: these are CEGB17's C(k, i, m) and D(k, m). A split of leaf p by feature f buys f's items
for p's examples, and for all examples the items that are paid once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems, EvaluationCost
from prunemodels.models.costs import Costs, column_prices


@dataclass(frozen=True, eq=False)
class Prices:
    """The prices in (1): c_m, which items each of the F features needs, and a_f >= 0, shape (F,)."""

    items: CostItems
    evaluation: NDArray[np.float64]

    @classmethod
    def of(cls, costs: Costs | None, evaluation_cost: EvaluationCost, n_features: int, names: tuple[str, ...] | None) -> Prices:
        """A learner's prices, checked before anything is grown; see `column_prices`."""
        return cls(*column_prices(costs, n_features, names, evaluation_cost=evaluation_cost))

    @cached_property
    def by_example(self) -> NDArray[np.int64]:
        """The items that each example pays, without those that are free."""
        return np.flatnonzero(~self.items.paid_once & (self.items.price > 0))

    @cached_property
    def for_all(self) -> NDArray[np.int64]:
        """The items that are paid once, without those that are free."""
        return np.flatnonzero(self.items.paid_once & (self.items.price > 0))

    @cached_property
    def shared(self) -> list[int]:
        """The items with a price that more than one feature needs."""
        users = Counter(m for needs in self.items.needs for m in needs)
        return [m for m in range(self.items.n_items) if users[m] > 1 and self.items.prices[m] > 0]

    def matrix(self, of: NDArray[np.int64]) -> csr_matrix:
        """c_m where feature f needs item ``of[j]``, shape (F, len(of))."""
        place = {int(m): j for j, m in enumerate(of)}
        pairs = [
            (f, place[m], float(self.items.prices[m])) for f, needs in enumerate(self.items.needs) for m in needs if m in place
        ]
        table = np.array(pairs).reshape(-1, 3)
        where = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
        return csr_matrix((table[:, 2], where), shape=(self.items.n_features, len(of)))

    def by_feature(self, of: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum of the prices of the items among `of` that each feature needs, shape (F,)."""
        return np.asarray(self.matrix(of).sum(axis=1), dtype=np.float64).ravel()


class ModelItems:
    """Items that are bought for all examples at once: which ones the model has, and what each feature still costs.

    Parameters
    ----------
    cost
        float64, shape (F, M), sparse: what the items cost that each feature needs.
    """

    def __init__(self, cost: csr_array | csr_matrix) -> None:
        self._cost = cost
        self.bought = np.zeros(cost.shape[1], dtype=np.bool_)  # D
        self.price = self._left()

    @classmethod
    def all_of(cls, items: CostItems) -> ModelItems:
        """Every item, at its price."""
        start = np.cumsum([0] + [len(needs) for needs in items.needs])
        item = np.array([m for needs in items.needs for m in needs], dtype=np.int64)
        return cls(csr_array((items.price[item], item, start), shape=(items.n_features, items.n_items)))

    def buy(self, feature: int) -> None:
        """Buy the items of a feature."""
        needed = _needs(self._cost, feature)
        if not self.bought[needed].all():
            self.bought[needed] = True
            self.price = self._left()

    def _left(self) -> NDArray[np.float64]:
        """What each feature still costs, shape (F,)."""
        return np.asarray(self._cost @ ~self.bought, dtype=np.float64)


class Purchases:
    """The purchases of the examples so far: one by one, and `once`, for all; weights >= 0, shape (N,)."""

    def __init__(self, prices: Prices, weight: NDArray[np.float64]) -> None:
        self._prices, self._weight = prices, weight
        self._by_example, self.once = prices.matrix(prices.by_example), ModelItems(prices.matrix(prices.for_all) * weight.sum())
        self._bought = np.zeros((weight.size, prices.by_example.size), dtype=np.bool_)  # C

    def running(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What splitting the leaf of these rows by each feature costs, without items that are paid once; shape (F,)."""
        items = self._by_example @ _without(rows, self._bought, self._weight)
        return np.asarray(self._weight[rows].sum() * self._prices.evaluation + items, dtype=np.float64)

    def buy(self, rows: NDArray[np.int64], feature: int) -> None:
        """Buy the items of a feature: for these rows, and those that are paid once for all rows."""
        self._bought[np.ix_(rows, _needs(self._by_example, feature))] = True
        self.once.buy(feature)


def _needs(matrix: csr_array | csr_matrix, feature: int) -> NDArray[np.integer]:
    """The items of a feature."""
    return np.asarray(matrix.indices[matrix.indptr[feature] : matrix.indptr[feature + 1]])


@njit(cache=True)
def _without(rows, bought, weight):  # type: ignore[no-untyped-def]
    """Weight of the rows that have not bought each item."""
    total = np.zeros(bought.shape[1])
    for i in rows:
        w = weight[i]
        for m in range(bought.shape[1]):
            if not bought[i, m]:
                total[m] += w
    return total
