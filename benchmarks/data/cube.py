"""The cube: 20 features and eight classes, each of which shows in another three features (AFABench; Shim and others 2018).

Class c = 0, ..., 7 has the bits b_0 b_1 b_2, the lowest first. In its rows

    x_{c+i} ~ N(b_i, 0.3) for i = 0, 1, 2,        x_j ~ N(0.5, 0.3) for all other j                                  (1)

with standard deviations, so the last ten features tell nothing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

CLASSES, FEATURES, SPREAD = 8, 20, 0.3


def _means() -> NDArray[np.float64]:
    found = np.full((CLASSES, FEATURES), 0.5)
    for c in range(CLASSES):
        found[c, c : c + 3] = [(c >> i) & 1 for i in range(3)]
    return found


MEANS = _means()  # of (1), shape (classes, features)


def draw(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Rows of (1), classes equally likely."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n_rows)
    X = rng.normal(MEANS[y], SPREAD)
    return pd.DataFrame(X, columns=[f"x{f}" for f in range(FEATURES)]), y
