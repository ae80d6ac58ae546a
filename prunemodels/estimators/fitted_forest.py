"""Prune an already fitted forest, or the one at the end of a pipeline, in one call, on held-out examples.

A pruning is chosen by limits, a lambda, an increase of the error, or a rule: a `Goal`, for `prune_forest` and the estimators. A
budget is one limit, of the mean cost.

A pruning may also be the cheapest of a path whose forest errs at most so much in the population, with a stated confidence. Some
rows, the choosing rows, determine the prunings, and other rows, the certifying rows, test them from the dearest on: see
`prunemodels.statements.promises`. The errors that are tested are those of the forest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seconds, Share, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Budget, Limit
from formulations.instance.problem import PruningProblem
from formulations.shown import spread
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.evaluation.evaluate import PARAMS
from prunemodels.evaluation.held_out import on_other_rows
from prunemodels.evaluation.path import at_most, choose_row, evaluate_path
from prunemodels.evaluation.vote import cut_of_forest, with_cut
from prunemodels.models.costs import Costs
from prunemodels.models.forests.error_samples import Errors, Given
from prunemodels.models.forests.problems import problem_of, pruned_copy
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.labelled_samples import forest_losses, group_numbers, part_of
from prunemodels.points import Rule
from prunemodels.statements.mean_bounds import BoundMethod, over_groups, repeated, unequal
from prunemodels.statements.promises import Draws, Promise, check_enough, check_max_error, last_kept
from solvers import pruning_path
from solvers.within.solve import Method, solve_limits


def pruning_for_error(
    problem: PruningProblem,
    forest: ReadForest,
    y: Any,
    max_error: float,
    confidence: float,
    X_certify: Any = None,
    y_certify: Any = None,
    groups: NDArray[np.int64] | None = None,
) -> tuple[Pruning, Promise]:
    """The pruning, and how its error was tested.

    `y`: labels of all rows of ``problem.X``. One half of the cost sample, drawn at random, certifies, unless `X_certify` and
    `y_certify` are given. A loss that has no bound counts at most as the largest that the unpruned forest, or its single leaves,
    have on the choosing rows. `groups`, of the rows of ``problem.X``: no group is in both halves, and what is promised is the
    mean over groups of the mean error in each.
    """
    loss, rng, usage = problem.ensemble.loss, np.random.default_rng(0), problem.usage
    shares = loss.name == "zero_one"
    check_max_error(max_error, loss.measure)
    if unequal(usage.weights) is not None:
        raise InvalidInputError(
            "sample_weight is given with max_error, which is promised for examples of equal weight; leave it out, or draw rows "
            "by their weights"
        )
    # choosing rows and certifying rows, which have none in common
    labels, X = np.asarray(y), problem.X if hasattr(problem.X, "shape") else np.asarray(problem.X)
    choosing, chosen_y, name = problem, labels[usage.rows], "X_certify"
    if X_certify is None:
        both = _halves(usage.n_rows, rng) if groups is None else part_of(usage.n_rows, 0.5, groups[usage.rows], 0)
        choose, certify = (usage.rows[part] for part in both)
        groups = None if groups is None else repeated(groups[certify])
        choosing, chosen_y, name = on_other_rows(problem, _safe_indexing(X, choose)), labels[choose], "a half of X_valid"
        X_certify, y_certify = _safe_indexing(X, certify), labels[certify]
    # in random order, as the bounds need them; groups are drawn as one
    n, unit = (len(np.asarray(y_certify)), "examples") if groups is None else (np.unique(groups).size, "groups")
    order = rng.permutation(n)
    if shares:
        check_enough(n, max_error, confidence, name)
    path = pruning_path(choosing, progress=None)

    def losses(pruning: Pruning, X: Any, y: Any) -> NDArray[np.float64]:
        return forest_losses(pruned_copy(forest, pruning), X, y, loss)

    # a bound for the loss, from the choosing rows alone
    largest = loss.largest
    if not math.isfinite(largest):
        ends = Pruning.unpruned(choosing), Pruning.all_roots(choosing)
        rows = _safe_indexing(choosing.X, choosing.usage.rows)
        largest = max(float(losses(end, rows, chosen_y).max()) for end in ends)

    def candidates() -> Iterator[tuple[Pruning, Draws]]:
        for k in spread(len(path), PARAMS.promised_rows):
            lost = np.minimum(losses(path[k], X_certify, y_certify), largest)
            if groups is not None:
                (lost,), _ = over_groups([lost], np.ones(len(lost)), groups)
            yield path[k], Draws(lost[order], largest)

    # the cheapest pruning before the first that is not certified
    bound: BoundMethod = "exact" if shares and groups is None else "betting"
    kept = last_kept(candidates(), max_error, confidence, bound)
    if kept.answer is None:
        raise InvalidInputError(
            f"max_error is {max_error:g}, and by {n:,} {unit} no less than {kept.bound:.4g} can be promised with confidence "
            f"{confidence:g}, by the dearest pruning; give at least that, more examples, or less confidence"
        )
    promise = Promise(float(max_error), confidence, kept.mean, kept.bound, n, kept.tested, unit)
    return Pruning(problem, kept.answer.kept), promise


def _halves(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the choosing and of the certifying rows among n."""
    certify = round(n / 2)
    if min(certify, n - certify) < 2:
        raise InvalidInputError(f"{n} rows leave fewer than 2 rows in one half; give more rows, or X_certify")
    shuffled = rng.permutation(n)
    return np.sort(shuffled[certify:]), np.sort(shuffled[:certify])


@overload
def prune_forest(
    forest: Any, X_valid: Any, y_valid: Any = None, *, budget: Budget | None = None, **options: Any
) -> PrunedForest: ...
@overload
def prune_forest(
    forest: Any, X_valid: Any, y_valid: Any = None, *, budget: Sequence[Budget], **options: Any
) -> tuple[PrunedForest, ...]: ...
@checked  # type: ignore[misc]  # the options above are those below, but for `budget`
def prune_forest(
    forest: Any,
    X_valid: Any,
    y_valid: Any = None,
    *,
    costs: Costs = 1,
    budget: Budget | Sequence[Budget] | None = None,
    limits: Sequence[Limit] | None = None,
    lam: float | Fraction | None = None,
    max_error_increase: float | None = None,
    max_error: float | None = None,
    confidence: Share = 0.95,
    choose: Rule = "one_se",
    errors: Errors | Literal["in-bag", "validation"] = "in-bag",
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    method: Method = "best",
    time_limit: Seconds | None = None,
    misclassification_costs: ArrayLike | None = None,
    X_certify: Any = None,
    y_certify: Any = None,
    groups: Any = None,
    cut_vote: bool = False,
) -> PrunedForest | tuple[PrunedForest, ...]:
    """Prune a fitted forest: within a budget or other limits, at a lambda, up to an increase of the error, or by a rule.

    Of a fitted pipeline the forest at its end is pruned, and the result's ``estimator`` is a pipeline again. A split on a column
    that the pipeline made, such as ``city=Rome``, needs all raw columns that it is made from. So an example pays for a raw column
    once, as soon as a kept split on its way needs it, whatever the pipeline makes of it.

    On a terminal a bar on stderr shows how far it is, where it takes longer than three seconds.

    Parameters
    ----------
    forest
        a fitted forest, see `problem_from_forest`, or a pipeline that ends with one. It is not changed.
    X_valid
        the cost sample: examples like those to be predicted, preferably ones that the forest was not trained on; raw rows for a
        pipeline.
    y_valid
        their labels; needed if no `budget`, `limits` or `lam` is given, and for ``errors="validation"``.
    costs, evaluation_cost
        prices, see `problem_from_forest`; default: 1 for each feature. A pipeline's prices are those of its raw columns, and an
        ``evaluation_cost`` for each feature is one for each column that the forest reads.
    budget
        the largest mean cost of the examples of `X_valid`; the pruning's exact cost never exceeds it. Of a list of budgets the
        answer is a tuple, all of one path.
    limits
        any number of `Limit`: other currencies, shares of examples, groups, every example, the size; then no budget.
    lam
        error per unit of cost.
    max_error_increase
        >= 0: take the cheapest pruning of the path whose forest's error on the validation data is at most the unpruned forest's
        plus this, in units of the error (0.01: one percentage point of the error rate).
    max_error, confidence
        the cheapest pruning of the path whose forest errs at most so much on new examples, with this confidence, see
        `prunemodels.statements.promises`. One half of X_valid, drawn at random, chooses the prunings, the other half tests them,
        from the dearest on. The result's ``promise`` says how.
    choose
        the rule if none of the five is given: ``"one_se"`` or ``"knee"``, see `prunemodels.evaluation.path`.
    errors
        where errors are measured: ``"in-bag"``, ``"validation"`` (on `X_valid` and `y_valid`), or an error sample. Default:
        in-bag. A rule is too optimistic if it chooses on the same data on which the errors were measured.
    sample_weight
        shape (N,), >= 0: a validation example stands for that many, in cost as in error.
    method, time_limit
        as in `prunemodels.solve`; for a budget and limits only.
    misclassification_costs
        C[true class, predicted class] in the order of ``forest.classes_``, see `problem_from_forest`. All errors, also those of
        ``evaluate``, are then mean misclassification costs.
    X_certify, y_certify
        examples that test `max_error` in place of a half of X_valid.
    groups
        shape (N,): the group of each validation example, such as the patient of a visit. Intervals count groups; with
        `max_error` no group is in both halves.
    cut_vote
        two classes: predict the second one from another fraction than 1/2 on, chosen by `y_valid`, where that errs less (or costs
        less, with `misclassification_costs`) on examples that it was not chosen by; see `prunemodels.evaluation.vote`. The
        result's ``estimator`` is then scikit-learn's ``FixedThresholdClassifier``, and its ``cut`` the fraction.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        each message says which argument has which value, and what to do. A pipeline's step of which it is not known what its
        columns are made from states that in an attribute, an entry for each column that it writes:
        ``pipeline["bmi"].made_from_ = {"bmi": ["height", "weight"]}``.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_test, y_valid
    >>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
    >>> for model in (forest, result.estimator):
    ...     seen = pm.evaluate(model, X_test, y_test, costs=costs)
    ...     print(f"cost {seen.cost:.2f}, error {seen.error:.3f}")
    ...
    cost 16.45, error 0.053
    cost 10.00, error 0.077
    """
    several = isinstance(budget, Sequence) and not isinstance(budget, str)
    budgets: Any = budget if several else [budget]
    if not len(budgets):
        raise InvalidInputError("budget is an empty list; give at least one")
    if cut_vote and (y_valid is None or max_error is not None):
        wrong = "y_valid is missing, by which" if y_valid is None else "max_error is given, which tests the vote as it is, and"
        raise InvalidInputError(f"cut_vote is True: {wrong} the vote is cut; leave one of them out, or give y_valid")
    goals = [Goal.of(one, limits, lam, max_error_increase, choose, method, time_limit, max_error) for one in budgets]
    goal = goals[0]
    on_validation = isinstance(errors, str) and errors == "validation"
    if y_valid is None and (goal.needs_labels or on_validation):
        why = "errors='validation'" if on_validation else "without budget and lam the choice"
        raise InvalidInputError(f"y_valid is missing: {why} needs the labels of X_valid")
    if on_validation:
        errors = Given(X_valid, y_valid, sample_weight)
    settings: dict[str, Any] = {"costs": costs, "errors": errors, "sample_weight": sample_weight}
    settings["evaluation_cost"] = evaluation_cost
    read = ReadForest.of(forest).under_costs(misclassification_costs)
    problem = problem_of(read, X_valid, **settings)
    numbers = None if groups is None else group_numbers(groups, X_valid)
    if max_error is not None:
        if on_validation and X_certify is None:
            raise InvalidInputError("errors is 'validation', whose labels max_error would test; give X_certify and y_certify too")
        pruning, promise = pruning_for_error(problem, read, y_valid, max_error, confidence, X_certify, y_certify, numbers)
        pruned = pruned_copy(read, pruning)
        result = PrunedForest(pruned, pruning, None, None, None, None, forest, y_valid, held_out=False, promise=promise)
        return replace(result, groups=numbers)
    if goal.limits and not several:
        # without the path, only the part of it that is needed is computed
        solution = solve_limits(problem, goal.limits, method=method, time_limit=time_limit, progress=None)
        pruned = pruned_copy(read, solution.pruning)
        result = PrunedForest(pruned, solution.pruning, None, None, solution, None, forest, y_valid, not on_validation)
        return _finished(result, y_valid, numbers, cut_vote=cut_vote)
    valid = X_valid, y_valid, sample_weight
    path = pruning_path(problem, progress=None)
    found = [prune_by(one, read, path, *valid, held_out=not on_validation) for one in goals]
    results = tuple(_finished(one, y_valid, numbers, cut_vote=cut_vote) for one in found)
    return results if several else results[0]


def _finished(result: PrunedForest, y: Any, groups: Any, *, cut_vote: bool) -> PrunedForest:
    """The result with the groups of its examples, and with its vote cut anew where that is asked for and helps."""
    if not cut_vote:
        return replace(result, groups=groups)
    cut = cut_of_forest(result.problem, result.estimator, y, groups)
    return replace(result, groups=groups, cut=cut, estimator=with_cut(result.estimator, cut))


@dataclass(frozen=True)
class Goal:
    """At most one of `limits`, `lam` and `max_error_increase`; without one, the rule chooses."""

    limits: tuple[Limit, ...]  # what the pruning keeps to on the cost sample; empty: none were given.
    lam: float | Fraction | None  # error per unit of cost.
    max_error_increase: float | None  # how much larger than the unpruned forest's the held-out error may be.
    rule: Rule  # the rule that chooses if none of the three is given.
    method: Method  # of `prunemodels.solve` for limits.
    time_limit: float | None  # seconds: of the search within limits.

    @classmethod
    @checked
    def of(
        cls,
        budget: Budget | None,
        limits: Sequence[Limit] | None,
        lam: float | Fraction | None,
        max_error_increase: float | None,
        choose: Rule,
        method: Method,
        time_limit: Seconds | None,
        max_error: float | None = None,
    ) -> Self:
        """Check all arguments before any work, and make the goal."""
        goals = {"budget": budget, "limits": limits, "lam": lam, "max_error_increase": max_error_increase}
        goals |= {"max_error": max_error}
        given = [name for name, goal in goals.items() if goal is not None]
        if len(given) > 1:
            raise InvalidInputError(f"{' and '.join(given)} are both given; give one of {', '.join(goals)}, or none")
        for name in given:
            if name != "limits" and not (name == "lam" and goals[name] == float("inf")):
                exact(goals[name], name)
        if limits is not None and not limits:
            raise InvalidInputError("limits is empty; give at least one, as [pm.Limit(10)]")
        within = tuple(limits or ()) if budget is None else (Limit(budget),)
        return cls(within, lam, max_error_increase, choose, method, time_limit)

    @property
    def needs_labels(self) -> bool:
        """Whether the choice uses held-out errors."""
        return not self.limits and self.lam is None


def prune_by(
    goal: Goal, forest: ReadForest, path: PruningPath, X: Any, y: Any, sample_weight: ArrayLike | None, *, held_out: bool
) -> PrunedForest:
    """Choose a pruning from a path and apply it; `held_out` says whether the labels y had no part in the path's errors.

    If no row of the path has an error within `max_error_increase`, the answer is the unpruned forest.
    """
    row, solution, evaluation = None, None, None
    if goal.limits:
        solution = solve_limits(path.problem, goal.limits, method=goal.method, time_limit=goal.time_limit, path=path)
    elif goal.lam is not None:
        row = path.row_at_lam(goal.lam)
    else:
        evaluation, limit = evaluate_path(path, X, y, sample_weight=sample_weight), goal.max_error_increase
        row = choose_row(evaluation, goal.rule) if limit is None else at_most(evaluation, float(limit))
    pruning = solution.pruning if solution else Pruning.unpruned(path.problem) if row is None else path[row]
    pruned = pruned_copy(forest, pruning)
    return PrunedForest(pruned, pruning, path, row, solution, evaluation, forest.model, y, held_out and evaluation is None)
