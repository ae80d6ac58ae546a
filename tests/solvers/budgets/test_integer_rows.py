"""Rows of prices in integers, and edges that are filled item by item."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import PruningProblem
from formulations.answers.solution import Status
from formulations.errors import SolverFailedError
from formulations.instance.limit import Limit
from formulations.programs.limit_matrix import MOST, integer_row, limit_matrix
from formulations.programs.limit_rows import limit_rows, one_row
from solvers.brute_force import all_prunings
from solvers.budgets import integer_program_within, search, solve_limits
from solvers.budgets.search import best_within
from solvers.path.pruning_path import pruning_path
from solvers.programs.budget_program import branch_within
from tests.instances import Node, problem_of
from tests.solvers.cases import instance


def test_a_row_by_hand() -> None:
    """0.1 + 0.2 is more than 0.3 in floats; 1 + 2 is half a unit inside 3.5."""
    assert 0.1 + 0.2 > 0.3
    entries, limit = integer_row(np.array([0.1, 0.2]), Fraction(3, 10), Fraction(10), 1e-15)
    assert entries.tolist() == [1.0, 2.0]
    assert limit == 3.5


def test_a_price_that_does_not_fit_is_rounded_down() -> None:
    """1 + 10^-12 at 24 bits: the small price is 0, so what keeps a budget of 1 keeps the row, and 1 + 10^-12 does, too."""
    entries, limit = integer_row(np.array([1.0, 1e-12]), Fraction(1), Fraction(10**12), 1e-15)
    assert entries[1] == 0
    assert MOST - 2 <= entries[0] <= limit
    assert limit == MOST - 1 + 0.5  # the sum is scaled to MOST, so the budget is a hair below


def iris(trees: int, leaves: int, seed: int, rows: list[int], prices: list[float], evaluation: float) -> PruningProblem:
    """A forest of iris, and a cost sample of a few of its rows."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=seed).fit(X, y)
    return pm.problem_from_forest(forest, X[rows], costs=prices, evaluation_cost=evaluation)


@pytest.mark.parametrize("evaluation", [1e-8, 1e-7, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_small_prices_at_exact_budgets(seed: int, evaluation: float) -> None:
    """Every cost of a dearest row, or of a group, is a limit that its pruning keeps exactly; the least error is listed."""
    problem = iris(2, 5, seed, [3, 57, 81, 120, 140], [1.4, 2.7, 1e-6, 2.4], evaluation)
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
    problem = iris(1, 4, 0, [3, 57], [1, 1, 1, 1], 0)
    found = solve_limits(problem, [Limit(1, each=True)])
    with pytest.raises(SolverFailedError, match="above the error"):
        replace(found, bound=found.error + 0.01)


NAMES = ("iris", "wine, groups", "wine, evaluation", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


def test_an_edge_that_is_too_large_for_a_cut_is_filled_by_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is no worse than the cheaper end, keeps the relaxation's bound, and makes no part of the edge."""
    problem = instance("breast cancer, licence")
    path = pruning_path(problem)
    costs = np.array([float(c) for c in path.exact_cost])
    row = int(np.argmax(costs[:-1] - costs[1:])) + 1
    budget = float(costs[row] + costs[row - 1]) / 2
    monkeypatch.setattr(search, "SMALL_EDGE", 0.0)
    monkeypatch.setattr(search, "open_part", None)
    found = best_within(problem, budget, path=path, work=1e-6)
    assert found.cost <= budget
    assert found.bound <= found.error <= path.error[row]
    assert found.bound == best_within(problem, budget, path=path, work=0).bound
