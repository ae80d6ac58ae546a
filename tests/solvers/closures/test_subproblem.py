"""The open part of an instance: groups of splits, passes over its trees, duals that prove a bound, and level sets."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from formulations import CostItems, Pruning, PruningProblem, Solution
from formulations.instance.reduction import Ties
from formulations.programs.linear_program import naive_columns, usage_columns
from proofs_checks import check_path, check_solution
from solvers.brute_force import all_prunings, brute_force
from solvers.closures.integer_objective import integer_objective
from solvers.closures.min_cut import integer_duals, min_cut, proven_bound, zero_duals
from solvers.closures.tree_pass import LevelTrees, best_level_set, best_tree_closures, choose, force
from solvers.path.pruning_path import PathOptions, core_path
from solvers.price_sharing import price_sharing
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.cases import instance, path_by_parts

LEAF = Node(0)


def groups_of(problem: PruningProblem, ties: Ties = "smallest") -> list[list[int]]:
    """The splits of each group."""
    of = problem.reduced(ties).groups.of
    return [np.flatnonzero(of == g).tolist() for g in np.unique(of[of >= 0])]


@pytest.mark.parametrize(
    ("tree", "smallest", "largest"),
    [
        # the split below the root tests the root's feature again: free, and it gains 2
        (Node(6, 0, 0.5, Node(2, 0, 0.2, LEAF, LEAF), LEAF), [[0, 1]], [[0, 1]]),
        # node 1 gains 0, node 2 below it gains 2; both are free
        (Node(6, 0, 0.5, Node(2, 0, 0.3, Node(2, 0, 0.2, LEAF, LEAF), LEAF), LEAF), [[0, 1, 2]], [[0, 1, 2]]),
        # the smallest optimum never keeps the split of gain 0, the largest does
        (Node(6, 0, 0.5, Node(2, 1, 0.2, Node(2), LEAF), LEAF), [[0]], [[0], [1]]),
        # node 1 is free and gains 0; node 2 asks for feature 1 and gains 2: node 1 alone is of no use
        (Node(6, 0, 0.5, Node(2, 0, 0.3, Node(2, 1, 0.2, LEAF, LEAF), LEAF), LEAF), [[0], [1, 2]], [[0, 1], [2]]),
    ],
)
def test_which_splits_go_together(tree: Node, smallest: list[list[int]], largest: list[list[int]]) -> None:
    """One row of the cost sample goes left at every split."""
    problem = problem_of([tree], [1, 1], np.zeros((1, 2)))
    assert (groups_of(problem), groups_of(problem, "largest")) == (smallest, largest)
    # a free split without gain and two below it stays by itself: either of the two is a reason to keep it
    below = [Node(2, f, 0.2, LEAF, LEAF) for f in (1, 2)]
    tree, rows = Node(9, 0, 0.5, Node(4, 0, 0.3, *below), LEAF), [[0.0] * 3, [0.4, 0, 0]]
    assert groups_of(problem_of([tree], [1, 1, 1], rows)) == [[0], [1], [2], [5]]


def test_an_item_paid_once_and_an_evaluation_are_prices() -> None:
    """No row of the cost sample reaches node 1: it is free unless its item is paid once for all rows."""
    tree = Node(9, 0, 0.5, LEAF, Node(6, 1, 0.5, LEAF, LEAF))
    for once, groups in (([], [[0, 2]]), (["b"], [[0], [2]])):
        costs = CostItems.from_items({"a": 1, "b": 2}, [["a"], ["b"]], once=once)
        problem = problem_of([tree], costs, np.zeros((2, 2)))
        assert groups_of(problem) == groups
    again = Node(6, 0, 0.5, Node(2, 0, 0.2, LEAF, LEAF), LEAF)
    assert groups_of(problem_of([again], [1], evaluation_cost=1)) == [[0], [1]]


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@given(seed=st.integers(0, 10**6))
def test_the_path_is_the_same_without_the_reduction(ties: Ties, seed: int) -> None:
    """Breakpoints and the level of each split; and both kinds of proof are accepted for the forest."""
    problem = random_problem(seed)
    whole = core_path(problem, PathOptions(ties))
    for largest in (10**6, 0):
        path = path_by_parts(problem, largest, ties=ties)
        assert path.breakpoints == whole.breakpoints
        np.testing.assert_array_equal(path.level, whole.level)
        assert check_path(path).holds


@pytest.mark.slow_cases("largest")
@pytest.mark.parametrize("ties", ["smallest", "largest"])
@given(seed=st.integers(0, 10**6))
def test_single_lambdas_are_optimal_and_proven_for_the_forest(ties: Ties, seed: int) -> None:
    """At and between breakpoints both engines give the brute force optimum, with a proof that a stranger accepts."""
    problem = random_problem(seed)
    every = all_prunings(problem)
    breakpoints = core_path(problem, PathOptions(ties)).breakpoints
    for lam in (*breakpoints, *((a + b) / 2 for a, b in pairwise(breakpoints))):
        ratio = lam / problem.numbers.lam_unit
        worth = every.gain * ratio.denominator - every.cost * ratio.numerator
        best = every.kept[worth == worth.max()]
        size = best.sum(axis=1)
        kept = best[np.argmin(size) if ties == "smallest" else np.argmax(size)]
        for solution in (min_cut(problem, lam, ties=ties), price_sharing(problem, lam, ties=ties, small_core=0)):  # type: ignore[arg-type]
            np.testing.assert_array_equal(solution.pruning.kept, kept)
            assert check_solution(problem, solution).holds


LAM = Fraction(1, 20)


@pytest.mark.parametrize("merge", [False, True])
@looped("seed", range(40))
def test_any_numbers_become_a_true_bound(seed: int, merge: bool) -> None:
    """Dual values drawn at random, negative, huge, infinite: the duals are allowed, and what they prove is below the optimum."""
    problem = random_problem(seed, rounded=bool(seed % 2))
    rng = np.random.default_rng(seed)
    best, objective = brute_force(problem, LAM).value, integer_objective(problem, LAM).refined()  # type: ignore[arg-type]
    pruning = Pruning.unpruned(problem)
    for columns in (usage_columns(problem, merge=merge), naive_columns(problem, merge=merge)):
        duals = rng.choice([-1.0, 0.0, 1e-3, 0.02, 0.3, 1e300, np.inf], columns.node.size)
        duals = integer_duals(problem, objective, columns, duals)
        bound = proven_bound(problem, objective, duals, pruning, LAM)
        assert bound <= best + 1e-12
        claimed = Solution(problem, LAM, pruning, pruning.value(float(LAM)), bound, certificate=duals)
        assert check_solution(problem, claimed).holds


def test_negative_duals_charge_nothing() -> None:
    """Less than nothing is nothing: the duals of negative dual values are those of none."""
    problem = instance("papers")
    objective, columns = integer_objective(problem, LAM).refined(), usage_columns(problem)
    duals = integer_duals(problem, objective, columns, np.full(columns.node.size, -0.03))
    np.testing.assert_array_equal(duals.dual, zero_duals(problem, objective).dual)


@pytest.mark.slow
@looped("seed", range(60))
def test_the_best_level_set_is_found(seed: int) -> None:
    """Of points drawn at random the answer is the best of all level sets, evaluated one by one."""
    problem = random_problem(seed, rounded=bool(seed % 2))
    rng = np.random.default_rng(seed)
    parent, splits = problem.ensemble.parent, problem.usage.splits
    for lam in (0.0, 0.001, 0.005, 0.02, 0.1):
        y = rng.choice([0.0, 0.2, 0.5, 0.5, 0.9, 1.0, -0.1, 1.1], problem.ensemble.n_nodes)
        falling = y.copy()
        for h in range(len(parent)):
            if parent[h] >= 0:
                falling[h] = min(falling[h], falling[parent[h]])
        thresholds = [2.0, *np.unique(falling[splits][falling[splits] > 0])]
        sets = [(falling >= theta) & problem.ensemble.is_split for theta in thresholds]
        worth = [Pruning(problem, kept).value(lam) for kept in sets]
        found = best_level_set(problem, y, lam)
        assert found.value(lam) == pytest.approx(min(worth), abs=1e-12)
        ties = [kept.sum() for kept, value in zip(sets, worth, strict=True) if value <= min(worth) + 1e-13]
        assert found.n_splits in ties


TOP = -1


def levels(parent: Any, profit: Any, charge: Any, limit: float) -> tuple[NDArray[np.float32], float]:
    """The logarithms of the levels at the charges for which the trees are made, and the value of the best closure."""
    found = np.empty(len(parent), dtype=np.float32)
    arrays = np.asarray(parent, dtype=np.int32), np.asarray(profit, dtype=np.int64), np.asarray(charge, dtype=np.float64)
    return found, LevelTrees(*arrays, 0, 0).log_levels(arrays[2], limit, found, None)


@looped(
    ("parent", "profit", "charge", "expected", "worth"),
    [
        # a parent with 2 of 4 and a child with 10 of 2 pay 12 of 6 together, and 6 is left over
        ([TOP, 0], [2, 10], [4, 2], [2, 2], 6),
        # a parent with 10 of 2 has the level 5, its child with 3 of 4 has 3/4, and is not in the best closure, worth 8
        ([TOP, 0], [10, 3], [2, 4], [5, 0.75], 8),
        # the child, 0 of 1, joins the grandchild, 9 of 1: 9 of 2, which is more than the top's 4 of 2, so all have 13 of 4
        ([TOP, 0, 1], [4, 0, 9], [2, 1, 1], [13 / 4] * 3, 9),
        # a top with profit -3 and charge 1 owes 4; with a child's 12 of 2 it has 12 of 6
        ([TOP, 0], [-3, 12], [1, 2], [2, 2], 6),
        # below a top with 1 of 4, a split with 0 of 0 passes on what its child has beyond its charge, 9 of 1: 10 of 5
        ([TOP, 0, 1], [1, 0, 9], [4, 0, 1], [2, 2, 2], 5),
        # a top with 1 of 4, below it 3 of 0, below that 9 of 1: 3 of 0 joins the top, then 9 of 1 does: 13 of 5 in all
        ([TOP, 0, 1], [1, 3, 9], [4, 0, 1], [13 / 5] * 3, 8),
        # within the limit of e^2: a split without a charge is kept at any price, one without profit at none
        ([TOP, TOP, 0], [5, 0, 0], [0, 3, 1], [math.exp(2), math.exp(-2), math.exp(-2)], 5),
    ],
)
def test_levels_by_hand(parent: list[int], profit: list[int], charge: list[float], expected: list[float], worth: int) -> None:
    """Who can pay more joins whom it is needed by; the value of the best closure is what is left over."""
    found, value = levels(parent, profit, charge, 2.0)
    assert np.exp(found) == pytest.approx(expected)
    assert value == pytest.approx(worth)


@looped("seed", range(12))
def test_levels_are_the_largest_multiples_of_the_charges(seed: int) -> None:
    """At x times the charges the best closure is the set of splits with a level above x; at x = 1 it has the value."""
    rng, k = np.random.default_rng(seed), 200
    parent = np.array([rng.integers(max(0, h - 9), h) if h and rng.random() < 0.9 else TOP for h in range(k)], dtype=np.int32)
    profit = np.rint(1e6 * rng.lognormal(0, 1, k)).astype(np.int64) * rng.choice([1, 1, 1, 0, -1], k)
    charge = 1e6 * rng.lognormal(0, 1, k) * rng.choice([1, 1, 1, 0], k)
    found, value = levels(parent, profit, charge, 20.0)
    paid = charge - np.minimum(profit, 0)  # what a split owes grows with x, negative profits too
    for x in (0.05, 0.3, 0.9, 1.0, 1.3, 4.0):
        keep = np.zeros(k, dtype=bool)
        best = choose(parent, np.maximum(profit, 0) - x * paid, keep)
        sure = (np.abs(found - math.log(x)) > 1e-5) & ((profit != 0) | (charge != 0))  # nothing at all has no level
        np.testing.assert_array_equal(keep[sure], (found > math.log(x))[sure])
        assert x != 1.0 or value == pytest.approx(best)


PARENT = np.array([-1, 0, 1, 0, -1, 4], dtype=np.int32)


def test_ties_decide_what_is_worth_nothing() -> None:
    """A subtree worth 0 is left out of the smallest best closure and is in the largest, with what lies above it."""
    profit = np.array([1, -2, 2, -1, 0, -1])
    anything = np.ones(6, dtype=bool)
    assert best_tree_closures(PARENT, profit, anything)[0].tolist() == [True, False, False, False, False, False]
    assert best_tree_closures(PARENT, profit, anything, "largest")[0].tolist() == [True, True, True, False, True, False]
    # gains below a forbidden split reach nobody above it
    profit = np.array([-1, 1, 5, 3, 2, 2])
    allowed = np.array([True, False, True, True, True, True])
    assert best_tree_closures(PARENT, profit, allowed)[0].tolist() == [True, False, False, True, True, True]
    assert profit.tolist() == [-1, 1, 5, 3, 2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_passes_agree_with_all_closures(seed: int) -> None:
    """`choose` finds the best value and the extreme best closure; `force` the best with each split in, and out."""
    rng = np.random.default_rng(seed)
    profit, allowed = rng.integers(-3, 4, 6), rng.random(6) < 0.8
    every = np.array(
        [k for k in product([False, True], repeat=6) if all(p < 0 or k[p] or not k[h] for h, p in enumerate(PARENT))]
    )
    permitted = every[~(every & ~allowed).any(axis=1)]
    worth = permitted @ profit
    best = permitted[worth == worth.max()]
    for largest in (False, True):
        keep = np.zeros(6, dtype=bool)
        assert choose(PARENT, profit.copy(), keep, allowed, largest) == worth.max()
        assert (keep == (best.any(axis=0) if largest else best.all(axis=0))).all()
    kept, pruned = np.empty_like(profit), np.empty_like(profit)
    assert force(PARENT, profit.copy(), kept, pruned) == (every @ profit).max()
    for h in range(6):
        assert kept[h] == (every[every[:, h]] @ profit).max()
        assert pruned[h] == (every[~every[:, h]] @ profit).max()
