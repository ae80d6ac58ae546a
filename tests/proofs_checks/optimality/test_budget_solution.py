"""A budget's answer is checked from trees, rows, prices and a proven path; what is tampered with is refuted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import prunemodels as pm
from formulations.instance.papers import two_trees
from proofs_checks.optimality.budget_solution import check_budget_solution
from solvers.budgets import BUDGET_SOLVERS, best_breakpoint
from tests.instances import random_problem
from tests.loops import looped


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
        ({"weight": Fraction(1, 3)}, "the relaxation's weight is"),
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
    """A bound by branch and bound, a path without certificate, a rounded instance."""
    problem = two_trees()
    path = pm.pruning_path(problem)
    raised = check_budget_solution(BUDGET_SOLVERS["brute_force"](problem, 2.5), path)
    assert raised.holds is None
    assert raised.certificate["undecided"] == "the bound is above what a path proves"
    assert check_budget_solution(best_breakpoint(problem, 2.5), replace(path, certificate=None)).holds is None
    rounded = random_problem(1, rounded=True)
    assert check_budget_solution(best_breakpoint(rounded, 1), pm.pruning_path(rounded)).holds is None
