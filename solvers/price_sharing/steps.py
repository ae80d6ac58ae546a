"""Steps of the scores, and the prunings that are tried on the way: (2) and (3) of `solvers.price_sharing.solve`.

Levels never rise on the way down a tree, so the splits above a level are a pruning. At the right charges the level 1 gives the
best one. Before that, many splits that leave at the same lambda have levels a little above and below each other, and a threshold
beside them keeps them together: `best_level` tries

    kept = { h : log level_h >= theta }        theta in `THRESHOLDS`                                                      (1)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.closures.tree_levels import lower_to_parents
from solvers.price_sharing.params import SharingParams

THRESHOLDS = np.array([*(-0.03 / 10 ** (k / 2) for k in range(10)), 0.0, *(0.03 / 10 ** (k / 2) for k in range(9, -1, -1))])
"""From -0.03 to 0.03, two for each power of ten down to 1e-6: beside a breakpoint levels differ from 0 by as little as lambda."""


def best_level(
    parent: NDArray[np.int32],
    profit: NDArray[np.int64],
    log_level: NDArray[np.float32],
    bills: Callable[[NDArray[np.int32], int], Sequence[int]],
) -> tuple[NDArray[np.bool_], int]:
    """The best closure (1), among several the smallest, or the empty set; and its integer value.

    Parameters
    ----------
    log_level
        float32, shape (k,): of one round, or their mean over the last ones.
    bills
        from the levels of the splits and the highest level: what the purchases cost whose highest user is at each level.
    """
    top = THRESHOLDS.size
    # 0: the split is in no level set; top: in all
    level = np.searchsorted(THRESHOLDS, log_level, side="right").astype(np.int32)
    lower_to_parents(parent, level)
    earned = np.zeros(top + 1, dtype=np.int64)
    np.add.at(earned, level, profit)
    bill = bills(level, top)
    values = [int(earned[k:].sum()) - sum(bill[k:]) for k in range(1, top + 1)]
    best = max(values, default=0)
    if best <= 0:
        return np.zeros(log_level.size, dtype=bool), 0
    return level >= top - values[::-1].index(best), int(best)


def step_limit(k: int) -> float:
    """5 / (k + 5), the most that a score changes by (2) of `solvers.price_sharing.solve` in round k = 1, 2, ..."""
    return 5.0 / (k + 5)


def advance(
    score: NDArray[np.floating[Any]],
    stepped: NDArray[np.floating[Any]],
    log_level: NDArray[np.floating[Any]],
    r: int,
    params: SharingParams,
    limit: float = math.inf,
) -> None:
    """(2) and (3) of `solvers.price_sharing.solve` in place, after r = 1, 2, ... rounds: y in `score` and s in `stepped`."""
    before = stepped.copy()
    np.clip(log_level, -limit, limit, out=stepped)
    stepped += score
    np.subtract(stepped, before, out=score)
    np.clip(score, -params.most_carried * limit, params.most_carried * limit, out=score)
    score *= min((r - 1) / (r + 2), params.most_momentum)
    score += stepped
