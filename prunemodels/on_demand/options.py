"""When a row may stop, and in which order its trees are served."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Options:
    """The options of a walk.

    Parameters
    ----------
    stops
        whether rows stop early; then each asks for one feature at a time.
    tolerance
        regression: the distance within which the prediction must certainly be; -1 for classification.
    place
        int64, shape (T,): the order of the trees; empty: the feature that settles most per price is first.
    """

    stops: bool
    tolerance: float
    place: NDArray[np.int64]
