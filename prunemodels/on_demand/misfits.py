"""Which rows of a batch a model refuses, found by trying halves: one bad value must not end the walks of all others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def refused_rows(attempt: Callable[[Rows], object], rows: Rows) -> dict[int, Exception]:
    """The rows for which an attempt fails, each tried by itself in the end, and the errors. `attempt` has no side effects."""
    if not rows.size:
        return {}
    try:
        attempt(rows)
    except Exception as error:  # a model's steps may raise anything
        if rows.size == 1:
            return {int(rows[0]): error}
        left, right = np.array_split(rows, 2)
        return refused_rows(attempt, left) | refused_rows(attempt, right)
    return {}
