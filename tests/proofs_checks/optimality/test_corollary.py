"""Corollary 4.3 against linear programs and lists of all prunings."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from formulations import InvalidInputError, PruningProblem
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks.optimality.corollary import AtBudget, Budgets, check_corollary
from proofs_checks.optimality.edges import LevelComponents
from solvers import pruning_path
from solvers.brute_force import AllPrunings, all_prunings
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped


def relaxation(problem: PruningProblem, budget: Fraction) -> float:
    """LP1's relaxation at a budget, by HiGHS."""
    program = MATRICES["LP1"](problem, budget=budget, relax=True)
    rows = LinearConstraint(program.matrix, program.row_lower, program.row_upper)  # type: ignore[arg-type]
    found = milp(program.cost, constraints=rows, bounds=Bounds(program.lower, program.upper))  # type: ignore[arg-type]
    assert found.status == 0
    return float(found.fun) + program.offset


def as_good(problem: PruningProblem, every: AllPrunings, row: AtBudget) -> bool:
    """Whether some pruning within the budget has the relaxation's error, found by looking at all of them."""
    ints = problem.numbers
    roots = problem.errors.of_all_roots(problem.ensemble)
    within = [c * ints.price_unit <= row.budget for c in every.cost.tolist()]
    errors = [roots - g * ints.gain_unit for g in every.gain.tolist()]
    return any(w and e == row.value for w, e in zip(within, errors, strict=True))


def budgets_of(cost: tuple[Fraction, ...], every: AllPrunings, unit: Fraction) -> list[Fraction]:
    """Breakpoints, middles and quarters of edges, beyond the dearest, and the costs of some prunings in between."""
    between = [a + (b - a) * part for a, b in itertools.pairwise(cost) for part in (Fraction(1, 4), Fraction(1, 2))]
    some = [int(c) * unit for c in np.unique(every.cost)[:: max(1, every.cost.size // 10)]]
    return [*cost, *between, cost[0] + 1, *some]


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("seed", range(16))
def test_values_are_those_of_linear_programs(seed: int, ties: str) -> None:
    """At any budget the value is that of LP1's relaxation as HiGHS solves it; integral is what some pruning attains."""
    problem = random_problem(seed)
    every = all_prunings(problem)
    path = pruning_path(problem, ties=ties)  # type: ignore[arg-type]
    budgets = budgets_of(path.exact_cost, every, problem.numbers.price_unit)
    verdict = check_corollary(path, budgets)
    found = verdict.certificate
    assert isinstance(found, Budgets)
    for row in found.rows:
        assert float(row.value) == pytest.approx(relaxation(problem, row.budget), abs=1e-9)
        assert row.integral is as_good(problem, every, row)
        mixed = row.weight * row.dearer.cost + (1 - row.weight) * row.cheaper.cost
        assert mixed == row.budget or (row.weight == 1 and mixed <= row.budget)
        assert row.value == row.weight * row.dearer.error + (1 - row.weight) * row.cheaper.error
    assert verdict.holds is all(row.integral for row in found.rows)
    if not verdict.holds:
        assert found.counterexample is not None
        assert "fractional" in str(verdict)


def twins(prices: tuple[float, ...], errors: tuple[int, ...] = (4, 4)) -> PruningProblem:
    """Stumps on features of their own, one a tree; each gains its root's error less 2."""
    trees = [Node(e, f, 0.5, Node(1), Node(1)) for f, e in enumerate(errors)]
    X = np.zeros((1, len(errors)))
    return problem_of(trees, prices, X)


def test_two_equal_stumps_have_an_integral_middle() -> None:
    """Two stumps of equal gain and price are one edge of two components: its middle is integral, its quarters are not."""
    path = pruning_path(twins((1, 1)))
    assert path.exact_cost == (2, 0)
    verdict = check_corollary(path)
    assert verdict.holds is True
    assert verdict.certificate.components == (2,)
    quarter = check_corollary(path, [0.5, 1, 2, 0])
    assert quarter.holds is False
    assert [row.integral for row in quarter.certificate.rows] == [False, True, True, True]
    worst = quarter.certificate.counterexample
    assert (worst.budget, worst.weight, worst.components) == (Fraction(1, 2), Fraction(1, 4), 2)
    # both roots pruned: 8/20; both kept: 4/20; a quarter of the way
    assert worst.value == Fraction(1, 4) * Fraction(4, 20) + Fraction(3, 4) * Fraction(8, 20)


def test_a_tree_is_an_edge_of_parts_that_need_each_other() -> None:
    """Root and child, each worth its own price at the same lambda: the root alone lies between, the child alone does not."""
    tree = Node(6, 0, 0.5, Node(4, 1, 0.5, Node(1), Node(1)), Node(1))  # gains 1 and 2 for prices 1 and 2
    problem = problem_of([tree], [1, 2])
    path = pruning_path(problem)
    assert path.exact_cost == (3, 0)
    found = check_corollary(path, [1, 2]).certificate
    assert found.components == (2,)
    assert [row.integral for row in found.rows] == [True, False]


def test_one_stump_refutes_the_corollary() -> None:
    """A single stump: no pruning costs half of its price, so the relaxation mixes half of it, and the corollary fails."""
    verdict = check_corollary(pruning_path(twins((1,), (4,))))
    assert verdict.holds is False
    row = verdict.certificate.counterexample
    assert (row.budget, row.lam, row.weight, row.components) == (Fraction(1, 2), Fraction(1, 5), Fraction(1, 2), 1)
    assert row.value == Fraction(3, 10)
    assert relaxation(twins((1,), (4,)), Fraction(1, 2)) == pytest.approx(0.3)
    assert "B = 0.5: fractional, LP1 = 0.3" in str(verdict)


def test_breakpoints_are_integral() -> None:
    """Asked for the costs of the path's own prunings alone, and for more than the dearest costs, the corollary holds."""
    path = pruning_path(two_trees())
    verdict = check_corollary(path, [*path.exact_cost, 100])
    assert verdict.holds is True
    assert [row.components for row in verdict.certificate.rows] == [0] * (len(path) + 1)
    assert [row.lam for row in verdict.certificate.rows] == [0, Fraction(1, 8), Fraction(3, 8), 0]
    assert [row.value for row in verdict.certificate.rows][-1] == verdict.certificate.breakpoints[0].error
    assert "4 integral, 0 fractional" in str(verdict.certificate)


def test_at_lambda_0_the_cheaper_row_is_as_good() -> None:
    """In a path of largest optima the first edge may gain nothing: between its ends the cheaper one is an integral optimum."""
    problem = twins((1, 1), (4, 2))
    path = pruning_path(problem, ties="largest")
    assert path.exact_cost == (2, 1, 0)
    found = check_corollary(path, [1.5]).certificate.rows[0]
    assert (found.lam, found.integral, found.value) == (0, True, found.cheaper.error)


def test_what_is_not_proven_is_undecided() -> None:
    """Without a certificate, or with a tampered one, nothing is said; of real numbers there is a table, but no verdict."""
    path = pruning_path(two_trees())
    assert check_corollary(replace(path, certificate=None)).holds is None
    broken = check_corollary(replace(path, level=path.level[::-1].copy()))
    assert broken.holds is None
    assert "the path is not proven" in broken.certificate
    real = next(p for p in (pruning_path(random_problem(seed, rounded=True)) for seed in range(3, 99)) if len(p) > 1)
    verdict = check_corollary(real)
    assert verdict.holds is None
    assert isinstance(verdict.certificate, Budgets)


@pytest.mark.parametrize("budget", [-1, float("nan"), float("inf"), "much"])
def test_budgets_that_are_none_are_refused(budget: Any) -> None:
    """A budget that is no number >= 0 is refused, by its place."""
    with pytest.raises(InvalidInputError, match=r"budgets\[1\] is"):
        check_corollary(pruning_path(two_trees()), [0, budget])


def test_the_table_shows_the_longest_edges() -> None:
    """A line for each budget and the counts below; of more than there is room for, those on the longest edges."""
    written = check_corollary(pruning_path(two_trees()), [0.5, 2]).certificate.table().splitlines()
    assert [line.split()[0] for line in written[:3]] == ["optimum", "fractional", "integral"]
    assert written[3:] == ["", "1 integral, 1 fractional, 0 undecided"]
    short = check_corollary(pruning_path(two_trees()), [2.5, 1]).certificate.table(1).splitlines()
    assert short[1].split()[1] == "1"  # the edge from 0 to 2, the other has length 1
    assert short[2] == "and 1 more, on shorter edges"


@settings(deadline=None)
@given(
    gains=st.lists(st.integers(0, 6), min_size=1, max_size=6),
    arcs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
    gain=st.integers(0, 30),
)
def test_sums_of_components_are_those_of_all_closed_sets(gains: list[int], arcs: list[tuple[int, int]], gain: int) -> None:
    """Whether components that need each other reach a gain is what a list of all closed sets says."""
    n = len(gains)
    needs = [frozenset(b for a, b in arcs if a == c and b < c) for c in range(n)]
    sets = [set(s) for k in range(n + 1) for s in itertools.combinations(range(n), k)]
    sums = {sum(gains[c] for c in s) for s in sets if all(needs[c] <= s for c in s)}
    order = np.random.default_rng(n).permutation(n)  # numbered in any order
    place = {int(c): k for k, c in enumerate(order)}
    edge = LevelComponents(tuple(gains[c] for c in order), tuple(frozenset(place[d] for d in needs[c]) for c in order))
    assert edge.reaches(gain) is (gain in sums)


def test_too_many_closed_sets_are_left_undecided() -> None:
    """Components that hang together in more ways than can be listed: None, unless sums alone exclude it."""
    many = LevelComponents((2,) * 40, (frozenset(), *(frozenset({0}),) * 39))
    assert many.reaches(3) is False
    assert many.reaches(4) is True
    heavy = LevelComponents((0, *(2**k for k in range(20)), 2**22), (*(frozenset[int](),) * 21, frozenset({0})))
    assert heavy.reaches(2**22 + 3) is None
    assert LevelComponents((1,), (frozenset(),)).reaches(0) is True
    huge = LevelComponents((10**8, 10**8 + 1, 7), (frozenset[int](),) * 3)
    assert huge.reaches(10**8 + 7) is True
    assert huge.reaches(10**8 + 6) is False
