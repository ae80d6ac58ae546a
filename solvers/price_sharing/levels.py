"""The best of some level sets of the averaged trees, valued exactly.

    kept = { h : ybar_h >= theta }        theta in `THRESHOLDS`, largest first                                             (1)

ybar is a weighted mean of prunings, so it never rises on the way down a tree, and each level set is a pruning. One pass values
all of them: a purchase is paid by every level set up to the highest level of its users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.closures.level_sets import lower_to_parents
from solvers.price_sharing.remaining import Remaining

THRESHOLDS = (0.8, 0.6, 0.5, 0.4, 0.2)


PaidAt = Callable[[NDArray[np.int32], int], Sequence[int]]
"""Of levels and the highest level: what the purchases cost at each, see `paid_at`."""


def best_level(left: Remaining, ybar: NDArray[np.float32], paid: PaidAt | None = None) -> tuple[NDArray[np.bool_], int]:
    """The best closure (1) of the open splits, or none of them, and its integer value without `left.base`.

    Parameters
    ----------
    paid
        what adds up the purchases; default: `paid_at` of `left`, which has all the rows.
    """
    top = len(THRESHOLDS)
    level = np.zeros(ybar.size, dtype=np.int32)  # 0: in none; top: in all
    for theta in THRESHOLDS:
        level[ybar >= theta] += 1
    lower_to_parents(left.parent, level)
    profit = left.profit
    earned = [int(profit[level == k].sum()) for k in range(top + 1)]
    del profit
    bill = paid_at(left, level, top) if paid is None else paid(level, top)
    values = [sum(earned[k:]) - sum(bill[k:]) for k in range(1, top + 1)]
    best = max(values, default=0)
    if best <= 0:
        return np.zeros(ybar.size, dtype=bool), 0
    # among equals the smallest
    lowest = top - values[::-1].index(best)
    return level >= lowest, int(best)


def closure_value(left: Remaining, keep: NDArray[np.bool_]) -> int:
    """The integer value of a closure of the open splits, bool of shape (k,), without `left.base`."""
    return int(left.profit[keep].sum()) - paid_at(left, keep.astype(np.int32), 1)[1]


def paid_at(left: Remaining, level: NDArray[np.int32], top: int) -> list[int]:
    """What the purchases cost whose highest user is at each level, 0 to `top`; nothing at level 0."""
    total = np.zeros(top + 1, dtype=np.int64)
    paid = np.zeros(0, dtype=bool) if left.paid is None else left.paid
    _add_up(*left.blocked_usage, paid, *left.objective.price_arrays, level, total)  # type: ignore[call-arg]
    return [int(t) for t in total]


@njit(cache=True, nogil=True)
def _add_up(  # type: ignore[no-untyped-def]
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
    level,
    total,
):
    """Item by item the highest level that needs each purchase, and its price there; level 0 gathers what nobody needs."""
    n_rows = order.shape[1]
    highest = np.zeros(min(size, n_rows), dtype=np.int8)
    for b in range(start.shape[0]):
        first = b * size
        here_rows = rows[first : min(first + size, n_rows)]
        begin = 0
        while begin < item.shape[0]:
            m = item[begin]
            end = begin + 1
            while end < item.shape[0] and item[end] == m:
                end += 1
            needed = False
            for k in range(begin, end):
                h = nodes[split[k]]
                here = level[split[k]]
                if once[m]:
                    highest[0] = max(highest[0], here)
                elif here > 0 and start[b, h] < stop[b, h]:
                    needed = True
                    for i in order[tree_of[h], first + start[b, h] : first + stop[b, h]]:
                        highest[i] = max(highest[i], here)
            if needed:
                for i in range(here_rows.shape[0]):
                    j = m * n_rows + here_rows[i]
                    if highest[i] > 0 and not (paid.shape[0] > 0 and paid[j]):
                        total[highest[i]] += item_price[m] * row_weight[here_rows[i]] if grid.shape[0] == 0 else grid[j]
                highest[:] = 0
            elif once[m]:
                if b == 0 and not (paid.shape[0] > 0 and paid[once.shape[0] * n_rows + m]):
                    total[highest[0]] += once_price[m]
                highest[0] = 0
            begin = end
    total[0] = 0
