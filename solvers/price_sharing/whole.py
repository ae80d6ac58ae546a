"""(OBJ) at one lambda in integers, without an array over all purchases.

The price of item m for row i is  price_m * weight_i, so prices are made row by row where they are needed. An instance that
does not fit integers is put on a grid, purchase by purchase, and then they are all kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from solvers.closures.scaling import TOTAL_BITS, fitting_ratio, scale


@dataclass(frozen=True, eq=False)
class Whole:
    """Profits and prices as integers, each worth `unit` of (OBJ).

    Parameters
    ----------
    item_price
        int64, shape (M,): the price of an item for a row of weight 1.
    weight
        int64, shape (N,).
    grid
        int64, shape (M (N + 1),): all prices, instead of the two above, where the instance was rounded.
    gain, q, p, bits
        the profit of a split is (q gain - p evaluation) 2^bits.
    lam
        what the integers stand for, perhaps a little below what was asked for.
    slack
        in (OBJ): how much better a pruning can really be than the integers say; 0 where they are exact.
    """

    problem: PruningProblem
    item_price: NDArray[np.int64]
    weight: NDArray[np.int64]
    grid: NDArray[np.int64] | None
    gain: NDArray[np.int64]
    q: int
    p: int
    bits: int
    lam: Fraction
    unit: Fraction
    slack: float

    def profit(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Profits of some splits."""
        profit = self.gain[nodes]
        profit *= self.q
        if self.p:
            profit -= self.problem.integers.evaluation[nodes] * self.p
        return np.left_shift(profit, self.bits, out=profit)

    def once(self) -> NDArray[np.int64]:
        """Prices of the items that are paid once for all rows, 0 for the others; shape (M,)."""
        if self.grid is not None:
            return self.grid[self.problem.costs.n_items * self.problem.n_rows :]
        return np.where(self.problem.costs.paid_once, self.item_price * self.weight.sum(), 0)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """What `price_of` takes."""
        grid = np.zeros(0, dtype=np.int64) if self.grid is None else self.grid
        return self.item_price, self.weight, self.once(), grid

    def of(self, purchases: NDArray[np.int32]) -> NDArray[np.int64]:
        """Prices of some purchases, numbered as in `formulations.instance.usage`."""
        prices = np.empty(purchases.size, dtype=np.int64)
        _prices(purchases, self.problem.n_rows, *self.arrays, prices)
        return prices


@njit(cache=True, nogil=True)
def price_of(j, n_rows, item_price, weight, once_price, grid):  # type: ignore[no-untyped-def]
    """Price of purchase j."""
    if grid.shape[0] > 0:
        return grid[j]
    m = j // n_rows
    if m < item_price.shape[0]:
        return item_price[m] * weight[j - m * n_rows]
    return once_price[j - item_price.shape[0] * n_rows]


@njit(cache=True, nogil=True)
def _prices(purchases, n_rows, item_price, weight, once_price, grid, prices):  # type: ignore[no-untyped-def]
    for k in range(purchases.shape[0]):
        prices[k] = price_of(purchases[k], n_rows, item_price, weight, once_price, grid)


def whole(problem: PruningProblem, lam: Fraction) -> Whole:
    """Profits and prices on the finest grid that fits 61 bits, so that parts of prices can be whole numbers too."""
    ints = problem.integers
    if not ints.exact:
        s = scale(problem, lam).refined()
        return Whole(problem, ints.price, ints.weight, s.price, s.profit, 1, 0, 0, s.lam, s.unit, s.slack)
    ratio = fitting_ratio(problem, lam)
    p, q = ratio.numerator, ratio.denominator
    prices = p * int(ints.price.sum()) * int(ints.weight.sum())
    total = max(int(np.abs(ints.gain).sum()) * q + int(ints.evaluation.sum()) * p, prices, 1)
    bits = max(0, TOTAL_BITS - total.bit_length())
    unit = ints.gain_unit / q / 2**bits
    return Whole(problem, (ints.price * p) << bits, ints.weight, None, ints.gain, q, p, bits, ratio * ints.lam_unit, unit, 0.0)
