"""Cost and error of every row of a path on held-out examples, and rules that choose a row by them.

For each row k of the path, over n examples of weights w_i > 0,

    cost_k  = (items paid once)  +  sum w_i x_i / sum w_i         x_i: what example i buys, and its evaluation           (1)
    error_k = sum w_i l_i / sum w_i                               l_i: loss of the *forest*, see `TreeLoss`       (2)
    se      = (5) of `prunemodels.statements.mean_bounds`                      of a mean of v_i                          (3)

(3) applied to l_i is the standard error of the error itself. Two rows of the path err on much the same examples, so their
*difference* is known better: its standard error is (3) applied to the paired differences of losses. Differences are taken to
the unpruned forest and to the best row.

The examples are routed once. A prediction changes only where one of the example's leaves changes, so the work for all rows of the
path is proportional to the number of these changes, not to rows times predictions (`prunemodels.evaluation.path_sweeps`).

Without a budget a row is chosen by its cost_k and error_k on held-out examples, where costs fall with k:

    one_se:  the cheapest k with   error_k - error_best  <=  se(error_k - error_best)                                  (4)
    knee:    the corner of the lower convex hull of the points (cost_k, error_k) that lies furthest below the chord     (5)
             from the cheapest point to the cheapest one of least error

The standard error in (4) is that of the *paired difference* to the best row. Breiman's rule (``paired=False``) uses the standard
error of the best row's error. That number says how well an error rate is known, not whether two error rates differ. All rows err
on much the same examples, so the difference is known far better, and Breiman's rule accepts losses of accuracy that are
significant.

(5) is found by `prunemodels.points`.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.nested_prunings import SHOWN_ROWS, NestedPrunings
from formulations.arguments import Column, Share, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of, n_examples
from formulations.instance.tree_loss import check_counts
from formulations.long_steps import interruption_as_error, timed_step
from formulations.shown import Card, Shown, is_rate, rate, spread
from prunemodels.evaluation.evaluate import PARAMS, in_chunks, rows_in_turn
from prunemodels.evaluation.path_sweeps import ends_of, walk_costs, walk_losses
from prunemodels.models.forests.reading import check_columns
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.points import SAME_POINT, Rule, furthest_corner, within
from prunemodels.statements.mean_bounds import LEAST, Effective, effective_rows, ends_along, squared_weights

if TYPE_CHECKING:
    import pandas as pd

LOG = logging.getLogger(__name__)

Vote = Literal["mean", "majority"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PathEvaluation(Shown, Effective):
    """Cost and error of every row of a path on given examples; arrays have one entry a row of the path.

    Parameters
    ----------
    path
        the path.
    vote
        how the trees' predictions are combined to the forest's.
    n, n_effective
        number of examples of positive weight, and how many of equal weight they are worth; see `MeanInterval`.
    cost, cost_se
        (1) and its standard error, in the unit of the prices.
    error, error_se
        (2) and its standard error.
    increase, increase_se
        error less that of the unpruned forest, and its standard error, paired: (3).
    best
        the row of least error, of several the cheapest.
    above_best, above_best_se
        error less that of the row `best`, >= 0, and its standard error, paired.
    unpruned_cost, unpruned_error
        of the forest as it is.

    Notes
    -----
    Standard errors are NaN if there is a single example, or if fewer than two are left by weight. Standard errors below about
    1e-7 of their mean are lost in rounding and reported as 0.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, y_test
    >>> seen = pm.evaluate_path(path, X_test, y_test)
    >>> print(seen.to_frame().tail(2).round(3).to_string())
        lambda  cost  cost_se  error  error_se  increase  increase_se  above_best  above_best_se
    12   0.031   6.0      0.0  0.124     0.025     0.071        0.023       0.071          0.020
    13   0.037   0.0      0.0  0.231     0.033     0.178        0.039       0.178          0.038
    """

    path: NestedPrunings
    vote: Vote
    n: int
    n_effective: float
    cost: Floats
    cost_se: Floats
    error: Floats
    error_se: Floats
    increase: Floats
    increase_se: Floats
    best: int
    above_best: Floats
    above_best_se: Floats
    unpruned_cost: float
    unpruned_error: float

    def to_frame(self) -> pd.DataFrame:
        """One row a breakpoint."""
        import pandas as pd

        columns = ("cost", "cost_se", "error", "error_se", "increase", "increase_se", "above_best", "above_best_se")
        return pd.DataFrame({self.path.parameter_name: self.path.parameter, **{name: getattr(self, name) for name in columns}})

    @checked
    def error_ends(self, confidence: Share = 0.95) -> Floats:
        """The ends of the interval of each row's error, shape (2, K): exact of error rates, else Student's.

        Each holds for a row that was fixed beforehand.
        """
        shares = is_rate(self.path.problem.ensemble.measure)
        return ends_along(self.error, self.error_se, self.n_effective, confidence, shares=shares)

    def _card(self) -> Card:
        measure, rows = self.path.problem.ensemble.measure, spread(len(self.cost), SHOWN_ROWS)
        low, high = self.error_ends()
        ends = [f" ({rate(low[k], measure, 2).removesuffix(' %')} to {rate(high[k], measure, 2)})" for k in rows]
        errors = [rate(self.error[k], measure, 2) + end * self.is_told for k, end in zip(rows, ends, strict=True)]
        shown = tuple((f"{self.path.parameter[k]:.4g}", f"{self.cost[k]:.4g}", e) for k, e in zip(rows, errors, strict=True))
        unpruned = ("unpruned", f"{self.unpruned_cost:.4g}", rate(self.unpruned_error, measure, 2))
        return Card(
            f"PathEvaluation: {len(self.cost):,} prunings on {self.n:,} examples",
            (unpruned, *shown),
            (self.path.parameter_name, "cost per prediction", "error of the forest (95 % interval)"),
            (f"Least error: {rate(self.error[self.best], measure, 2)}, at a cost of {self.cost[self.best]:.4g}.", *self.warnings),
        )

    def __repr__(self) -> str:
        return (
            f"PathEvaluation({self.n:,} examples, {len(self.cost)} rows: least error {self.error[self.best]:.4g} "
            f"at cost {self.cost[self.best]:.4g}, unpruned {self.unpruned_error:.4g} at {self.unpruned_cost:.4g})"
        )


@checked
def evaluate_path(path: NestedPrunings, X: Any, y: Any, *, sample_weight: Column = None, vote: Vote = "mean") -> PathEvaluation:
    """Cost and error of every row of a path, at the prices of its problem: `evaluate` of all its forests in one sweep.

    Parameters
    ----------
    path
        the path.
    X, y
        examples and labels, preferably ones that played no part in training or pruning. Each label must be one that the forest
        was trained on. X may be a table that is larger than memory, a file or a `ChunkedTable`, with the same numbers, bit for
        bit; then y and `sample_weight` are names of columns, or arrays. Such a table is read three times.
    sample_weight
        w, shape (N,), >= 0: a row stands for that many, in cost as in error.
    vote
        ``"mean"``: what scikit-learn's forests predict, the class of largest mean fraction over the trees. ``"majority"``: the
        class that most trees predict; in a tie, the first. For regression only the mean is allowed.

    Returns
    -------
    PathEvaluation
        predictions are those of scikit-learn with one job, bit for bit, ties of the vote included. (With several jobs
        scikit-learn sums the trees in no fixed order, so a tie may be decided either way.) Costs and weighted means agree up to
        rounding.

    Raises
    ------
    InvalidInputError
        for labels, weights or columns that do not fit, and for any other vote.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, y_test
    >>> seen = pm.evaluate_path(path, X_test, y_test)
    >>> seen
    PathEvaluation(169 examples, 14 rows: least error 0.05325 at cost 15.03, unpruned 0.05325 at 16.45)
    >>> row = seen.best
    >>> print(f"row {row}: cost {seen.cost[row]:.2f}, error {seen.error[row]:.3f}")
    row 3: cost 15.03, error 0.053
    """
    with timed_step(LOG, "evaluation of the %d rows of a path", len(path)):
        rows, labels, weights = rows_in_turn(path.problem.ensemble, X, y, sample_weight)
        with interruption_as_error("while evaluating the path", "nothing was kept") if in_chunks(X) else nullcontext():
            return _sweep_path(path, rows, labels, weights, vote)


def _sweep_path(path: NestedPrunings, X: Any, y: Any, sample_weight: ArrayLike | None, vote: Vote) -> PathEvaluation:
    ensemble = path.problem.ensemble
    if vote == "majority" and ensemble.task == "regression":
        raise InvalidInputError("vote is 'majority'; give 'mean': the forest predicts numbers")
    check_columns(X, ensemble.names_to_check)
    table, X = X, X if hasattr(X, "shape") else np.asarray(X)
    X = X.tocsr() if hasattr(X, "tocsr") and ensemble.made is None else features_of(ensemble, X)
    weights = check_weights(sample_weight, n_examples(X), "sample_weight", table)
    truth = np.asarray(class_numbers(ensemble.classes, y, n_examples(X)), dtype=np.float64)
    if ensemble.loss.name == "poisson":
        check_counts(truth)
    counted = np.flatnonzero(weights > 0)
    both = np.stack([weights, np.zeros_like(weights)])
    both[1, counted] = squared_weights(weights[counted])
    sweep = _Sweep(path, X, truth, both, counted, _votes(ensemble, vote))
    costs, once, losses = sweep.run(0, with_costs=True)
    w, n = weights[counted], len(counted)
    paid, error = costs[:, 0] / w.sum(), losses[:, 0] / w.sum()
    best = int(np.flatnonzero(error[1:] <= error[1:].min() * (1 + SAME_POINT))[-1])
    to_best = sweep.run(best + 1, with_costs=False)[2]
    to_best[best + 1] = 0.0  # the best row minus itself: anything but 0 is rounding
    cost = paid + once
    return PathEvaluation(
        path,
        vote,
        n,
        effective_rows(w),
        cost[1:],
        _standard_error(costs, paid, w)[1:],
        error[1:],
        _standard_error(losses[:, :3], error, w)[1:],
        error[1:] - error[0],
        _standard_error(losses, error - error[0], w)[1:],
        best,
        error[1:] - error[best + 1],
        _standard_error(to_best, error - error[best + 1], w)[1:],
        float(cost[0]),
        float(error[0]),
    )


def _votes(ensemble: Ensemble, vote: Vote) -> Floats:
    """What each node adds to the vote: its values, or 1 for its class."""
    if vote == "mean":
        return ensemble.value
    ones = np.zeros_like(ensemble.value)
    ones[np.arange(len(ones)), ensemble.value.argmax(axis=1)] = 1.0
    return ones


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Walks over all examples, block by block."""

    path: NestedPrunings
    X: Any
    truth: Floats
    weights: Floats  # shape (2, N): w and q of `path_sweeps`
    counted: NDArray[np.int64]
    value: Floats

    def run(self, reference: int, *, with_costs: bool) -> tuple[Floats, Floats, Floats]:
        """Sums (3) of costs, prices paid once, and sums (2) of losses, at each position; for the numbers see `path_sweeps`."""
        p = self.path.problem
        ensemble, end, on_features = p.ensemble, ends_of(self.path), p.usage.on_features
        positions = len(self.path) + 1
        costs, losses, once = np.zeros((positions, 3)), np.zeros((positions, 5)), np.full(p.costs.n_items, -1)
        size = max(1, PARAMS.block_bytes // (8 * ensemble.n_trees + 8 * self.value.shape[1] + 16 * p.costs.n_items + 32))
        for first in range(0, len(self.counted), size):
            block = self.counted[first : first + size]
            weights = self.weights[:, block]
            usage = on_features.on(self.X[block], weights[0])
            walk_losses(ensemble, usage.routing, end, self.value, self.truth[block], weights, reference, losses)
            if with_costs:
                once = walk_costs(usage, end, weights, costs)
        ending = np.bincount(np.maximum(once, 0), weights=p.costs.price, minlength=positions + 1)
        paid_once = ending[::-1].cumsum()[::-1][1:]
        return costs[::-1].cumsum(axis=0)[::-1], paid_once, losses.cumsum(axis=0)


def _standard_error(sums: Floats, mean: Floats, weights: Floats) -> Floats:
    """(3), one a position, from sum q v and sum q v^2: the last two of the sums."""
    linear, square = sums[:, -2], sums[:, -1]
    if effective_rows(weights) < LEAST:
        return np.full(len(mean), np.nan)
    squares = float(squared_weights(weights).sum())
    spread = square - 2 * mean * linear + mean**2 * squares
    spread[spread < 1e-14 * np.maximum(square, mean**2 * squares)] = 0.0
    return np.asarray(np.sqrt(spread) / weights.sum())


@checked
def choose_row(evaluation: PathEvaluation, rule: Rule = "one_se") -> int:
    """The row of the path that a rule chooses.

    Parameters
    ----------
    evaluation
        of the path on labelled examples, see `evaluate_path`.
    rule
        ``"one_se"`` (default): `one_se`, for the error that is nearly the least. ``"knee"``: `knee`, for a large saving.

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
    """The cheapest row whose error is within one standard error of the least: (4).

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
    good = np.flatnonzero(evaluation.increase <= max_error_increase + SAME_POINT * evaluation.unpruned_error)
    return int(good[-1]) if good.size else None


@checked
def knee(evaluation: PathEvaluation) -> int:
    """The row at the corner (5) of the hull of costs and errors, where errors begin to rise steeply.

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
