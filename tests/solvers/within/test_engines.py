"""Budgets and limits by every engine on every instance: within the budget by routing, true bounds, never worse than the path."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import CapacityOverflowError, CostItems, InvalidInputError, Pruning, PruningPath, PruningProblem
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Status, StopReason
from formulations.instance.limit import Limit, budget_limit
from formulations.instance.papers import two_trees
from formulations.programs.limit_rows import limit_rows
from proofs_checks import check_corollary, check_relaxation, check_solution
from proofs_checks.optimality.recount import Recount
from solvers.brute_force import all_prunings, count_prunings
from solvers.within import (
    BUDGET_ENGINES,
    BUDGET_SOLVERS,
    METHODS,
    best_breakpoint,
    best_within,
    brackets,
    brute_force_budget,
    exact_budget,
    relaxed_optimum,
    search,
    solve_limits,
    solve_lp1,
)
from solvers.within.params import WithinParams
from solvers.within.solve import Method
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_problem, random_tree
from tests.loops import looped
from tests.solvers.cases import halfway, instance
from tests.solvers.within.limits.cases import drawn

SEEDS = range(16)


def budgets_of(path: PruningPath) -> list[Fraction]:
    """0, breakpoints' costs, between them, beyond the dearest; more where little is to be had for them."""
    costs = path.exact_cost
    between = [c + share * (d - c) for d, c in itertools.pairwise(costs) for share in (Fraction(1, 7), Fraction(3, 4))]
    return sorted({Fraction(0), *costs, *between, costs[0] + 1})


@pytest.mark.slow_cases("brute_force", "highs_lp1_integer", "pyomo_lp1")
@pytest.mark.parametrize("name", BUDGET_SOLVERS)
@looped("seed", SEEDS)
def test_every_engine_on_every_instance(seed: int, name: str) -> None:
    """Cost within B in exact numbers, recounted by routing; bound below the true optimum; error not above the path's."""
    problem = random_problem(seed, rounded=seed % 4 == 3)
    path, recount = pm.pruning_path(problem), Recount(problem)
    slack = 1e-12 * max(1.0, float(problem.roots_error))
    for budget in budgets_of(path)[:: 1 + seed % 3]:
        optimum = brute_force_budget(problem, budget)
        found = BUDGET_SOLVERS[name](problem, budget, time_limit=20)
        error, cost = recount.objective(found.pruning.kept)
        assert cost == found.pruning.exact_cost <= budget
        assert float(error) == pytest.approx(found.error, abs=slack)
        assert optimum.error - slack <= found.error <= best_breakpoint(problem, budget, path=path).error + slack
        assert found.bound <= optimum.error + slack
        assert found.bound >= float(found.relaxation.value) - slack
        if BUDGET_ENGINES[name].proves == "optimum":
            assert found.error <= optimum.error + slack
            # HiGHS' tolerances hide something where errors have no common unit to which its bound could be raised
            open_gap = name == "highs_lp1_integer" and not problem.numbers.exact
            assert found.status is Status.OPTIMAL or open_gap


def sevenths() -> PruningProblem:
    """Two small trees of iris and seven rows: a cost of 20/7, say, is above the float that is nearest to it."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, max_leaf_nodes=4, random_state=1).fit(X, y)
    return pm.problem_from_forest(forest, X[::22], costs=[1, 2, 3, 4], evaluation_cost=Fraction(1, 3))


@pytest.mark.parametrize("name", BUDGET_SOLVERS)
def test_a_float_allows_what_rounds_to_it(name: str) -> None:
    """`budget=pruning.cost` allows the pruning, whose exact cost may be above that float; fractions are meant as they are."""
    problem = sevenths()
    path, above = pm.pruning_path(problem), 0
    for row, cost in zip(path, path.exact_cost, strict=True):
        assert row.cost == float(cost)
        found = BUDGET_SOLVERS[name](problem, row.cost, time_limit=20)
        assert found.error <= row.error + 1e-12
        assert found.relaxation.is_integral
        assert float(found.budget) == row.cost
        assert found.pruning.exact_cost <= found.budget
        assert check_solution(problem, found).holds is not False
        assert check_relaxation(found.relaxation, path)
        if found.budget > Fraction(repr(row.cost)):
            above += 1
            assert found.budget == cost
            exactly = BUDGET_SOLVERS[name](problem, Fraction(repr(row.cost)), time_limit=20)
            assert exactly.budget < cost
            assert exactly.cost < row.cost
    assert above


@pytest.mark.parametrize("method", ["best", "exact"])
def test_a_float_allows_what_rounds_to_it_of_a_limit(method: Method) -> None:
    """The mean cost of each group is a fraction of its own; for the dearest row costs are sums of prices."""
    problem = sevenths()
    for row in pm.pruning_path(problem):
        group = Limit(row.cost, rows=np.arange(7))
        assert solve_limits(problem, [group], method=method).error <= row.error + 1e-12
        dearest = max(limit_rows(problem, [Limit(0, each=True)]).uses(row))
        assert solve_limits(problem, [Limit(float(dearest), each=True)], method=method).error <= row.error + 1e-12


def test_half_way_to_the_next_float() -> None:
    """Half-way numbers round to the even neighbour; the largest float has no next one."""
    ulp = Fraction(math.ulp(1.0))
    for number, even in ((1.0, True), (math.nextafter(1.0, 2.0), False)):
        middle = Fraction(number) + ulp / 2
        assert budget_limit(number, unit=ulp / 2) == (middle if even else Fraction(number))
        assert float(budget_limit(number)) == number
        assert middle - ulp / 2**60 < budget_limit(number) <= middle
    assert budget_limit(0.1, unit=Fraction(1, 10)) == Fraction(1, 10)
    assert budget_limit(0.1, unit=Fraction(1, 3)) == Fraction(1, 10)
    assert budget_limit(sys.float_info.max) == Fraction(repr(sys.float_info.max))
    assert budget_limit(Decimal("4.333")) == Fraction(4333, 1000)


@looped("seed", SEEDS)
def test_the_relaxation_is_what_the_checker_finds(seed: int) -> None:
    """Value, neighbours, weight and lambda* of LP1's relaxation are those of `check_corollary`, which proves them."""
    problem = random_problem(seed)
    for ties in ("smallest", "largest"):
        path = pm.pruning_path(problem, ties=ties)
        budgets = budgets_of(path)
        rows = check_corollary(path, budgets).certificate.rows
        for row, budget in zip(rows, budgets, strict=True):
            mixture = relaxed_optimum(path, budget)
            assert mixture.value == row.value
            assert mixture.weight * mixture.dearer.exact_cost + (1 - mixture.weight) * mixture.cheaper.exact_cost <= budget
            if mixture.is_integral:
                assert mixture.cheaper is mixture.dearer
            else:
                assert (mixture.lam, mixture.weight) == (row.lam, row.weight)
                assert (mixture.cheaper.exact_cost, mixture.dearer.exact_cost) == (row.cheaper.cost, row.dearer.cost)


def test_the_papers_trees_by_hand() -> None:
    """Costs 3, 2, 0 with errors 1/8, 1/4, 1: at B = 2.5 half of each of the first two, at lambda* = 1/8; one feature costs 1."""
    problem = two_trees()
    found = best_breakpoint(problem, 2.5)
    assert (found.relaxation.lam, found.relaxation.weight, found.relaxation.value) == (
        Fraction(1, 8),
        Fraction(1, 2),
        Fraction(3, 16),
    )
    assert (found.cost, found.error, found.bound) == (2, 0.25, 0.1875)
    assert found.gap == 0.0625
    assert found.status is Status.FEASIBLE
    # nothing lies between, so the bound of 3/16 is out of reach
    optimum = brute_force_budget(problem, 2.5)
    assert (optimum.error, optimum.bound, optimum.status) == (0.25, 0.25, Status.OPTIMAL)
    slack = best_breakpoint(problem, 5)
    assert (slack.relaxation.lam, slack.relaxation.is_integral, slack.gap) == (0, True, 0)
    assert repr(found) == "LimitedSolution(feasible, cost 2 of 2.5, error 0.25, bound 0.1875)"
    assert repr(found.relaxation).startswith("LP1Relaxation(error 0.1875: 0.5 of cost 3, 0.5 of cost 2")


def a_larger_problem(seed: int) -> PruningProblem:
    """Three trees of five splits on shared features, some thousand prunings, honest errors: edges with something inside."""
    rng = np.random.default_rng(seed)
    ensemble, error = ensemble_of([random_tree(rng, 4, 5, 12) for _ in range(3)], 4)
    for h in reversed(range(ensemble.n_nodes)):
        if ensemble.left[h] >= 0:
            error[h] = error[ensemble.left[h]] + error[ensemble.right[h]] + rng.integers(0, 6)
    rows = rng.integers(0, 5, (12, 4)).astype(float)
    return PruningProblem.build(ensemble, plain_errors(ensemble, error, 40.0), rows, CostItems.plain([3, 2, 2, 1]))


BRACKETED = WithinParams(searched_first=-1, most_listed=0)
"""Without branch and bound and without a list of all prunings: "best" is the search inside the edge alone."""


@pytest.mark.slow
def test_the_search_beats_the_path() -> None:
    """Over eight instances and their budgets, most of those where the path is not optimal are solved by the search."""
    improvable = solved = 0
    for seed in range(8):
        problem = a_larger_problem(seed)
        path = pm.pruning_path(problem)
        for budget in budgets_of(path):
            optimum = brute_force_budget(problem, budget).error
            if best_breakpoint(problem, budget, path=path).error > optimum + 1e-12:
                improvable += 1
                solved += best_within(problem, budget, path=path, params=BRACKETED).error <= optimum + 1e-12
    assert improvable >= 10
    assert solved >= 0.8 * improvable, f"{solved} of {improvable}"


@pytest.mark.slow
def test_a_search_begins_with_what_costs_no_search() -> None:
    """Before any draw the search has LP1's rounded optimum, where the greedily filled breakpoint is worse (17 and 24) too."""
    params = replace(BRACKETED, edge_starts=0)
    for seed in range(12, 26):
        problem = a_larger_problem(seed)
        path = pm.pruning_path(problem)
        for budget in budgets_of(path)[1:-1]:
            found, rounded = best_within(problem, budget, path=path, params=params), solve_lp1(problem, budget, path=path)
            assert found.error <= rounded.pruning.error + 1e-12


def test_money_that_the_edge_leaves_is_spent() -> None:
    """Gain 10 for 10, gain 3 for 4, budget 5: LP1 buys half of the first, no pruning of the edge fits, the second split does."""
    problem = problem_of([Node(10.0, 0, 0.5, Node(0.0), Node(0.0)), Node(3.0, 1, 0.5, Node(0.0), Node(0.0))], [10, 4], weight=1.0)
    assert best_breakpoint(problem, 5).cost == 0
    assert solve_lp1(problem, 5).pruning.cost == 0
    assert best_within(problem, 5, params=replace(BRACKETED, edge_starts=0)).cost == 4


def test_a_search_whose_products_overflow_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is that of the searches before, at least the best breakpoint, and says that the search did not end."""
    problem = a_larger_problem(3)
    path = pm.pruning_path(problem)
    budget = (path.exact_cost[0] + path.exact_cost[1]) / 2

    def overflowing(*_: object, **__: object) -> None:
        raise CapacityOverflowError("62 bits")

    monkeypatch.setattr(brackets, "descend", overflowing)
    monkeypatch.setattr(search, "edge_of", overflowing)
    for engine in (best_within, exact_budget):
        found = engine(problem, budget, path=path, params=WithinParams(most_listed=0))
        assert found.stopped is StopReason.ITERATION_LIMIT
        assert found.bound <= brute_force_budget(problem, budget).error
        assert found.error <= best_breakpoint(problem, budget, path=path).error
        assert found.pruning.exact_cost <= budget


@pytest.mark.slow
@looped("seed", range(12))
def test_rounded_costs_are_counted_as_they_are(seed: int) -> None:
    """The exact cost is the one recounted from prices and weights, for all prunings of the path; budgets hold in it.

    Real weights and real errors share 61 bits, so that both are rounded; items paid once, and evaluation, besides. The path's
    costs, on whose rounded prices its cuts ran, are the real ones, and each buys its row.
    """
    rng = np.random.default_rng(seed)
    ensemble, error = ensemble_of([random_tree(rng, 4, 4, 12) for _ in range(2)], 4)
    needs = [["a"], ["b", "licence"], ["a", "b"], ["licence"]]
    problem = PruningProblem.build(
        ensemble,
        plain_errors(ensemble, error + rng.random(error.size), 40.0 * rng.random()),
        rng.integers(0, 5, (9, 4)).astype(float),
        CostItems.from_items({"a": 1.5, "b": 2, "licence": 0.7}, needs, once=["licence"]),
        sample_weight=rng.random(9),
        evaluation_cost=[0.1, 0.0, 0.3, 0.2],
    )
    assert not problem.numbers.exact
    recount, path = Recount(problem), pm.pruning_path(problem)
    prunings = [pm.Pruning(problem, kept) for kept in all_prunings(problem).kept]
    for pruning in prunings:
        assert pruning.exact_cost == recount.objective(pruning.kept)[1]
    slack = 1e-12
    for pruning, cost in zip(path, path.cost.tolist(), strict=True):
        assert cost == pytest.approx(pruning.cost, rel=1e-12, abs=1e-15)
        assert (path.at_cost(cost).kept == pruning.kept).all()
        for budget in (pruning.exact_cost, pruning.exact_cost - Fraction(1, 10**30)):
            if budget >= 0:  # rounding alone decides whether the pruning fits
                for engine in (best_breakpoint, best_within):
                    assert recount.objective(engine(problem, budget).pruning.kept)[1] <= budget
                answer, least = exact_budget(problem, budget), min(p.error for p in prunings if p.exact_cost <= budget)
                assert answer.pruning.exact_cost <= budget
                assert answer.error <= least + slack
                assert answer.bound <= least + 1e-12


@pytest.mark.parametrize("budget", [-1, float("nan"), float("inf"), "much"])
def test_budgets_that_are_none_are_refused(budget: object) -> None:
    """Negative, not finite, no number."""
    for engine in (*pm.BUDGET_SOLVERS.values(), pm.budgets.solve_lp1):
        with pytest.raises(InvalidInputError, match="budget is"):
            engine(two_trees(), budget)  # type: ignore[arg-type]


REAL = ("iris", "wine, evaluation", "wine, groups", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


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
    conforms(problem, halfway(pm.pruning_path(problem, certificate=False)), method)
    held(solve_limits(problem, drawn(problem, np.random.default_rng(seed)), method=method))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@looped("name", REAL)
def test_real_instances_conform(name: str, method: Method) -> None:
    """At a budget inside the longest edge, and within limits for two halves of the examples."""
    problem = instance(name)
    conforms(problem, halfway(pm.pruning_path(problem, certificate=False)), method)
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
