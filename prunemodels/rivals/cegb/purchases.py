"""Which examples have bought which items, and so the cost of a split: CEGB17's C(k, i, m) and D(k, m), and eq. (13).

Purchases last over all trees of a model. A split of leaf p by feature f buys f's items for p's examples, and for all examples the
items that are paid once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from formulations.compiled import njit
from prunemodels.rivals.cegb.prices import Prices


class Purchases:
    """The purchases of the examples so far.

    Parameters
    ----------
    prices
        prices of the items and of evaluating a split.
    weight
        float64, shape (N,): weights of the examples, >= 0.
    """

    def __init__(self, prices: Prices, weight: NDArray[np.float64]) -> None:
        self._prices, self._weight = prices, weight
        self._by_example, self._for_all = prices.matrix(prices.by_example), prices.matrix(prices.for_all) * weight.sum()
        self._bought = np.zeros((weight.size, prices.by_example.size), dtype=np.bool_)  # C
        self._owned = np.zeros(prices.for_all.size, dtype=np.bool_)  # D

    def running(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """What splitting the leaf of these rows by each feature costs, without items that are paid once; shape (F,)."""
        items = self._by_example @ _without(rows, self._bought, self._weight)
        return np.asarray(self._weight[rows].sum() * self._prices.evaluation + items, dtype=np.float64)

    def once(self) -> NDArray[np.float64]:
        """What each feature still costs in items that are paid once, times the weight of all examples; shape (F,)."""
        return np.asarray(self._for_all @ ~self._owned, dtype=np.float64)

    def buy(self, rows: NDArray[np.int64], feature: int) -> None:
        """Buy the items of a feature: for these rows, and those that are paid once for all rows."""
        self._bought[np.ix_(rows, _needs(self._by_example, feature))] = True
        self._owned[_needs(self._for_all, feature)] = True


def _needs(matrix: csr_matrix, feature: int) -> NDArray[np.integer]:
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
