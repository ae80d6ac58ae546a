"""How far the scores go in a round of price sharing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_MOMENTUM = 0.95
"""The largest factor (3); nearer to 1 the scores swing."""

MOST_CARRIED = 3.0
"""The most that (3) carries on, in limits of the round: without it scores drift apart three times as far, in no fewer rounds."""


def step_limit(k: int) -> float:
    """5 / (k + 5), the most that a score changes by (2) of `solvers.price_sharing.solve` in round k = 1, 2, ..."""
    return 5.0 / (k + 5)


def momentum(r: int) -> float:
    """min((r - 1) / (r + 2), 0.95), the factor (3) of `solvers.price_sharing.solve` after r = 1, 2, ... rounds."""
    return min((r - 1) / (r + 2), MOST_MOMENTUM)


def advance(
    score: NDArray[np.floating[Any]],
    stepped: NDArray[np.floating[Any]],
    log_level: NDArray[np.floating[Any]],
    r: int,
    limit: float = math.inf,
) -> None:
    """(2) and (3) of `solvers.price_sharing.solve` in place, after r = 1, 2, ... rounds: y in `score` and s in `stepped`."""
    before = stepped.copy()
    np.clip(log_level, -limit, limit, out=stepped)
    stepped += score
    np.subtract(stepped, before, out=score)
    np.clip(score, -MOST_CARRIED * limit, MOST_CARRIED * limit, out=score)
    score *= momentum(r)
    score += stepped
