"""Budgets and limits by every method: answers hold by the checker, and one limit, or one that binds alone, is a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import prunemodels as pm
from formulations import CostItems, Pruning, PruningProblem
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Status
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from proofs_checks import check_solution
from solvers.brute_force import count_prunings
from solvers.within import BUDGET_SOLVERS, METHODS, brute_force_budget, solve_limits
from solvers.within.solve import Method
from tests.instances import ensemble_of, plain_errors, random_problem, random_tree
from tests.loops import looped
from tests.solvers.cases import instance
from tests.solvers.within.limits.cases import drawn

REAL = ("iris", "wine, evaluation", "wine, groups", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


def inside(problem: PruningProblem) -> Fraction:
    """A budget in the middle of the longest edge of the path; what a single row costs, where there is one."""
    cost = pm.pruning_path(problem, certificate=False).exact_cost
    k = max(range(len(cost) - 1), key=lambda k: cost[k] - cost[k + 1], default=0)
    return (cost[k] + cost[min(k + 1, len(cost) - 1)]) / 2


def held(found: LimitedSolution) -> None:
    """The checker says yes, and nothing of the answer is beyond the limits."""
    verdict = check_solution(found.problem, found)
    assert verdict.holds is True, str(verdict)
    assert all(use <= most for use, most in zip(found.uses, found.at_most, strict=True))
    assert found.bound <= found.error


def same(one: LimitedSolution, other: LimitedSolution) -> None:
    """Pruning, error, bound and relaxation, to the last bit."""
    assert np.array_equal(one.pruning.kept, other.pruning.kept)
    assert (one.error, one.bound, one.status, one.stopped) == (other.error, other.bound, other.status, other.stopped)
    assert (one.relaxation.value, one.relaxation.lam) == (other.relaxation.value, other.relaxation.lam)
    for (mine, weight), (theirs, other_weight) in zip(one.relaxation.mixture, other.relaxation.mixture, strict=True):
        assert np.array_equal(mine.kept, theirs.kept)
        assert weight == other_weight


def conforms(problem: PruningProblem, budget: Fraction, method: Method) -> None:
    """A budget, one plain limit, and the same with a second limit that cannot bind."""
    found = BUDGET_SOLVERS[method](problem, budget)
    held(found)
    same(solve_limits(problem, [Limit(budget)], method=method), found)
    for second in (Limit(10**6, "splits"), Limit(10**9, name="some rows", rows=problem.usage.rows[::2])):
        both = solve_limits(problem, [Limit(budget), second], method=method)
        held(both)
        assert np.array_equal(both.pruning.kept, found.pruning.kept)
        assert (both.error, both.bound) == (found.error, found.bound)


@pytest.mark.parametrize("method", METHODS)
@looped("seed", range(8))
def test_random_instances_conform(seed: int, method: Method) -> None:
    """With real numbers, weights, items paid once, evaluation; within several limits, too."""
    problem = random_problem(seed, rounded=seed % 4 == 3)
    conforms(problem, inside(problem), method)
    held(solve_limits(problem, drawn(problem, np.random.default_rng(seed)), method=method))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@looped("name", REAL)
def test_real_instances_conform(name: str, method: Method) -> None:
    """At a budget inside the longest edge, and within limits for two halves of the examples."""
    problem = instance(name)
    conforms(problem, inside(problem), method)
    half = [Limit(10**9, rows=rows, name=str(k)) for k, rows in enumerate((problem.usage.rows[::2], problem.usage.rows[1::2]))]
    uses = limit_rows(problem, half).uses(Pruning.unpruned(problem))
    limits = [replace(limit, at_most=use * Fraction(k, 4)) for k, (limit, use) in enumerate(zip(half, uses, strict=True), 1)]
    held(solve_limits(problem, limits, method=method, work=0.2))


def small(seed: int) -> PruningProblem:
    """One to six trees of at most ten splits, prices with zeros and ties."""
    rng = np.random.default_rng(50_000 + seed)
    n_features = int(rng.integers(2, 6))
    trees = [random_tree(rng, n_features, int(rng.integers(0, 11)), 4) for _ in range(int(rng.integers(1, 7)))]
    ensemble, error = ensemble_of(trees, n_features)
    if seed % 3:  # honest errors
        for h in reversed(range(ensemble.n_nodes)):
            if ensemble.left[h] >= 0:
                error[h] += error[ensemble.left[h]] + error[ensemble.right[h]]
    rows = rng.integers(0, 5, (int(rng.integers(1, 13)), n_features)).astype(float)
    prices = rng.choice([0, 1, 1, 2, 2.5, 4, 7.25], n_features).tolist()
    evaluation = 0 if seed % 2 else [float(a) for a in rng.choice([0, 0.25, 1], n_features)]
    return PruningProblem.build(
        ensemble, plain_errors(ensemble, error, 60.0), rows, CostItems.plain(prices), evaluation_cost=evaluation
    )


def proven(seeds: Sequence[int], most: int) -> tuple[int, int]:
    """Four budgets each: optimal, held, as good as brute force with so many prunings at `most`; how many, and how many listed."""
    solved = listed = 0
    for seed in seeds:
        problem = small(seed)
        dearest = pm.pruning_path(problem, certificate=False).exact_cost[0]
        possible = count_prunings(problem.ensemble) <= most
        for share in (Fraction(0), Fraction(3, 10), Fraction(11, 20), Fraction(9, 10)):
            budget = share * dearest
            found = pm.solve(problem, budget=budget, method="exact")
            assert found.status is Status.OPTIMAL, (seed, share)
            held(found)
            solved += 1
            if possible:
                listed += 1
                best = brute_force_budget(problem, budget).pruning.exact_error
                assert found.pruning.exact_error == best, (seed, share)
    return solved, listed


@pytest.mark.parametrize(
    ("seeds", "most", "enough"),
    [(range(0, 158, 30), 2_000, 8), pytest.param(range(0, 158, 4), 20_000, 70, marks=pytest.mark.slow)],
)
def test_small_budgets_are_proven(seeds: range, most: int, enough: int) -> None:
    """Four of each instance; of enough instances all prunings were listed."""
    solved, listed = proven(seeds, most)
    assert solved == 4 * len(seeds)
    assert listed >= enough
