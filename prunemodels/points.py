"""Points of cost and error: the corners of their lower hull, the one that sticks out most, and those as good as the best.

    knee:  the corner of the lower convex hull of the points (cost_k, error_k) that lies furthest below the chord          (1)
           from the cheapest point to the cheapest one of least error

In (1) the distance may be measured upwards or at right angles to the chord, and the axes may be scaled in any way, to [0, 1]
for instance: each of these multiplies all distances by one number, so the corner is the same.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Rule = Literal["one_se", "knee"]
"""How a point is chosen without a budget: see `prunemodels.evaluation.path`."""

SAME_POINT = 1e-12
"""Weighted errors, or uses of limits, whose relative difference is smaller count as equal."""


def within(above_best: NDArray[np.float64], allowed: NDArray[np.float64], least: float) -> int:
    """The last entry whose distance to the best is at most the allowed one, up to rounding."""
    return int(np.flatnonzero(above_best <= allowed + SAME_POINT * least)[-1])


def furthest_corner(cost: NDArray[np.float64], error: NDArray[np.float64]) -> int:
    """(1): the place of the point; of equally distant corners the cheapest; if there is no corner, the point of least error."""
    hull = falling_hull(cost, error)
    first, last = hull[0], hull[-1]
    if len(hull) < 3:
        return last
    slope = (error[last] - error[first]) / (cost[last] - cost[first])
    below = error[first] + slope * (cost[hull] - cost[first]) - error[hull]
    return hull[int(np.argmax(below))]


def falling_hull(cost: NDArray[np.float64], error: NDArray[np.float64]) -> list[int]:
    """The corners of the lower convex hull from the cheapest point to the cheapest one of least error, by rising cost."""
    hull: list[int] = []
    for k in np.lexsort((error, cost)).tolist():
        if hull and error[k] >= error[hull].min():  # costs more without a smaller error
            continue
        while len(hull) > 1 and _above_chord(cost, error, hull[-2], hull[-1], k):
            hull.pop()
        hull.append(k)
    return hull


def _above_chord(cost: NDArray[np.float64], error: NDArray[np.float64], a: int, b: int, c: int) -> bool:
    """Whether b lies on or above the line from a to c."""
    across = (error[b] - error[a]) * (cost[c] - cost[a]) - (error[c] - error[a]) * (cost[b] - cost[a])
    return bool(across >= 0)
