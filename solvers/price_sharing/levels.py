"""The best of some level sets of the splits, with exact values.

    kept = { h : log level_h >= theta }        theta in `THRESHOLDS`                                                      (1)

for the levels of `solvers.closures.tree_levels` at the present charges. They never rise on the way down a tree, so each level
set is a pruning. At the right charges theta = 0 gives the best one. Before that, many splits that leave at the same lambda have
levels a little above and below each other, and a threshold beside them keeps them together. One pass values all level sets: a
purchase is paid by every level set up to the highest level of its users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.closures.level_sets import lower_to_parents
from solvers.price_sharing.remaining import Remaining, price_for_row, price_once

THRESHOLDS = np.array([*(-0.03 / 10 ** (k / 2) for k in range(10)), 0.0, *(0.03 / 10 ** (k / 2) for k in range(9, -1, -1))])
"""From -0.03 to 0.03, two for each power of ten down to 1e-6: beside a breakpoint levels differ from 0 by as little as lambda."""


PaidAt = Callable[[NDArray[np.int32], int], Sequence[int]]
"""From the levels of the splits and the highest level: the price of the purchases at each level, see `paid_at`."""


def best_level(remaining: Remaining, log_level: NDArray[np.float32], paid: PaidAt | None = None) -> tuple[NDArray[np.bool_], int]:
    """The best closure (1) of the open splits, or the empty set, and its integer value without `remaining.base`.

    Parameters
    ----------
    log_level
        float32, shape (k,): of one round, or their mean over the last ones.
    paid
        the function that sums the purchases' prices; default: `paid_at` of `remaining`, which then has all rows.
    """
    top = THRESHOLDS.size
    # 0: the split is in no level set; top: in all
    level = np.searchsorted(THRESHOLDS, log_level, side="right").astype(np.int32)
    lower_to_parents(remaining.parent, level)
    earned = np.zeros(top + 1, dtype=np.int64)
    np.add.at(earned, level, remaining.profit)
    bill = paid_at(remaining, level, top) if paid is None else paid(level, top)
    values = [int(earned[k:].sum()) - sum(bill[k:]) for k in range(1, top + 1)]
    best = max(values, default=0)
    if best <= 0:
        return np.zeros(log_level.size, dtype=bool), 0
    # among several best the smallest
    lowest = top - values[::-1].index(best)
    return level >= lowest, int(best)


def closure_value(remaining: Remaining, keep: NDArray[np.bool_]) -> int:
    """The integer value of a closure of the open splits, bool of shape (k,), without `remaining.base`."""
    return int(remaining.profit[keep].sum()) - paid_at(remaining, keep.astype(np.int32), 1)[1]


def paid_at(remaining: Remaining, level: NDArray[np.int32], top: int) -> list[int]:
    """What the purchases cost whose highest user is at each level, 0 to `top`; nothing at level 0."""
    total = np.zeros(top + 1, dtype=np.int64)
    _add_up(remaining.blocked_usage, remaining.prices, level, total)
    return [int(t) for t in total]


@njit(cache=True, nogil=True)
def _add_up(usage, prices, level, total):  # type: ignore[no-untyped-def]
    """Add each purchase's price at the highest level of its users, item by item; purchases without users count nothing."""
    item, split, node, tree_of, start, stop, order, rows, size, once = usage
    n_rows = order.shape[1]
    highest = np.zeros(min(size, n_rows), dtype=np.int8)
    for b in range(start.shape[0]):
        first = b * size
        block_rows = rows[first : min(first + size, n_rows)]
        begin = 0
        while begin < item.shape[0]:
            m = item[begin]
            end = begin + 1
            while end < item.shape[0] and item[end] == m:
                end += 1
            if once[m]:
                if b == 0:
                    top = np.int32(0)
                    for k in range(begin, end):
                        top = max(top, level[split[k]])
                    total[top] += price_once(prices, m)
                begin = end
                continue
            needed = False
            for k in range(begin, end):
                h, user_level = node[split[k]], level[split[k]]
                if user_level > 0 and start[b, h] < stop[b, h]:
                    needed = True
                    for i in order[tree_of[h], first + start[b, h] : first + stop[b, h]]:
                        highest[i] = max(highest[i], user_level)
            if needed:
                for i in range(block_rows.shape[0]):
                    if highest[i] > 0:
                        total[highest[i]] += price_for_row(prices, m, block_rows[i])
                highest[:] = 0
            begin = end
    total[0] = 0
