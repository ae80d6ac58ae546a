"""Prices shared among splits by their scores.

The price of a purchase j is shared among the open splits that need it, split u bearing

    share of u in j  =  price_j exp(s_u) / Z_j,        Z_j = sum over the users u' of j of exp(s_u')                        (1)

so every state is dual feasible. The trees need to know only the charges  c_u = exp(s_u) sum over j of price_j / Z_j. One number a
split is the whole state, since exp(s_u) is the same for all purchases of a split. The passes go item by item, so that they hold Z
as one number a row.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.price_sharing.remaining import Remaining

ONE_THREAD_ARCS = 200_000
"""With fewer usage arcs one thread is faster than two."""

ROWS_PER_ARC = 4
"""If an item has less than one arc for this many rows of a block, only the rows of its arcs are zeroed and divided."""

SMALLEST_WEIGHT = 1e-200
"""Smaller weights count as 0, because prices divided by them would leave the range of a float."""


class Sharing:
    """Computes the charges of the open splits of one remaining problem."""

    def __init__(self, remaining: Remaining, pool: ThreadPoolExecutor) -> None:
        self.remaining = remaining
        self.pool = pool
        self.paid = np.zeros(0, dtype=bool) if remaining.paid is None else remaining.paid

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """c_u by (1), up to rounding, in the unit of the integer prices; shape (k,)."""
        weight = score.astype(np.float64)
        weight -= weight.max(initial=0.0)
        np.exp(weight, out=weight)
        weight[weight < SMALLEST_WEIGHT] = 0.0
        charge = np.zeros(weight.size)
        halves = self._halves()
        if len(halves) == 1:
            self._part(*halves[0], weight, charge)
        else:
            other = np.zeros(weight.size)
            first_half = self.pool.submit(self._part, *halves[0], weight, other)
            self._part(*halves[1], weight, charge)
            first_half.result()
            charge += other
        charge *= weight
        return charge

    def _halves(self) -> list[tuple[int, int, int, int]]:
        """The first and last block and the first and last slice of each thread; a single block is divided by items."""
        s, n_blocks = self.remaining.slices, self.remaining.objective.usage.row_blocks.n_blocks
        if s.n_arcs < ONE_THREAD_ARCS or (n_blocks == 1 and len(s.parts) < 3):
            return [(0, n_blocks, 0, s.parts[-1])]
        if n_blocks == 1:
            return [(0, 1, s.parts[0], s.parts[1]), (0, 1, s.parts[1], s.parts[2])]
        half = (n_blocks + 1) // 2
        return [(0, half, 0, s.parts[-1]), (half, n_blocks, 0, s.parts[-1])]

    def integer_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers that are at most the c_u of some feasible shares, whatever floating point did to `charges`.

        Z_j and the sums over slices are sums of at most T, or N, positive numbers, and a handful of products: the relative error
        is below (N + T + 64) 2^-53. The charges are lowered by twice that, and a lower charge is always feasible.
        """
        usage = self.remaining.objective.usage
        margin = (usage.n_rows + usage.ensemble.n_splits.bit_length() + usage.ensemble.n_trees + 64) * 2.0**-52
        charge = self.charges(score)
        charge *= 1.0 - margin
        return np.floor(charge, out=charge).astype(np.int64)

    def _part(
        self, block: int, last_block: int, first: int, last: int, weight: NDArray[np.float64], charge: NDArray[np.float64]
    ) -> None:
        """Add the charges of some slices for some blocks of rows to `charge`, without the factor exp(s_u)."""
        remaining = self.remaining
        _share(
            *remaining.blocked_usage, self.paid, *remaining.objective.price_arrays, weight, charge, block, last_block, first, last
        )


@njit(cache=True, nogil=True)
def _share(  # type: ignore[no-untyped-def]
    item,
    split,
    nodes,
    tree_of,
    start,
    stop,
    order,
    rows,
    size,
    once,
    paid,
    item_price,
    row_weight,
    once_price,
    grid,
    weight,
    charge,
    block,
    last_block,
    first,
    last,
):
    """Price / Z of every purchase of an item, then its sum over each slice; 0 if it is paid or its users' weights are 0."""
    n_rows = order.shape[1]
    rate = np.empty(min(size, n_rows))
    omega = np.empty(rate.shape[0], dtype=np.int64)
    for b in range(block, last_block):
        block_rows = rows[b * size : min((b + 1) * size, n_rows)]
        for i in range(block_rows.shape[0]):
            omega[i] = row_weight[block_rows[i]]
        begin = first
        while begin < last:
            m = item[begin]
            end = begin + 1
            while end < last and item[end] == m:
                end += 1
            if not once[m]:
                _share_item(
                    m, b, rate[: block_rows.shape[0]], split[begin:end], nodes, tree_of, start, stop, order, block_rows, size,
                    paid, item_price, omega, grid, weight, charge,
                )  # fmt: skip
            elif b == 0:
                total = 0.0
                for k in range(begin, end):
                    total += weight[split[k]]
                if total > 0.0 and not (paid.shape[0] > 0 and paid[once.shape[0] * n_rows + m]):
                    for k in range(begin, end):
                        charge[split[k]] += once_price[m] / total
            begin = end


@njit(cache=True, nogil=True)
def _share_item(  # type: ignore[no-untyped-def]
    m, b, rate, users, nodes, tree_of, start, stop, order, block_rows, size, paid, item_price, omega, grid, weight, charge
):
    """One item in one block: row by row where it has many arcs there, else only the rows that they meet."""
    first = b * size
    arcs = 0
    for u in users:
        arcs += stop[b, nodes[u]] - start[b, nodes[u]]
    if arcs == 0:
        return
    few = arcs * ROWS_PER_ARC < rate.shape[0]
    if few:
        for u in users:
            h = nodes[u]
            for i in order[tree_of[h], first + start[b, h] : first + stop[b, h]]:
                rate[i] = 0.0
    else:
        rate[:] = 0.0
    for u in users:
        h = nodes[u]
        if start[b, h] < stop[b, h]:
            w = weight[u]
            for i in order[tree_of[h], first + start[b, h] : first + stop[b, h]]:
                rate[i] += w
    if few:
        for u in users:
            h = nodes[u]
            places = order[tree_of[h], first + start[b, h] : first + stop[b, h]]
            charge[u] += _few(rate, places, m, block_rows, order.shape[1], paid, item_price, omega, grid)
        return
    _divide(rate, m, block_rows, order.shape[1], paid, item_price, omega, grid)
    for u in users:
        h = nodes[u]
        if start[b, h] < stop[b, h]:
            charge[u] += _sum(rate, order[tree_of[h], first + start[b, h] : first + stop[b, h]])


@njit(cache=True, nogil=True)
def _few(z, places, m, block_rows, n_rows, paid, item_price, omega, grid):  # type: ignore[no-untyped-def]
    """Sum of price / Z over the rows in some places."""
    total = 0.0
    for i in places:
        j = m * n_rows + block_rows[i]
        if z[i] > 0.0 and not (paid.shape[0] > 0 and paid[j]):
            total += (item_price[m] * omega[i] if grid.shape[0] == 0 else grid[j]) / z[i]
    return total


@njit(cache=True, nogil=True)
def _divide(rate, m, block_rows, n_rows, paid, item_price, omega, grid):  # type: ignore[no-untyped-def]
    """Turn the Z of item m into price / Z; `block_rows`: the rows of the block, `omega`: their weights."""
    j = m * n_rows
    if grid.shape[0] == 0:
        for i in range(rate.shape[0]):
            price = item_price[m] * omega[i]
            if rate[i] > 0.0:
                rate[i] = price / rate[i]
    else:
        for i in range(rate.shape[0]):
            if rate[i] > 0.0:
                rate[i] = grid[j + block_rows[i]] / rate[i]
    if paid.shape[0] > 0:
        for i in range(rate.shape[0]):
            if paid[j + block_rows[i]]:
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
