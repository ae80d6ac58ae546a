"""Choosing a pruning without a budget: rules on held-out errors.

Given cost_k and error_k of the rows k of a path on held-out examples (`evaluate_path`), where costs fall with k:

    one_se:  the cheapest k with   error_k - error_best  <=  se(error_k - error_best)                                  (1)
    knee:    the corner of the lower convex hull of the points (cost_k, error_k) that lies furthest below the chord     (2)
             from the cheapest point to the cheapest one of least error

The standard error in (1) is that of the *paired difference* to the best row. Breiman's rule (``paired=False``) uses the standard
error of the best row's error. That number says how well an error rate is known, not whether two error rates differ. All rows err
on much the same examples, so the difference is known far better, and Breiman's rule accepts losses of accuracy that are
significant.

In (2) the distance may be measured upwards or at right angles to the chord, and the axes may be scaled in any way, to [0, 1]
for instance: each of these multiplies all distances by one number, so the corner is the same.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.evaluation.path import ROUNDING, PathEvaluation

Rule = Literal["one_se", "knee"]


@checked
def choose_row(evaluation: PathEvaluation, rule: Rule = "one_se") -> int:
    """The row of the path that a rule chooses.

    Raises
    ------
    InvalidInputError
        for an unknown rule, and for "one_se" with a single example.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> seen = pm.evaluate_path(path, X_valid, y_valid)
    >>> pm.evaluation.choose_row(seen, "one_se"), pm.evaluation.choose_row(seen, "knee")
    (5, 12)
    """
    return one_se(evaluation) if rule == "one_se" else knee(evaluation)


@checked
def one_se(evaluation: PathEvaluation, *, paired: bool = True) -> int:
    """The cheapest row whose error is within one standard error of the least: (1).

    Parameters
    ----------
    paired
        True (default): use the standard error of the paired difference. False: that of the best row's error (Breiman).

    Raises
    ------
    InvalidInputError
        with a single example, which has no standard error.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> seen = pm.evaluate_path(path, X_valid, y_valid)
    >>> row = pm.evaluation.one_se(seen)
    >>> print(f"cost {seen.cost[row]:.2f}, error {seen.error[row]:.3f}")
    cost 14.12, error 0.053
    """
    allowed = evaluation.above_best_se if paired else np.full(len(evaluation.error), evaluation.error_se[evaluation.best])
    if evaluation.n < 2:
        raise InvalidInputError("one_se needs a standard error, and there is a single example; give more, or choose by 'knee'")
    return within(evaluation.above_best, allowed, evaluation.error[evaluation.best])


def within(above_best: NDArray[np.float64], allowed: NDArray[np.float64], least: float) -> int:
    """The last entry whose distance to the best is at most the allowed one, up to rounding."""
    return int(np.flatnonzero(above_best <= allowed + ROUNDING * least)[-1])


@checked
def at_most(evaluation: PathEvaluation, max_error_increase: float) -> int | None:
    """The cheapest row whose error exceeds the unpruned forest's by at most `max_error_increase`; None if there is none.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> seen = pm.evaluate_path(path, X_valid, y_valid)
    >>> row = pm.evaluation.at_most(seen, 0.02)
    >>> print(f"cost {seen.cost[row]:.2f}, error {seen.error[row]:.3f} instead of {seen.unpruned_error:.3f}")
    cost 13.49, error 0.060 instead of 0.040
    """
    good = np.flatnonzero(evaluation.increase <= max_error_increase + ROUNDING * evaluation.unpruned_error)
    return int(good[-1]) if good.size else None


@checked
def knee(evaluation: PathEvaluation) -> int:
    """The row at the corner (2) of the hull of costs and errors, where errors begin to rise steeply.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> seen = pm.evaluate_path(path, X_valid, y_valid)
    >>> row = pm.evaluation.knee(seen)
    >>> print(f"cost {seen.cost[row]:.2f}, error {seen.error[row]:.3f}")
    cost 6.00, error 0.100
    """
    return furthest_corner(evaluation.cost, evaluation.error)


def furthest_corner(cost: NDArray[np.float64], error: NDArray[np.float64]) -> int:
    """(2) for any points: of equally distant corners the cheapest; if there is no corner, the point of least error."""
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
