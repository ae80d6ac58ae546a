"""Budgets by class of example: by hand, against all prunings, against LP1, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations import CostItems, InvalidInputError, Pruning, PruningProblem
from formulations.answers.solution import Status, StopReason
from formulations.instance.papers import two_trees
from formulations.models import class_budgets
from formulations.programs.budget_matrix import budget_rows_matrix
from formulations.programs.budget_rows import BudgetRows, class_rows, example_rows
from solvers.brute_force import all_prunings
from solvers.budgets import relaxed_optimum
from solvers.budgets.by_class.cut import ClassCut
from solvers.budgets.by_class.relaxation import relaxation_by_cuts, relaxation_by_program
from solvers.budgets.by_class.rounding import ClassRounding
from solvers.budgets.by_class.solve import solve_class_budgets
from solvers.budgets.worst_case import solve_worst_case
from solvers.programs.engines.highs import highs
from solvers.programs.through_pyomo import solve_model
from tests.instances import Node, ensemble_of, plain_errors, random_problem
from tests.loops import looped
from tests.solvers.cases import PRESENT, instance, stump, twin_stumps

REAL = [name for name in PRESENT if not name.startswith(("random", "rounded"))]


def two_wards(**options: object) -> PruningProblem:
    """Feature 0 parts rows 0, 1 (left, x = 0) from 2, 3 (right, x = 1), free; left asks feature 1 at 6, right feature 2 at 2.

    Each of the two lower splits gains 3 of 10; the root by itself gains nothing.
    """
    left, right = Node(4, 1, 0.5, Node(0), Node(1)), Node(4, 2, 0.5, Node(1), Node(0))
    ensemble, error = ensemble_of([Node(8, 0, 0.5, left, right)], 3)
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]], dtype=float)
    return PruningProblem.build(ensemble, plain_errors(ensemble, error, 10.0), X, CostItems.plain([0, 6, 2]), **options)  # type: ignore[arg-type]


def halves(problem: PruningProblem, first: Any = 0, second: Any = 0) -> dict[str, tuple[Any, Any]]:
    """Two classes: every other row of positive weight, and all rows, so that they overlap."""
    mask = np.zeros(len(problem.X), dtype=bool)  # type: ignore[arg-type]
    mask[problem.rows[::2]] = True
    return {"half": (mask, first), "all": (np.arange(mask.size), second)}


def parts(problem: PruningProblem, shares: tuple[Fraction, Fraction]) -> dict[str, tuple[Any, Any]]:
    """`halves` with budgets that are shares of what the unpruned forest costs them."""
    costs = class_rows(problem, halves(problem)).costs(Pruning.unpruned(problem))
    return halves(problem, shares[0] * costs[0], shares[1] * costs[1])


def slow_costs(problem: PruningProblem, kept: np.ndarray, members: np.ndarray) -> Fraction:
    """The mean cost of some rows by walking every one of them down every tree, in fractions."""
    ensemble = problem.ensemble
    X = np.asarray(problem.X, dtype=np.float32)[problem.rows]
    needed_by_any: set[int] = set()
    total, weight = Fraction(0), Fraction(0)
    for i in range(problem.n_rows):
        mine, evaluated = set(), Fraction(0)
        for root in ensemble.roots:
            h = int(root)
            while kept[h]:
                f = int(ensemble.feature[h])
                mine |= set(problem.costs.needs[f])
                evaluated += problem.evaluation[f]
                h = int(ensemble.left[h] if X[i, f] <= ensemble.threshold[h] else ensemble.right[h])
        if i in members:
            w = Fraction(repr(float(problem.weights[i])))
            once = problem.costs.paid_once
            total += w * (evaluated + sum((problem.costs.prices[m] for m in mine if not once[m]), Fraction(0)))
            weight += w
    for h in np.flatnonzero(kept):
        needed_by_any |= set(problem.costs.needs[int(ensemble.feature[h])])
    fixed = sum((problem.costs.prices[m] for m in needed_by_any if problem.costs.paid_once[m]), Fraction(0))
    return total / weight + fixed


@looped("seed", range(16))
def test_costs_by_class_are_what_its_examples_pay(seed: int) -> None:
    """Exact costs of random prunings and classes equal those of walking every example down; floats agree; all rows give LP1's."""
    problem = random_problem(seed, rounded=seed % 5 == 0)
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(rng.random(problem.n_rows) < 0.5) for _ in range(2)]
    members = [m if m.size else np.array([0]) for m in members]
    budgets = {str(c): (problem.rows[m], 1) for c, m in enumerate(members)}
    rows = class_rows(problem, budgets | {"all": (np.ones(len(problem.X), dtype=bool), 1)})  # type: ignore[arg-type]
    cut = ClassCut(rows)
    every = all_prunings(problem).kept
    for kept in every[rng.integers(0, len(every), 6)]:
        pruning = Pruning(problem, kept)
        exact = rows.costs(pruning)
        assert exact[:2] == tuple(slow_costs(problem, kept, m) for m in members)
        np.testing.assert_allclose(cut.costs(kept), [float(c) for c in exact], rtol=1e-12, atol=1e-12)
        if problem.integers.cost_rounding == 0:
            assert exact[2] == pruning.exact_cost


def test_weights_that_do_not_fit_64_bits_are_added_exactly() -> None:
    """Weights of 17 digits over many orders of magnitude: the mean cost is the fraction of the decimals."""
    weights = np.array([0.12345678901234567, 98765432.123456789, 1e-9, 3.0])
    problem = two_wards(sample_weight=weights)
    rows = class_rows(problem, {"some": ([0, 2, 3], 9)})
    w = [Fraction(repr(float(x))) for x in weights]
    unpruned = Pruning.unpruned(problem)
    assert rows.costs(unpruned) == ((6 * w[0] + 2 * w[2] + 2 * w[3]) / (w[0] + w[2] + w[3]),)


def test_two_wards_by_hand() -> None:
    """Left pays 6 each, right 2. "left at most 5, right at most 2" keeps the right split only; "at most 6, at most 1" the left.

    Either gains 3 of 10, as in no other pruning within the budgets: errors .8 less .3.
    """
    problem = two_wards()
    for left, right, kept in ((5, 2, [0, 4]), (6, 1, [0, 1]), (6, 2, [0, 1, 4]), (5, 1, [])):
        found = solve_class_budgets(problem, {"left": ([0, 1], left), "right": ([2, 3], right)}, method="exact")
        assert set(kept) <= set(np.flatnonzero(found.pruning.kept))
        assert found.error == pytest.approx(0.8 - 0.3 * sum(h in kept for h in (1, 4)))
        assert found.status is Status.OPTIMAL
        assert found.costs == {"left": 6 if 1 in kept else 0, "right": 2 if 4 in kept else 0}
    # the relaxation: left to 5/6, right in full: .8 - .25 - .3; a unit for the left is worth .3 / 6, and one for the right .3 / 2
    found = solve_class_budgets(problem, {"left": ([0, 1], 5), "right": ([2, 3], 1)})
    assert found.relaxation == pytest.approx(0.8 - 0.3 * 5 / 6 - 0.3 / 2)
    assert found.lam == pytest.approx({"left": 0.05, "right": 0.15})
    assert found.bound == pytest.approx(found.relaxation)
    assert len(found.mixture) <= 3
    assert sum(weight for _, weight in found.mixture) == pytest.approx(1.0)


def test_what_no_class_limits_is_free() -> None:
    """Rows in no class are not limited: with a budget of 0 for the left alone, the right split is kept."""
    found = solve_class_budgets(two_wards(), {"left": (np.array([True, True, False, False]), 0)})
    assert found.pruning.kept[4]
    assert not found.pruning.kept[1]
    assert found.error == pytest.approx(0.5)
    assert found.status is Status.OPTIMAL


def test_a_licence_counts_in_full_in_every_class() -> None:
    """An item paid once for all costs every class its price as soon as one split needs it, whoever gets there."""
    left, right = Node(4, 1, 0.5, Node(0), Node(1)), Node(4, 0, 0.5, Node(2), Node(2))
    ensemble, error = ensemble_of([Node(8, 0, 0.5, left, right)], 2)
    X = np.array([[0, 0], [1, 0]], dtype=float)
    costs = CostItems.from_items({"free": 0, "licence": 7}, [["free"], ["licence"]], once=["licence"])
    problem = PruningProblem.build(ensemble, plain_errors(ensemble, error, 10.0), X, costs)
    rows = class_rows(problem, {"left": ([0], 7), "right": ([1], Fraction(69, 10))})
    assert rows.costs(Pruning.unpruned(problem)) == (7, 7)
    assert not rows.within(Pruning.unpruned(problem))
    found = solve_class_budgets(problem, {"right": ([1], Fraction(69, 10))}, method="exact")
    assert not found.pruning.kept[1]
    assert solve_class_budgets(problem, {"right": ([1], 7)}, method="exact").pruning.kept[1]


@looped(("name", "engine"), [*((name, "cuts") for name in PRESENT), *((name, "highs") for name in REAL)])
def test_one_class_of_all_rows_is_lp1(name: str, engine: Any) -> None:
    """With all rows in one class the relaxation is the path's mixture, lambda included, and the bound is its value."""
    problem = instance(name)
    path = pm.pruning_path(problem)
    everyone = np.ones(len(problem.X), dtype=bool)  # type: ignore[arg-type]
    for k in (0, len(path) // 2):
        budget = path.exact_cost[k] / 2 + (path.exact_cost[k + 1] if k + 1 < len(path) else 0) / 2
        hull = relaxed_optimum(path, budget)
        found = solve_class_budgets(problem, {"all": (everyone, budget)}, engine=engine)
        size = max(1.0, float(problem.errors.of_all_roots(problem.ensemble)))
        assert found.relaxation == pytest.approx(float(hull.value), abs=1e-8 * size)
        spare = 1e-12 * size + 2 * problem.integers.error_rounding
        assert float(hull.value) - 1e-7 * size - spare <= found.bound <= float(hull.value) + spare
        if not hull.is_integral:
            assert found.lam["all"] == pytest.approx(float(hull.lam), rel=1e-6, abs=1e-9)
        assert found.costs["all"] <= budget
        assert found.costs["all"] == pytest.approx(found.pruning.cost)
        assert found.error >= found.bound - spare


@looped("name", REAL)
def test_cuts_and_the_linear_program_agree(name: str) -> None:
    """Both relaxations of two overlapping classes have the same value; both bounds meet it; mixtures keep to the budgets."""
    problem = instance(name)
    for shares in ((Fraction(1, 3), Fraction(1, 2)), (Fraction(3, 4), Fraction(2, 5))):
        rows = class_rows(problem, parts(problem, shares))
        cut = ClassCut(rows)
        by_cuts, by_program = relaxation_by_cuts(cut), relaxation_by_program(cut)
        size = max(1.0, abs(by_program.value))
        assert by_cuts.value == pytest.approx(by_program.value, abs=1e-8 * size)
        for found in (by_cuts, by_program):
            assert found.value - 1e-7 * size <= found.bound <= found.value + 1e-8 * size
            assert sum(weight for _, weight in found.mixture) == pytest.approx(1.0)
            for c, limit in enumerate(rows.limits):
                cost = sum(weight * float(rows.costs(pruning)[c]) for pruning, weight in found.mixture)
                assert cost <= float(limit) + 1e-6 * max(1.0, float(limit))
                if found.lam[c] > 1e-7 * size:  # complementary: a budget that is worth something is used up
                    assert cost == pytest.approx(float(limit), rel=1e-5)
            error = sum(weight * pruning.error for pruning, weight in found.mixture)
            assert error == pytest.approx(found.value, abs=1e-6 * size)
        assert len(by_cuts.mixture) <= 3


@pytest.mark.parametrize("shares", [(Fraction(1, 3), Fraction(2, 3)), (Fraction(3, 4), Fraction(2, 5))])
@pytest.mark.parametrize("name", ["papers", "wine, evaluation", "breast cancer, licence", "iris, weights", "random 11"])
def test_pyomo_and_arrays_write_the_same_program(name: str, shares: tuple[Fraction, Fraction]) -> None:
    """IP3 with the budget rows in Pyomo, the closure with them as arrays, merged or not: the same values and duals."""
    problem = instance(name)
    rows = class_rows(problem, parts(problem, shares))
    relaxed = highs(budget_rows_matrix(rows, relax=True))
    assert relaxed.row_dual is not None
    lam = -relaxed.row_dual[budget_rows_matrix(rows).rows.of("budget")]
    assert highs(budget_rows_matrix(rows, relax=True, merge=False)).objective == pytest.approx(relaxed.objective, abs=1e-9)
    for merge in (True, False):
        model: Any = class_budgets.build(rows, relax=True, merge=merge)
        assert solve_model(model)[1].objective == pytest.approx(relaxed.objective, abs=1e-9)
        value = float(sum(b * x for b, x in zip(rows.limits, lam.tolist(), strict=True)))
        duals = [-model.dual[model.budget[c]] for c in model.GROUPS]
        assert sum(float(b) * x for b, x in zip(rows.limits, duals, strict=True)) == pytest.approx(value, abs=1e-7)
    whole = highs(budget_rows_matrix(rows)).objective
    assert solve_model(class_budgets.build(rows, merge=True))[1].objective == pytest.approx(whole, abs=1e-9)


@looped("seed", range(12))
def test_all_prunings_lie_between_bound_and_answer(seed: int) -> None:
    """On small forests "exact" finds the best of all prunings, "round" is no better, its bound no higher; budgets hold."""
    problem = random_problem(seed + 200, rounded=seed % 6 == 5)
    if not any(Pruning.unpruned(problem).bought.ravel()):
        problem = two_trees()
    every = [Pruning(problem, kept) for kept in all_prunings(problem).kept]
    for shares in ((Fraction(1, 3), Fraction(2, 3)), (Fraction(1), Fraction(1, 2))):
        budgets = parts(problem, shares)
        rows = class_rows(problem, budgets)
        best = min(p.error for p in every if rows.within(p))
        exact = solve_class_budgets(problem, budgets, method="exact")
        rounded = solve_class_budgets(problem, budgets)
        assert exact.error == pytest.approx(best, abs=1e-12)
        assert exact.status is Status.OPTIMAL
        assert rounded.bound <= best + 1e-12
        assert rounded.error >= best - 1e-12
        for found in (exact, rounded):
            assert all(found.costs[name] <= budget for name, (_, budget) in budgets.items())
            assert tuple(found.costs.values()) == rows.costs(found.pruning)


@looped("seed", range(25))
def test_any_prices_bound_from_below(seed: int) -> None:
    """One cut at class prices drawn at random: its bound is below all prunings within the budgets, and tight for its own."""
    problem = random_problem(seed, rounded=seed % 5 == 4)
    rows = class_rows(problem, parts(problem, (Fraction(1, 2), Fraction(1, 2))))
    cut, rng = ClassCut(rows), np.random.default_rng(seed)
    every = [Pruning(problem, kept) for kept in all_prunings(problem).kept]
    inside = [p for p in every if rows.within(p)]
    for size in (0.0, 1e-3, 0.1, 10.0, 1e6):
        lam = rng.random(2) * size
        found = cut.cut(lam)
        assert found.bound <= min(p.error for p in inside) + 1e-12
        worth = [p.error + float(lam @ (cut.costs(p.kept) - cut.limits)) for p in every]
        slack = 2 * problem.integers.error_rounding
        scale = max(1.0, size)
        assert found.bound == pytest.approx(min(worth), abs=1e-9 * scale + slack)
        own = found.pruning.error + float(lam @ (cut.costs(found.pruning.kept) - cut.limits))
        assert own == pytest.approx(min(worth), abs=1e-9 * scale + slack)


def test_filling_uses_the_room_that_is_left() -> None:
    """From nothing at all, filling alone keeps what fits: here the right split beside the root, which is free."""
    problem = two_wards()
    rows = class_rows(problem, {"left": ([0, 1], 5), "right": ([2, 3], 2)})
    rounding = ClassRounding(ClassCut(rows), Pruning.all_roots(problem), np.inf)
    rounding.fill(rounding.pruning, np.array([0.1, 0.1]))
    assert set(np.flatnonzero(rounding.pruning.kept)) == {0, 4}


@pytest.mark.parametrize("name", ["digits", "wine, evaluation", "diabetes", "sonar"])
def test_rounding_is_worth_it(name: str) -> None:
    """What is found is at least as good as the best path row that is within all budgets."""
    problem = instance(name)
    budgets = parts(problem, (Fraction(1, 2), Fraction(1, 3)))
    rows = class_rows(problem, budgets)
    inside = [pruning.error for pruning in pm.pruning_path(problem) if rows.within(pruning)]
    assert solve_class_budgets(problem, budgets).error <= min(inside) + 1e-12


@pytest.mark.parametrize("engine", ["cuts", "highs"])
def test_no_time_leaves_a_true_answer(engine: Any) -> None:
    """Past the limit: a pruning within the budgets, and the bound that needs no cut."""
    problem = instance("digits")
    found = solve_class_budgets(problem, parts(problem, (Fraction(1, 3), Fraction(1, 2))), time_limit=0, engine=engine)
    assert found.bound == pytest.approx(float(pm.pruning_path(problem).error[0]))
    assert found.stopped is StopReason.TIME_LIMIT
    assert all(found.costs[name] <= found.budgets[name] for name in found.budgets)
    assert found.bound <= found.error
    assert found.status is Status.FEASIBLE
    assert repr(found).startswith("ClassBudgetsSolution(feasible, cost half 0 of ")


def test_generous_budgets_are_no_budgets() -> None:
    """Where the best pruning at no price fits all budgets it is the answer, at lambda 0 and gap 0."""
    problem = instance("wine, groups")
    found = solve_class_budgets(problem, parts(problem, (Fraction(1), Fraction(1))))
    assert found.error == pytest.approx(float(pm.pruning_path(problem).error[0]))
    assert set(found.lam.values()) == {0.0}
    assert found.status is Status.OPTIMAL


def test_rows_of_weight_0_are_nobody() -> None:
    """A class may name rows of weight 0, which count nowhere; of these alone it has no mean."""
    problem = two_wards(sample_weight=[0, 2, 1, 1])
    rows = class_rows(problem, {"left": ([0, 1], 5)})
    assert rows.costs(Pruning.unpruned(problem)) == (6,)
    with pytest.raises(InvalidInputError, match=r"budgets\['nobody'\] has no row of positive weight"):
        class_rows(problem, {"nobody": ([0], 5)})


def test_shares_add_up() -> None:
    """Weights are divided by those of the class: each row of `share` sums to 1."""
    problem = two_wards(sample_weight=[1, 2, 3, 0.5])
    rows: BudgetRows = class_rows(problem, {"a": ([0, 1, 2], 1), "b": ([3, 2], 1)})
    np.testing.assert_allclose(np.asarray(rows.share.sum(axis=1)).ravel(), 1.0)
    np.testing.assert_allclose(rows.share.toarray()[0], [1 / 6, 2 / 6, 3 / 6, 0])
    assert len(example_rows(problem, 1).names) == 4


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ({}, "budgets is empty"),
        ({"a": 5}, r"budgets\['a'\] is 5; give its rows and its budget"),
        ({"a": ([0], -1)}, r"budgets\['a'\] is -1, negative"),
        ({"a": ([0], "five")}, r"budgets\['a'\]\[1\] is 'five'"),
        ({"a": ([0, 4], 1)}, "there is no row 4 in a cost sample of 4 rows"),
        ({"a": ([-1], 1)}, "there is no row -1"),
        ({"a": ([1, 1], 1)}, "row 1 occurs twice"),
        ({"a": ([True, False], 1)}, "the mask has 2 entries, the cost sample 4 rows"),
        ({"a": ([0.5], 1)}, "rows is float64"),
        ({"a": ([[0]], 1)}, r"rows has shape \(1, 1\)"),
        ({"a": ([], 1)}, r"budgets\['a'\] has no row of positive weight"),
    ],
)
def test_wrong_budgets_are_refused(budgets: Any, message: str) -> None:
    """Each refusal names the class and what is wrong with it."""
    with pytest.raises(InvalidInputError, match=message):
        solve_class_budgets(two_wards(), budgets)


def test_wrong_options_are_refused() -> None:
    """Unknown engines and methods, and a negative time."""
    one: Any = {"a": ([0], 1)}
    with pytest.raises(InvalidInputError, match="engine is 'cplex'; give one of 'cuts', 'highs'"):
        solve_class_budgets(twin_stumps(), one, engine="cplex")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="method is 'best'; give one of 'round', 'exact'"):
        solve_class_budgets(twin_stumps(), one, method="best")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="time_limit is -1"):
        solve_class_budgets(stump((4, 1, 1), [1], [[0], [1]]), one, time_limit=-1)


@pytest.mark.parametrize("method", ["round", "exact"])
def test_a_budget_a_hair_too_small_is_too_small(method: Any) -> None:
    """A budget of 2 less 10^-12, below what floats and HiGHS can tell from 2: the split that costs 2 is not kept."""
    hair = Fraction(1, 10**12)
    assert solve_class_budgets(two_wards(), {"right": ([2, 3], 2)}, method=method).pruning.kept[4]
    found = solve_class_budgets(two_wards(), {"right": ([2, 3], 2 - hair)}, method=method)
    assert not found.pruning.kept[4]
    assert found.costs["right"] <= 2 - hair
    assert not solve_worst_case(two_wards(), 2 - hair).pruning.kept[4]


def test_filling_goes_on_below_what_it_added() -> None:
    """Three splits one below the other, mean costs 1, 1.75, 2.25: at 1.75, under high prices, the second follows the first."""
    last = Node(5, 2, 0.5, Node(1), Node(0))
    ensemble, error = ensemble_of([Node(9, 0, 0.5, Node(1), Node(7, 1, 0.5, Node(1), last))], 3)
    X = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=float)
    problem = PruningProblem.build(ensemble, plain_errors(ensemble, error, 10.0), X, CostItems.plain([1, 1, 1]))
    rows = class_rows(problem, {"all": (np.arange(4), 1.75)})
    rounding = ClassRounding(ClassCut(rows), Pruning.all_roots(problem), np.inf)
    rounding.fill(rounding.pruning, np.array([100.0]))
    assert rounding.pruning.n_splits == 2


def test_the_best_of_what_is_offered_is_kept() -> None:
    """A worse pruning that fits is said to fit, and does not replace a better one; one that does not fit is refused."""
    problem = two_wards()
    rounding = ClassRounding(ClassCut(class_rows(problem, {"left": ([0, 1], 5)})), Pruning.all_roots(problem), np.inf)
    right = problem.ensemble.is_split.copy()
    right[1] = False
    assert rounding.offer(Pruning(problem, right))
    assert rounding.offer(Pruning.all_roots(problem))
    assert not rounding.offer(Pruning.unpruned(problem))
    assert set(np.flatnonzero(rounding.pruning.kept)) == {0, 4}
