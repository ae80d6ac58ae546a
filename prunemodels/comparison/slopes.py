"""How one quantity grows with another.

    log10 y = a + b log10 x        b by least squares                                                                     (1)

A slope b = 1 is linear growth: ten times the x, ten times the y.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

LEAST_POINTS = 3
"""A line through fewer points says nothing."""


def slope(x: pd.Series, y: pd.Series, least: float) -> tuple[float, float, int]:
    """The slope b of (1), its standard error, and the number of points: those with x > 0, y > 0 and y >= `least`.

    NaN for the first two below `LEAST_POINTS` points, or where all x are the same.
    """
    good = (y > 0) & (y >= least) & (x > 0)
    a, b = np.log10(x[good].to_numpy(dtype=float)), np.log10(y[good].to_numpy(dtype=float))
    spread = float(((a - a.mean()) ** 2).sum()) if a.size else 0.0
    if a.size < LEAST_POINTS or spread == 0.0:
        return math.nan, math.nan, int(a.size)
    found = float(((a - a.mean()) * (b - b.mean())).sum()) / spread
    rest = b - b.mean() - found * (a - a.mean())
    return found, math.sqrt(float((rest**2).sum()) / (a.size - 2) / spread), int(a.size)
