"""LP1's relaxation of a budget: true mixtures and chains are accepted, forged ones refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations import InvalidInputError
from formulations.answers.limited_solution import LP1Relaxation
from formulations.instance.limit import Limit
from formulations.instance.papers import ERRORS, two_trees
from proofs_checks import check_relaxation
from solvers.within import best_breakpoint, solve_limits, solve_lp1
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.within.limits.cases import two_wards
from tests.solvers.within.test_engines import a_larger_problem, budgets_of


@pytest.mark.slow
@looped("seed", range(50))
def test_true_chains_hold(seed: int) -> None:
    """On instances with evaluation prices, items paid once, weights and ties, at breakpoints and between them."""
    problem = random_problem(seed) if seed < 40 else a_larger_problem(seed)
    for ties in ("smallest", "largest"):
        path = pm.pruning_path(problem, ties=ties)
        for budget in budgets_of(path):
            found = solve_lp1(problem, budget, path=path)
            verdict = check_relaxation(found, path)
            assert verdict, str(verdict)
            told = verdict.certificate
            assert told["error"] == pytest.approx(told["relaxation"] + told["bound"])
            assert told["components"] == found.chain.n_components


def tied() -> tuple[LP1Relaxation, pm.PruningPath]:
    """The papers' trees with node 3 erring once: two components of cost 1 between 0 and 2, at lambda* = 3/8."""
    path = pm.pruning_path(two_trees(dict(ERRORS) | {3: 1}))
    return solve_lp1(path.problem, 1.5, path=path), path


def test_the_papers_trees() -> None:
    """B = 1.5 buys one of the two; half a unit is left, worth 3/16."""
    found, path = tied()
    told = check_relaxation(found, path).certificate
    assert told == {
        "relaxation": 7 / 16,
        "lambda": 3 / 8,
        "cost": 1,
        "error": 5 / 8,
        "bound": 3 / 16,
        "largest bound": 3 / 8,
        "components": 2,
    }


def chained(found: LP1Relaxation, **changes: Any) -> LP1Relaxation:
    """With another chain."""
    assert found.chain is not None
    return replace(found, chain=replace(found.chain, **changes))


def swapped(found: LP1Relaxation) -> LP1Relaxation:
    """The top split of a component goes over to the other one, and the cost is what it is then."""
    step, cost = found.chain.step.copy(), found.chain.cost
    step[int(np.flatnonzero(step == 2)[0])] = 1
    middle = pm.Pruning(found.cheaper.problem, step <= 1)
    return chained(found, step=step, cost=(cost[0], middle.exact_cost, cost[2]))


def joined(found: LP1Relaxation) -> LP1Relaxation:
    """Both components in one step: true, but not indivisible."""
    step, cost = found.chain.step, found.chain.cost
    return chained(found, step=np.where(step == 2, 1, step), cost=(cost[0], cost[2]), row=0)


def childless(found: LP1Relaxation) -> LP1Relaxation:
    """A parent joins the chain after its child."""
    parent, step = found.cheaper.problem.ensemble.parent, found.chain.step.copy()
    child = next(h for h in range(parent.size) if parent[h] >= 0 and step[h] <= 2)
    step[parent[child]], step[child] = 2, 1
    return chained(found, step=step)


def stepped(change: Callable[[np.ndarray], Any], **changes: Any) -> Callable[[LP1Relaxation], LP1Relaxation]:
    """With other steps."""
    return lambda f: chained(f, step=change(f.chain.step), **changes)


def mixed(*weights: Fraction) -> Callable[[LP1Relaxation], LP1Relaxation]:
    """With other weights, and the value that they have."""

    def forge(found: LP1Relaxation) -> LP1Relaxation:
        mixture = tuple((pruning, weight) for (pruning, _), weight in zip(found.mixture, weights, strict=True))
        return replace(found, mixture=mixture, value=sum(weight * pruning.exact_error for pruning, weight in mixture))

    return forge


FORGED = {
    "another split": (swapped, "pruning 1 of the chain is not optimal at lambda"),
    "joined": (joined, "the edge has 2 components, the chain 1"),
    "not closed": (childless, "is in the chain before its parent"),
    "a leaf": (stepped(np.zeros_like), "is a leaf"),
    "empty step": (
        lambda f: chained(f, step=np.where(f.chain.step > 1, f.chain.step + 1, f.chain.step), cost=(*f.chain.cost, Fraction(2))),
        "adds nothing",
    ),
    "too few numbers": (stepped(lambda s: s[1:]), "no array of"),
    "no numbers": (stepped(lambda s: s.astype(float)), "no array of"),
    "a cost": (lambda f: chained(f, cost=(0, Fraction(1, 2), 2)), "pruning 1 of the chain costs 1.0, not 0.5"),
    "too far": (lambda f: chained(f, row=2), "pruning 2 costs 2.0, more than the budget 1.5"),
    "not far enough": (lambda f: chained(f, row=0), "pruning 1 of the chain fits the budget 1.5 too"),
    "beyond the chain": (lambda f: chained(f, row=3), "there is no pruning 3 in a chain of 3"),
    "before the chain": (lambda f: chained(f, row=-1), "there is no pruning -1 in a chain of 3"),
    "only its end": (
        lambda f: chained(f, step=np.where(f.chain.step == 2, 3, f.chain.step), cost=f.chain.cost[:2]),
        "the chain's dearer end costs 1.0",
    ),
    "lambda": (lambda f: replace(f, multipliers=(Fraction(1, 4),)), r"lambda\* is 0.375, not 0.25"),
    "value": (lambda f: replace(f, value=Fraction(1, 4)), "value is 0.4375, not 0.25"),
    "a larger budget": (lambda f: replace(f, budget=Fraction(7, 4)), "value is 0.34375, not 0.4375"),
    "a smaller budget": (lambda f: replace(f, budget=Fraction(5, 4)), "mixture costs 1.5, more than the budget 1.25"),
    "weights": (mixed(Fraction(1, 2), Fraction(1, 2)), "value is 0.4375, not 0.625"),
    "weights beyond 1": (mixed(Fraction(3, 4), Fraction(1, 2)), "do not sum to 1"),
    "a weight below 0": (mixed(Fraction(5, 4), Fraction(-1, 4)), "are not >= 0"),
    "no mixture": (lambda f: replace(f, mixture=()), "are not >= 0 or do not sum to 1"),
    "another end": (lambda f: replace(f, mixture=((f.cheaper, Fraction(1)),)), "value is 1.0, not 0.4375"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_chains_are_refuted(case: str) -> None:
    """Sets that are no prunings or not optimal, divisible steps, wrong costs, rows, ends, budgets, weights and values."""
    found, path = tied()
    forge, message = FORGED[case]
    verdict = check_relaxation(forge(found), path)
    assert verdict.holds is False
    assert re.search(message, verdict.certificate), verdict.certificate


def test_what_is_not_proven_is_undecided() -> None:
    """A path without or with a wrong certificate."""
    found, path = tied()
    assert check_relaxation(found, replace(path, certificate=None)).holds is None
    assert path.certificate is not None
    wrong = replace(path, certificate=replace(path.certificate, dual=path.certificate.dual + 1))
    verdict = check_relaxation(found, wrong)
    assert verdict.holds is None
    assert "the path is not proven" in verdict.certificate


@looped("seed", range(20))
def test_relaxations_of_answers_hold(seed: int) -> None:
    """Without a chain the mixture is checked alone: what `solve` says of a budget."""
    problem = random_problem(seed)
    path = pm.pruning_path(problem)
    for budget in budgets_of(path):
        verdict = check_relaxation(best_breakpoint(problem, budget, path=path).relaxation, path)
        assert verdict, str(verdict)
        assert "components" not in verdict.certificate


def test_the_relaxation_of_several_limits_is_refused() -> None:
    """A path says nothing of it."""
    problem = two_wards()
    found = solve_limits(problem, [Limit(5, rows=[0, 1], name="left"), Limit(1, rows=[2, 3], name="right")])
    with pytest.raises(InvalidInputError, match="not that of a budget"):
        check_relaxation(found.relaxation, pm.pruning_path(problem))
