"""Prices shared out by scores.

The price of a purchase j is shared among the open splits that need it, split u bearing

    share of u in j  =  price_j exp(s_u) / Z_j,        Z_j = sum over the users u' of j of exp(s_u')                        (1)

so every state is dual feasible, and the charges  c_u = exp(s_u) sum over j of price_j / Z_j  are all that the trees need to know.
One number a split is the whole state: exp(s_u) is constant over a slice. Item by item, so that Z is one number a row.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.shared_prices.remaining import Remaining

SMALL = 200_000
"""Usage arcs below which one thread is faster than two."""

NOTHING = 1e-200
"""Weights below that count as 0: prices divided by them would leave the range of a float."""


class Sharing:
    """Works out charges for one remaining problem."""

    def __init__(self, left: Remaining, pool: ThreadPoolExecutor) -> None:
        self.left = left
        self.pool = pool
        self.paid = np.zeros(0, dtype=bool) if left.paid is None else left.paid

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """c_u by (1), up to rounding, in the unit of the integer prices; shape (k,)."""
        weight = score.astype(np.float64)
        weight -= weight.max(initial=0.0)
        np.exp(weight, out=weight)
        weight[weight < NOTHING] = 0.0
        charge = np.zeros(weight.size)
        s = self.left.slices
        if s.n_arcs < SMALL or len(s.parts) < 3:
            self._part(0, s.parts[-1], weight, charge)
        else:
            other = charge if s.single else np.zeros(weight.size)
            waiting = self.pool.submit(self._part, s.parts[0], s.parts[1], weight, other)
            self._part(s.parts[1], s.parts[2], weight, charge)
            waiting.result()
            if not s.single:
                charge += other
        charge *= weight
        return charge

    def whole_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers that are at most c_u of some feasible shares, whatever floating point did to `charges`.

        Z_j and the sums over slices are sums of at most T, or N, positive numbers, and a handful of products: the relative error
        is below (N + T + 64) 2^-53. Less can always be charged.
        """
        problem = self.left.whole.problem
        margin = (problem.n_rows + problem.ensemble.n_splits.bit_length() + problem.ensemble.n_trees + 64) * 2.0**-52
        charge = self.charges(score)
        charge *= 1.0 - margin
        return np.floor(charge, out=charge).astype(np.int64)

    def _part(self, first: int, last: int, weight: NDArray[np.float64], charge: NDArray[np.float64]) -> None:
        """Add up what some slices bear, without their own weight."""
        rate = np.empty(self.left.whole.problem.n_rows)
        _share(*self.left.usage, self.paid, *self.left.whole.arrays, weight, charge, rate, first, last)  # type: ignore[call-arg]


@njit(cache=True, nogil=True)
def _share(  # type: ignore[no-untyped-def]
    item,
    split,
    nodes,
    tree_of,
    start,
    stop,
    order,
    once,
    paid,
    item_price,
    row_weight,
    once_price,
    grid,
    weight,
    charge,
    rate,
    first,
    last,
):
    """Price / Z of every purchase of an item, then its sum over each slice; 0 for what is paid or has no users' weight."""
    n_rows = order.shape[1]
    begin = first
    while begin < last:
        m = item[begin]
        end = begin + 1
        while end < last and item[end] == m:
            end += 1
        if once[m]:
            total = 0.0
            for k in range(begin, end):
                total += weight[split[k]]
            j = once.shape[0] * n_rows + m
            if total > 0.0 and not (paid.shape[0] > 0 and paid[j]):
                for k in range(begin, end):
                    charge[split[k]] += once_price[m] / total
        else:
            rate[:] = 0.0
            for k in range(begin, end):
                h = nodes[split[k]]
                w = weight[split[k]]
                rows = order[tree_of[h], start[h] : stop[h]]
                for i in rows:
                    rate[i] += w
            _divide(rate, m, paid, item_price, row_weight, grid)
            for k in range(begin, end):
                h = nodes[split[k]]
                charge[split[k]] += _sum(rate, order[tree_of[h], start[h] : stop[h]])
        begin = end


@njit(cache=True, nogil=True)
def _divide(rate, m, paid, item_price, row_weight, grid):  # type: ignore[no-untyped-def]
    """Turn the Z of item m into price / Z."""
    first = m * rate.shape[0]
    for i in range(rate.shape[0]):
        price = item_price[m] * row_weight[i] if grid.shape[0] == 0 else grid[first + i]
        if rate[i] > 0.0:
            rate[i] = price / rate[i]
    if paid.shape[0] > 0:
        for i in range(rate.shape[0]):
            if paid[first + i]:
                rate[i] = 0.0


@njit(cache=True, nogil=True)
def _sum(rate, rows):  # type: ignore[no-untyped-def]
    """Sum over some rows, in four parts so that no addition waits for the one before."""
    a = b = c = d = 0.0
    p = 0
    while p + 4 <= rows.shape[0]:
        a += rate[rows[p]]
        b += rate[rows[p + 1]]
        c += rate[rows[p + 2]]
        d += rate[rows[p + 3]]
        p += 4
    for q in range(p, rows.shape[0]):
        a += rate[rows[q]]
    return (a + b) + (c + d)
