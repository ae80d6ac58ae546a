"""Groups of splits that go together: the rules by hand, and the same optima, paths and proofs as without them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations import CostItems, PruningProblem
from formulations.instance.reduction import Ties
from proofs_checks import check_path, check_solution
from solvers.brute_force import all_prunings
from solvers.closures.min_cut import min_cut
from solvers.path.pruning_path import divide_and_conquer
from solvers.price_sharing import price_sharing
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_problem

LEAF = Node(0)


def one_tree(tree: Node, rows: list[list[float]], prices: list[int]) -> PruningProblem:
    """A tree, its errors out of 10, and the rows of the cost sample."""
    return problem_of([tree], prices, np.array(rows))


def groups_of(problem: PruningProblem, ties: Ties = "smallest") -> list[list[int]]:
    """The splits of each group."""
    of = problem.reduced(ties).groups.of
    return [np.flatnonzero(of == g).tolist() for g in np.unique(of[of >= 0])]


def test_a_split_that_asks_nothing_new_and_gains_goes_with_its_parent() -> None:
    """The split below the root tests the root's feature again: free, and it gains 2."""
    problem = one_tree(Node(6, 0, 0.5, Node(2, 0, 0.2, LEAF, LEAF), LEAF), [[0.0]], [1])
    assert groups_of(problem) == [[0, 1]]
    reduced = problem.reduced().problem
    assert reduced.integers.gain.tolist() == [problem.integers.gain.sum()]


def test_a_free_split_that_gains_only_by_what_is_free_below_it_goes_with_its_parent() -> None:
    """Node 1 gains 0, node 2 below it gains 2; both are free."""
    inner = Node(2, 0, 0.3, Node(2, 0, 0.2, LEAF, LEAF), LEAF)
    assert groups_of(one_tree(Node(6, 0, 0.5, inner, LEAF), [[0.0]], [1])) == [[0, 1, 2]]


def test_what_gains_nothing_with_all_below_it_is_a_leaf() -> None:
    """The smallest optimum never keeps the split of gain 0, the largest does."""
    problem = one_tree(Node(6, 0, 0.5, Node(2, 1, 0.2, Node(2), LEAF), LEAF), [[0.0, 0.0]], [1, 1])
    assert groups_of(problem) == [[0]]
    assert groups_of(problem, "largest") == [[0], [1]]


def test_a_free_split_without_gain_goes_with_the_only_one_below_it() -> None:
    """Node 1 is free and gains 0; node 2 asks for feature 1 and gains 2: node 1 alone is of no use."""
    inner = Node(2, 0, 0.3, Node(2, 1, 0.2, LEAF, LEAF), LEAF)
    problem = one_tree(Node(6, 0, 0.5, inner, LEAF), [[0.0, 0.0]], [1, 1])
    assert groups_of(problem) == [[0], [1, 2]]
    assert problem.reduced().groups.bearer[problem.reduced().groups.is_group].tolist() == [0, 2]
    assert groups_of(problem, "largest") == [[0, 1], [2]]


def test_a_free_split_without_gain_and_two_below_it_stays_by_itself() -> None:
    """Either of the two is a reason to keep it."""
    below = [Node(2, f, 0.2, LEAF, LEAF) for f in (1, 2)]
    problem = one_tree(Node(9, 0, 0.5, Node(4, 0, 0.3, *below), LEAF), [[0.0] * 3, [0.4, 0, 0]], [1, 1, 1])
    assert groups_of(problem) == [[0], [1], [2], [5]]


def test_an_item_paid_once_and_an_evaluation_are_prices() -> None:
    """No row of the cost sample reaches node 1: it is free unless its item is paid once for all rows."""
    tree = Node(9, 0, 0.5, LEAF, Node(6, 1, 0.5, LEAF, LEAF))
    for once, groups in (([], [[0, 2]]), (["b"], [[0], [2]])):
        costs = CostItems.from_items({"a": 1, "b": 2}, [["a"], ["b"]], once=once)
        problem = problem_of([tree], costs, np.zeros((2, 2)))
        assert groups_of(problem) == groups
    again = Node(6, 0, 0.5, Node(2, 0, 0.2, LEAF, LEAF), LEAF)
    ensemble, error = ensemble_of([again], 1)
    errors, costs = plain_errors(ensemble, error, 10.0), CostItems.plain([1])
    assert groups_of(PruningProblem.build(ensemble, errors, np.zeros((1, 1)), costs, evaluation_cost=1)) == [[0], [1]]


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@given(seed=st.integers(0, 10**6))
def test_the_path_is_the_same_without_the_reduction(ties: Ties, seed: int) -> None:
    """Breakpoints, the level of each split, costs and errors; and both kinds of proof are accepted for the forest."""
    problem = random_problem(seed)
    whole = divide_and_conquer(problem, ties=ties, reduce=False)
    for largest in (10**6, 0):
        path = divide_and_conquer(problem, ties=ties, largest=largest)
        assert path.breakpoints == whole.breakpoints
        np.testing.assert_array_equal(path.level, whole.level)
        assert (path.integer_cost, path.integer_gain) == (whole.integer_cost, whole.integer_gain)
        assert check_path(path).holds


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@given(seed=st.integers(0, 10**6))
def test_single_lambdas_are_optimal_and_proven_for_the_forest(ties: Ties, seed: int) -> None:
    """At and between breakpoints both engines give the brute force optimum, with a proof that a stranger accepts."""
    problem = random_problem(seed)
    every = all_prunings(problem)
    breakpoints = divide_and_conquer(problem, ties=ties, reduce=False).breakpoints
    for lam in (*breakpoints, *((a + b) / 2 for a, b in pairwise(breakpoints))):
        ratio = lam / problem.integers.lam_unit
        worth = every.gain * ratio.denominator - every.cost * ratio.numerator
        best = every.kept[worth == worth.max()]
        size = best.sum(axis=1)
        kept = best[np.argmin(size) if ties == "smallest" else np.argmax(size)]
        for solution in (min_cut(problem, lam, ties=ties), price_sharing(problem, lam, ties=ties, small_core=0)):  # type: ignore[arg-type]
            assert solution.pruning is not None
            np.testing.assert_array_equal(solution.pruning.kept, kept)
            assert check_solution(problem, solution).holds
