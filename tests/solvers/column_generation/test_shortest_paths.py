"""Pricing by shortest paths and by the pass over the trees: the same optima, within the rounding that each states."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from formulations import CapacityOverflowError, InvalidInputError, Pruning, PruningProblem
from formulations.instance.papers import two_trees
from formulations.programs.shortest_path import tree_network, tree_networks
from solvers.brute_force import all_prunings
from solvers.column_generation.shortest_paths import batches_of, price_by_shortest_paths, price_by_tree_pass
from tests.instances import Node, problem_of, random_problem, stop_costs

ENGINES = [price_by_shortest_paths, price_by_tree_pass]


def exact_cost(problem: PruningProblem, kept: NDArray[np.bool_], stop: Any, charge: Any) -> list[Fraction]:
    """(1) of each tree, in fractions."""
    ends = Pruning(problem, kept).is_leaf
    costs = [Fraction(0)] * problem.ensemble.n_trees
    for h, t in enumerate(problem.ensemble.tree_of):
        if ends[h] or kept[h]:
            costs[t] += Fraction(stop[h].item()) if ends[h] else Fraction(charge[h].item())
    return costs


@pytest.mark.parametrize("engine", ENGINES)
def test_the_papers_trees_by_hand(engine: Any) -> None:
    """Errors in eighths; keeping each split costs one: tree 1 keeps its root alone, tree 2 its root and node 7."""
    # tree 1: stop at 1: 4;  keep 1: 1 + e_2 + min(e_3 = 2, 1 + 0 + 0) = 1 + 0 + 1 = 2: both splits are kept
    # tree 2: stop at 6: 4;  keep 6: 1 + min(e_7 = 1, 1 + 0) + min(e_10 = 2, 1 + 0 + 1) = 1 + 1 + 2 = 4: ties
    stop = np.array([4, 0, 2, 0, 0, 4, 1, 0, 0, 2, 0, 1])
    priced = engine(two_trees(), stop, np.full(12, 1))
    assert priced.value.tolist() == [2, 4]
    assert priced.kept[:5].tolist() == [True, False, True, False, False]
    # one cheaper split of tree 2 breaks the tie: 1 + 1 + (0 + 0 + 1) = 3, or with node 7 kept as well, equal
    charge = np.full(12, 1)
    charge[9] = 0
    priced = engine(two_trees(), stop, charge)
    assert priced.value.tolist() == [2, 3]
    assert priced.kept[[5, 9]].tolist() == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@given(seed=st.integers(0, 10_000), scale=st.integers(-300, 300))
@settings(max_examples=60, deadline=None)
def test_no_pruning_is_cheaper(engine: Any, seed: int, scale: int) -> None:
    """Against all prunings, in fractions: value, optimum and the kept splits' cost differ by at most the rounding."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    stop, charge = np.ldexp(rng.normal(size=(2, problem.ensemble.n_nodes)), scale)
    priced = engine(problem, stop, charge)
    every = [exact_cost(problem, kept, stop, charge) for kept in all_prunings(problem).kept]
    least = [min(column) for column in zip(*every, strict=True)]
    own = exact_cost(problem, priced.kept, stop, charge)
    for value, rounding, least_t, own_t in zip(priced.value, priced.rounding, least, own, strict=True):
        assert abs(Fraction(value.item()) - least_t) <= Fraction(rounding.item())
        assert abs(Fraction(value.item()) - own_t) <= Fraction(rounding.item())
    # the rounding says something: far below the costs
    assert (priced.rounding <= 1e-9 * (np.abs(stop).sum() + np.abs(charge).sum())).all()


def test_many_rows_at_a_split_take_no_time() -> None:
    """An arc for each of 30,000 rows, in a row: one arc to OR-Tools, which would need minutes for a path that long."""
    rows = np.linspace(0, 1, 30_000)[:, None]
    problem = problem_of([Node(30_000, 0, 0.5, Node(0), Node(5_000))], [1], rows, weight=30_000.0)
    network = tree_network(problem, 0, expanded=True)
    assert (network.n_boundaries, network.runs.n_boundaries) == (30_003, 4)
    stop = stop_costs(problem, 0.5)
    for charge, kept in ((0.5, True), (1e30, False)):
        answer = price_by_shortest_paths(problem, stop, np.array([charge, 0, 0]), batches_of([network]))
        assert abs(answer.value[0] - (1 / 6 + 0.5 if kept else 1.0)) <= answer.rounding[0] + 1e-12
        assert answer.kept[0] == kept


def test_what_the_grid_cannot_hold_is_stated() -> None:
    """One huge cost beside tiny ones: these vanish, and the rounding says so; small whole numbers are not rounded at all."""
    stop, charge = np.array([9.0, 0, 1, 0, 0, 9, 1, 0, 0, 1, 0, 0]), np.full(12, 1.0)
    answer = price_by_shortest_paths(two_trees(), stop, charge)
    assert (answer.value.tolist(), answer.rounding.tolist()) == ([2.0, 3.0], [0.0, 0.0])
    huge = price_by_shortest_paths(two_trees(), np.where(np.arange(12) == 0, 2.0**80, stop), charge)
    assert abs(huge.value[0] - 2.0) <= huge.rounding[0]
    assert huge.rounding[0] > 1 > huge.rounding[1]
    with pytest.raises(CapacityOverflowError, match=r"tree 0: costs up to 1\.7e\+308 add up to more than a float64 holds"):
        price_by_shortest_paths(two_trees(), np.full(12, 1.7e308), charge)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pass_over_one_leaf_and_free_trees(engine: Any) -> None:
    """A tree of one leaf costs its stop; costs of 0 everywhere cost 0; charges of leaves do not count."""
    problem = problem_of([Node(2), Node(1, 0, 0.5, Node(0), Node(0))], [0], weight=1.0)
    charge = np.array([1e300, -3.0, 1e300, 1e300])
    priced = engine(problem, np.array([2.5, 0, 1, 1]), charge)
    assert priced.value.tolist() == [2.5, -1.0]
    assert priced.rounding.max() < 1e-12
    assert priced.kept.tolist() == [False, True, False, False]
    free = engine(problem, np.zeros(4), np.zeros(4))
    assert free.value.tolist() == [0.0, 0.0]
    assert engine is not price_by_tree_pass or not free.kept.any()  # among equals the pass keeps the fewest splits


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_costs_are_refused(engine: Any) -> None:
    """Shapes, types and non-finite numbers, by name."""
    problem = two_trees()
    with pytest.raises(InvalidInputError, match=r"node_cost is float64 of shape \(11,\).* 12"):
        engine(problem, np.zeros(11), np.zeros(12))
    with pytest.raises(InvalidInputError, match="split_charge is <U1 of shape"):
        engine(problem, np.zeros(12), np.full(12, "a"))
    with pytest.raises(InvalidInputError, match=r"split_charge\[3\] is nan; costs must be finite"):
        engine(problem, np.zeros(12), np.where(np.arange(12) == 3, np.nan, 0))


def test_graphs_of_something_else_are_refused() -> None:
    """All trees, in their order, of this problem."""
    problem = two_trees()
    networks = tree_networks(problem)
    zeros = np.zeros(12)
    for wrong in (networks[:1], networks[::-1], tree_networks(two_trees())):
        with pytest.raises(InvalidInputError, match="give the graphs of all trees of this problem, in their order"):
            price_by_shortest_paths(problem, zeros, zeros, batches_of(wrong))
