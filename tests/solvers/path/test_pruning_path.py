"""Exact paths of all lambdas, of forests and of any precedence graph."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from formulations import CostItems, PruningPath, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.instance.papers import two_trees
from proofs_checks import check_closure_path, check_path
from solvers import closure_path, pruning_path
from solvers.brute_force import all_prunings
from tests.instances import Known, Node, closure_of, problem_of, random_known, random_problem
from tests.loops import looped

SEEDS = range(400)


def between(ratios: list[Fraction]) -> list[Fraction]:
    """The ratios themselves, a point between any two, and one beyond the last."""
    middles = [(a + b) / 2 for a, b in pairwise(ratios)]
    return sorted([*ratios, *middles, ratios[-1] + 1])


def check_against_all(problem: PruningProblem, path: PruningPath) -> None:
    """At every breakpoint and between them the path holds the smallest (or largest) of all optimal prunings."""
    every, unit = all_prunings(problem), problem.numbers.lam_unit
    if path.ties == "smallest":  # no breakpoint is for nothing
        assert all(not np.array_equal(one.kept, other.kept) for one, other in pairwise(path))
    for lam in between(list(path.breakpoints)):
        ratio = lam / unit
        worth = every.gain.astype(object) * ratio.denominator - every.cost.astype(object) * ratio.numerator
        best = every.kept[np.asarray(worth == max(worth), dtype=bool)]
        extreme = best.all(axis=0) if path.ties == "smallest" else best.any(axis=0)
        assert np.array_equal(path.at_lam(lam).kept, extreme), f"lambda = {lam}"


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("block", range(8))
def test_path_holds_the_extreme_optimum_everywhere(ties: str, block: int) -> None:
    """On hundreds of random forests, at every breakpoint and between, the path is the smallest (largest) closure of all."""
    for seed in SEEDS[block * 50 : block * 50 + 50]:
        problem = random_problem(seed)
        check_against_all(problem, pruning_path(problem, ties=ties))  # type: ignore[arg-type]


def test_golden_instance() -> None:
    """The papers' two trees: every breakpoint by hand.

    Gains in errors (T W = 8): node 1: 2, node 3: 2; node 6: 1, node 7: 1, node 10: 1. The example goes 1-3-4 and
    6-10-11, so node 1 and 10 charge it features 1 and 3, nodes 3 and 6 feature 2, node 7 nothing (nobody comes).
    Everything: gain 7 for price 3. Feature 3 alone is worth 1 (node 10): it goes first, at lambda = 1/8. Features 1
    and 2 then pay 6 for 2, but feature 2 with node 6 and 7 alone earns 2, with node 3 as well 4, which needs feature
    1, alone worth 2: pairs {1, 2} 6/2 = 3, against {2} 2/1 and {1} 2/1. Both go at 3/8.
    """
    path = pruning_path(two_trees())
    assert path.breakpoints == (0, Fraction(1, 8), Fraction(3, 8))
    assert path.cost.tolist() == [3, 2, 0]
    assert path.error.tolist() == [1 / 8, 2 / 8, 1]
    assert path.level[path.problem.usage.splits].tolist() == [2, 2, 2, 2, 1]


def test_free_splits_stay_for_ever() -> None:
    """A split on a free item with positive gain has level infinity; one with negative gain is never kept."""
    good = Node(5, 0, 0.5, Node(1), Node(1))
    bad = Node(5, 0, 0.5, Node(4), Node(4))
    problem = problem_of([good, bad], [0, 1], np.zeros((3, 2)), weight=5.0)
    path = pruning_path(problem)
    assert path.breakpoints == (0,)
    assert path.level[[0, 3]].tolist() == [1, 0]
    assert path.at_lam(1e300).kept.nonzero()[0].tolist() == [0]


def test_ties_differ_where_a_split_gains_nothing() -> None:
    """A split without gain whose item is paid anyway belongs to the largest closures only."""
    tree = Node(4, 0, 0.5, Node(0), Node(2, 0, 1.5, Node(1), Node(1)))
    problem = problem_of([tree], [1], np.ones((1, 1)), weight=4.0)
    small, large = pruning_path(problem), pruning_path(problem, ties="largest")
    assert small.at_lam(0.1).n_splits == 1
    assert large.at_lam(0.1).n_splits == 2
    assert small.at_lam(Fraction(1, 2)).n_splits == 0  # at the breakpoint itself
    assert large.at_lam(Fraction(1, 2)).n_splits == 2
    assert large.at_lam(0.6).n_splits == 0


def test_paths_of_real_numbers_are_optimal_up_to_their_gap() -> None:
    """With real numbers no pruning is better at any breakpoint by more than the gap of some 1e-13 that the path states."""
    for seed in range(60):
        problem = random_problem(seed, rounded=True)
        path, every = pruning_path(problem), all_prunings(problem)
        prunings = [Pruning(problem, kept) for kept in every.kept]
        assert not problem.numbers.exact or problem.ensemble.n_splits == 0
        assert path.relative_gap < 1e-9
        assert check_path(path).holds
        for k, lam in enumerate(path.breakpoints):
            best = min(p.exact_error + lam * p.exact_cost for p in prunings)
            assert path.exact_error[k] + lam * path.exact_cost[k] <= best + (path.gaps[k] if path.gaps else 0), (seed, k)


def test_errors_of_exact_instances_are_exact() -> None:
    """A path's errors come from fractions: where every example is right the error is 0, not -6e-17 as floats make of 14/44."""
    problem = problem_of([Node(e, 0, 0.5, Node(0), Node(0)) for e in (6, 3, 4, 1)], [1], np.ones((1, 1)), weight=11.0)
    assert pruning_path(problem).error.tolist() == [0.0, 14 / 44]


def test_items_paid_once_are_not_free_where_no_row_comes() -> None:
    """An item paid once for all is charged even by a split that no row of the cost sample reaches."""
    tree = Node(9, 0, 0.5, Node(1), Node(6, 1, 0.5, Node(1), Node(1)))  # all rows go left
    costs = CostItems.from_items({"a": 0, "b": 2}, [["a"], ["b"]], once=["b"])
    problem = problem_of([tree], costs, np.zeros((2, 2)), weight=8.0)
    path = pruning_path(problem)
    assert path.breakpoints == (0, Fraction(4, 8) / 2)  # the lower split earns 6 - 2 of 8 for a price of 2
    assert path.level[[0, 2]].tolist() == [2, 1]


CLOSURE_SEEDS = range(12)


def test_a_chain_pools_what_pays_only_together() -> None:
    """Gains 1, 3, 1 at unit prices in a chain: node 0 alone pays up to 1, together with node 1 up to 2; node 2 up to 1."""
    path = closure_path(closure_of([1, 3, 1], [1, 1, 1], [(1, 0), (2, 1)], base_error=5))
    assert (list(path.breakpoints), path.level.tolist()) == ([0, 1, 2], [2, 2, 1])
    assert (path.error.tolist(), path.cost.tolist()) == ([0, 1, 5], [3, 2, 0])


DIAMOND = [(3, 1), (3, 2), (1, 0), (2, 0)]  # 3 requires 1 and 2, both require 0


@looped(
    ("gain", "price", "arcs", "breakpoints", "level"),
    [
        # only 3 gains, 6, and everything costs 1 + 1 + 1 + 0: one breakpoint, 2
        ([0, 0, 0, 6], [1, 1, 1, 0], DIAMOND, [0, 2], [1] * 4),
        # with a gain of 2, node 1 pays with node 0 up to 1, and the remaining two up to 6: all go together, at 8/3
        ([0, 2, 0, 6], [1, 1, 1, 0], DIAMOND, [0, Fraction(8, 3)], [1] * 4),
        # a gain of 12 for node 1 pays with node 0 up to 6, where the other two, worth 4, have long gone, at 4
        ([0, 12, 0, 4], [1, 1, 1, 0], DIAMOND, [0, 4, 6], [2, 2, 1, 1]),
        # a free loss of 2 is outweighed by a free gain of 3; what is worth nothing goes; what requires a price is not free
        ([-2, 3, 0, 5, 1, -1], [0, 0, 0, 0, 2, 0], [(1, 0), (3, 4)], [0, 3], [2, 2, 0, 1, 1, 0]),
        # what gains nothing in all is left out, although one of its nodes gains
        ([-3, 3], [0, 0], [(1, 0)], [0], [0, 0]),
        ([-3, 3], [0, 1], [(1, 0)], [0], [0, 0]),
        # without nodes, and where nothing pays or all is free, the path has one row
        ([], [], [], [0], []),
        ([-1, 0], [1, 1], [(0, 1)], [0], [0, 0]),
        ([1, 1], [0, 0], [(0, 1)], [0], [1, 1]),
    ],
)
def test_graphs_by_hand(gain: Any, price: Any, arcs: Any, breakpoints: list[Fraction], level: list[int]) -> None:
    """Where nodes go, and in which order."""
    path = closure_path(closure_of(gain, price, arcs))
    assert (list(path.breakpoints), path.level.tolist()) == (breakpoints, level)


@pytest.mark.parametrize("seed", CLOSURE_SEEDS)
def test_every_row_is_the_smallest_optimum(seed: int) -> None:
    """At every breakpoint, between them, and beyond, against all closures of the graph; breakpoints are where it changes."""
    known = random_known(seed)
    path = closure_path(known.problem)
    for lam in between(list(path.breakpoints)):
        k = path.row_at_lam(lam)
        kept = path.kept(k).tolist()
        assert kept == known.smallest_optimum(lam)
        assert (path.exact_error[k], path.exact_cost[k]) == (known.error(kept), known.cost(kept))
    assert sorted(set(path.level.tolist()) - {0, len(path)}) == list(range(1, len(path)))


@pytest.mark.parametrize("decades", [0, 6, 200])
@pytest.mark.parametrize("seed", CLOSURE_SEEDS)
def test_real_numbers_are_optimal_up_to_the_gap(seed: int, decades: int) -> None:
    """Gains and prices that no 64 bits hold, over many decades: rows are the optima in fractions, up to a gap of rounding."""
    known, rng = random_known(seed), np.random.default_rng(seed)
    n = known.problem.n
    gain, price = rng.normal(size=n) * 10.0 ** rng.uniform(-decades, 0, n), rng.random(n) * 10.0 ** rng.uniform(-decades, 0, n)
    real = replace(known.problem, gain=gain, price=price, gain_unit=None, price_unit=None)
    path = closure_path(real)
    assert check_closure_path(path).holds, check_closure_path(path)
    assert path.gap <= 1e-15 * max(1.0, float(np.abs(gain).sum()))
    exact = Known(
        real,
        [Fraction(repr(g)) for g in gain.tolist()],
        [Fraction(repr(p)) for p in price.tolist()],
        known.base_error,
        known.base_cost,
    )
    for k, lam in enumerate(path.breakpoints):
        kept, best = path.kept(k).tolist(), exact.smallest_optimum(lam)
        assert exact.error(kept) + lam * exact.cost(kept) <= exact.error(best) + lam * exact.cost(best) + Fraction(path.gap)
