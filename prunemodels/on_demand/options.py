"""When a row may stop, and whom its trees let go first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Options:
    """How a walk goes.

    Parameters
    ----------
    stops
        whether rows stop early; then each asks for one thing at a time.
    tolerance
        regression: how near the prediction must be for certain; -1 for classification.
    place
        int64, shape (T,): the order of the trees, or empty: what opens most per price first.
    max_rows
        most rows of a request, or None.
    """

    stops: bool
    tolerance: float
    place: NDArray[np.int64]
    max_rows: int | None
