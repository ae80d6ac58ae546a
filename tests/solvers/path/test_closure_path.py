"""All optimal closures of a precedence graph, and the best one within a budget."""

from __future__ import annotations

import importlib
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import solvers.budgets.closure
from formulations import (
    CapacityOverflowError,
    ClosurePath,
    CostItems,
    InterruptedSolveError,
    InvalidInputError,
    ParametricClosure,
    PruningProblem,
    Status,
)
from solvers import best_closure_within, closure_path, pruning_path
from tests.closures import closure_of, random_grid, random_known
from tests.instances import ensemble_of, plain_errors, random_tree
from tests.loops import looped

SEEDS = range(12)


def shown(path: ClosurePath) -> tuple[list[Fraction], list[int]]:
    return list(path.breakpoints), path.level.tolist()


def test_a_chain_pools_what_pays_only_together() -> None:
    """Gains 1, 3, 1 at unit prices in a chain: node 0 alone pays up to 1, together with node 1 up to 2; node 2 up to 1."""
    path = closure_path(closure_of([1, 3, 1], [1, 1, 1], [(1, 0), (2, 1)], base_error=5))
    assert shown(path) == ([0, 1, 2], [2, 2, 1])
    assert path.error.tolist() == [0, 1, 5]
    assert path.cost.tolist() == [3, 2, 0]


def test_a_purchase_that_two_share() -> None:
    """A diamond: 3 requires 1 and 2, both require 0. Only 3 gains, 6, and everything costs 1 + 1 + 1 + 0: one breakpoint, 2.

    With a gain of 2, node 1 pays with node 0 up to 1, and the remaining two pay up to 6: still all go together, at 8/3.
    """
    arcs = [(3, 1), (3, 2), (1, 0), (2, 0)]
    assert shown(closure_path(closure_of([0, 0, 0, 6], [1, 1, 1, 0], arcs))) == ([0, 2], [1] * 4)
    assert shown(closure_path(closure_of([0, 2, 0, 6], [1, 1, 1, 0], arcs))) == ([0, Fraction(8, 3)], [1] * 4)
    # a gain of 12 for node 1 pays with node 0 up to 6, where the other two, worth 4, have long gone, at 4
    assert shown(closure_path(closure_of([0, 12, 0, 4], [1, 1, 1, 0], arcs))) == ([0, 4, 6], [2, 2, 1, 1])


def test_what_is_never_and_what_is_always_kept() -> None:
    """A free loss of 2 is borne by a free gain of 3; what is worth nothing goes; what requires a priced node is not free."""
    problem = closure_of([-2, 3, 0, 5, 1, -1], [0, 0, 0, 0, 2, 0], [(1, 0), (3, 4)])
    assert shown(closure_path(problem)) == ([0, 3], [2, 2, 0, 1, 1, 0])
    # what gains nothing in all is left out, although one of its nodes gains
    assert shown(closure_path(closure_of([-3, 3], [0, 0], [(1, 0)]))) == ([0], [0, 0])
    assert shown(closure_path(closure_of([-3, 3], [0, 1], [(1, 0)]))) == ([0], [0, 0])


def test_no_breakpoint_above_zero() -> None:
    """Without nodes, and where nothing pays or all is free, the path has one row."""
    assert shown(closure_path(closure_of([], [], []))) == ([0], [])
    assert shown(closure_path(closure_of([-1, 0], [1, 1], [(0, 1)]))) == ([0], [0, 0])
    assert shown(closure_path(closure_of([1, 1], [0, 0], [(0, 1)]))) == ([0], [1, 1])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_is_the_smallest_optimum(seed: int) -> None:
    """At every breakpoint, between them, and beyond, against all closures of the graph; breakpoints are where it changes."""
    known = random_known(seed)
    path = closure_path(known.problem)
    points = list(path.breakpoints)
    between = [(a + b) / 2 for a, b in itertools.pairwise(points)]
    for lam in [*points, *between, points[-1] + 1]:
        k = path.row_at_lam(lam)
        kept = path.kept(k).tolist()
        assert kept == known.smallest_optimum(lam)
        assert (path.exact_error[k], path.exact_cost[k]) == (known.error(kept), known.cost(kept))
    assert sorted(set(path.level.tolist()) - {0, len(points)}) == list(range(1, len(points)))


@pytest.mark.parametrize("seed", SEEDS)
def test_rounded_numbers_cost_no_more_than_their_rounding(seed: int) -> None:
    """Where the instance had to be rounded, the rows' objectives are the optima up to twice what rounding may move them."""
    known, rng = random_known(seed), np.random.default_rng(seed)
    problem = known.problem
    gain, price = rng.normal(size=problem.n), rng.random(problem.n)
    real = replace(problem, gain=gain, price=price, gain_unit=None, price_unit=None)
    path, ints = closure_path(real), real.integers
    closures = np.array(known.closures())
    for k, lam in enumerate(path.lam):
        value = (lam * (closures @ price) - closures @ gain).min()
        mine = lam * price[path.kept(k)].sum() - gain[path.kept(k)].sum()
        assert value - 1e-9 <= mine <= value + 2 * (ints.error_rounding + lam * ints.cost_rounding) + 1e-9
        assert path.cost[k] == pytest.approx(path.problem.base_cost + price[path.kept(k)].sum(), abs=1e-12)
        assert path.error[k] == pytest.approx(path.problem.base_error - gain[path.kept(k)].sum(), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_with_evaluation_prices_has_the_pruning_path(seed: int) -> None:
    """One tree without purchases is a precedence graph of splits, and all of its path is that of `pruning_path`."""
    rng = np.random.default_rng(seed)
    ensemble, error = ensemble_of([random_tree(rng, 3, int(rng.integers(1, 25)), 30)], 3)
    evaluation = [float(a) / 10 for a in rng.integers(0, 4, 3)]
    X = rng.integers(0, 5, (int(rng.integers(1, 12)), 3)).astype(float)
    tree = PruningProblem.build(
        ensemble, plain_errors(ensemble, error, 30), X, CostItems.plain([0] * 3), evaluation_cost=evaluation
    )
    ints, splits = tree.integers, tree.splits
    assert ints.exact
    place = np.full(ensemble.n_nodes, -1)
    place[splits] = np.arange(splits.size)
    below = np.flatnonzero(ensemble.parent[splits] >= 0)
    problem = ParametricClosure(
        tree.gain[splits],
        tree.evaluation_price[splits],
        below,
        place[ensemble.parent[splits[below]]],
        tree.errors.of_all_roots(ensemble),
        gain_unit=ints.gain_unit,
        price_unit=ints.price_unit,
    )
    mine, theirs = closure_path(problem), pruning_path(tree)
    assert mine.breakpoints == theirs.breakpoints
    assert mine.level.tolist() == theirs.level[splits].tolist()
    assert (mine.exact_error, mine.exact_cost) == (theirs.exact_error, theirs.exact_cost)
    assert mine.row_at_cost(theirs.cost[-1]) == theirs.row_at_cost(theirs.cost[-1])


def test_without_a_certificate_the_path_is_the_same() -> None:
    """The flow is evidence only."""
    problem = random_grid(6, 7)
    mine, bare = closure_path(problem), closure_path(problem, certificate=False)
    assert mine.certificate is not None
    assert bare.certificate is None
    assert shown(mine) == shown(bare)


def test_ctrl_c_during_a_cut_or_between_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C becomes the package's own interrupt, wherever it arrives."""

    def stop(*args: Any) -> int:
        raise KeyboardInterrupt

    # the package has a function of that name too
    monkeypatch.setattr(importlib.import_module("solvers.path.closure_path"), "maximum_flow", stop)
    with pytest.raises(InterruptedSolveError, match="interrupted while computing the path"):
        closure_path(random_grid(3, 3))


def test_sums_beyond_62_bits_are_refused() -> None:
    """Integers that were not made by the instance may be too large for a cut, and int64 would wrap silently."""
    problem = closure_of([1, 1], [1, 2], [])
    ints = replace(problem.integers, gain=np.array([2**40, 2**40]), price=np.array([2**40 + 1, 2**40]))
    problem.__dict__["integers"] = ints
    with pytest.raises(CapacityOverflowError, match="62 bits hold"):
        closure_path(problem)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_closure_within_a_budget(seed: int) -> None:
    """For every cost that a closure can have, and a bit less, against all closures; never above the path's row."""
    known = random_known(seed)
    path = closure_path(known.problem)
    costs = sorted({known.cost(y) for y in known.closures()})
    for budget in [*costs, *(c - Fraction(1, 1000) for c in costs[1:])]:
        best = min(known.error(y) for y in known.closures() if known.cost(y) <= budget)
        found = best_closure_within(known.problem, budget, path)
        kept = found.kept.tolist()
        assert kept in known.closures()
        assert known.error(kept) == best
        assert known.cost(kept) <= budget
        assert (found.error, found.cost) == (float(best), float(known.cost(kept)))
        assert found.status == Status.OPTIMAL
        assert found.bound == found.error <= path.error[path.row_at_cost(budget)]


def test_a_budget_between_two_rows_by_hand() -> None:
    """Gains 5, 4, 3 at prices 4, 3, 2, budget 4: the path's row is the last node alone, but the first one gains more."""
    problem = closure_of([5, 4, 3], [4, 3, 2], [], base_error=12)
    path = closure_path(problem)
    assert path.exact_cost == (9, 5, 2, 0)
    assert path.row_at_cost(4) == 2
    found = best_closure_within(problem, 4)
    assert (found.kept.tolist(), found.error, found.cost, found.status) == ([True, False, False], 7, 4, Status.OPTIMAL)


@pytest.mark.parametrize("seed", SEEDS)
def test_within_a_budget_of_rounded_prices(seed: int) -> None:
    """Where numbers had to be rounded, the budget holds for the real ones, and the bound is below every closure's real error."""
    known, rng = random_known(seed), np.random.default_rng(seed)
    gain, price = rng.normal(size=known.problem.n), rng.random(known.problem.n)
    problem = replace(known.problem, gain=gain, price=price, gain_unit=None, price_unit=None)
    closures = np.array(known.closures())
    cost, error = problem.base_cost + closures @ price, problem.base_error - closures @ gain
    for budget in np.linspace(cost.min(), cost.max(), 5):
        budget = float(budget) + 1e-6
        found = best_closure_within(problem, budget)
        assert found.kept.tolist() in known.closures()
        assert found.cost <= budget
        assert found.bound - 1e-9 <= error[cost <= budget].min() == pytest.approx(found.error, abs=1e-6)


def test_a_grid_within_a_budget_and_a_time_limit() -> None:
    """Without time for branch and bound there is still a closure, here better than the path's row, and a bound below it."""
    problem = random_grid(12, 12)
    path = closure_path(problem)
    budget = (path.cost[0] + problem.base_cost) / 2
    quick, best = (best_closure_within(problem, budget, path, time_limit=t) for t in (0.0, 60.0))
    assert best.status == Status.OPTIMAL
    assert quick.bound <= best.error <= quick.error < path.error[path.row_at_cost(budget)]
    assert max(quick.cost, best.cost) <= budget
    assert not (best.kept[problem.tail] & ~best.kept[problem.head]).any()


def decided(problem: ParametricClosure, budget: int) -> tuple[list[bool], list[bool]]:
    path = closure_path(problem)
    search = solvers.budgets.closure._ClosureSearch(path, Fraction(budget), path.row_at_cost(budget))
    inside, outside = search.decided()
    return inside.tolist(), outside.tolist()


def test_what_losses_decide_by_hand() -> None:
    """Nodes 0, 1, 2 go at 10, 4/3, 1/2. A budget of 5 is 1 above the row {0, 1, 3}: at 1/2, 1/2 more may be gained at most.

    Without node 0 9 1/2 are lost, without node 1 2 1/2, so both are in; node 3, which is free, is in, node 4, a loss, is out.
    """
    inside, outside = decided(closure_of([10, 4, 1, 1, -1], [1, 3, 2, 0, 0], []), 5)
    assert inside == [True, True, False, True, False]
    assert outside == [False] * 4 + [True]


def test_losses_add_up_along_chains_by_hand() -> None:
    """Both times 24 more may be gained at most, one node loses 10, the next 20: decided is the one that brings the other along.

    In a chain whose nodes go at 10, 6, 5, 4 the row {0} costs 20. With 4 left at 6, node 2 may come, node 3 with it may not.
    In one whose nodes go at 4, 3, 2 the row {0, 1} costs 20. With 12 left at 2, node 1 may go, node 0 with it may not.
    The last node, whose price makes 1 the unit, is never kept.
    """
    inside, outside = decided(closure_of([200, 120, 50, 40, -1], [20, 20, 10, 10, 1], [(1, 0), (2, 1), (3, 2)]), 24)
    assert inside == [True, False, False, False, False]
    assert outside == [False, False, False, True, True]
    inside, outside = decided(closure_of([40, 30, 40, -1], [10, 10, 20, 1], [(1, 0), (2, 1)]), 32)
    assert inside == [True, False, False, False]
    assert outside == [False, False, False, True]


@looped("seed", range(24))
def test_no_better_closure_is_ruled_out_by_losses(seed: int) -> None:
    """Whatever closure within the budget is known, all strictly better ones have the nodes that are in, and none that are out."""
    known = random_known(seed)
    path, ints = closure_path(known.problem), known.problem.integers
    closures = np.array(known.closures())
    gain, cost = closures @ ints.gain, [known.cost(y) for y in closures.tolist()]
    for budget in {*cost, *(c + known.problem.integers.price_unit / 2 for c in cost)}:
        row = path.row_at_cost(budget)
        if row == 0:
            continue
        search = solvers.budgets.closure._ClosureSearch(path, budget, row)
        within = np.array([c <= budget for c in cost])
        for least in sorted(set(gain[within].tolist())):
            search.gain = least
            inside, outside = search.decided()
            better = closures[within & (gain > least)]
            # what is no loss may differ: never kept nodes out, free ones in
            better = (better & (path.level > 0)) | (path.level == len(path))
            assert better[:, inside].all()
            assert not better[:, outside].any()


def greedy(lp: Any) -> Any:
    """The most gain for its price until the budget is met, whatever the arcs say."""
    price = lp.matrix[[-1]].toarray().ravel()
    order = np.argsort(lp.cost / np.maximum(price, 1e-9))
    x = np.zeros(lp.shape[1])
    x[order[np.cumsum(price[order]) <= lp.row_upper[-1]]] = 1
    return x


@pytest.mark.parametrize("answer", [np.ones, np.zeros, greedy])
def test_a_wrong_answer_of_the_solver_is_not_taken(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """Should HiGHS' point cost more than the budget, be no closure, or be worse, the answer is what is known without it."""
    problem = random_grid(8, 8)
    path = closure_path(problem)
    budget = float(np.mean(path.cost[:2]))
    real = solvers.budgets.closure.highs

    def wrong(lp: Any, **options: Any) -> Any:
        found = real(lp, time_limit=0.0)
        return replace(found, x=answer(lp) if answer is greedy else answer(lp.shape[1]), bound=-math.inf)

    monkeypatch.setattr(solvers.budgets.closure, "highs", wrong)
    found = best_closure_within(problem, budget, path)
    assert found.cost <= budget
    assert not (found.kept[problem.tail] & ~found.kept[problem.head]).any()
    assert found.error <= path.error[path.row_at_cost(budget)]
    assert found.bound <= found.error


@pytest.mark.parametrize("seed", [1, 2])  # where shedding alone does not find the optimum
def test_the_bound_is_that_of_branch_and_bound(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Where HiGHS proves a bound, but gives no point, the bound is the least error, and the answer is not called optimal."""
    problem = random_grid(8, 8, seed)
    path = closure_path(problem)
    budget = 0.3 * path.cost[0] + 0.7 * path.cost[-1]
    best = best_closure_within(problem, budget, path)
    real = solvers.budgets.closure.highs
    monkeypatch.setattr(solvers.budgets.closure, "highs", lambda lp, **_: replace(real(lp), x=None))
    found = best_closure_within(problem, budget, path)
    assert found.bound == best.bound == best.error < found.error
    assert (best.status, found.status) == (Status.OPTIMAL, Status.FEASIBLE)


def test_the_bound_allows_for_rounded_errors() -> None:
    """The bound is lowered by what rounding may have done."""
    problem = closure_of([5, 4, 3], [4, 3, 2], [], base_error=12)
    problem.__dict__["integers"] = replace(problem.integers, error_rounding=0.25)
    found = best_closure_within(problem, 4)
    assert (found.error, found.bound) == (7, 6.75)


def test_the_bound_allows_for_rounded_costs() -> None:
    """With costs known up to 1 and a budget of 4, the bound lets 5 in: nodes 0, 2, 3, 4. What is said to fit costs 3.

    With a budget of 0 nothing fits but the empty closure, though by the integers not even that is certain to.
    """
    problem = closure_of([10, 12, 2.9, 2.9, 2.9], [2, 4, 1, 1, 1], [], base_error=30)
    problem.__dict__["integers"] = replace(problem.integers, cost_rounding=1.0)
    found = best_closure_within(problem, 4)
    assert (found.error, found.cost, found.bound) == (pytest.approx(17.1), 3, pytest.approx(11.3))
    assert found.kept[:2].tolist() == [True, False]
    assert best_closure_within(problem, 0).cost == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_shed_is_a_closure_that_fits(seed: int) -> None:
    """Whatever closure is too dear, what is left of it is one within the budget."""
    known = random_known(seed)
    path = closure_path(known.problem)
    for budget in {known.cost(y) for y in known.closures()}:
        search = solvers.budgets.closure._ClosureSearch(path, budget, path.row_at_cost(budget))
        for kept in known.closures():
            left = search.shed(np.array(kept)).tolist()
            assert left in known.closures()
            assert known.cost(left) <= budget
            assert left == kept or known.cost(kept) > budget


def test_budgets_and_paths_that_do_not_fit_are_refused() -> None:
    """A budget below the cheapest closure, one that is no number, and the path of another problem."""
    problem = random_grid(3, 3)
    for bad, message in ((0.5, "the cheapest closure costs 1"), (-1.0, "negative"), (math.nan, "budget is nan")):
        with pytest.raises(InvalidInputError, match=message):
            best_closure_within(problem, bad)
    with pytest.raises(InvalidInputError, match="another problem"):
        best_closure_within(problem, 2.0, closure_path(random_grid(3, 3)))
