"""What a cascade is asked for: a budget, a price of cost, an error that is promised, a cap; and the choice of a policy.

Of the policies of several paths one is chosen for a budget, a price of cost, an error that is promised, or by a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import NotNegative, Share, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.shown import is_rate
from prunemodels.cascades.exit_path import Choice, ExitPath, check_learning
from prunemodels.cascades.learning import ExitSample
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import Sample, class_numbers, labelled
from prunemodels.points import Rule
from prunemodels.stages.judging import lost
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.statements.groups import group_numbers, over_groups, part_of, repeated
from prunemodels.statements.mean_bounds import BoundMethod, unequal
from prunemodels.statements.promises import Draws, Promise, check_enough, check_max_error, last_kept


def check_options(cascade: Any) -> None:
    """Refuse a budget together with a lam, and options that `learn_exit_path` would refuse, before any work."""
    check_learning(cascade.doubt, cascade.n_levels, cascade._task)
    _check_goal(cascade.budget, cascade.lam, cascade.max_error, cascade.choose, cascade.confidence, cascade.max_cost)
    if cascade.max_error is not None:
        check_max_error(cascade.max_error, cascade._measure)


def check_affordable(limit: Price | None, cheapest: float, what: str, name: str = "budget") -> None:
    """Refuse a limit within which nothing can be bought, before any work.

    `cheapest`: the price of the cheapest way to know anything.
    """
    if limit is not None and exact(limit, name) < exact(cheapest, "cheapest") * (1 - Fraction(STAGE_PARAMS.rounding)):
        raise InvalidInputError(f"{name} is {limit}, and {what} costs {cheapest:g}; give at least that")


def check_pair(X: Any, y: Any, name: str) -> None:
    """Refuse examples without labels, and labels without examples."""
    if (X is None) != (y is None):
        missing, given = ("X", "y") if X is None else ("y", "X")
        raise InvalidInputError(f"{missing}_{name} is missing: {given}_{name} is given; give both, or none")


@checking
def _check_goal(
    budget: Price | None,
    lam: NotNegative | None,
    max_error: float | None,
    choose: Rule,
    confidence: Share,
    max_cost: Price | None,
) -> None:
    goals = {"budget": budget, "lam": lam, "max_error": max_error}
    given = [f"{name} is {goal}" for name, goal in goals.items() if goal is not None]
    if len(given) > 1:
        raise InvalidInputError(f"{' and '.join(given)}; give one of them, or none")
    for limit, name in ((budget, "budget"), (max_cost, "max_cost")):
        if limit is not None:
            exact(limit, name)


def set_apart(
    cascade: Any, sample: Sample, X_certify: Any, y_certify: Any, groups_certify: Any, rng: np.random.RandomState
) -> tuple[Sample, Sample | None]:
    """The examples to learn from, and those that test `max_error`, in random order; None without it."""
    if cascade.max_error is None:
        if X_certify is not None:
            raise InvalidInputError("X_certify is given without max_error, which it tests; give max_error, or leave it out")
        return sample, None
    if sample.weight is not None and unequal(sample.of_weight().weight) is not None:
        raise InvalidInputError(
            "sample_weight is given with max_error, which is promised for examples of equal weight; leave it out, or draw "
            "rows by their weights"
        )
    if X_certify is not None:
        apart, where = labelled(cascade, cascade._as_trained(X_certify), y_certify, None, "certify"), "X_certify"
        apart = replace(apart, group=group_numbers(groups_certify, X_certify, "groups_certify"))
        apart = apart.take(rng.permutation(len(apart)))
    else:
        # a group goes to one side as a whole
        count = min(round(PARAMS.promised_share * len(sample)), PARAMS.most_held_out)
        if sample.group is None:
            order = rng.permutation(len(sample))
            rest, tested = np.sort(order[count:]), order[:count]
        else:
            seed = int(rng.randint(np.iinfo(np.int32).max))
            rest, tested = part_of(len(sample), count / len(sample), sample.group, seed)
        sample, apart = sample.take(rest), sample.take(rng.permutation(tested) if sample.group is not None else tested)
        where = f"the part of X that is set apart, {PARAMS.promised_share:.0%} of it,"
    if is_rate(cascade._measure):
        there = len(apart) if apart.group is None else np.unique(apart.group).size
        check_enough(there, cascade.max_error, cascade.confidence, where)
    return sample, apart


Chosen = tuple[ExitPath, Choice]
"""A path, and one of its policies."""


def chosen(paths: Sequence[ExitPath], budget: Price | None, lam: float | None, choose: Rule) -> Chosen:
    """The path and its policy for a budget, a lam, or by a rule: the best one on rows that it was not learned from."""
    if budget is not None:
        able = [path for path in paths if path.keeps(budget)] or paths[:1]
        found = [(path, path.within(budget)) for path in able]
        return min(found, key=lambda pair: pair[1].judged)
    if lam is not None:
        found = [(path, path.choice(path.row_at_lam(lam))) for path in paths]
        return min(found, key=lambda pair: pair[1].judged + lam * pair[1].held_out_cost)
    costs = np.linspace(min(path.cost[-1] for path in paths), max(path.cost[0] for path in paths), 50)
    path = min(paths, key=lambda path: path.cross_fitted.area(costs))
    return path, path.choice(path.row_by(choose))


def from_dearest(paths: Sequence[ExitPath]) -> Iterator[Chosen]:
    """Policies of falling cost: those for rising prices of cost, and where two are far apart, those for budgets between."""
    step = max(path.cost[0] for path in paths) / PARAMS.promised_steps
    last: float | None = None
    for lam in np.unique(np.concatenate([path.cross_fitted.lam for path in paths])).tolist():
        found = chosen(paths, None, lam, "one_se")
        if last is None:
            last = found[1].cost
            yield found
            continue
        apart = last - found[1].cost
        count = int(apart / step * (1 + STAGE_PARAMS.rounding)) if step > 0 else 0
        budgets = [last - apart * k / (count + 1) for k in range(1, count + 1)]
        for policy in (*(chosen(paths, budget, None, "one_se") for budget in budgets), found):
            if policy[1].cost < last * (1 - STAGE_PARAMS.rounding):
                last = policy[1].cost
                yield policy


def promised(
    paths: Sequence[ExitPath],
    rows: Any,
    y: Any,
    max_error: float,
    confidence: float,
    groups: NDArray[np.int64] | None = None,
) -> tuple[ExitPath, Choice, Promise]:
    """The cheapest policy of `from_dearest` whose error is promised, see `prunemodels.statements.promises`.

    `rows`, `y`: examples in random order that neither stages nor policies were learned from. What has no largest loss counts at
    most as the largest of any stage on the rows that the policies were learned from, since a mean without a bound has no test.
    `groups`: shape (N,), of the rows: what is promised is then the mean over groups of the mean loss in each.
    """
    truth = class_numbers(paths[0].stages.classes, y, len(y), "y")
    by, groups = paths[0].by, repeated(groups)
    shares = by.name == "zero_one"
    method: BoundMethod = "exact" if shares and groups is None else "betting"
    n = len(truth) if groups is None else np.unique(groups).size
    if shares:
        check_enough(n, max_error, confidence, "X")
    seen = {id(path): sample_on(path, rows, truth) for path in paths}

    def candidates() -> Iterator[tuple[Chosen, Draws]]:
        for path, choice in from_dearest(paths):
            largest = float(path.sample.loss.max()) if np.isinf(by.largest) else by.largest
            losses = np.minimum(seen[id(path)].losses(choice.policy), largest)
            if groups is not None:
                (losses,), _ = over_groups([losses], np.ones(len(losses)), groups)
            yield (path, choice), Draws(losses, largest)

    kept = last_kept(candidates(), max_error, confidence, method)
    if kept.answer is None:
        tested = f"{n:,} {'examples' if groups is None else 'groups'}"
        raise InvalidInputError(
            f"max_error is {max_error:g}, and by {tested} no less than {kept.bound:.4g} can be promised with confidence "
            f"{confidence:g}, by the dearest policy; give at least that, more examples, or less confidence"
        )
    return *kept.answer, Promise(float(max_error), confidence, kept.mean, kept.bound, n, kept.tested)


def sample_on(path: ExitPath, rows: Any, truth: Any) -> ExitSample:
    """Other rows at the stages of a path, with the doubts of its policies."""
    _, table, doubt = path.on(rows)
    loss = lost(table.value, truth, path.by)
    return ExitSample(doubt, table.cost, table.once, loss, loss, np.ones(len(truth)), np.ones(len(truth), dtype=bool))
