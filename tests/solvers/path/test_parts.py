"""Parts: what is handed on of a flow when a part is merged, scaled and cut in two."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.instance.papers import two_trees
from solvers.closures.cut import ClosureProblem
from solvers.closures.preflow import UNLIMITED, Flow, preflow_closure, shared_flow
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem
from solvers.path.decomposition import Networks
from solvers.path.part_sequence import PartSequence
from solvers.path.parts import Parts, _summed
from solvers.path.pruning_path import pruning_path


def ids(*values: int) -> np.ndarray:
    """Ids as parts have them."""
    return np.array(values, dtype=np.int32)


def test_flows_of_merged_purchases_are_added_up() -> None:
    """Split 0 pays 1, 2 and 3 for purchases 0, 1, 2, split 1 pays 4, 5, 6; 0 and 2 merge: they pay 4 and 10 for them together."""
    tail, group = ids(0, 0, 0, 1, 1, 1), ids(0, 1, 0, 0, 1, 0)
    assert _summed(tail, group, ids(0, 0, 1, 1), ids(0, 1, 0, 1), np.array([1, 2, 3, 4, 5, 6])).tolist() == [4, 2, 10, 5]


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
    assert inner.flow is not None
    assert outer.flow is not None
    assert (inner.flow.usage_flow.tolist(), inner.flow.parent_flow.tolist()) == ([1], [7])
    assert (outer.flow.usage_flow.tolist(), outer.flow.parent_flow.tolist()) == ([3, 4], [8, 9])
    assert both.unit is not None
    assert both.unit.tolist() == [5, 5]
    assert both.outside.tolist() == [0, 2]


def test_some_parts_are_divided_further_and_others_are_done() -> None:
    """What is outside of a part is counted through all divisions; a part without a label is gone, with its arcs."""
    parts = Parts(two_trees())
    both = parts.divided(three_splits(), ids(1, 0, 0))
    rest = parts.divided(both, ids(1, 0, -1))
    assert (rest.subproblem.nodes.tolist(), rest.outside.tolist(), rest.n_arcs) == ([12, 11], [0, 1], 1)
    assert parts.divided(both, ids(1, 0, 2)).outside.tolist() == [0, 1, 2]
    assert parts.divided(both, ids(-1, -1, 0)).outside.tolist() == [2]
    assert parts.divided(both, ids(-1, -1, -1)).n_parts == 0


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


def test_a_flow_is_taken_to_the_part_s_own_lambda() -> None:
    """A flow counts gains times the denominator of lambda: a part with another denominator starts from it in proportion."""
    problem = two_trees()
    part = PartSequence.of(parametric_subproblem(problem, problem.splits))
    bare = Networks.of(part)
    assert bare.start() is None
    flow = Flow(np.arange(part.n_arcs, dtype=np.int64) * 50, np.arange(part.n_splits, dtype=np.int64) * 50)
    known = Networks.of(replace(part, flow=flow, unit=np.array([5]))).start()
    assert known is not None
    factor = 10 * int(bare.denominator[0])
    assert known.usage_flow.tolist() == [factor * k for k in range(part.n_arcs)]
    assert known.parent_flow.tolist() == [factor * k for k in range(part.n_splits)]


def test_a_cut_that_begins_where_another_ended() -> None:
    """The flow of a part's cut, handed to its halves, is already all that the last cut of a piece needs: nothing moves."""
    path = pruning_path(two_trees())
    assert path.stats["cuts"] >= len(path) - 1
    problem = two_trees()
    instance = Networks.of(PartSequence.of(parametric_subproblem(problem, problem.splits))).instance
    _, flow = preflow_closure(instance)
    again = preflow_closure(instance, start=flow)[1]
    assert np.array_equal(again.usage_flow, flow.usage_flow)
    assert np.array_equal(again.parent_flow, flow.parent_flow)


def test_what_scores_let_splits_pay() -> None:
    """With weights 1 and 3 of 4 two splits share a price of 8 as 2 and 6; the third pays its own 5 alone."""
    none, price = ids(-1, -1, -1), np.array([8, 5])
    problem = ClosureProblem(np.ones(3, dtype=np.int64), none, ids(0, 1, 2), ids(0, 0, 1), price)
    flow = shared_flow(problem, np.array([1.0, 3.0, 2.0]))
    assert flow.usage_flow.tolist() == [2, 6, 5]
    assert (flow.parent_flow == UNLIMITED).all()


@pytest.mark.filterwarnings("error")
def test_scores_far_apart_leave_the_range_of_a_float_to_nobody() -> None:
    """Splits far behind the best of their part have weights above 0, in equal parts; other parts have a best one of their own."""
    parts = replace(three_splits(), first=np.array([0, 2, 3]), outside=np.array([0, 2]))
    weight = parts.weights(np.array([5000.0, 0.0, -9000.0]))
    assert weight[0] == weight[2]
    assert 0 < weight[1] < 1e-100 < 1e100 < weight[0] < np.inf
