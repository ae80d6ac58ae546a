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

from solvers.closures.level_sets import lower_to_parents
from solvers.price_sharing.remaining import Remaining

THRESHOLDS = np.array([*(-0.03 / 10 ** (k / 2) for k in range(10)), 0.0, *(0.03 / 10 ** (k / 2) for k in range(9, -1, -1))])
"""From -0.03 to 0.03, two for each power of ten down to 1e-6: beside a breakpoint levels differ from 0 by as little as lambda."""


def best_level(
    remaining: Remaining, log_level: NDArray[np.float32], bills: Callable[[NDArray[np.int32], int], Sequence[int]]
) -> tuple[NDArray[np.bool_], int]:
    """The best closure (1) of the open splits, or the empty set, and its integer value without `remaining.base`.

    Parameters
    ----------
    log_level
        float32, shape (k,): of one round, or their mean over the last ones.
    bills
        from the levels of the splits and the highest level: the price of the purchases at each level, `Rows.level_bills`.
    """
    top = THRESHOLDS.size
    # 0: the split is in no level set; top: in all
    level = np.searchsorted(THRESHOLDS, log_level, side="right").astype(np.int32)
    lower_to_parents(remaining.parent, level)
    earned = np.zeros(top + 1, dtype=np.int64)
    np.add.at(earned, level, remaining.profit)
    bill = bills(level, top)
    values = [int(earned[k:].sum()) - sum(bill[k:]) for k in range(1, top + 1)]
    best = max(values, default=0)
    if best <= 0:
        return np.zeros(log_level.size, dtype=bool), 0
    # among several best the smallest
    lowest = top - values[::-1].index(best)
    return level >= lowest, int(best)
