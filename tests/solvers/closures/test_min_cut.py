"""The minimum cut on exact integers, by OR-Tools and by preflow-push, and its grid."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solvers.closures.cut
import solvers.closures.integer_objective
import solvers.closures.preflow as closure_module
from formulations import CapacityOverflowError, InterruptedSolveError
from formulations.errors import SolverFailedError
from formulations.instance.papers import two_trees
from proofs_checks import check_solution
from solvers import brute_force, min_cut
from solvers.closures.cut import ClosureProblem, Ties, best_closure
from solvers.closures.integer_objective import TOTAL_BITS, Grid, largest_below
from solvers.closures.preflow import UNLIMITED, Flow, preflow_closure
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped


@pytest.mark.parametrize("bits", [4, 9])
@pytest.mark.parametrize("rounded", [False, True])
@looped("seed", range(12))
def test_bounds_stay_true_on_a_coarse_grid(seed: int, rounded: bool, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few bits instead of 61, lambda and prices are badly rounded; the bound is then loose, and still a bound."""
    monkeypatch.setattr(solvers.closures.integer_objective, "CAPACITY_BITS", bits)
    problem = random_problem(seed, rounded=rounded)
    for lam in (0, 0.0123456, 1 / 7, math.pi / 10):  # at 0 no price is rounded down, so gains rounded down show
        found, best = min_cut(problem, lam), brute_force(problem, lam)
        assert found.bound <= best.value + 1e-12
        assert found.value >= best.value - 1e-12
        assert check_solution(problem, found).holds


def test_golden_instance_by_hand() -> None:
    """At lambda = 1/4 feature 3 is given up: error 2/8 + 1/4 * 2 features = 3/4; see test_path for the gains."""
    found = min_cut(two_trees(), 0.25)
    assert found.value == found.bound == 0.75
    assert found.gap == 0
    assert found.pruning.kept.nonzero()[0].tolist() == [0, 2, 5, 6]
    # one split of gain 1/2 at price 2 is kept below lambda = 1/4 and given up from there on: a wrong sign turns it round
    problem = problem_of([Node(2, 0, 0.5, Node(0), Node(1))], [2], np.ones((1, 1)), weight=2.0)
    assert [min_cut(problem, lam).pruning.n_splits for lam in (0, 0.24, 0.25, 0.26)] == [1, 1, 0, 0]  # type: ignore[union-attr]


def test_interrupt_in_the_cut_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while OR-Tools works raises our exception, which is a KeyboardInterrupt."""

    class Stopped(solvers.closures.cut.max_flow.SimpleMaxFlow):  # type: ignore[misc]
        def solve(self, *_: int) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(solvers.closures.cut.max_flow, "SimpleMaxFlow", Stopped)
    with pytest.raises(InterruptedSolveError):
        min_cut(two_trees(), 0.1)


def test_capacities_beyond_62_bits_are_refused() -> None:
    """A network whose capacities add up to more than 62 bits is refused before it is built."""
    big = np.array([2**61, 2**61], dtype=np.int64)
    none = np.zeros(0, dtype=np.int32)
    with pytest.raises(CapacityOverflowError, match="62 bits"):
        best_closure(ClosureProblem(big, np.array([-1, -1], dtype=np.int32), none, none, np.zeros(0, dtype=np.int64)))


@given(st.fractions(0, 1000), st.integers(1, 10_000))
def test_largest_fraction_below(number: Fraction, limit: int) -> None:
    """largest_below is the largest fraction up to the number with a small denominator: nothing fits in between."""
    below = largest_below(number, limit)
    assert below <= number
    assert below.denominator <= limit
    if limit <= 200:
        assert below == max(Fraction(math.floor(number * q), q) for q in range(1, limit + 1))


TIES: tuple[Ties, ...] = ("smallest", "largest")


def network(profit: list[int], parent: list[int], arcs: list[tuple[int, int]], price: list[int]) -> ClosureProblem:
    """A closure problem by hand."""
    tail, head = np.array(arcs, dtype=np.int32).reshape(-1, 2).T.copy()
    return ClosureProblem(
        np.array(profit, dtype=np.int64), np.array(parent, dtype=np.int32), tail, head, np.array(price, dtype=np.int64)
    )


def some_network(seed: int, most: int = 14) -> ClosureProblem:
    """Some trees, numbered as they come, with purchases that several splits need; many equal numbers, so that there are ties."""
    rng = np.random.default_rng(seed)
    k, j = int(rng.integers(1, most)), int(rng.integers(1, most))
    parent = [int(rng.integers(-1, h)) if h else -1 for h in range(k)]
    arcs = sorted({(int(rng.integers(k)), int(rng.integers(j))) for _ in range(int(rng.integers(0, 3 * most)))})
    needed = sorted({head for _, head in arcs})
    arcs = [(tail, needed.index(head)) for tail, head in arcs]
    most_profit = int(rng.choice([2, 5, 1000]))
    profit = rng.integers(-most_profit, most_profit + 1, k).tolist()
    return network(profit, parent, arcs, rng.integers(1, most_profit + 1, len(needed)).tolist())


def some_flow(problem: ClosureProblem, seed: int) -> Flow:
    """Numbers without sense, some of them as large as they may be."""
    rng = np.random.default_rng(seed)
    most = int(rng.choice([3, 1000, UNLIMITED]))
    return Flow(
        rng.integers(0, 1 + min(most, 10**6), problem.tail.size), rng.integers(0, most, problem.profit.size, endpoint=True)
    )


def assert_flow_proves(problem: ClosureProblem, flow: Flow, value: int) -> None:
    """No split spends more than it has, and what is left over, overpaid prices included, is the value: (2)."""
    assert (flow.usage_flow >= 0).all()
    assert (flow.parent_flow >= 0).all()
    assert (flow.parent_flow[problem.parent < 0] == 0).all()
    balance = problem.profit - flow.parent_flow
    below = problem.parent >= 0
    np.add.at(balance, problem.parent[below], flow.parent_flow[below])
    np.subtract.at(balance, problem.tail, flow.usage_flow)
    assert (balance >= np.minimum(problem.profit, 0)).all()
    paid = np.zeros(problem.price.size, dtype=np.int64)
    np.add.at(paid, problem.head, flow.usage_flow)
    assert np.maximum(balance, 0).sum() + np.maximum(paid - problem.price, 0).sum() == value


@looped(
    ("problem", "ties", "kept", "value"),
    [
        # gains 2 and 2 pay a price of 3 together: worth 1; a gain of 4 does not pay its own 5
        (([2, 2, 4], [-1, -1, -1], [(0, 0), (1, 0), (2, 1)], [3, 5]), "smallest", [True, True, False], 1),
        # a child's gain of 5 goes up to its parent, whose loss of 1 it covers, and pays the parent's price of 3: worth 1
        (([-1, 5], [-1, 0], [(0, 0)], [3]), "smallest", [True, True], 1),
        # a split that just pays its price is in the largest closure and not in the smallest; one that loses is in neither
        (([2, 1], [-1, -1], [(0, 0), (1, 1)], [2, 4]), "smallest", [False, False], 0),
        (([2, 1], [-1, -1], [(0, 0), (1, 1)], [2, 4]), "largest", [True, False], 0),
        # without splits there is nothing; splits of profit 0 without purchases are in the largest closure only
        (([], [], [], []), "largest", [], 0),
        (([0, 0, -1], [-1, 0, -1], [], []), "smallest", [False, False, False], 0),
        (([0, 0, -1], [-1, 0, -1], [], []), "largest", [True, True, False], 0),
        # profits and prices of 2^61 neither wrap nor lose a unit
        (([2**61, 2**61 - 1], [-1, 0], [(0, 0), (1, 0)], [2**61 - 3]), "smallest", [True, True], 2**61 + 2),
    ],
)
def test_closures_by_hand(problem: Any, ties: Ties, kept: list[bool], value: int) -> None:
    """Which splits are kept, what that is worth, and a flow that proves it; OR-Tools says the same."""
    instance = network(*problem)
    closure, flow = preflow_closure(instance, ties=ties)
    assert (closure.keep.tolist(), closure.value) == (kept, value)
    assert best_closure(instance, ties=ties).value == value
    assert_flow_proves(instance, flow, value)


def test_flow_is_taken_back() -> None:
    """Started with split 0 paying the purchase that only split 1 can pay besides its own: it gives way, and all are worth 0."""
    problem = network([3, 3], [-1, -1], [(0, 0), (0, 1), (1, 0)], [3, 3])
    closure, flow = preflow_closure(problem, start=Flow(np.array([3, 0, 0]), np.zeros(2, dtype=np.int64)))
    assert (closure.value, closure.keep.any(), flow.usage_flow.tolist()) == (0, False, [0, 3, 3])
    # scaled, each arc and split by a factor of its own: rounded down, never above what counts as unlimited
    flow = Flow(np.array([3, 10]), np.array([UNLIMITED, 0])).scaled(np.array([1.5, 0.5]), np.array([1.5, 0.5]))
    assert (flow.usage_flow.tolist(), flow.parent_flow.tolist()) == ([4, 5], [UNLIMITED, 0])


@pytest.mark.parametrize("ties", TIES)
def test_brute_force(ties: Ties) -> None:
    """The closure is the smallest or the largest of the best of all closures, tried one by one."""
    for seed in range(60):
        problem = some_network(seed, most=8)
        closure, flow = preflow_closure(problem, ties=ties)
        best, found = 0, []
        for chosen in product([False, True], repeat=problem.profit.size):
            keep = np.array(chosen)
            if any(keep[h] and above >= 0 and not keep[above] for h, above in enumerate(problem.parent)):
                continue
            worth = int(problem.profit[keep].sum() - problem.price[np.unique(problem.head[keep[problem.tail]])].sum())
            if worth > best:
                best, found = worth, []
            if worth == best:
                found.append(keep)
        assert closure.value == best
        size = min if ties == "smallest" else max
        assert closure.keep.sum() == size(int(keep.sum()) for keep in found)
        assert any(np.array_equal(closure.keep, keep) for keep in found)
        assert_flow_proves(problem, flow, best)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), ties=st.sampled_from(TIES), most=st.sampled_from([4, 14, 60]))
def test_the_closure_of_or_tools(seed: int, ties: Ties, most: int) -> None:
    """From nothing, from any numbers, and from its own flow: OR-Tools' closure, its value, and a flow that proves it."""
    problem = some_network(seed, most)
    exact = best_closure(problem, ties=ties)
    start: Flow | None = None
    for begin in (None, some_flow(problem, seed), start):
        before = None if begin is None else (begin.usage_flow.copy(), begin.parent_flow.copy())
        closure, start = preflow_closure(problem, ties=ties, start=begin)
        assert closure.value == exact.value
        assert np.array_equal(closure.keep, exact.keep)
        assert np.array_equal(closure.duals(), start.usage_flow)
        assert_flow_proves(problem, start, exact.value)
        if begin is not None and before is not None:
            assert np.array_equal(begin.usage_flow, before[0])
            assert np.array_equal(begin.parent_flow, before[1])


def test_a_long_way_round() -> None:
    """Each split shares a purchase with the next; the first one's second unit moves the flow on all arcs, to the far end."""
    k = 300
    arcs = sorted([(h, h) for h in range(k)] + [(h, h + 1) for h in range(k - 1)])
    problem = network([2] + [1] * (k - 1), [-1] * k, arcs, [1] * (k - 1) + [2])
    own = Flow(np.array([int(tail == head) for tail, head in arcs]), np.zeros(k, dtype=np.int64))
    for start in (None, own):
        closure, flow = preflow_closure(problem, start=start)
        assert closure.value == 0
        assert_flow_proves(problem, flow, 0)
    cheaper = network([2] + [1] * (k - 1), [-1] * k, arcs, [1] * k)
    closure, flow = preflow_closure(cheaper, start=flow)
    assert closure.value == 1
    assert closure.keep.all()
    assert_flow_proves(cheaper, flow, 1)


def test_a_wrong_answer_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """If closure and flow disagree, that is said."""
    monkeypatch.setattr(closure_module, "_left_and_worth", lambda *arguments: (1, 2))
    with pytest.raises(SolverFailedError, match="left 1, its closure is worth 2"):
        preflow_closure(network([1], [-1], [], []))


@looped("seed", range(20))
def test_sums_fit_and_nothing_is_worth_less(seed: int) -> None:
    """Profits and prices add up to at most 2^60, also where what floating point may have lost is as large as they are."""
    rng = np.random.default_rng(seed)
    gain, charge, lost = (10.0 ** rng.uniform(-12, 6, 5) for _ in range(3))
    price = 10.0 ** rng.uniform(-12, 6, 7)
    grid = Grid.of(gain, charge, price, lost, margin=0.0)
    assert int(np.abs(grid.profit).sum()) <= 2**TOTAL_BITS + grid.profit.size
    assert int(grid.price.sum()) <= 2**TOTAL_BITS
    total, unit = float(gain.sum()), float(grid.unit)
    assert (grid.profit * unit >= np.maximum(gain - np.minimum(charge, 4 * total), -2 * total) + lost * (1 - 1e-9)).all()
    assert (grid.price * unit <= np.minimum(price, 2 * total)).all()
