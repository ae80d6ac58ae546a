"""Worst-case budgets: no example costs more than B."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations import CostItems, InvalidInputError, Pruning, PruningProblem
from formulations.answers.solution import Status, StopReason
from formulations.programs.budget_rows import example_rows
from solvers.brute_force import all_prunings
from solvers.budgets import worst_case
from solvers.budgets.worst_case import solve_worst_case
from tests.instances import Node, ensemble_of, plain_errors, random_problem
from tests.loops import looped
from tests.solvers.budgets.test_classes import slow_costs, two_wards
from tests.solvers.cases import instance, twin_stumps


def chain(evaluation_cost: float = 0) -> PruningProblem:
    """Features 0, 1, 2 of price 1 each, one below the other on the right; each split gains 1 of 10, the last one 4."""
    last = Node(5, 2, 0.5, Node(1), Node(0))
    middle = Node(7, 1, 0.5, Node(1), last)
    ensemble, error = ensemble_of([Node(9, 0, 0.5, Node(1), middle)], 3)
    X = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=float)
    costs = CostItems.plain([1, 1, 1])
    return PruningProblem.build(ensemble, plain_errors(ensemble, error, 10.0), X, costs, evaluation_cost=evaluation_cost)


@pytest.mark.parametrize(("budget", "splits", "dearest"), [(0.9, 0, 0), (1, 1, 1), (2.5, 2, 2), (3, 3, 3)])
def test_a_chain_by_hand(budget: float, splits: int, dearest: int) -> None:
    """Whoever gets to the third split has paid 3: with 2.5 for the dearest only two are kept; the mean of three is 2.25."""
    found = solve_worst_case(chain(), budget)
    assert found.pruning.n_splits == splits
    assert found.dearest == dearest
    assert found.status is Status.OPTIMAL
    assert found.pruning.cost <= budget


def test_evaluation_is_paid_by_the_dearest() -> None:
    """A price of 1/4 for each split: three splits take 3.75 of the dearest, two 2.5."""
    assert solve_worst_case(chain(0.25), 3.75).pruning.n_splits == 3
    found = solve_worst_case(chain(0.25), 3.74)
    assert found.pruning.n_splits == 2
    assert found.dearest == Fraction(5, 2)


def test_the_mean_is_not_the_worst() -> None:
    """Left pays 6, right 2, the mean is 4: a worst case of 5 leaves the right split, a worst case of 6 both."""
    found = solve_worst_case(two_wards(), 5)
    assert set(np.flatnonzero(found.pruning.kept)) == {0, 4}
    assert found.error == pytest.approx(0.5)
    assert solve_worst_case(two_wards(), 6).error == pytest.approx(0.2)


def test_a_shared_item_is_paid_once_by_an_example() -> None:
    """Two stumps on one feature cost one example 1 together."""
    assert solve_worst_case(twin_stumps(), 1).pruning.n_splits == 2
    assert solve_worst_case(twin_stumps(), 0.99).pruning.n_splits == 0


@looped("seed", range(40))
def test_it_is_the_best_of_all_prunings(seed: int) -> None:
    """On small forests: the least error of all prunings under which no example, walked down by itself, pays more than B."""
    problem = random_problem(seed + 300, rounded=seed % 6 == 5)
    every = [Pruning(problem, kept) for kept in all_prunings(problem).kept]
    one = [np.array([i]) for i in range(problem.n_rows)]
    worst = [max(slow_costs(problem, p.kept, i) for i in one) for p in every]
    for share in (Fraction(0), Fraction(1, 3), Fraction(2, 3), Fraction(1)):
        budget = share * max(worst)
        best = min(p.error for p, w in zip(every, worst, strict=True) if w <= budget)
        found = solve_worst_case(problem, budget)
        assert found.error == pytest.approx(best, abs=1e-12)
        assert found.bound <= best + 1e-12
        assert found.status is Status.OPTIMAL
        assert found.dearest == max(slow_costs(problem, found.pruning.kept, i) for i in one) <= budget


def test_examples_routed_alike_are_one_row() -> None:
    """A row of the program for each way through the forest, whatever the number of examples that take it."""
    problem = instance("iris")
    rows = example_rows(problem, 3)
    pruning = Pruning.unpruned(problem)
    costs = [slow_costs(problem, pruning.kept, np.array([i])) for i in range(problem.n_rows)]
    assert len(rows.names) < problem.n_rows
    assert set(rows.costs(pruning)) == set(costs)
    assert max(rows.costs(pruning)) == max(costs)


@pytest.mark.parametrize("name", ["wine, groups", "digits", "breast cancer, licence", "iris, weights"])
def test_forests_are_solved_to_the_end(name: str) -> None:
    """On small forests the gap is closed, errors fall as budgets grow, and no example pays more."""
    problem = instance(name)
    dearest = max(example_rows(problem, 0).costs(Pruning.unpruned(problem)))
    errors = []
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)):
        found = solve_worst_case(problem, share * dearest)
        assert found.status is Status.OPTIMAL
        assert found.dearest <= share * dearest
        errors.append(found.error)
    assert errors == sorted(errors, reverse=True)


def test_no_time_leaves_a_true_answer() -> None:
    """Past the limit: a pruning that no example pays too much for, and the bound of no budget."""
    found = solve_worst_case(instance("digits"), 4, time_limit=0)
    assert found.stopped is StopReason.TIME_LIMIT
    assert found.dearest <= 4
    assert found.bound < found.error
    assert found.status is Status.FEASIBLE
    assert "dearest 0 of 4" in repr(found)


def test_large_instances_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the refusal names the size, the limit and the remedy."""
    monkeypatch.setattr(worst_case, "MOST_ARCS", 100)
    size = instance("digits").n_usage_arcs
    with pytest.raises(InvalidInputError, match=f"the instance has {size:,} usage arcs, the limit is 100; give fewer"):
        solve_worst_case(instance("digits"), 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -2}, "budget is -2, negative"),
        ({"budget": np.inf}, "budget is inf"),
        ({"budget": 1, "time_limit": -1}, "time_limit"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Each refusal names the number."""
    with pytest.raises(InvalidInputError, match=message):
        solve_worst_case(twin_stumps(), **arguments)
