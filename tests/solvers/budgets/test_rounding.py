"""The rounding theorem for LP1: a chain of optimal prunings at lambda*, and the bound that follows, against all prunings."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import prunemodels as pm
from formulations import InvalidInputError, PruningPath, PruningProblem
from formulations.errors import InterruptedSolveError, SolverFailedError
from formulations.instance.papers import ERRORS, two_trees
from solvers.brute_force import all_prunings
from solvers.budgets import brute_force_budget, rounding, solve_lp1
from solvers.budgets.open_part import open_part
from solvers.budgets.rounding import components_of
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.budgets.test_budget_engines import a_larger_problem, budgets_of
from tests.solvers.cases import stump


def stumps(*leaf_errors: float, weight: float = 10.0) -> PruningProblem:
    """Stumps on features of their own, price 1 each, one cost row; the root errs 4 times, both leaves together 2 * leaf_error."""
    trees = [Node(4, f, 0.5, Node(e), Node(e)) for f, e in enumerate(leaf_errors)]
    rows = np.zeros((1, len(trees)))
    return problem_of(trees, [1] * len(trees), rows, weight=weight)


def tied_between(path: PruningPath, row: int) -> list[NDArray[np.bool_]]:
    """All prunings between the rows `row` and `row` - 1 that are optimal at the breakpoint between them, by listing."""
    problem, every = path.problem, all_prunings(path.problem)
    lam = path.between(row - 1) / problem.integers.lam_unit
    value = [int(g) - lam * int(c) for g, c in zip(every.gain, every.cost, strict=True)]
    outer, inner = path[row - 1].kept, path[row].kept
    best = max(value)
    optimal = [kept for kept, v in zip(every.kept, value, strict=True) if v == best]
    return [kept for kept in optimal if not (inner & ~kept).any() and not (kept & ~outer).any()]


@looped("seed", range(60))
def test_components_are_what_optimal_prunings_keep_together(seed: int) -> None:
    """Two splits are in one component exactly if each optimal pruning at lambda*, of all listed, keeps both or neither."""
    problem = random_problem(seed)
    path = pm.pruning_path(problem)
    for row in range(1, len(path)):
        part = open_part(problem, path[row - 1].kept, path[row].kept)
        label = components_of(part).of_split
        tied = np.array(tied_between(path, row))[:, part.nodes]
        together = (tied[:, :, None] == tied[:, None, :]).all(axis=0)
        assert (together == (label[:, None] == label[None, :])).all()


@looped("seed", range(60))
def test_the_theorem_holds_at_every_budget(seed: int) -> None:
    """Every set of the chain is optimal at lambda*; the best pruning within B is no more than the bound above LP1."""
    problem = random_problem(seed) if seed < 40 else a_larger_problem(seed)
    path = pm.pruning_path(problem)
    for budget in budgets_of(path):
        found = solve_lp1(problem, budget, path=path)
        mixture, best = found.relaxation, brute_force_budget(problem, budget).pruning.exact_error
        chain = [pm.Pruning(problem, found.kept(i)) for i in range(found.n_components + 1)]
        assert (chain[0].kept == mixture.cheaper.kept).all()
        assert (chain[-1].kept == mixture.dearer.kept).all()
        assert tuple(k.exact_cost for k in chain) == found.cost
        for k in chain:
            assert k.exact_error + mixture.lam * k.exact_cost == mixture.value + mixture.lam * min(budget, found.cost[-1])
        assert found.pruning.exact_cost <= budget
        assert found.pruning.exact_error - mixture.value == found.bound
        assert mixture.value <= best <= mixture.value + found.bound
        if found.row < found.n_components:
            assert budget < found.cost[found.row + 1]
            assert found.bound < mixture.lam * found.component_costs[found.row] <= found.largest_bound
        else:
            assert found.bound == 0


@looped("seed", range(40))
def test_every_chain_has_the_same_components(seed: int) -> None:
    """Jordan-Hoelder: whatever the budget, hence the order, the costs of the components are the same."""
    problem = random_problem(seed)
    path = pm.pruning_path(problem)
    for dearer, cheaper in zip(path.exact_cost, path.exact_cost[1:], strict=False):
        shares = (Fraction(1, 9), Fraction(1, 2), Fraction(8, 9))
        found = [solve_lp1(problem, cheaper + s * (dearer - cheaper), path=path) for s in shares]
        assert len({tuple(sorted(Counter(f.component_costs).items())) for f in found}) == 1


def test_tied_stumps_by_hand() -> None:
    """Three stumps gain 2 of 10 in a third of the forest, 1/15 each, for 1 each: at B = 1.75 one fits, and 0.75 is unused.

    The roots err 4/10. LP1 buys 1.75/15 of it, one stump 1/15, so a pruning is 0.75/15 above LP1.
    """
    problem = stumps(1, 1, 1)
    found = solve_lp1(problem, 1.75)
    assert found.relaxation.lam == Fraction(1, 15)
    assert found.relaxation.value == Fraction(4, 10) - Fraction(7, 60)
    assert found.component_costs == (1, 1, 1)
    assert found.row == 1
    assert found.pruning.exact_error == Fraction(4, 10) - Fraction(1, 15)
    assert found.bound == Fraction(3, 60)
    # the bound is tight: no pruning within 1.75 is better
    assert brute_force_budget(problem, 1.75).pruning.exact_error == found.relaxation.value + found.bound
    assert found.largest_bound == Fraction(1, 15)
    assert found.dual == -1 / 15
    assert found.value == pytest.approx(17 / 60)
    assert "rounded: cost 1, error at most 0.05 above LP1" in repr(found)
    assert [row[0] for row in found._card().rows] == ["LP1", "58.3 % of", "41.7 % of", "rounded"]


def test_the_constant_cannot_be_smaller() -> None:
    """A stump for 1 at a budget of 1 - 1/n: the best pruning is the root, 1 - 1/n of the largest bound above LP1."""
    problem = stump((4, 1, 1), [1], [[0], [1]])
    for n in (2, 10, 10**6):
        budget = 1 - Fraction(1, n)
        found = solve_lp1(problem, budget)
        best = brute_force_budget(problem, budget).pruning.exact_error
        assert best - found.relaxation.value == found.bound == found.largest_bound * budget
        assert found.largest_bound == Fraction(1, 5)


def test_the_papers_trees() -> None:
    """As in chapter 8: one component between costs 0 and 2; with node 3 erring once, two, and B = 1 buys one of them."""
    whole, tied = solve_lp1(two_trees(), 1), solve_lp1(two_trees(dict(ERRORS) | {3: 1}), 1)
    assert (whole.n_components, whole.row, whole.bound, whole.largest_bound) == (1, 0, Fraction(3, 8), Fraction(6, 8))
    assert (tied.n_components, tied.row, tied.bound, tied.largest_bound) == (2, 1, 0, Fraction(3, 8))
    assert tied.pruning.exact_error == tied.relaxation.value == Fraction(5, 8)


def test_the_dearest_component_that_fits_is_taken_first() -> None:
    """Components of 3, 2 and 2 that are worth the same per unit: 4 of the budget are best spent on 2 + 2, but 5 on 3 + 2."""
    tree = [Node(2 * p, f, 0.5, Node(0), Node(0)) for f, p in enumerate((3, 2, 2))]
    problem = problem_of(tree, [3, 2, 2], weight=30.0)
    assert solve_lp1(problem, 5).bound == 0
    greedy = solve_lp1(problem, 4)
    assert greedy.bound == greedy.relaxation.lam * 1  # 3 was taken first
    assert brute_force_budget(problem, 4).pruning.exact_error == greedy.relaxation.value


def test_budgets_beyond_both_ends() -> None:
    """At 0 and beyond the dearest row LP1's optimum is a pruning: no component, bound 0."""
    problem = two_trees()
    for budget in (0, 2, 3, 7):
        found = solve_lp1(problem, budget)
        assert (found.n_components, found.bound, found.largest_bound) == (0, 0, 0)
        assert found.pruning.exact_cost <= budget


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt while the components are found is named; one inside of the cut keeps its own words."""

    def interrupted(part: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rounding, "components_of", interrupted)
    with pytest.raises(InterruptedSolveError, match="interrupted while rounding LP1's optimum; nothing was changed"):
        solve_lp1(two_trees(), 1)


def test_bad_input_is_refused() -> None:
    """Budgets that are none, the path of another problem, and ends that are not both optimal."""
    problem = two_trees()
    for budget in (-1, float("nan"), "much"):
        with pytest.raises(InvalidInputError, match="budget is"):
            solve_lp1(problem, budget)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="path belongs to another problem"):
        solve_lp1(problem, 1, path=pm.pruning_path(two_trees()))
    unpruned = pm.Pruning.unpruned(problem).kept
    with pytest.raises(SolverFailedError, match="they are not optimal"):
        components_of(open_part(problem, unpruned, np.zeros_like(unpruned)))


def test_a_path_of_largest_optima_may_have_an_edge_without_gain() -> None:
    """With lambda* = 0 nothing is gained by spending more: the bound is 0."""
    problem = stump((2, 1, 1), [1], [[0], [1]])
    found = solve_lp1(problem, 0.5, path=pm.pruning_path(problem, ties="largest"))
    assert (found.relaxation.lam, found.bound, found.row) == (0, 0, 0)
