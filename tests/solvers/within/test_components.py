"""LP1's optimum: as arrays, around a cost without a path, from points and dual values; rounded to a pruning with a bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import prunemodels as pm
from formulations import Pruning, PruningPath, PruningProblem
from formulations.answers.limited_solution import LP1Relaxation
from formulations.answers.solution import Status
from formulations.errors import SolverFailedError
from formulations.instance.papers import ERRORS, two_trees
from formulations.programs.linear_program import usage_columns
from proofs_checks import check_solution
from solvers import solve_relaxation
from solvers.brute_force import all_prunings
from solvers.closures.subproblem import open_part
from solvers.path.pruning_path import divide_and_conquer, pruning_path
from solvers.within import (
    best_breakpoint,
    best_within,
    brute_force_budget,
    linear_program_within,
    relaxed_optimum,
    solve,
    solve_lp1,
)
from solvers.within.by_path import components_of
from solvers.within.by_programs import best_of_levels, bound_within
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.cases import PRESENT, instance, path_by_parts, stump, twin_stumps
from tests.solvers.path.test_large_parts import wrong_ends
from tests.solvers.within.limits.cases import two_wards
from tests.solvers.within.test_engines import a_larger_problem, budgets_of


@looped("seed", range(60))
def test_components_are_what_optimal_prunings_keep_together(seed: int) -> None:
    """Two splits are in one component exactly if each optimal pruning at lambda*, of all listed, keeps both or neither."""
    problem = random_problem(seed)
    path = pm.pruning_path(problem)
    every = all_prunings(problem)
    for row in range(1, len(path)):
        outer, inner = path[row - 1].kept, path[row].kept
        part = open_part(problem, outer, inner)
        label = components_of(part).of_split
        lam = path.between(row - 1) / problem.numbers.lam_unit
        value = every.gain.astype(object) - lam * every.cost.astype(object)
        optimal = every.kept[np.asarray(value == max(value), dtype=bool)]
        tied = optimal[(optimal | ~inner).all(axis=1) & (outer | ~optimal).all(axis=1)][:, part.nodes]
        together = (tied[:, :, None] == tied[:, None, :]).all(axis=0)
        assert (together == (label[:, None] == label[None, :])).all()


@pytest.mark.slow
@looped("seed", range(60))
def test_the_theorem_holds_at_every_budget(seed: int) -> None:
    """Every set of the chain is optimal at lambda*; the best pruning within B is no more than the bound above LP1."""
    problem = random_problem(seed) if seed < 40 else a_larger_problem(seed)
    path = pm.pruning_path(problem)
    for budget in budgets_of(path):
        found = solve_lp1(problem, budget, path=path)
        chain, best = found.chain, brute_force_budget(problem, budget).pruning.exact_error
        prunings = [pm.Pruning(problem, chain.kept(i)) for i in range(chain.n_components + 1)]
        assert (prunings[0].kept == found.cheaper.kept).all()
        assert (prunings[-1].kept == found.dearer.kept).all()
        assert tuple(k.exact_cost for k in prunings) == chain.cost
        for k in prunings:
            assert k.exact_error + found.lam * k.exact_cost == found.value + found.lam * min(budget, chain.cost[-1])
        assert found.pruning.exact_cost <= budget
        assert found.pruning.exact_error - found.value == found.bound
        assert found.value <= best <= found.value + found.bound
        if chain.row < chain.n_components:
            assert budget < chain.cost[chain.row + 1]
            assert found.bound < found.lam * chain.component_costs[chain.row] <= found.largest_bound
        else:
            assert found.bound == 0


def test_tied_stumps_by_hand() -> None:
    """Three stumps gain 2 of 10 in a third of the forest, 1/15 each, for 1 each: at B = 1.75 one fits, and 0.75 is unused. The
    roots err 4/10. LP1 buys 1.75/15 of it, one stump 1/15, so a pruning is 0.75/15 above LP1.
    """
    problem = problem_of([Node(4, f, 0.5, Node(1), Node(1)) for f in range(3)], [1] * 3)
    found = solve_lp1(problem, 1.75)
    assert found.lam == Fraction(1, 15)
    assert found.value == Fraction(4, 10) - Fraction(7, 60)
    assert found.chain.component_costs == (1, 1, 1)
    assert found.chain.row == 1
    assert found.pruning.exact_error == Fraction(4, 10) - Fraction(1, 15)
    assert found.bound == Fraction(3, 60)
    # the bound is tight: no pruning within 1.75 is better
    assert brute_force_budget(problem, 1.75).pruning.exact_error == found.value + found.bound
    assert found.largest_bound == Fraction(1, 15)
    assert found.dual == -1 / 15
    assert "rounded: cost 1, at most 0.05 above LP1" in repr(found)
    assert [row[0] for row in found._card().rows] == ["LP1", "58.3 % of", "41.7 % of", "rounded"]


def test_the_papers_trees() -> None:
    """As in chapter 8: one component between costs 0 and 2; with node 3 erring once, two, and B = 1 buys one of them."""
    whole, tied = solve_lp1(two_trees(), 1), solve_lp1(two_trees(dict(ERRORS) | {3: 1}), 1)
    assert (whole.chain.n_components, whole.chain.row, whole.bound, whole.largest_bound) == (1, 0, Fraction(3, 8), Fraction(6, 8))
    assert (tied.chain.n_components, tied.chain.row, tied.bound, tied.largest_bound) == (2, 1, 0, Fraction(3, 8))
    assert tied.pruning.exact_error == tied.value == Fraction(5, 8)


def test_the_dearest_component_that_fits_is_taken_first() -> None:
    """Components of 3, 2 and 2 that are worth the same per unit: 4 of the budget are best spent on 2 + 2, but 5 on 3 + 2."""
    tree = [Node(2 * p, f, 0.5, Node(0), Node(0)) for f, p in enumerate((3, 2, 2))]
    problem = problem_of(tree, [3, 2, 2], weight=30.0)
    assert solve_lp1(problem, 5).bound == 0
    greedy = solve_lp1(problem, 4)
    assert greedy.bound == greedy.lam * 1  # 3 was taken first
    assert brute_force_budget(problem, 4).pruning.exact_error == greedy.value


def test_ends_that_are_not_both_optimal_are_refused() -> None:
    """They would have no common lambda*."""
    problem = two_trees()
    unpruned = pm.Pruning.unpruned(problem).kept
    with pytest.raises(SolverFailedError, match="they are not optimal"):
        components_of(open_part(problem, unpruned, np.zeros_like(unpruned)))


def test_a_path_of_largest_optima_may_have_an_edge_without_gain() -> None:
    """With lambda* = 0 nothing is gained by spending more: the bound is 0."""
    problem = stump((2, 1, 1), [1], [[0], [1]])
    found = solve_lp1(problem, 0.5, path=pm.pruning_path(problem, ties="largest"))
    assert (found.lam, found.bound, found.chain.row) == (0, 0, 0)


def lp1_budgets_of(path: PruningPath) -> list[Fraction]:
    """Breakpoints' costs, points between them, 0, and one where the row is slack."""
    cost = path.exact_cost
    chosen = {Fraction(0), cost[0], cost[0] + 1}
    for k in range(0, len(path) - 1, max(1, len(path) // 3)):
        chosen |= {cost[k], (3 * cost[k] + 7 * cost[k + 1]) / 10}
    return sorted(chosen)


def agrees(value: float, lam: float, hull: LP1Relaxation, path: PruningPath) -> None:
    """The value is the hull's; lambda is a slope of the hull there."""
    size = max(1.0, float(path.problem.errors.of_all_roots(path.problem.ensemble)))
    assert value == pytest.approx(float(hull.value), abs=1e-8 * size)
    cost, lam_of = path.exact_cost, [*(float(b) for b in path.breakpoints), float("inf")]
    k = next((k for k, c in enumerate(cost) if c <= hull.budget), len(cost) - 1)
    # one number between breakpoints, and at one the lambdas where the row of this cost is optimal
    lowest, highest = lam_of[k], lam_of[k + (cost[k] >= hull.budget)]
    assert lam >= lowest * (1 - 1e-6) - 1e-9 * size
    assert lam <= highest * (1 + 1e-6) + 1e-9 * size


@looped(
    ("problem", "budget", "optimum", "dual"),
    [
        (stump((4, 1, 1), [1], [[0], [1]]), 0.3, 0.4 - 0.3 * 0.2, -0.2),
        (stump((4, 1, 1), [1], [[0], [1]]), 1.5, 0.2, 0.0),
        (twin_stumps(), 0.5, 0.4 - 0.5 * 0.2, -0.2),
    ],
)
def test_duals_by_hand(problem: PruningProblem, budget: float, optimum: float, dual: float) -> None:
    """A stump, which errs on 4 of 10, or two that share a purchase, gains .2 for 1: a unit is worth .2, above 1 nothing."""
    found = solve_relaxation(problem, budget=budget, formulation="LP1")
    assert (found.objective, found.dual["budget"]) == (pytest.approx(optimum), pytest.approx(dual))
    if budget == 0.3:
        assert found.point["z[0]"] == pytest.approx(0.7)


NAMES = ("iris", "wine, groups", "wine, evaluation", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


@pytest.mark.slow
@looped("name", NAMES)
def test_the_rows_around_a_cost_are_those_of_the_path(name: str) -> None:
    """The same mixture at costs between rows, at rows, and at the ends; elsewhere rows may be missing, and none is wrong."""
    problem = instance(name)
    path = pruning_path(problem)
    costs = path.exact_cost
    fewest = len(path)
    between = ((a + 2 * b) / 3 for a, b in pairwise(costs))
    for cost in (Fraction(0), *costs[:: max(1, len(costs) // 5)], *between, 2 * costs[0]):
        near = path_by_parts(problem, 0, around=cost)
        fewest = min(fewest, len(near))
        one, other = relaxed_optimum(near, cost), relaxed_optimum(path, cost)
        assert (one.value, one.lam, one.weight) == (other.value, other.lam, other.weight)
        np.testing.assert_array_equal(one.cheaper.kept, other.cheaper.kept)
        np.testing.assert_array_equal(one.dearer.kept, other.dearer.kept)
        assert set(near.exact_cost) <= set(costs)
    assert fewest < len(path)
    for share in (0.2, 0.5, 0.8):  # instances this small are solved whole: the same to the last bit
        budget = float(path.cost[0]) * share
        alone, given = best_within(problem, budget), best_within(problem, budget, path=path)
        assert (alone.error, alone.bound, alone.cost) == (given.error, given.bound, given.cost)
        np.testing.assert_array_equal(alone.pruning.kept, given.pruning.kept)


@pytest.mark.slow
def test_the_gap_of_an_edge_that_is_not_proven_lowers_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds that stop early leave a gap; the bound is below that of the proven edge by no more than that, and true."""
    problem = instance("breast cancer, licence")
    path = pruning_path(problem)
    params = replace(wrong_ends(monkeypatch), most_arcs_around=-1, largest_network=0)
    whole = divide_and_conquer
    monkeypatch.setattr(solve, "divide_and_conquer", lambda problem, asked: whole(problem, replace(asked, params=params)))
    budget = float(path.cost[0]) * 0.6
    found, true = best_breakpoint(problem, budget), best_breakpoint(problem, budget, path=path)
    assert found.bound < true.bound
    assert found.cost <= budget


@pytest.mark.slow
@looped("name", PRESENT)
def test_a_programs_level_sets_give_the_paths_mixture(name: str) -> None:
    """At breakpoints and between them: value and lambda* are the path's, the ends are nested and cost B together."""
    problem = instance(name)
    path = pm.pruning_path(problem)
    for budget in lp1_budgets_of(path):
        mixture = linear_program_within(problem, budget).relaxation
        agrees(float(mixture.value), float(mixture.lam), relaxed_optimum(path, budget), path)
        assert not (mixture.cheaper.kept & ~mixture.dearer.kept).any()
        weight, ends = mixture.weight, (mixture.dearer, mixture.cheaper)
        cost, error = (weight * a + (1 - weight) * b for a, b in zip(*((p.exact_cost, p.exact_error) for p in ends), strict=True))
        assert error == mixture.value
        assert cost == budget or (mixture.is_integral and cost <= budget)


@looped(
    ("budget", "lam", "value"),
    [(Fraction(3, 10), Fraction(1, 5), Fraction(34, 100)), (1, Fraction(1, 10), Fraction(1, 5)), (2, 0, Fraction(1, 5))],
)
def test_level_sets_of_a_stump_by_hand(budget: Fraction | int, lam: Fraction, value: Fraction) -> None:
    """A stump that gains .2 for 1, budget .3: three tenths of it, at .4 - .3 * .2; whole prunings spend nothing. Where no level
    set costs more than B the best of them is taken alone; beyond its cost another unit is worth nothing.
    """
    pruning, mixture = best_of_levels(stump((4, 1, 1), [1], [[0], [1]]), np.array([0.5, 0.0, 0.0]), Fraction(budget), 0.1)
    assert (mixture.is_integral, pruning.n_splits) == (budget >= 1, budget >= 1)
    assert (mixture.lam, mixture.value) == (lam, value)
    assert mixture.is_integral or mixture.weight == budget


def test_a_level_set_at_the_budget_is_taken_alone() -> None:
    """The hull has a corner at cost 1, {0, 4} of the two wards: at budget 1 it is the optimum, not a mixture around it."""
    y = np.array([0.9, 0.3, 0.0, 0.0, 0.6, 0.0, 0.0])
    _, mixture = best_of_levels(two_wards(), y, Fraction(1), 0.2)
    assert mixture.is_integral
    assert set(np.flatnonzero(mixture.dearer.kept)) == {0, 4}
    assert (mixture.value, mixture.lam) == (Fraction(1, 2), Fraction(1, 5))


@looped(
    ("problem", "dual", "budget", "lam", "bound"),
    [
        *((twin_stumps(), dual, 0.5, 5, bound) for dual, bound in (((0.1, 0.1), 0.3), ((0.2, 0.0), 0.2), ((7.0, 7.0), 0.3))),
        (twin_stumps(), (0.1, 0.1), 0.5, 4, 0.275),
        (stump((4, 1, 1), [1], [[0], [1]]), (0.0,), 0.3, 5, 0.4 - 0.2 * 0.3),  # a single user pays the full price at any dual
    ],
)
def test_bounds_by_hand(problem: PruningProblem, dual: tuple[float, ...], budget: float, lam: int, bound: float) -> None:
    """Two stumps on one feature gain .1 each and pay 1 together, budget .5: at lambda 1/5 equal duals prove .4 - .2 * .5.

    If one tree bears all of it, the other gains its .1 for nothing. What is beyond the price is cut in proportion. At lambda 1/4
    the same duals leave no gain either, and the budget is worth more.
    """
    columns, within = usage_columns(problem, merge=True), Fraction(str(budget))
    assert bound_within(problem, columns, np.array(dual), within, Fraction(1, lam)) == pytest.approx(bound, abs=1e-15)


def test_a_bound_of_nothing_is_nothing() -> None:
    """A forest that never errs: the bound was the largest float below 0, and the checker refuted that the answer is optimal."""
    problem = stump((0, 0, 0), [1], [[0], [1]])
    found = linear_program_within(problem, 0)
    assert (found.bound, found.error, found.status) == (0.0, 0.0, Status.OPTIMAL)
    assert check_solution(problem, found).holds is not False


@looped("seed", range(20))
def test_any_duals_and_lambda_bound_from_below(seed: int) -> None:
    """From dual values and a lambda drawn at random the bound stays below every pruning within the budget."""
    problem, rng = random_problem(seed, rounded=seed % 4 == 0), np.random.default_rng(seed)
    prunings, columns = [Pruning(problem, kept) for kept in all_prunings(problem).kept], usage_columns(problem, merge=True)
    for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
        budget = share * max(pruning.exact_cost for pruning in prunings)
        best = min(pruning.error for pruning in prunings if pruning.exact_cost <= budget)
        for size in (1e-3, 0.1, 10.0):
            dual, lam = rng.random(columns.node.size) * size, Fraction(rng.random() * size)
            assert bound_within(problem, columns, dual, budget, lam) <= best + 1e-12
