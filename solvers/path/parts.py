"""Parts of the path: splits between two nested closures, with the purchases that the inner one has not paid.

A part with total gain G and total price P, evaluation included, is worth as much as nothing at

    lambda* = G / P                                                                                         (1)

A closure of a part cuts it into an inner and an outer part. The inner part keeps all usage arcs of its splits. The outer part
keeps those of its arcs that lead to purchases which the inner part does not pay. So no two parts share an arc, and every price is
paid once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import ClosureProblem
from solvers.closures.preflow import Flow
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem


@dataclass(frozen=True, eq=False)
class PathPart:
    """Splits between two nested closures, with their flow.

    Parameters
    ----------
    subproblem
        the splits, and the purchases that the inner closure has not paid.
    flow
        what is known of the flow from the cut that made the part, in gains times `unit`.
    """

    subproblem: ParametricSubproblem
    flow: Flow | None = None
    unit: int = 1

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The splits, ascending."""
        return self.subproblem.nodes

    @property
    def n_arcs(self) -> int:
        """Usage arcs."""
        return self.subproblem.tail.size


@dataclass(frozen=True, eq=False)
class Network:
    """A part at lambda* (1) as a closure problem in integers: gains times the denominator, prices times the numerator.

    Parameters
    ----------
    part
        the part, its purchases merged.
    ratio
        lambda*.
    start
        the part's flow at lambda*, which need not fit.
    """

    part: PathPart
    ratio: Fraction
    instance: ClosureProblem
    start: Flow | None


class Parts:
    """Makes parts and their networks, and remembers which purchases have been merged.

    Parts have no purchase in common, so threads can work on two of them.

    Parameters
    ----------
    merge
        merge purchases with the same users.
    """

    def __init__(self, problem: PruningProblem, *, merge: bool) -> None:
        self.problem = problem
        self.merge = merge
        self.merged_into = np.arange(problem.n_purchases, dtype=np.int32)

    def between(self, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> PathPart:
        """Everything between two closures, the inner one free of charge, so that it has paid nothing."""
        return PathPart(parametric_subproblem(self.problem, np.flatnonzero(outer & ~inner).astype(np.int32)))

    def reassembled(self, nodes: NDArray[np.int32], paid: NDArray[np.bool_]) -> PathPart:
        """A part out of the splits of some pieces, its purchases as they were before merging.

        Parameters
        ----------
        paid
            bool, shape (M (N + 1),): purchases that pieces further inside pay.
        """
        part = parametric_subproblem(self.problem, np.sort(nodes), paid)
        self.merged_into[part.purchases] = part.purchases
        return PathPart(part)

    def network(self, part: PathPart) -> Network | None:
        """The part's network; None where a wrong guess left a part with a gain below 0 or a cost of 0, so that (1) fails."""
        if self.merge:
            part = self._merged(part)
        gain, cost = part.subproblem.total_gain, part.subproblem.total_cost
        if cost == 0 or gain < 0:
            return None
        ratio = Fraction(gain, cost)
        start = None if part.flow is None else part.flow.scaled(ratio.denominator / part.unit)
        return Network(part, ratio, part.subproblem.at(ratio), start)

    def _merged(self, part: PathPart) -> PathPart:
        """The part after merging purchases; the flows of merged arcs are added up."""
        before = part.subproblem
        after, group, arcs = before.merged()
        if arcs.size == before.tail.size:
            return part
        self.merged_into[before.purchases] = after.purchases[group]
        flow = part.flow
        if flow is not None:
            flow = Flow(_summed(before.tail, group[before.head], after.tail, after.head, flow.usage_flow), flow.parent_flow)
        return PathPart(after, flow, part.unit)

    def halves(self, network: Network, keep: NDArray[np.bool_], flow: Flow | None = None) -> tuple[PathPart, PathPart]:
        """The inner part, and the outer one without the purchases that the inner one pays; `keep` bool, shape (k,)."""
        part, unit = network.part.subproblem, network.ratio.denominator
        kept, unpaid = np.empty((2, part.tail.size), dtype=np.bool_)
        _sides(part.tail, part.head, keep, np.zeros(part.price.size, dtype=np.bool_), kept, unpaid)
        inner, outer = (
            PathPart(
                part.restricted(nodes, arcs)[0],
                None if flow is None else Flow(flow.usage_flow[arcs], flow.parent_flow[nodes]),
                unit,
            )
            for nodes, arcs in ((keep, kept), (~keep, unpaid))
        )
        return inner, outer


def _summed(
    tail: NDArray[np.int32],
    group: NDArray[np.int32],
    merged_tail: NDArray[np.int32],
    merged_head: NDArray[np.int32],
    flow: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The flow on merged arcs: that on all arcs (tail, group) of the same split to the same merged purchase."""
    summed, place = np.zeros(merged_tail.size, dtype=np.int64), np.empty(merged_tail.size, dtype=np.int32)
    _add_up(tail, group, merged_tail, merged_head, flow, place, summed)
    return summed


@njit(cache=True, nogil=True)
def _add_up(tail, group, merged_tail, merged_head, flow, place, summed):  # type: ignore[no-untyped-def]
    """`_summed` into zeros; `place` is room to work in, as long."""
    first, k = 0, 0
    while k < tail.shape[0]:
        u, s = tail[k], first
        while s < merged_tail.shape[0] and merged_tail[s] == u:
            place[merged_head[s]] = s
            s += 1
        first = s
        while k < tail.shape[0] and tail[k] == u:
            summed[place[group[k]]] += flow[k]
            k += 1


@njit(cache=True, nogil=True)
def _sides(tail, head, keep, paid, kept, unpaid):  # type: ignore[no-untyped-def]
    """Which arcs belong to kept splits, and which lead to purchases that no kept split pays."""
    for k in range(tail.shape[0]):
        kept[k] = keep[tail[k]]
        if kept[k]:
            paid[head[k]] = True
    for k in range(tail.shape[0]):
        unpaid[k] = not paid[head[k]]
