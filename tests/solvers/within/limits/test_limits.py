"""Any number of limits: by hand, against all prunings in fractions, and against LP1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import InvalidInputError, Pruning, PruningProblem
from formulations.answers.solution import Status, StopReason
from formulations.errors import SolverFailedError
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import MOST, integer_row, limit_matrix, limit_rows, one_row
from proofs_checks import check_solution
from solvers.brute_force import all_prunings
from solvers.path.pruning_path import pruning_path
from solvers.within import best_within, brackets, integer_program_within, relaxed_optimum, solve_limits
from solvers.within.by_programs import branch_within
from solvers.within.params import WithinParams
from solvers.within.prover import LagrangianOracle
from solvers.within.relaxation import relax
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.cases import instance
from tests.solvers.within.limits.cases import chain, drawn, two_wards


def wards(left: Any, right: Any) -> list[Limit]:
    """A limit for the rows on each side of `two_wards`."""
    return [Limit(left, rows=[0, 1], name="left"), Limit(right, rows=[2, 3], name="right")]


def halves(problem: PruningProblem, shares: tuple[Fraction, Fraction]) -> list[Limit]:
    """Limits for every other row and for all, at shares of what the unpruned forest costs these."""
    groups = [(problem.usage.rows[::2], "half"), (None, "all")]
    rows = limit_rows(problem, [Limit(10**9, rows=mine, name=name) for mine, name in groups])
    uses = rows.uses(Pruning.unpruned(problem))
    return [Limit(s * use, rows=mine, name=name) for (mine, name), s, use in zip(groups, shares, uses, strict=True)]


def test_two_wards_by_hand() -> None:
    """Left pays 6 each, right 2. "left at most 5, right at most 2" keeps the right split only; "at most 6, at most 1" the left.
    Either gains 3 of 10, as in no other pruning within the limits: errors .8 less .3.
    """
    problem = two_wards()
    for left, right, kept in ((5, 2, [0, 4]), (6, 1, [0, 1]), (6, 2, [0, 1, 4]), (5, 1, [])):
        found = solve_limits(problem, wards(left, right))
        assert set(kept) <= set(np.flatnonzero(found.pruning.kept))
        assert found.error == pytest.approx(0.8 - 0.3 * sum(h in kept for h in (1, 4)))
        assert found.status is Status.OPTIMAL
        assert found.uses == (6 if 1 in kept else 0, 2 if 4 in kept else 0)
    # the relaxation: left to 5/6, right in half: .8 - .25 - .15; a unit for the left is worth .3 / 6, one for the right .3 / 2
    found = solve_limits(problem, wards(5, 1), method="path")
    relaxation = found.relaxation
    assert relaxation.value == pytest.approx(0.8 - 0.3 * 5 / 6 - 0.3 / 2)
    assert relaxation.multipliers == pytest.approx((0.05, 0.15))
    assert found.bound == pytest.approx(0.5)  # errors are tenths of 3 apart: .8, .5, .2
    assert len(relaxation.mixture) <= 3
    assert sum(weight for _, weight in relaxation.mixture) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ([Limit(3, "minutes")], {0, 1, 4}),  # 2 rows of 4 for 1 minute, 2 for 5: a mean of 3
        ([Limit(2.5, "minutes")], {0, 4}),  # either split gains as much; 5 * 2 / 4 is 2.5, and cheaper
        ([Limit(2.4, "minutes")], {0, 1}),
        ([Limit(2.5, "minutes"), Limit(0.9)], {0}),  # the scan costs 3 on average, the blood 1
        ([Limit(0.4, "scan")], {0, 4}),  # half of the rows ask for the scan
        ([Limit(0.5, "scan"), Limit(0.4, "blood")], {0, 1}),
        ([Limit(5, each=True)], {0, 4}),
        ([Limit(1, "items")], {0, 1}),  # one of the two priced items; which one, the limits leave open
        ([Limit(2, "splits")], {0, 1}),
        ([Limit(3, "leaves")], {0, 1}),
        ([Limit(1, "leaves")], set()),
        ([Limit(0, {"scan": 1, "blood": 0})], {0, 4}),
    ],
)
def test_what_can_be_limited(limits: list[Limit], kept: set[int]) -> None:
    """Each kind of limit on `two_wards`: how many of the two lower splits fit, and which where only one can."""
    problem = two_wards()
    found = solve_limits(problem, limits)
    lower = kept - {0}
    assert found.error == pytest.approx(0.8 - 0.3 * len(lower))
    assert found.status is Status.OPTIMAL
    assert check_solution(problem, found)
    if len(limits) > 1 or (limits[0].of in ("scan", "minutes", "cost") and limits[0].at_most != 2.5):
        assert set(np.flatnonzero(found.pruning.kept)) & {1, 4} == lower


@pytest.mark.parametrize(("most", "splits"), [(0.9, 0), (1, 1), (2.5, 2), (3, 3)])
def test_a_chain_by_hand(most: float, splits: int) -> None:
    """Whoever gets to the third split has paid 3: with 2.5 for the dearest only two are kept; the mean of three is 2.25."""
    found = solve_limits(chain(), [Limit(most, each=True)])
    assert found.pruning.n_splits == splits
    assert found.uses == (splits,)
    assert found.status is Status.OPTIMAL


def test_a_limit_a_hair_too_small_is_too_small() -> None:
    """A limit of 2 less 10^-12, below what floats and HiGHS can tell from 2: the split that costs 2 is not kept."""
    hair = Fraction(1, 10**12)
    assert solve_limits(two_wards(), [Limit(2, rows=[2, 3])]).pruning.kept[4]
    found = solve_limits(two_wards(), [Limit(2 - hair, rows=[2, 3])])
    assert not found.pruning.kept[4]
    assert not solve_limits(two_wards(), [Limit(2 - hair, each=True)]).pruning.kept[4]


@looped("seed", range(36))
def test_it_is_the_best_of_all_prunings(seed: int) -> None:
    """One to four limits drawn at random: the best of all prunings in fractions, a true bound, a proof that a stranger takes."""
    problem = random_problem(seed + 300, rounded=seed % 6 == 5)
    every = [Pruning(problem, kept) for kept in all_prunings(problem).kept]
    limits = drawn(problem, np.random.default_rng(seed))
    rows = limit_rows(problem, limits)
    best = min(p.exact_error for p in every if rows.within(p))
    found = solve_limits(problem, limits)
    spare = Fraction(1, 10**12)
    assert rows.within(found.pruning)
    assert found.pruning.exact_error <= best + spare
    assert Fraction(found.bound) <= best + spare
    assert found.status is Status.OPTIMAL
    assert check_solution(problem, found)


@pytest.mark.parametrize("shares_prices", [False, True])
@looped("seed", range(16))
def test_multipliers_prove_the_relaxation(seed: int, shares_prices: bool) -> None:
    """The mixture is the optimum over all prunings as one linear program; by cuts and by price sharing, and both are proven."""
    problem = random_problem(seed + 40, rounded=seed % 5 == 4)
    rows = limit_rows(problem, drawn(problem, np.random.default_rng(seed)))
    oracle = LagrangianOracle(rows, WithinParams())
    oracle.shares_prices = shares_prices
    every = [Pruning(problem, kept) for kept in all_prunings(problem).kept]
    uses, errors = np.array([oracle.uses(p.kept) for p in every]), np.array([p.error for p in every])
    whole = optimize.linprog(errors, A_ub=uses.T, b_ub=rows.at_most, A_eq=np.ones((1, errors.size)), b_eq=[1.0])
    found = relax(oracle)
    spare = 1e-12
    assert found.value == pytest.approx(whole.fun, abs=1e-8 + spare)
    assert whole.fun - 1e-8 - spare <= found.bound <= whole.fun + 1e-9 + spare
    assert sum(c.error * weight for c, weight in found.mixture) == pytest.approx(found.value, abs=1e-9)
    assert (sum(c.use * weight for c, weight in found.mixture) <= rows.at_most + 1e-7).all()
    for mu in (np.zeros(rows.at_most.size), np.random.default_rng(seed).random(rows.at_most.size)):
        worth = errors + (uses - rows.at_most) @ mu
        assert oracle.solve(mu).bound == pytest.approx(worth.min(), abs=1e-9 + spare)
        assert oracle.solve(mu).bound <= worth.min() + 1e-12


@looped("name", ["wine, evaluation", "breast cancer, licence", "iris, weights", "breast cancer, discounts", "rounded 1"])
def test_one_limit_is_a_budget(name: str) -> None:
    """``limits=[Limit(B)]`` is ``budget=B``, bit for bit; and the path's mixture is what the engine for several limits finds."""
    problem = instance(name)
    path = pm.pruning_path(problem)
    budget = (path.exact_cost[len(path) // 2] + path.exact_cost[len(path) // 2 - 1]) / 2
    one, plain = pm.solve(problem, limits=[Limit(budget)]), pm.solve(problem, budget=budget)
    assert np.array_equal(one.pruning.kept, plain.pruning.kept)
    assert (one.error, one.bound, one.relaxation.value) == (plain.error, plain.bound, plain.relaxation.value)
    hull, found = relaxed_optimum(path, budget), relax(LagrangianOracle(limit_rows(problem, [Limit(budget)]), WithinParams()))
    assert found.value == pytest.approx(float(hull.value), abs=1e-8)
    assert found.mu[0] == pytest.approx(float(hull.lam), rel=1e-6, abs=1e-9)


def test_no_time_leaves_a_true_answer() -> None:
    """Past the limit: a pruning within the limits, and the bound that needs no closure but the first."""
    problem = instance("digits")
    for limits in (halves(problem, (Fraction(1, 3), Fraction(1, 2))), [Limit(4, each=True)]):
        found = solve_limits(problem, limits, time_limit=0)
        assert found.bound == pytest.approx(float(pm.pruning_path(problem).error[0]))
        assert found.stopped is StopReason.TIME_LIMIT
        assert limit_rows(problem, limits).within(found.pruning)
        assert found.status is Status.FEASIBLE


def test_generous_limits_are_none() -> None:
    """Where the best pruning at no price keeps to all limits it is the answer, at multipliers 0 and gap 0."""
    problem = instance("wine, groups")
    found = solve_limits(problem, halves(problem, (Fraction(1), Fraction(1))))
    assert found.error == pytest.approx(float(pm.pruning_path(problem).error[0]))
    assert set(found.relaxation.multipliers) == {0}
    assert found.status is Status.OPTIMAL


@looped(
    ("arguments", "message"),
    [
        ({}, "limits is empty"),
        ({"at_most": 5, "of": "scam"}, r"limits\[0\] \('scam'\): there is no 'scam' to limit; there are cost, .*, minutes"),
        ({"at_most": 5, "of": {"scam": 1}}, r"there is no 'scam' to limit"),
        ({"at_most": 0, "of": "leaves"}, r"limits\[0\] \('leaves'\): no pruning has less than 1 of it"),
        ({"at_most": 1, "rows": [0, 4]}, "there is no row 4 in a cost sample of 4 rows"),
        ({"at_most": 1, "rows": [-1]}, "there is no row -1"),
        ({"at_most": 1, "rows": [1, 1]}, "row 1 occurs twice"),
        ({"at_most": 1, "rows": [True, False]}, "the mask has 2 entries, the cost sample 4 rows"),
        ({"at_most": 1, "rows": [0.5]}, "rows is float64"),
        ({"at_most": 1, "rows": [[0]]}, r"rows has shape \(1, 1\)"),
        ({"at_most": 1, "rows": []}, "has no row of positive weight"),
        ({"at_most": 1, "rows": "ill"}, "the cost sample has no column 'ill'"),
        ({"at_most": -1}, "at_most is -1, negative"),
        ({"at_most": float("nan")}, "at_most is nan"),
        ({"at_most": 1, "of": {"scan": -2}}, r"of\['scan'\] is -2, negative"),
        ({"at_most": 1, "of": "splits", "each": True}, "a limit of splits is about the forest"),
        ({"at_most": 1, "of": "leaves", "rows": [0]}, "a limit of leaves is about the forest"),
        ({"at_most": "much"}, "at_most is 'much'"),
    ],
)
def test_wrong_limits_are_refused(arguments: dict[str, Any], message: str) -> None:
    """By the limit itself, or where it meets an instance; and two of one name."""
    with pytest.raises(InvalidInputError, match=message):
        solve_limits(two_wards(), [Limit(**arguments)] if arguments else [])
    with pytest.raises(InvalidInputError, match=r"limits\[1\] \('cost'\) has the name of limits\[0\]"):
        solve_limits(two_wards(), [Limit(5), Limit(7)])


def test_a_row_by_hand() -> None:
    """0.1 + 0.2 is more than 0.3 in floats; 1 + 2 is half a unit inside 3.5."""
    assert 0.1 + 0.2 > 0.3
    entries, limit = integer_row(np.array([0.1, 0.2]), Fraction(3, 10), Fraction(10), 1e-15)
    assert entries.tolist() == [1.0, 2.0]
    assert limit == 3.5
    # 1 + 10^-12 at 24 bits: the small price is 0, so what keeps a budget of 1 keeps the row, and 1 + 10^-12 does, too
    entries, limit = integer_row(np.array([1.0, 1e-12]), Fraction(1), Fraction(10**12), 1e-15)
    assert entries[1] == 0
    assert MOST - 2 <= entries[0] <= limit
    assert limit == MOST - 1 + 0.5  # the sum is scaled to MOST, so the budget is a hair below


@pytest.mark.slow_cases("0-1e-07", "0-1e-08", "1-1e-06", "1-1e-07", "1-1e-08")
@pytest.mark.parametrize("evaluation", [1e-8, 1e-7, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_small_prices_at_exact_budgets(seed: int, evaluation: float) -> None:
    """Every cost of a dearest row, or of a group, is a limit that its pruning keeps exactly; the least error is listed."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, max_leaf_nodes=5, random_state=seed).fit(X, y)
    problem = pm.problem_from_forest(forest, X[[3, 57, 81, 120, 140]], costs=[1.4, 2.7, 1e-6, 2.4], evaluation_cost=evaluation)
    prunings = [pm.Pruning(problem, kept) for kept in all_prunings(problem).kept]
    for limit in (Limit(0, each=True), Limit(0, rows=np.arange(5))):
        rows = limit_rows(problem, [limit])
        costs = [max(rows.uses(pruning)) for pruning in prunings]
        for budget in sorted(set(costs))[1::4]:
            least = min(p.exact_error for p, cost in zip(prunings, costs, strict=True) if cost <= budget)
            found = solve_limits(problem, [replace(limit, at_most=budget)], method="exact")
            if not limit.each:
                assert integer_program_within(problem, budget).error == pytest.approx(float(least), abs=1e-12)
            assert found.status is Status.OPTIMAL
            assert found.error == pytest.approx(float(least), abs=1e-12)
            assert found.bound <= float(least) + 1e-9


def test_what_exceeds_by_a_hair_is_cut_off() -> None:
    """Three features of price 1, 1 and 10^-10 in a chain; within 2, the third is not affordable though its integer is 0."""
    last = Node(5, 2, 0.5, Node(1), Node(0))
    chain = Node(9, 0, 0.5, Node(1), Node(7, 1, 0.5, Node(1), last))
    X = np.ones((1, 3))
    problem = problem_of([chain], [1, 1, 1e-10], X)
    assert solve_limits(problem, [Limit(2, each=True)]).pruning.n_splits == 2
    assert solve_limits(problem, [Limit(Fraction(2) + Fraction(1, 10**10), each=True)]).pruning.n_splits == 3
    tried = []
    rows = one_row(problem, 2)
    found = branch_within(limit_matrix(rows), rows, tried.append, time_limit=60)
    assert [pruning.n_splits for pruning in tried] == [3, 2]
    assert found.program.rows.has("exceeded")


def test_a_bound_above_the_error_is_refused() -> None:
    """A bound that a pruning refutes is a defect; it is named, not clipped."""
    found = solve_limits(two_wards(), wards(5, 2))
    with pytest.raises(SolverFailedError, match="above the error"):
        replace(found, bound=found.error + 0.01)


def test_an_edge_that_is_too_large_for_a_cut_is_filled_by_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is no worse than the cheaper end, keeps the relaxation's bound, and makes no part of the edge."""
    problem = instance("breast cancer, licence")
    path = pruning_path(problem)
    costs = np.array([float(c) for c in path.exact_cost])
    row = int(np.argmax(costs[:-1] - costs[1:])) + 1
    budget = float(costs[row] + costs[row - 1]) / 2
    monkeypatch.setattr(brackets, "open_part", None)
    params = WithinParams(small_edge=0.0, searched_first=-1)
    found = best_within(problem, budget, path=path, work=1e-6, params=params)
    assert found.cost <= budget
    assert found.bound <= found.error <= path.error[row]
    assert found.bound == best_within(problem, budget, path=path, work=0, params=params).bound


@looped("seed", range(6))
def test_a_window_in_which_a_limit_is_exceeded_is_searched(seed: int) -> None:
    """What every pruning of a window keeps may exceed a limit: no mixture fits then, which ended the search with an error."""
    problem = random_problem(seed)
    budget = Pruning.unpruned(problem).exact_cost * Fraction(3, 5)
    limits = [Limit(budget), Limit(Fraction(7, 10), {problem.costs.names[0]: 2}, name="z"), Limit(6, "splits")]
    found = solve_limits(problem, limits, method="exact", params=WithinParams(first_window_arcs=0, most_listed=0))
    best = solve_limits(problem, limits, method="exact")
    assert found.bound <= best.error <= found.error
    assert check_solution(problem, found).holds is True
