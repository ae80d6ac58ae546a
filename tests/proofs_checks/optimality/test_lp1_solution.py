"""Answers within budgets and limits are accepted, forged ones refused."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.lp1_solution import LP1Solution
from formulations.answers.solution import SharedPrices
from formulations.instance.limit import Limit
from formulations.instance.papers import ERRORS, two_trees
from formulations.programs.limit_rows import limit_rows
from proofs_checks import check_limits_solution, check_lp1_solution
from proofs_checks.optimality.budget_solution import check_budget_solution
from solvers.budgets import BUDGET_SOLVERS, best_breakpoint, solve_limits, solve_lp1
from solvers.budgets.limits import solve as solve_module
from solvers.budgets.limits.oracle import LagrangianOracle
from solvers.budgets.limits.relaxation import relax
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.budgets.limits.cases import drawn, two_wards
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
    """A path without or with a wrong certificate."""
    found, path = tied()
    assert check_lp1_solution(found, replace(path, certificate=None)).holds is None
    assert path.certificate is not None
    wrong = replace(path, certificate=replace(path.certificate, dual=path.certificate.dual + 1))
    verdict = check_lp1_solution(found, wrong)
    assert verdict.holds is None
    assert "the path is not proven" in verdict.certificate


def answer(**changes: Any) -> LimitsSolution:
    """Within 5 for the left rows and 1 for the right ones: nothing but the root; the relaxation has a part of both splits."""
    limits = [Limit(5, rows=[0, 1], name="left"), Limit(1, rows=[2, 3], name="right")]
    return replace(solve_limits(two_wards(), limits, method="path"), **changes)


def forged(**changes: Any) -> LimitsSolution:
    """The same with another proof."""
    found = answer()
    assert found.proof is not None
    return replace(found, proof=replace(found.proof, **changes))


def test_what_is_true_is_accepted() -> None:
    """The bound is the multipliers': .05 and .15 leave .8 - .25 - .15 = .4, and no error lies between that and .5."""
    verdict = check_limits_solution(two_wards(), answer())
    assert verdict.holds is True
    assert verdict.certificate["proven"] == pytest.approx(0.4)


@looped("seed", range(12))
def test_proofs_by_price_sharing_are_accepted(seed: int) -> None:
    """Scores, decided splits and a flow prove the same bound as one flow does."""
    problem = random_problem(seed + 60)
    rows = limit_rows(problem, drawn(problem, np.random.default_rng(seed)))
    oracle = LagrangianOracle(rows)
    oracle.shares_prices = True
    relaxed = relax(oracle)
    plain = solve_limits(problem, list(rows.limits), method="path")
    proof = solve_module._proof(rows, relaxed.proof)
    assert isinstance(proof.certificate, SharedPrices)
    verdict = check_limits_solution(problem, replace(plain, proof=proof, bound=min(plain.bound, proof.bound)))
    assert verdict.holds is True, str(verdict)


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        (lambda: answer(uses=(Fraction(1), Fraction(0))), "the pruning uses 0.0 of left, not 1.0"),
        (lambda: answer(at_most=(Fraction(6), Fraction(1))), "the limit of left is 5, not 6.0"),
        (lambda: answer(error=0.4, bound=0.3), "the pruning's error is 0.8, not 0.4"),
        (lambda: answer(uses=(Fraction(0),)), "1 uses are stated for 2 limits"),
        (lambda: forged(bound=0.45), "the multipliers prove the bound 0.3999"),
        (lambda: forged(multipliers=((0, None, Fraction(1, 20)),)), "the duals on 'blood' by row 2 are more than its price"),
        (lambda: forged(multipliers=((0, None, Fraction(-1)),)), "it must be a fraction >= 0"),
        (lambda: forged(multipliers=((0, None, Fraction(1)), (0, None, Fraction(1)))), "has two multipliers"),
        (lambda: forged(multipliers=((2, None, Fraction(1)),)), "there is no such row"),
        (lambda: forged(multipliers=((0, 3, Fraction(1)),)), "there is no such row"),
        (lambda: forged(certificate="yes"), "the certificate is str, neither duals nor scores"),
    ],
)
def test_forged_answers_are_refused(solution: Any, message: str) -> None:
    """Uses, limits, errors, bounds and multipliers that are not what they are said to be."""
    verdict = check_limits_solution(two_wards(), solution())
    assert verdict.holds is False
    assert message in str(verdict.certificate)


def test_a_pruning_beyond_a_limit_is_refused() -> None:
    """Its use is stated truly, and is more than there is."""
    generous = solve_limits(two_wards(), [Limit(6, rows=[0, 1], name="left"), Limit(2, rows=[2, 3], name="right")])
    found = answer(pruning=generous.pruning, uses=generous.uses, error=generous.error, bound=0.1)
    verdict = check_limits_solution(two_wards(), found)
    assert verdict.holds is False
    assert "the pruning uses 6.0 of left, more than 5.0" in str(verdict.certificate)


def test_multipliers_of_single_examples() -> None:
    """A limit on every example names the example of each multiplier; one that it is not about is refused."""
    problem = two_wards()
    found = solve_limits(problem, [Limit(5, rows=[0, 1, 2], each=True, name="each")], method="path")
    assert check_limits_solution(problem, found).holds is True
    assert found.proof is not None
    assert {row for _, row, _ in found.proof.multipliers} <= {0, 1, 2}
    strange = tuple((k, 3, mu) for k, _, mu in found.proof.multipliers[:1])
    verdict = check_limits_solution(problem, replace(found, proof=replace(found.proof, multipliers=strange)))
    assert verdict.holds is False
    assert "is not about row 3" in str(verdict.certificate)


def test_what_nobody_proves_is_undecided() -> None:
    """Without multipliers, and above them."""
    assert check_limits_solution(two_wards(), answer(proof=None)).holds is None
    assert check_limits_solution(two_wards(), answer(bound=0.8)).holds is None


@pytest.mark.parametrize("name", ["path", "best"])
@looped("seed", range(30))
def test_true_answers_hold(seed: int, name: str) -> None:
    """Engines whose bound is the relaxation's, at budgets between and at breakpoints."""
    problem = random_problem(seed)
    path = pm.pruning_path(problem)
    for cost in path.exact_cost:
        for budget in (cost, cost * Fraction(2, 3), cost + Fraction(1, 10)):
            verdict = check_budget_solution(BUDGET_SOLVERS[name](problem, budget, time_limit=5), path)
            assert verdict, str(verdict)
            assert verdict.certificate["cost"] <= float(budget) + 1e-12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": Fraction(3, 2)}, "more than the budget"),
        ({"error": 0.2}, "the pruning's error is"),
        ({"error": float("nan")}, "the pruning's error is"),
        ({"bound": 0.3}, "above the pruning's own error"),
        ({"bound": float("inf")}, "above the pruning's own error"),
        ({"value": Fraction(1, 8)}, "the relaxation's value is"),
        ({"weight": Fraction(1, 3)}, "the relaxation's value is"),
        ({"lam": Fraction(1, 4)}, "the relaxation's lambda"),
    ],
)
def test_tampered_answers_are_refuted(changes: dict[str, Any], message: str) -> None:
    """Budget, error, bound, and each part of the relaxation."""
    problem = two_trees()
    found = best_breakpoint(problem, 2.5)
    inside = {key: x for key, x in changes.items() if key in ("value", "weight", "lam")}
    outside = {key: x for key, x in changes.items() if key not in inside}
    wrong = replace(found, relaxation=replace(found.relaxation, **inside))
    for name, value in outside.items():  # past the constructor, which refuses a bound above the error
        object.__setattr__(wrong, name, value)
    verdict = check_budget_solution(wrong, pm.pruning_path(problem))
    assert verdict.holds is False
    assert message in verdict.certificate


def test_what_a_path_does_not_prove_is_undecided() -> None:
    """A bound by branch and bound, and a path without certificate."""
    problem = two_trees()
    path = pm.pruning_path(problem)
    raised = check_budget_solution(BUDGET_SOLVERS["brute_force"](problem, 2.5), path)
    assert raised.holds is None
    assert raised.certificate["undecided"] == "the bound is above what a path proves"
    assert check_budget_solution(best_breakpoint(problem, 2.5), replace(path, certificate=None)).holds is None
