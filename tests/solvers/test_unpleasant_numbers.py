"""Prices, weights and lambdas that are far apart, have many digits, or do not fit a float: exact answers or named refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import Pruning, PruningProblem
from formulations.answers.solution import Status
from formulations.errors import CapacityOverflowError
from proofs_checks.optimality.recount import Recount
from solvers import SOLVERS, min_cut, price_sharing, pruning_path
from solvers.brute_force import all_prunings
from solvers.closures.integer_objective import integer_objective
from tests.instances import Node, problem_of
from tests.loops import looped
from tests.solvers.cases import apart, real_stump


def test_the_lower_lambda_is_close() -> None:
    """Where lambda itself does not fit 61 bits, the fraction below it is off by far less than a millionth of a millionth."""
    lam = Fraction(1, 3) * Fraction(10**12 + 39, 10**12 + 61)
    objective = integer_objective(apart((3.1415926, 2.7182818)), lam)
    assert objective.exact
    assert objective.lam <= lam
    assert (lam - objective.lam) / lam < Fraction(1, 10**15)


@pytest.mark.parametrize("digits", [6, 8, 9])
@pytest.mark.parametrize("lam", [1e-9, 1e-4, 0.01, 0.3])
def test_prices_of_many_decimals(digits: int, lam: float) -> None:
    """Breast cancer with prices of 6 to 9 decimals: what the path, which needs no lambda, finds there."""
    X, y = load_breast_cancer(return_X_y=True)
    prices = np.random.default_rng(digits).uniform(0.1, 9, X.shape[1]).round(digits)
    forest = RandomForestClassifier(5, max_leaf_nodes=8, random_state=0).fit(X, y)
    problem = pm.problem_from_forest(forest, X, costs=list(prices))
    best = pruning_path(problem).at_lam(lam).value(lam)
    for solve in (min_cut, price_sharing):
        found = solve(problem, lam)
        assert found.status is Status.OPTIMAL
        assert found.value == pytest.approx(best, abs=1e-10)
        assert pm.checks.check_solution(problem, found).holds


def test_where_no_fraction_fits_a_grid_does() -> None:
    """Prices of 1 and 10^14 at a lambda where the dear one is worth its gain of 1/1000, or just not. Every fraction that fits is
    0 or far too large. A grid of 2^-60 of the gains tells 10^14 prices from none.
    """
    tree = Node(1000, 0, 0.5, Node(999), Node(0, 1, 0.5, Node(0), Node(0)))
    X = np.array([[1, 0], [1, 1]], dtype=float)
    problem = problem_of([tree], [1e14, 1], X, weight=1000.0)
    gain = Fraction(1, 1000)  # of the first split; it costs 10^14 lambda
    for lam, splits in ((gain / 10**14 * Fraction(999, 1000), 1), (gain / 10**14 * Fraction(1001, 1000), 0)):
        for solve in (min_cut, price_sharing):
            found = solve(problem, lam)
            assert found.pruning.n_splits == splits
            assert found.status is Status.OPTIMAL


def test_a_forest_of_bare_leaves_with_a_dear_evaluation() -> None:
    """Nothing can be evaluated, so no price is too large; it was a raw OverflowError."""
    problem = problem_of([Node(3)], [0], np.zeros((2, 1)), evaluation_cost=1.2345e12)
    assert min_cut(problem, 1).value == pytest.approx(0.3)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_decimal_lambda_is_exact(name: str) -> None:
    """All 29 digits count, as those of its fraction do."""
    problem = apart((1, 1))
    written = Decimal("0.10000000000000000000000000001")
    as_decimal: Any = SOLVERS[name](problem, written)  # type: ignore[arg-type]
    assert as_decimal.lam == Fraction(written) != float(written)
    assert as_decimal.value == SOLVERS[name](problem, Fraction(written)).value


def test_optimal_is_not_said_of_what_is_worse_than_nothing() -> None:
    """Bound 0.5, which is the bare root's error; a value far above it was OPTIMAL because gap / (0.5 - bound) was below 0."""
    problem = apart()
    dear = Pruning.unpruned(problem)
    found = replace(min_cut(problem, 1e9), pruning=dear, value=dear.value(1e9), bound=0.5000001)
    assert found.relative_gap == float("inf")
    assert found.status is Status.FEASIBLE
    level = replace(found, bound=0.5)  # it was a ZeroDivisionError, already on printing
    assert "feasible" in repr(level)
    assert pm.checks.check_solution(problem, min_cut(problem, 0.001)).holds


def listed(problem: PruningProblem) -> list[tuple[Fraction, Fraction]]:
    """Error and cost of every pruning, in fractions, from trees, rows and prices alone."""
    recount, ensemble = Recount(problem), problem.ensemble
    sets = [np.zeros(ensemble.n_nodes, dtype=bool)]
    for h in np.flatnonzero(ensemble.is_split):
        more = [s | (np.arange(s.size) == h) for s in sets if ensemble.parent[h] < 0 or s[ensemble.parent[h]]]
        sets += more
    return [recount.objective(s) for s in sets]


def assert_right(problem: PruningProblem) -> None:
    """The path, every lambda at and beside a slope, and every cost as a budget, through the doors that users call."""
    every = listed(problem)
    path = pm.pruning_path(problem)
    assert path.relative_gap <= 1e-9
    assert pm.checks.check_path(path).holds
    slopes = {abs((e - f) / (c - d)) for e, c in every for f, d in every if c != d}
    for slope in {0, *slopes}:
        for lam in {slope, slope * Fraction(999, 1000), slope * Fraction(1001, 1000)}:
            if not (lam == 0 or 1e-300 < lam < 1e300):  # no float can hold it
                continue
            best = min(e + lam * c for e, c in every)
            for pruning in (pm.solve(problem, lam=lam).pruning, path.at_lam(lam)):
                assert pruning is not None
                error, cost = Recount(problem).objective(pruning.kept)
                assert error + lam * cost - best <= best * Fraction(1, 10**9)
    for budget in {cost for _, cost in every}:
        least = min(error for error, cost in every if cost <= budget)
        for found in (
            pm.solve(problem, budget=budget),
            pm.solve(problem, budget=budget, method="exact"),
            pm.solve(problem, budget=[0, budget])[1],
            pm.solve(problem, limits=[pm.Limit(budget)]),
        ):
            error, cost = Recount(problem).objective(found.pruning.kept)
            assert cost <= budget
            assert error - least <= least * Fraction(1, 10**9)
            assert found.status is Status.OPTIMAL


def test_a_pruning_between_two_breakpoints_is_within_the_budget() -> None:
    """Three splits, real weights: error 0.225 costs 10, within 10.1; it was "optimal" to keep nothing, with error 0.45."""
    problem = real_stump()
    assert sorted((float(e), float(c)) for e, c in listed(problem))[2][0] == pytest.approx(0.225)
    for found in (
        pm.solve(problem, budget=10.1),
        pm.solve(problem, budget=10.1, method="exact"),
        pm.solve(problem, budget=[5.0, 10.1])[1],
        pm.solve(problem, limits=[pm.Limit(10.1)]),
    ):
        assert found.error == pytest.approx(0.225, rel=1e-12)
        assert found.bound == pytest.approx(0.225, rel=1e-9)
        assert found.status is Status.OPTIMAL
    assert_right(problem)


FAR_APART: list[tuple[list[float], list[float] | None]] = [
    ([1e12, 1e-12], None),
    ([1e-300, 1e300], None),
    ([1e300, 1e-300], None),
    ([5e-324, 1.7e308], None),
    ([1e300, 1e300], None),
    ([1e-300, 1e-300], None),
    ([1, 1e-5], [1e-12, 1e12, 1, 1]),
    ([np.sqrt(2), np.pi], [1e-12, 1e-6, 1e6, 1e12]),
    ([1e-5, 4.1], [0.3, 7.5, 1 / 3, 0.04]),
    ([1e-3, 1e3], [1e12, 1 / 3, 1 / 7, np.pi]),
]


@looped(("prices", "weights"), FAR_APART)
def test_numbers_far_apart_are_right_or_refused_at_the_door(prices: list[float], weights: list[float] | None) -> None:
    """All answers are right, or the instance cannot be built, and the message names two numbers that do not go together."""
    refusal = ""
    try:
        problem = apart((prices[0], prices[1]), sample_weight=weights)
    except CapacityOverflowError as error:
        refusal = str(error)
    if refusal:
        told = [float(x) for x in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", refusal)]
        named = [x for x in {*prices, *(weights or [1])} if any(np.isclose(x, y, rtol=1e-4, atol=0) for y in told)]
        assert len(named) >= 2, refusal
        assert max(prices) / min(prices) * (max(weights or [1]) / min(weights or [1])) > 1e16, refusal
    else:
        assert_right(problem)


def test_prices_far_apart_are_right() -> None:
    """10^-12 beside 10^12 takes 80 bits: the path has the breakpoints that fractions give, and cuts at them are proven."""
    problem = apart((1e12, 1e-12))
    path = pruning_path(problem)
    assert pm.checks.check_path(path).holds
    for k, lam in enumerate(path.breakpoints):
        best = min(
            Pruning(problem, kept).exact_error + lam * Pruning(problem, kept).exact_cost for kept in all_prunings(problem).kept
        )
        assert path.exact_error[k] + lam * path.exact_cost[k] == best
        assert min_cut(problem, lam).status is Status.OPTIMAL


@pytest.mark.parametrize("lam", [1e-3, 1e3, 1e9])
@pytest.mark.parametrize("forged", [1e-9, 1e-6, 1e-3])
def test_a_check_is_as_precise_where_values_are_large(lam: float, forged: float) -> None:
    """A bound raised by a billionth of the root's error is refuted, though the pruning's value may be 10^15 times that."""
    problem = apart()
    dear = Pruning.unpruned(problem)
    found = replace(min_cut(problem, lam), pruning=dear, value=dear.value(lam))
    assert pm.checks.check_solution(problem, found).holds
    verdict = pm.checks.check_solution(problem, replace(found, bound=found.bound + forged))
    assert verdict.holds is False
    assert "proves the bound" in str(verdict.certificate)
