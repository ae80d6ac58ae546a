"""LP1's relaxation by other engines: arrays, Pyomo and columns, against the path's mixture."""

from __future__ import annotations

from fractions import Fraction

import pytest

import prunemodels as pm
from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning_path import PruningPath
from solvers import solve_relaxation
from solvers.budgets import relaxed_optimum
from tests.loops import looped
from tests.solvers.cases import PRESENT, instance, stump, twin_stumps

REAL = [name for name in PRESENT if not name.startswith(("random", "rounded"))]
SMALL = [name for name in PRESENT if not name.startswith(("sonar", "heart"))]


def budgets_of(path: PruningPath, most: int = 3) -> list[Fraction]:
    """Breakpoints' costs, points between them, 0, and one where the row is slack."""
    cost = path.exact_cost
    chosen = {Fraction(0), cost[0], cost[0] + 1}
    for k in range(0, len(path) - 1, max(1, len(path) // most)):
        chosen |= {cost[k], (3 * cost[k] + 7 * cost[k + 1]) / 10}
    return sorted(chosen)


def lambdas_at(path: PruningPath, budget: Fraction) -> tuple[float, float]:
    """The interval of the dual: one number between breakpoints, the interval of lambdas where the row at this cost is optimal."""
    cost, table = path.exact_cost, [float(b) for b in path.breakpoints]
    below = [b for c, b in zip(cost, table, strict=True) if c <= budget]  # rows that fit; the first is optimal from its lambda on
    k = next((k for k, c in enumerate(cost) if c <= budget), len(cost) - 1)
    if k == 0 and budget > cost[0]:
        return 0.0, 0.0
    if cost[k] < budget:
        return below[0], below[0]
    return table[k] if k else 0.0, table[k + 1] if k + 1 < len(table) else float("inf")


def agrees(value: float, lam: float, hull: Mixture, path: PruningPath, *, tolerance: float = 1e-8) -> None:
    """The value is the hull's; lambda is a slope of the hull there."""
    size = max(1.0, float(path.problem.errors.of_all_roots(path.problem.ensemble)))
    assert value == pytest.approx(float(hull.value), abs=tolerance * size)
    lowest, highest = lambdas_at(path, hull.budget)
    assert lam >= lowest * (1 - 1e-6) - 1e-9 * size
    assert lam <= highest * (1 + 1e-6) + 1e-9 * size


@looped("name", PRESENT)
def test_arrays_give_the_paths_mixture(name: str) -> None:
    """LP1 through HiGHS as arrays: the path's value, and lambda* from the budget row's dual, at breakpoints and between them."""
    problem = instance(name)
    path = pm.pruning_path(problem)
    for budget in budgets_of(path):
        found = solve_relaxation(problem, budget=budget, formulation="LP1", merge=True)
        agrees(found.objective, -found.dual["budget"], relaxed_optimum(path, budget), path)


@pytest.mark.parametrize("engine", ["highs_lp1", "pyomo_lp1", "highs_lp1_integer"])
@looped("name", ["papers", "twin stumps", "losing splits", "stump, evaluation", *[f"random {seed}" for seed in range(8)]])
def test_the_budget_engines_mix_as_the_path_does(name: str, engine: str) -> None:
    """The mixture of the point's level sets costs B and is worth what the hull is; its lambda is a slope of the hull there."""
    problem = instance(name)
    path = pm.pruning_path(problem)
    for budget in budgets_of(path):
        mixture = pm.BUDGET_SOLVERS[engine](problem, budget).relaxation
        agrees(float(mixture.value), float(mixture.lam), relaxed_optimum(path, budget), path, tolerance=1e-12)
        cost = mixture.weight * mixture.dearer.exact_cost + (1 - mixture.weight) * mixture.cheaper.exact_cost
        assert cost == min(budget, path.exact_cost[0])


def test_duals_by_hand() -> None:
    """A stump that gains .2 for a price of 1: at budget .3 it is kept to .3, a unit of the budget is worth .2, above 1 nothing.

    The root errs on 4 of 10 examples, the leaves on 1 + 1.
    """
    problem = stump((4, 1, 1), [1], [[0], [1]])
    found = solve_relaxation(problem, budget=0.3, formulation="LP1")
    assert found.objective == pytest.approx(0.4 - 0.3 * 0.2)
    assert found.dual["budget"] == pytest.approx(-0.2)
    assert found.point["z[0]"] == pytest.approx(0.7)
    slack = solve_relaxation(problem, budget=1.5, formulation="LP1")
    assert slack.objective == pytest.approx(0.2)
    assert slack.dual["budget"] == pytest.approx(0.0)


def test_a_shared_purchase_counts_once_in_the_budget_row() -> None:
    """Two stumps on one feature gain .1 each and pay 1 together: half of the budget buys half of both."""
    found = solve_relaxation(twin_stumps(), budget=0.5, formulation="LP1")
    assert found.objective == pytest.approx(0.4 - 0.5 * 0.2)
    assert found.dual["budget"] == pytest.approx(-0.2)
