"""Corollary 4.3 and LP1's relaxation of a budget: linear programs, all prunings, true mixtures and chains, forged ones."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import prunemodels as pm
from formulations import InvalidInputError, PruningProblem
from formulations.answers.limited_solution import LP1Relaxation
from formulations.instance.limit import Limit
from formulations.instance.papers import ERRORS, two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks import check_relaxation
from proofs_checks.optimality.corollary import AtBudget, Budgets, LevelComponents, check_corollary
from solvers import pruning_path
from solvers.brute_force import AllPrunings, all_prunings
from solvers.within import best_breakpoint, solve_limits, solve_lp1
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.within.limits.cases import two_wards
from tests.solvers.within.test_engines import a_larger_problem, budgets_of


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


def some_budgets_of(cost: tuple[Fraction, ...], every: AllPrunings, unit: Fraction) -> list[Fraction]:
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
    budgets = some_budgets_of(path.exact_cost, every, problem.numbers.price_unit)
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


def test_a_relaxation_that_is_not_proven_is_undecided() -> None:
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
