"""Parts of a path: networks that are divided, ranges of pieces, and threads that work on them."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.instance.papers import two_trees
from solvers.closures.preflow import Flow
from solvers.closures.subproblem import ParametricSubproblem
from solvers.path.decomposition import Networks, divide
from solvers.path.part_sequence import PartSequence
from solvers.path.parts import Parts, contradictions, in_order


def ids(*values: int) -> np.ndarray:
    """Ids as parts have them."""
    return np.array(values, dtype=np.int32)


def three_splits() -> PartSequence:
    """Splits 10 and 11 share purchase 5; 11 and 12 below it share purchase 6."""
    return PartSequence.of(
        ParametricSubproblem(
            nodes=ids(10, 11, 12),
            parent=ids(-1, -1, 1),
            tail=ids(0, 1, 1, 2),
            head=ids(0, 0, 1, 1),
            purchases=ids(5, 6),
            gain=np.array([1, 1, 0]),
            evaluation=np.array([0, 0, 0]),
            price=np.array([2, 3]),
        )
    )


def test_new_parts_take_their_flows_along() -> None:
    """The inner part keeps the flow of its splits, the outer one those on purchases that the inner one does not pay."""
    flow = Flow(np.array([1, 2, 3, 4]), np.array([7, 8, 9]))
    whole = replace(three_splits(), flow=flow, unit=np.array([5]))
    assert Networks.of(whole).ratios == [Fraction(2, 5)]
    both = Parts(two_trees()).divided(whole, ids(1, 0, 0))
    outer, inner = both.batches(0)
    assert (inner.subproblem.nodes.tolist(), inner.subproblem.purchases.tolist(), inner.subproblem.head.tolist()) == (
        [10],
        [5],
        [0],
    )
    assert (outer.subproblem.nodes.tolist(), outer.subproblem.purchases.tolist()) == ([11, 12], [6])
    assert (outer.subproblem.head.tolist(), outer.subproblem.parent.tolist()) == ([0, 0], [-1, 0])
    assert (inner.flow.usage_flow.tolist(), inner.flow.parent_flow.tolist()) == ([1], [7])
    assert (outer.flow.usage_flow.tolist(), outer.flow.parent_flow.tolist()) == ([3, 4], [8, 9])
    assert both.unit.tolist() == [5, 5]
    assert both.outside.tolist() == [0, 2]


def test_each_part_has_its_own_lambda() -> None:
    """Split 10 gains 3 for 2, the others 1 for 3: in integers 2 3 - 3 2 and 3 1 - 1 3, worth 0 in each part of one network."""
    whole = three_splits()
    whole = replace(whole, subproblem=replace(whole.subproblem, gain=np.array([3, 1, 0])))
    networks = Networks.of(Parts(two_trees()).divided(whole, ids(1, 0, 0)))
    assert networks.ratios == [Fraction(1, 3), Fraction(3, 2)]
    assert networks.instance.profit.tolist() == [3, 0, 6]
    assert networks.instance.price.tolist() == [3, 6]
    assert networks.worth(np.array([True, True, True])).tolist() == [0, 0]
    assert networks.worth(np.array([True, False, False])).tolist() == [0, 0]
    assert networks.worth(np.array([False, False, True])).tolist() == [0, 0]


def test_a_part_without_a_breakpoint_is_told() -> None:
    """A gain below 0, which only a wrong guess leaves: there is no lambda*."""
    part = three_splits()
    below = replace(part, subproblem=replace(part.subproblem, gain=np.array([1, -3, 0])))
    assert Networks.of(below).ratios == [None]


@pytest.mark.filterwarnings("error")
def test_scores_far_apart_leave_the_range_of_a_float_to_nobody() -> None:
    """Splits far behind the best of their part have weights above 0, in equal parts; other parts have a best one of their own."""
    parts = replace(three_splits(), first=np.array([0, 2, 3]), outside=np.array([0, 2]))
    weight = parts.weights(np.array([5000.0, 0.0, -9000.0]))
    assert weight[0] == weight[2]
    assert 0 < weight[1] < 1e-100 < weight[0] == 1


@pytest.mark.parametrize(
    ("ratios", "wrong"),
    [
        ([], []),
        ([1], []),
        ([1, 2, 2, 3], []),
        ([2, 1], [(0, 1)]),
        ([1, 3, 2, 4], [(1, 2)]),
        ([2, 3, 1, 4], [(0, 2)]),  # 1 is below both pieces outside it
        ([1, 4, 2, 3, 5], [(1, 3)]),  # 4 is above both pieces inside it
        ([1, 5, 2, 4, 3, 6, 8, 7], [(1, 4), (6, 7)]),
        ([2, 3, 4, 1, 5], [(0, 3)]),
        ([1, 2, None, 3, 4], [(1, 3)]),
        ([None, 1, 2], [(0, 1)]),
        ([1, 2, None], [(1, 2)]),
        ([None], [(0, 0)]),
    ],
)
def test_least_ranges(ratios: list[int | None], wrong: list[tuple[int, int]]) -> None:
    """Ranges join pieces until breakpoints never fall from one range to the next; a piece without breakpoint takes both sides."""
    assert contradictions([None if r is None else Fraction(r) for r in ratios]) == wrong


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ([], []),
        ([(2, 4), (3, 3)], [(Fraction(1, 2), [0]), (Fraction(1), [1])]),
        ([(0, 1), (1, 1)], [(Fraction(0), [0]), (Fraction(1), [1])]),
        # Together the first two have (2 + 1) / (1 + 2), which is below 4 / 2.
        ([(2, 1), (1, 2), (4, 2)], [(Fraction(1), [0, 1]), (Fraction(2), [2])]),
        # 1 / 2 is below both pieces outside of it; joined with one of them it is above the other.
        ([(1, 1), (3, 1), (1, 2)], [(Fraction(1), [0]), (Fraction(4, 3), [1, 2])]),
        ([(1, 1), (3, 1), (1, 9)], [(Fraction(5, 11), [0, 1, 2])]),
    ],
)
def test_the_upper_hull_of_pieces(pieces: list[tuple[int, int]], joined: list[tuple[Fraction, list[int]]]) -> None:
    """Pieces with (gain, cost), outermost first: one with a lower breakpoint than the one outside of it joins that one."""
    leaving = [(Fraction(*piece), np.array([k], dtype=np.int32)) for k, piece in enumerate(pieces)]
    found = in_order(leaving, np.array([gain for gain, _ in pieces], dtype=np.int64))
    assert [(ratio, nodes.tolist()) for ratio, nodes in found] == joined


def halve(span: tuple[int, int]) -> tuple[list[int], list[tuple[int, int]]]:
    """A span of numbers is one number, or two spans; the lower one takes longer."""
    first, last = span
    if last - first == 1:
        return [first], []
    if first == 0:
        time.sleep(0.002)
    middle = (first + last) // 2
    return [], [(first, middle), (middle, last)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_outcomes_come_in_order(threads: int) -> None:
    """However many threads there are, and whoever is first: outcomes in the order of the items."""
    told: list[int] = []
    assert divide((0, 50), halve, threads=threads, done=lambda found: told.extend(found)) == list(range(50))
    assert sorted(told) == list(range(50))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_faults_are_passed_on(threads: int, fault: type[BaseException]) -> None:
    """What a step raises arrives, and what waited is not begun."""
    begun: list[int] = []

    def step(n: int) -> tuple[list[int], list[int]]:
        begun.append(n)
        if n == 0:
            return [], list(range(1, 200))
        if len(begun) == 3:
            raise fault("here")
        time.sleep(0.01)
        return [n], []

    with pytest.raises(fault):
        divide(0, step, threads=threads, done=lambda found: None)
    assert len(begun) < 100
