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
    label
        whether a row may stop only where its label is certain.
    tolerance
        the distance within which the number, or each probability, must certainly be; None: any.
    place
        int64, shape (T,): the order of the trees; empty: the feature that settles most per price is first.
    max_rounds
        the most rounds of requests of a row.
    """

    stops: bool
    label: bool
    tolerance: float | None
    place: NDArray[np.int64]
    max_rounds: int | None = None
