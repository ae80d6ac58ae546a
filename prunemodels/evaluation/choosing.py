"""Choosing a pruning without a budget: rules on held-out errors.

Given cost_k and error_k of the rows k of a path on held-out examples (`evaluate_path`), where costs fall with k:

    one_se:  the cheapest k with   error_k - error_best  <=  se(error_k - error_best)                                  (1)
    knee:    the corner of the lower convex hull of the points (cost_k, error_k) that lies furthest below the chord     (2)
             from the cheapest point to the cheapest one of least error

The standard error in (1) is that of the *paired difference* to the best row. Breiman's rule (``paired=False``) uses the standard
error of the best row's error. That number says how well an error rate is known, not whether two error rates differ. All rows err
on much the same examples, so the difference is known far better, and Breiman's rule accepts losses of accuracy that are
significant.

(2) is found by `prunemodels.points`.
"""

from __future__ import annotations

import numpy as np

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.points import ROUNDING, Rule, furthest_corner, within


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
        with a single example, or fewer than two by weight, which have no standard error.

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
    if np.isnan(allowed).any():
        few = "there is a single example" if evaluation.n < 2 else "by weight there are fewer than two examples"
        raise InvalidInputError(f"one_se needs a standard error, and {few}; give more, or choose by 'knee'")
    return within(evaluation.above_best, allowed, evaluation.error[evaluation.best])


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
