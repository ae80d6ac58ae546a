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

    The first two are NaN with fewer than `LEAST_POINTS` points, and where all x are the same.
    """
    used = (y > 0) & (y >= least) & (x > 0)
    a, b = np.log10(x[used].to_numpy(dtype=float)), np.log10(y[used].to_numpy(dtype=float))
    spread = float(((a - a.mean()) ** 2).sum()) if a.size else 0.0
    if a.size < LEAST_POINTS or spread == 0.0:
        return math.nan, math.nan, int(a.size)
    slope_of_y = float(((a - a.mean()) * (b - b.mean())).sum()) / spread
    residual = b - b.mean() - slope_of_y * (a - a.mean())
    return slope_of_y, math.sqrt(float((residual**2).sum()) / (a.size - 2) / spread), int(a.size)
