"""The best of some level sets of the averaged trees, valued exactly.

    kept = { h : ybar_h >= theta }        theta in `THRESHOLDS`, largest first                                             (1)

ybar is a weighted mean of prunings, so it falls along every path and each level set is a pruning. All are valued in one pass: a
purchase is made from the highest level of its users on.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.shared_prices.remaining import Remaining
from solvers.shared_prices.whole import price_of

THRESHOLDS = (0.8, 0.6, 0.5, 0.4, 0.2)


def best_level(left: Remaining, ybar: NDArray[np.float32]) -> tuple[NDArray[np.bool_], int]:
    """The best closure (1) of the open splits, or none of them, and its integer value without `left.base`."""
    top = len(THRESHOLDS)
    level = np.zeros(ybar.size, dtype=np.int32)  # 0: in none; top: in all
    for theta in THRESHOLDS:
        level[ybar >= theta] += 1
    _fall(left.parent, level)
    earned = [int(left.profit[level == k].sum()) for k in range(top + 1)]
    paid = _paid_at(left, level, top)
    values = [sum(earned[k:]) - sum(paid[k:]) for k in range(1, top + 1)]
    best = max(values, default=0)
    if best <= 0:
        return np.zeros(ybar.size, dtype=bool), 0
    # among equals the smallest
    lowest = top - values[::-1].index(best)
    return level >= lowest, int(best)


def _paid_at(left: Remaining, level: NDArray[np.int32], top: int) -> list[int]:
    """What the purchases cost whose highest user is at each level, 0 to `top`; nothing at level 0."""
    problem = left.whole.problem
    highest = np.zeros(problem.n_purchases, dtype=np.int8)
    total = np.zeros(top + 1, dtype=np.int64)
    _raise(*left.usage, level, highest)  # type: ignore[call-arg]
    if left.paid is not None:
        highest[left.paid] = 0
    _add_up(highest, problem.n_rows, *left.whole.arrays, total)
    return [int(t) for t in total]


@njit(cache=True, nogil=True)
def _fall(parent, level):  # type: ignore[no-untyped-def]
    """The least level on the path from the top: rounding in a mean must not make a child larger than its parent."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0 and level[h] > level[parent[h]]:
            level[h] = level[parent[h]]


@njit(cache=True, nogil=True)
def _raise(item, split, nodes, tree_of, start, stop, order, once, level, highest):  # type: ignore[no-untyped-def]
    """The highest level of the open splits that need a purchase."""
    n_rows = order.shape[1]
    for k in range(item.shape[0]):
        here = level[split[k]]
        if here == 0:
            continue
        h = nodes[split[k]]
        if once[item[k]]:
            j = once.shape[0] * n_rows + item[k]
            highest[j] = max(highest[j], here)
        else:
            rows = order[tree_of[h]]
            place = item[k] * n_rows
            for p in range(start[h], stop[h]):
                j = place + rows[p]
                highest[j] = max(highest[j], here)


@njit(cache=True, nogil=True)
def _add_up(highest, n_rows, item_price, weight, once_price, grid, total):  # type: ignore[no-untyped-def]
    for j in range(highest.shape[0]):
        if highest[j] > 0:
            total[highest[j]] += price_of(j, n_rows, item_price, weight, once_price, grid)
