"""Choosing a pruning without a budget: rules on held-out errors.

Given cost_k and error_k of the rows of a path on examples kept apart (`evaluate_path`), costs falling with k:

    one_se:  the cheapest k with   error_k - error_best  <=  se(error_k - error_best)                                  (1)
    knee:    the corner of the lower convex hull of the points (cost_k, error_k) that lies furthest below the chord     (2)
             from the cheapest point to the cheapest one of least error

The standard error in (1) is that of the *paired difference* to the best row. Breiman's rule takes that of the best row's error,
which says how well an error rate is known, not whether two of them differ: all rows err on much the same examples, so the
difference is known far better, and Breiman's rule gives away accuracy that the data can tell apart (``paired=False`` for it).

In (2) the distance may be measured upwards or at right angles to the chord, and the axes may be scaled in any way, to [0, 1]
for instance: each of these multiplies all distances by one number, so the corner is the same.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from prunemodels.evaluation.path import ROUNDING, PathEvaluation

Rule = Literal["one_se", "knee"]


def choose_row(evaluation: PathEvaluation, rule: Rule = "one_se") -> int:
    """The row of the path that a rule chooses.

    Raises
    ------
    InvalidInputError
        for another rule, and for "one_se" with a single example.
    """
    check_rule(rule)
    return one_se(evaluation) if rule == "one_se" else knee(evaluation)


def check_rule(rule: str) -> None:
    """Refuse what is no rule."""
    if rule not in get_args(Rule):
        raise InvalidInputError(f"choose is {rule!r}; give one of {', '.join(map(repr, get_args(Rule)))}")


def one_se(evaluation: PathEvaluation, *, paired: bool = True) -> int:
    """The cheapest row whose error is within one standard error of the least: (1).

    Parameters
    ----------
    paired
        take the standard error of the paired difference (default), or Breiman's, of the best row's error.

    Raises
    ------
    InvalidInputError
        with a single example, which has no standard error.
    """
    allowed = evaluation.above_best_se if paired else np.full(len(evaluation.error), evaluation.error_se[evaluation.best])
    if evaluation.n < 2:
        raise InvalidInputError("one_se needs a standard error, and there is a single example; give more, or choose by 'knee'")
    return within(evaluation.above_best, allowed, evaluation.error[evaluation.best])


def within(above_best: NDArray[np.float64], allowed: NDArray[np.float64], least: float) -> int:
    """The last entry whose distance to the best is allowed, up to rounding."""
    return int(np.flatnonzero(above_best <= allowed + ROUNDING * least)[-1])


def at_most(evaluation: PathEvaluation, max_error_increase: float) -> int | None:
    """The cheapest row whose error is at most that of the unpruned forest plus a number; None where no row's is."""
    good = np.flatnonzero(evaluation.increase <= max_error_increase + ROUNDING * evaluation.unpruned_error)
    return int(good[-1]) if good.size else None


def knee(evaluation: PathEvaluation) -> int:
    """The corner of the held-out hull where errors begin to rise steeply: (2)."""
    return furthest_corner(evaluation.cost, evaluation.error)


def furthest_corner(cost: NDArray[np.float64], error: NDArray[np.float64]) -> int:
    """(2) for any points, the cheapest of equally distant corners; without a corner the end of least error."""
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
        if hull and error[k] >= error[hull].min():  # dearer, and no better
            continue
        while len(hull) > 1 and _above_chord(cost, error, hull[-2], hull[-1], k):
            hull.pop()
        hull.append(k)
    return hull


def _above_chord(cost: NDArray[np.float64], error: NDArray[np.float64], a: int, b: int, c: int) -> bool:
    """Whether b lies on or above the line from a to c."""
    across = (error[b] - error[a]) * (cost[c] - cost[a]) - (error[c] - error[a]) * (cost[b] - cost[a])
    return bool(across >= 0)
