"""Shares of prices by scores, and the smooth price whose derivatives they are.

Each split u has a score s_u. The price p_c of purchase c is shared among its users as

    q_{u,c} = p_c exp(s_u) / sum over the users u' of c of exp(s_u')                                                        (1)

The shares (1) are the derivatives of

    F(s) = sum_c p_c log sum over the users u of c of exp(s_u)                                                              (2)

F(eta y) / eta tends to  sum_c p_c max over the users u of c of y_u  for eta to infinity                                    (3)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.column_generation.coupling import Coupling

SMALLEST_TOTAL = 1e-200
"""Smaller sums of exponentials may have lost digits."""


class SoftPrices:
    """(1) to (3) for the rows and prices of a coupling."""

    def __init__(self, coupling: Coupling) -> None:
        self._order = np.argsort(coupling.purchase, kind="stable")
        self._node = coupling.node[self._order]
        purchases, first = np.unique(coupling.purchase[self._order], return_index=True)
        self._first = np.append(first, self._order.size)
        self._price = coupling.price[purchases]

    def shares(self, score: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(1) for every coupling row, and its sums over the rows of each split; shapes (k,) and (n,)."""
        charge, by_node = np.empty(self._order.size), np.zeros(score.size)
        _soft_prices(self._first, self._node, self._price, score, charge, by_node)
        by_row = np.empty_like(charge)
        by_row[self._order] = charge
        return by_row, by_node

    def value(self, score: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """(2), and its derivatives, shape (n,)."""
        charge, by_node = np.empty(self._order.size), np.zeros(score.size)
        value = _soft_prices(self._first, self._node, self._price, score, charge, by_node)
        return float(value), by_node

    def hard_value(self, y: NDArray[np.float64]) -> float:
        """(3)."""
        if not self._order.size:
            return 0.0
        return float(self._price @ np.maximum.reduceat(y[self._node], self._first[:-1]))


@njit(cache=True, nogil=True)
def _soft_prices(first, node, price, score, charge, by_node):  # type: ignore[no-untyped-def]
    """Rows of purchase j are first[j] .. first[j + 1] - 1. A largest score is taken off first, so that nothing overflows.

    It is the largest score of all splits, so that one exponential a split is enough; where that underflows, the purchase's own.
    """
    top = score.max() if score.shape[0] else 0.0
    weight = np.exp(score - top)
    value = 0.0
    for j in range(price.shape[0]):
        a, b = first[j], first[j + 1]
        largest = top
        total = 0.0
        for k in range(a, b):
            charge[k] = weight[node[k]]
            total += charge[k]
        if total < SMALLEST_TOTAL:
            largest = score[node[a]]
            for k in range(a + 1, b):
                largest = max(largest, score[node[k]])
            total = 0.0
            for k in range(a, b):
                charge[k] = np.exp(score[node[k]] - largest)
                total += charge[k]
        value += price[j] * (largest + np.log(total))
        rate = price[j] / total
        for k in range(a, b):
            charge[k] *= rate
            by_node[node[k]] += charge[k]
    return value
