"""The chain behind LP1's rounding theorem is checked from trees, rows, prices and a proven path; forged chains are refuted."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import prunemodels as pm
from formulations.answers.lp1_solution import LP1Solution
from formulations.instance.papers import ERRORS, two_trees
from proofs_checks import check_lp1_solution
from solvers.budgets import solve_lp1
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.budgets.test_budget_engines import a_larger_problem, budgets_of


@looped("seed", range(50))
def test_true_chains_hold(seed: int) -> None:
    """On instances with evaluation prices, items paid once, weights and ties, at breakpoints and between them."""
    problem = random_problem(seed) if seed < 40 else a_larger_problem(seed)
    for ties in ("smallest", "largest"):
        path = pm.pruning_path(problem, ties=ties)
        for budget in budgets_of(path):
            found = solve_lp1(problem, budget, path=path)
            verdict = check_lp1_solution(found, path)
            assert verdict, str(verdict)
            told = verdict.certificate
            assert told["error"] == pytest.approx(told["relaxation"] + told["bound"])
            assert told["components"] == found.n_components


def tied() -> tuple[LP1Solution, pm.PruningPath]:
    """The papers' trees with node 3 erring once: two components of cost 1 between 0 and 2, at lambda* = 3/8."""
    path = pm.pruning_path(two_trees(dict(ERRORS) | {3: 1}))
    return solve_lp1(path.problem, 1.5, path=path), path


def test_the_papers_trees() -> None:
    """B = 1.5 buys one of the two; half a unit is left, worth 3/16."""
    found, path = tied()
    told = check_lp1_solution(found, path).certificate
    assert told == {
        "relaxation": 7 / 16,
        "lambda": 3 / 8,
        "cost": 1,
        "error": 5 / 8,
        "bound": 3 / 16,
        "largest bound": 3 / 8,
        "components": 2,
    }


def swapped(found: LP1Solution) -> LP1Solution:
    """The top split of a component goes over to the other one, and the cost is what it is then."""
    step = found.step.copy()
    step[int(np.flatnonzero(step == 2)[0])] = 1
    middle = pm.Pruning(found.relaxation.cheaper.problem, step <= 1)
    return replace(found, step=step, cost=(found.cost[0], middle.exact_cost, found.cost[2]))


def joined(found: LP1Solution) -> LP1Solution:
    """Both components in one step: true, but not indivisible."""
    return replace(found, step=np.where(found.step == 2, 1, found.step), cost=(found.cost[0], found.cost[2]), row=0)


def childless(found: LP1Solution) -> LP1Solution:
    """A parent joins the chain after its child."""
    parent = found.relaxation.cheaper.problem.ensemble.parent
    child = next(h for h in range(parent.size) if parent[h] >= 0 and found.step[h] <= 2)
    step = found.step.copy()
    step[parent[child]], step[child] = 2, 1
    return replace(found, step=step)


FORGED = {
    "another split": (swapped, "pruning 1 of the chain is not optimal at lambda"),
    "joined": (joined, "the edge has 2 components, the chain 1"),
    "not closed": (childless, "is in the chain before its parent"),
    "a leaf": (lambda f: replace(f, step=np.zeros_like(f.step)), "is a leaf"),
    "empty step": (
        lambda f: replace(f, step=np.where(f.step > 1, f.step + 1, f.step), cost=(*f.cost, f.cost[-1])),
        "adds nothing",
    ),
    "too few numbers": (lambda f: replace(f, step=f.step[1:]), "no array of"),
    "no numbers": (lambda f: replace(f, step=f.step.astype(float)), "no array of"),
    "a cost": (lambda f: replace(f, cost=(0, Fraction(1, 2), 2)), "pruning 1 of the chain costs 1.0, not 0.5"),
    "too far": (lambda f: replace(f, row=2), "pruning 2 costs 2.0, more than the budget 1.5"),
    "not far enough": (lambda f: replace(f, row=0), "pruning 1 of the chain fits the budget 1.5 too"),
    "beyond the chain": (lambda f: replace(f, row=3), "there is no pruning 3 in a chain of 3"),
    "before the chain": (lambda f: replace(f, row=-1), "there is no pruning -1 in a chain of 3"),
    "only its end": (
        lambda f: replace(f, step=np.where(f.step == 2, 3, f.step), cost=f.cost[:2]),
        "the chain's dearer end costs 1.0",
    ),
    "lambda": (lambda f: replace(f, relaxation=replace(f.relaxation, lam=Fraction(1, 4))), r"lambda\* is 0.375, not 0.25"),
    "value": (lambda f: replace(f, relaxation=replace(f.relaxation, value=Fraction(1, 4))), "value is 0.4375, not 0.25"),
    "budget": (lambda f: replace(f, relaxation=replace(f.relaxation, budget=Fraction(5, 4))), "value is 0.53125, not 0.4375"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_chains_are_refuted(case: str) -> None:
    """Sets that are no prunings or not optimal, divisible steps, wrong costs, rows, ends, budgets and relaxations."""
    found, path = tied()
    forge, message = FORGED[case]
    verdict = check_lp1_solution(forge(found), path)  # type: ignore[no-untyped-call]
    assert verdict.holds is False
    assert re.search(message, verdict.certificate), verdict.certificate


def test_what_is_not_proven_is_undecided() -> None:
    """A path without or with a wrong certificate, and a rounded instance."""
    found, path = tied()
    assert check_lp1_solution(found, replace(path, certificate=None)).holds is None
    assert path.certificate is not None
    wrong = replace(path, certificate=replace(path.certificate, dual=path.certificate.dual + 1))
    verdict = check_lp1_solution(found, wrong)
    assert verdict.holds is None
    assert "the path is not proven" in verdict.certificate
    rounded = random_problem(1, rounded=True)
    assert check_lp1_solution(solve_lp1(rounded, 1), pm.pruning_path(rounded)).certificate == "the instance had to be rounded"
