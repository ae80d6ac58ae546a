"""Prices shared out by scores.

The price of a purchase j is shared among the open splits that need it, split u bearing

    share of u in j  =  price_j exp(s_u) / Z_j,        Z_j = sum over the users u' of j of exp(s_u')                        (1)

so every state is dual feasible, and the charges  c_u = exp(s_u) sum over j of price_j / Z_j  are all that the trees need to know.
One number a split is the whole state: exp(s_u) is constant over a slice.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.shared_prices.remaining import Remaining
from solvers.shared_prices.slices import gather, normalise
from solvers.shared_prices.whole import price_of

SMALL = 200_000
"""Usage arcs below which one thread is faster than two."""


NOTHING = 1e-200
"""Weights below that count as 0: prices divided by them would leave the range of a float."""


class Sharing:
    """Works out charges for one remaining problem; holds one number a purchase while it does."""

    def __init__(self, left: Remaining, pool: ThreadPoolExecutor) -> None:
        self.left = left
        self.pool = pool
        self.paid = np.zeros(0, dtype=bool) if left.paid is None else left.paid

    def charges(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """c_u by (1), up to rounding, in the unit of the integer prices; shape (k,)."""
        weight = score - score.max(initial=0.0)
        np.exp(weight, out=weight)
        weight[weight < NOTHING] = 0.0
        total = np.zeros(self.left.whole.problem.n_purchases)
        self._stream(normalise, weight, [total] * 2)
        _divide(total, self.paid, self.left.whole.problem.n_rows, *self.left.whole.arrays)
        parts = [np.zeros(weight.size), np.zeros(weight.size)]
        self._stream(gather, total, parts)
        charge = parts[0]
        charge += parts[1]
        charge *= weight
        return charge

    def whole_charges(self, score: NDArray[np.float64]) -> NDArray[np.int64]:
        """Integers that are at most c_u of some feasible shares, whatever floating point did to `charges`.

        Z_j and the sums over slices are sums of at most T, or N, positive numbers, and a handful of products: the relative error
        is below (N + T + 64) 2^-53. Less can always be charged.
        """
        problem = self.left.whole.problem
        margin = (problem.n_rows + problem.ensemble.n_splits.bit_length() + problem.ensemble.n_trees + 64) * 2.0**-52
        return np.floor(self.charges(score) * (1.0 - margin)).astype(np.int64)

    def _stream(self, kernel: Callable[..., None], numbers: NDArray[np.float64], sums: list[NDArray[np.float64]]) -> None:
        """Run a kernel over all slices, in two threads if that pays."""
        s, usage = self.left.slices, self.left.usage

        def run(first: int, last: int, out: NDArray[np.float64]) -> None:
            kernel(*usage, numbers, out, first, last)

        if s.n_arcs < SMALL or len(s.parts) < 3:
            run(0, s.parts[-1], sums[0])
            return
        waiting = self.pool.submit(run, s.parts[0], s.parts[1], sums[0])
        run(s.parts[1], s.parts[2], sums[1])
        waiting.result()


@njit(cache=True, nogil=True)
def _divide(total, paid, n_rows, item_price, weight, once_price, grid):  # type: ignore[no-untyped-def]
    """Turn Z into price / Z; 0 for what is paid, and where the users' weights all vanish, which is feasible too."""
    for j in range(total.shape[0]):
        if total[j] > 0.0:
            free = paid.shape[0] > 0 and paid[j]
            total[j] = 0.0 if free else price_of(j, n_rows, item_price, weight, once_price, grid) / total[j]
