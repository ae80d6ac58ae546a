"""Maximum-weight closure by push-relabel, from any flow to begin with.

A split's profit may be handed to its parent, again and again, or spent on purchases of the splits on the way. With b the
*balance*, excess where it is positive and deficit where it is negative,

    b_h = profit_h + sum of what its children hand up - what it hands up - the flow on its usage arcs       h a split
    b_j = flow on its arcs - price_j                                                               j a purchase       (1)

Excess is shipped to deficits, along h -> parent(h) and u -> j without limit, and back along both as far as there is flow. For a
closure S with its purchases, sum over S of b = (profits of S) - (prices of S) + what flows into S, so

    value of any closure <= sum of all positive b,                                                                    (2)

with equality if and only if S contains every excess and no deficit, and no residual arc leaves it. Such S exist as soon as no
excess can reach a deficit: the smallest is what excess can reach, the largest what cannot reach a deficit. The remaining excess
need not be shipped back to its source, as a maximum flow requires.

Any start that satisfies (1) with b_h >= min(0, profit_h) is valid. So the flow of an earlier cut, at another lambda and in a
larger network, can be a start, once no split spends more than it has.

Goldberg and Tarjan (1988) for push-relabel, first in, first out; Cherkassky and Goldberg (1997) for exact labels now and then;
Gallo, Grigoriadis and Tarjan (1989) for going on from the flow of another lambda.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.errors import SolverFailedError
from formulations.instance.usage_arcs import starts_by_tail
from solvers.closures.cut import Closure, ClosureProblem, Ties
from solvers.closures.preflow_kernels import (
    Adjacency,
    Flows,
    LabelWork,
    discharge,
    fit,
    label_all,
    prepare,
    reached_by_excess,
)

UNLIMITED = np.int64(2**62)
"""More than any split has."""


@dataclass(frozen=True, eq=False)
class Flow:
    """Where profits go."""

    usage_flow: NDArray[np.int64]  # int64, shape of the usage arcs: what a split pays for a purchase
    parent_flow: NDArray[np.int64]  # int64, shape of the splits: what a split hands to its parent

    @staticmethod
    def nothing(problem: ClosureProblem) -> Flow:
        """Nothing is paid yet."""
        return Flow(np.zeros(problem.tail.size, dtype=np.int64), np.zeros(problem.profit.size, dtype=np.int64))

    def scaled(self, of_arcs: NDArray[np.float64], of_splits: NDArray[np.float64]) -> Flow:
        """Times factors, rounded down, at most `UNLIMITED`; a split may then spend a little more than it has."""
        return Flow(_times(self.usage_flow, of_arcs), _times(self.parent_flow, of_splits))


def shared_flow(problem: ClosureProblem, weight: NDArray[np.float64]) -> Flow:
    """A flow to start from: each split pays its share by the weights and hands all else up; it may exceed what it has."""
    share = weight[problem.tail]
    total = np.bincount(problem.head, weights=share, minlength=problem.price.size)
    share *= np.divide(problem.price, total, out=np.zeros(total.size), where=total > 0)[problem.head]
    return Flow(share.astype(np.int64), np.full(problem.profit.size, UNLIMITED))


def _times(flow: NDArray[np.int64], factor: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.minimum(flow * factor, float(UNLIMITED)), dtype=np.int64)


def preflow_closure(problem: ClosureProblem, *, ties: Ties = "smallest", start: Flow | None = None) -> tuple[Closure, Flow]:
    """A best closure and the flow that proves it.

    Parameters
    ----------
    problem
        parents before their children, usage arcs grouped by tail in ascending order; the sums of positive profits, of negative
        ones and of prices below 2^62.
    ties
        the smallest or the largest best closure.
    start
        any flow >= 0, also one that does not fit: it is cut down to what the splits have. Not changed.

    Returns
    -------
    Closure, Flow
        the closure's `duals` are the flow on usage arcs.
    """
    network = _Network(problem, start)
    label = network.ship()
    keep = network.reached_by_excess() if ties == "smallest" else label[: problem.profit.size] > network.balance.size
    left, worth = _left_and_worth(problem, keep, network.balance)
    if left != worth:
        raise SolverFailedError(f"push-relabel left {left}, its closure is worth {worth}; please report this with the instance")
    arcs = problem.tail.size + problem.price.size + problem.profit.size + int(np.count_nonzero(problem.parent >= 0))
    flow = network.flow
    return Closure(keep, left, arcs, lambda: flow.usage_flow), flow


def _left_and_worth(problem: ClosureProblem, keep: NDArray[np.bool_], balance: NDArray[np.int64]) -> tuple[int, int]:
    """What the flow leaves over, and the profits of a closure less the prices of what it needs. Both may wrap around, alike."""
    paid = np.zeros(problem.price.size, dtype=np.bool_)
    paid[problem.head[keep[problem.tail]]] = True
    left, worth = np.maximum(balance, 0).sum(), np.concatenate([problem.profit[keep], -problem.price[paid]]).sum()
    return int(left), int(worth)


class _Network:
    """A closure network with a flow: what is next to what, and the balances (1).

    Vertices are the splits 0, ..., k - 1 and then the purchases.
    """

    def __init__(self, problem: ClosureProblem, start: Flow | None) -> None:
        k, parent = problem.profit.size, problem.parent
        first_arc = starts_by_tail(problem.tail, k).astype(np.int32)
        first_child, child = grouped(parent, k)
        first_user, arc = grouped(problem.head, problem.price.size)
        if start is None:
            flow = Flow.nothing(problem)
        else:
            flow = Flow(start.usage_flow.copy(), start.parent_flow.copy())
            fit(parent, first_arc, problem.profit.copy(), flow.usage_flow, flow.parent_flow)
        user, place = np.empty_like(arc), np.empty_like(arc)
        balance = np.concatenate([problem.profit, -problem.price])
        self.k, self.flow, self.balance = k, flow, balance
        self.net = Adjacency(parent, first_child, child, first_arc, problem.head, first_user, user, arc, place)
        self.flows = Flows(flow.usage_flow, np.empty_like(flow.usage_flow), flow.parent_flow, balance)
        prepare(self.net, problem.tail, self.flows)

    def ship(self) -> NDArray[np.int32]:
        """Push excess to deficits until none reaches one; the exact labels of the vertices, above their number for never."""
        n = self.balance.size
        label, queue = np.empty(n, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
        work = LabelWork(label, queue, np.empty(n, dtype=np.bool_), np.empty(self.k, dtype=np.int32))
        while True:
            reached = label_all(self.net, self.flows, work)
            if not discharge(self.net, self.flows, work, reached):
                return label

    def reached_by_excess(self) -> NDArray[np.bool_]:
        """The splits that excess reaches along residual arcs."""
        n = self.balance.size
        seen, queue = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
        reached_by_excess(self.net, self.flows, seen, queue)
        return seen[: self.k]


def grouped(group: NDArray[np.int32], n_groups: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The members of each group, one group after the other, ascending within a group.

    ``grouped(parent, k)`` are the children of each split, ``grouped(head, j)`` the usage arcs to each purchase.

    Parameters
    ----------
    group
        int32: the group of each member, -1 if it is in none.

    Returns
    -------
    NDArray, NDArray
        int32: where each group starts, and the end of the last, shape (n_groups + 1,); and the members, as many as are in a
        group; what follows them has no meaning.
    """
    first = np.zeros(n_groups + 1, dtype=np.int32)
    member = np.empty(group.size, dtype=np.int32)
    _group(group, first, member)
    return first, member


@njit(cache=True, nogil=True)
def _group(group, first, member):  # type: ignore[no-untyped-def]
    """A counting sort. While it places members, ``first[g]`` is where the next member of group g goes."""
    n_groups = first.shape[0] - 1
    # the sizes of the groups, and where each begins
    for a in range(group.shape[0]):
        if group[a] >= 0:
            first[group[a] + 1] += 1
    for g in range(n_groups):
        first[g + 1] += first[g]
    # place the members
    for a in range(group.shape[0]):
        g = group[a]
        if g >= 0:
            member[first[g]] = a
            first[g] += 1
    # now first[g] is where group g ends, so move the entries up by one
    for g in range(n_groups, 0, -1):
        first[g] = first[g - 1]
    first[0] = 0
