"""What a cascade is asked for: a budget, a price of cost, an error that is promised, a cap; and the rows that test a promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.arguments import NotNegative, Share, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.shown import is_rate
from prunemodels.cascades.exit_path import check_learning
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import Sample, labelled
from prunemodels.points import Rule
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.statements.groups import group_numbers, part_of
from prunemodels.statements.mean_bounds import unequal
from prunemodels.statements.promises import check_enough, check_max_error


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
