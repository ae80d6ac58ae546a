"""Parts: what is handed on of a flow when a part is merged, scaled and cut in two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from formulations.instance.papers import two_trees
from solvers.closures.cut import ClosureProblem
from solvers.closures.preflow import Flow, preflow_closure
from solvers.closures.subproblem import ParametricSubproblem
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.guess import Guess
from solvers.path.parts import Parts, PathPart, _summed
from solvers.path.pruning_path import pruning_path


def ids(*values: int) -> np.ndarray:
    """Ids as parts have them."""
    return np.array(values, dtype=np.int32)


def test_flows_of_merged_purchases_are_added_up() -> None:
    """Split 0 pays 1, 2 and 3 for purchases 0, 1, 2, split 1 pays 4, 5, 6; 0 and 2 merge: they pay 4 and 10 for them together."""
    tail, group = ids(0, 0, 0, 1, 1, 1), ids(0, 1, 0, 0, 1, 0)
    assert _summed(tail, group, ids(0, 0, 1, 1), ids(0, 1, 0, 1), np.array([1, 2, 3, 4, 5, 6])).tolist() == [4, 2, 10, 5]


def test_halves_take_their_flows_along() -> None:
    """The inner half keeps the flow of its splits, the outer one those on purchases that the inner one does not pay."""
    part = ParametricSubproblem(
        nodes=ids(10, 11, 12),
        parent=ids(-1, -1, 1),
        tail=ids(0, 1, 1, 2),
        head=ids(0, 0, 1, 1),
        purchases=ids(5, 6),
        gain=np.array([1, 1, 0]),
        evaluation=np.array([0, 0, 0]),
        price=np.array([2, 3]),
    )
    flow = Flow(np.array([1, 2, 3, 4]), np.array([7, 8, 9]))
    parts = Parts(two_trees(), merge=True)
    network = parts.network(PathPart(part))
    assert network is not None
    assert network.ratio == Fraction(2, 5)
    inner, outer = parts.halves(network, np.array([True, False, False]), flow)
    assert (inner.nodes.tolist(), inner.subproblem.purchases.tolist(), inner.subproblem.head.tolist()) == ([10], [5], [0])
    assert (outer.nodes.tolist(), outer.subproblem.purchases.tolist(), outer.subproblem.head.tolist()) == ([11, 12], [6], [0, 0])
    assert outer.subproblem.parent.tolist() == [-1, 0]
    assert inner.flow is not None
    assert outer.flow is not None
    assert (inner.flow.usage_flow.tolist(), inner.flow.parent_flow.tolist()) == ([1], [7])
    assert (outer.flow.usage_flow.tolist(), outer.flow.parent_flow.tolist()) == ([3, 4], [8, 9])
    assert inner.unit == outer.unit == 5
    assert parts.halves(network, np.array([True, False, False]))[0].flow is None


def test_a_flow_is_taken_to_the_part_s_own_lambda() -> None:
    """A flow counts gains times the denominator of lambda: a part with another denominator starts from it in proportion."""
    problem = two_trees()
    parts = Parts(problem, merge=False)
    part = parts.between(without_prices(problem, "smallest"), free_of_charge(problem, "smallest"))
    bare = parts.network(part)
    assert bare is not None
    assert bare.start is None
    flow = Flow(np.arange(part.n_arcs, dtype=np.int64) * 30, np.arange(part.nodes.size, dtype=np.int64) * 30)
    known = parts.network(PathPart(part.subproblem, flow, 3))
    assert known is not None
    assert known.start is not None
    assert known.start.usage_flow.tolist() == [int(10 * bare.ratio.denominator * k) for k in range(part.n_arcs)]
    assert known.start.parent_flow.tolist() == [int(10 * bare.ratio.denominator * k) for k in range(part.nodes.size)]


def test_a_cut_that_begins_where_another_ended() -> None:
    """The flow of a part's cut, handed to its halves, is already all that the last cut of a piece needs: nothing moves."""
    path = pruning_path(two_trees())
    assert path.stats["cuts"] >= len(path) - 1
    problem = two_trees()
    parts = Parts(problem, merge=True)
    network = parts.network(parts.between(without_prices(problem, "smallest"), free_of_charge(problem, "smallest")))
    assert network is not None
    _, flow = preflow_closure(network.instance)
    again = preflow_closure(network.instance, start=flow)[1]
    assert np.array_equal(again.usage_flow, flow.usage_flow)
    assert np.array_equal(again.parent_flow, flow.parent_flow)


@pytest.mark.filterwarnings("error")
def test_splits_far_behind_pay_nothing() -> None:
    """Where all users of a purchase have scores so low that their weights are 0, it is left unpaid rather than divided by 0."""
    problem = ClosureProblem(np.ones(3, dtype=np.int64), ids(-1, -1, -1), ids(0, 1, 2), ids(0, 1, 1), np.array([4, 8]))
    assert Guess(None, np.array([0.0, -2000.0, -2000.0])).flow(problem).usage_flow.tolist() == [4, 0, 0]
