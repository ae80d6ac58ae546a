"""The step by which a kept split's score rises in a round of price sharing."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Rounds = TypeVar("Rounds", float, NDArray[np.float64])


def step_size(k: Rounds) -> Rounds:
    """gamma_k = 15 / (k + 5), the step of round k = 1, 2, ..., or of each; see (2) of `solvers.price_sharing.solve`."""
    return 15.0 / (k + 5)
