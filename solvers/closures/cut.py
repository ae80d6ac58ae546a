"""Maximum-weight closure as a minimum cut, in integers.

    maximise  sum_h profit_h y_h - sum_j price_j w_j        y_h <= y_parent(h),   y_u <= w_j for every usage arc (u, j)     (1)

Network: source -> h with the profit of h where it is positive, h -> sink with -profit where it is negative, h -> parent(h) and
u -> j unlimited, j -> sink with price_j. The source side of a minimum cut is a best closure; the source side that the
source reaches in the residual network is the smallest best one, the complement of what reaches the sink the largest.

    value of (1) = sum of positive profits - value of the cut

A purchase with a single user is folded into that split's profit first, which changes neither the closures nor (1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from ortools.graph.python import max_flow

from formulations.errors import CapacityOverflowError, InterruptedSolveError, SolverFailedError
from solvers.closures.numbering import compact

Ties = Literal["smallest", "largest"]

MAX_TOTAL = 2**62
"""No sum of capacities in a network may reach this; OR-Tools counts in int64."""


@dataclass(frozen=True, eq=False)
class ClosureProblem:
    """(1) with k splits, j purchases and some usage arcs, all numbered from 0.

    Parameters
    ----------
    profit
        int64, shape (k,).
    parent
        int32, shape (k,): the parent within the problem, or -1.
    tail, head
        int32: usage arcs, split -> purchase.
    price
        int64, shape (j,): > 0.
    """

    profit: NDArray[np.int64]
    parent: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    price: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Closure:
    """A best closure, its value by (1), and the flow that proves it.

    Parameters
    ----------
    keep
        bool, shape (k,): the smallest or the largest best closure.
    value
        its value by (1), >= 0.
    n_arcs
        arcs of the network that was solved.
    duals
        call it for the flow on each usage arc, int64; it reads the solved network, which lives as long as this does.
    """

    keep: NDArray[np.bool_]
    value: int
    n_arcs: int
    duals: Callable[[], NDArray[np.int64]]


def best_closure(problem: ClosureProblem, *, ties: Ties = "smallest") -> Closure:
    """Solve (1) by one minimum cut with OR-Tools.

    Raises
    ------
    CapacityOverflowError
        if the capacities of an instance do not fit 62 bits.
    SolverFailedError
        if the solver refuses the network for another reason.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    k = problem.profit.shape[0]
    users = np.bincount(problem.head, minlength=problem.price.shape[0])
    shared = users[problem.head] > 1
    profit = problem.profit - _folded(problem, shared, k)
    total = _sum(np.maximum(profit, 0))
    _check_fits(total, _sum(np.maximum(-profit, 0)) + _sum(problem.price))
    if total == 0 and ties == "smallest":
        return Closure(np.zeros(k, dtype=bool), 0, 0, lambda: _all_duals(problem, shared, None))
    network = _Network(problem, profit, shared, total)
    flow = network.solve()
    keep = network.source_side(ties)
    return Closure(keep, total - flow, network.n_arcs, lambda: _all_duals(problem, shared, network.usage_flow()))


def maximum_flow(network: max_flow.SimpleMaxFlow, source: int, sink: int) -> int:
    """Solve an OR-Tools network; the value of its maximum flow, which is that of its minimum cut.

    Raises
    ------
    CapacityOverflowError, SolverFailedError, InterruptedSolveError
        as `best_closure` says.
    """
    try:
        status = network.solve(source, sink)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted during a minimum cut; nothing was changed") from stop
    if status == network.POSSIBLE_OVERFLOW:
        raise CapacityOverflowError("OR-Tools reports a possible overflow of its 64-bit flow; scale prices down to fewer digits")
    if status != network.OPTIMAL:
        raise SolverFailedError(f"OR-Tools' maximum flow ended with {status} on {int(network.num_arcs())} arcs")
    return int(network.optimal_flow())


class _Network:
    """The network of (1), after folding."""

    def __init__(self, problem: ClosureProblem, profit: NDArray[np.int64], shared: NDArray[np.bool_], total: int) -> None:
        self.k = profit.shape[0]
        tail, head = problem.tail[shared], problem.head[shared]
        purchases, head = compact(head, problem.price.shape[0])
        self.n_purchases = purchases.shape[0]
        self.source = self.k + self.n_purchases
        self.sink = self.source + 1
        self.flow = max_flow.SimpleMaxFlow()
        below = np.flatnonzero(problem.parent >= 0).astype(np.int32)
        earns, pays = (np.flatnonzero(x).astype(np.int32) for x in (profit > 0, profit < 0))
        places = np.arange(self.k, self.k + self.n_purchases, dtype=np.int32)
        unlimited = total + 1
        # without an arc at the sink OR-Tools solves nothing and reports no source side
        self.flow.add_arc_with_capacity(self.source, self.sink, 0)
        self._usage = self._add(tail, head + np.int32(self.k), unlimited)
        self._add(np.full(earns.size, self.source, dtype=np.int32), earns, profit[earns])
        self._add(pays, np.full(pays.size, self.sink, dtype=np.int32), -profit[pays])
        self._add(below, problem.parent[below], unlimited)
        self._add(places, np.full(places.size, self.sink, dtype=np.int32), problem.price[purchases])

    def _add(self, tail: NDArray[np.int32], head: NDArray[np.int32], capacity: NDArray[np.int64] | int) -> NDArray[np.int32]:
        if isinstance(capacity, int):
            capacity = np.full(tail.size, capacity, dtype=np.int64)
        arcs: NDArray[np.int32] = self.flow.add_arcs_with_capacity(tail, head, capacity)
        return arcs

    @property
    def n_arcs(self) -> int:
        return int(self.flow.num_arcs())

    def solve(self) -> int:
        """Value of the minimum cut."""
        return maximum_flow(self.flow, self.source, self.sink)

    def source_side(self, ties: Ties) -> NDArray[np.bool_]:
        """The splits on the source side of the smallest or the largest minimum cut."""
        keep = np.zeros(self.sink + 1, dtype=bool)
        if ties == "smallest":
            keep[np.asarray(self.flow.get_source_side_min_cut(), dtype=np.int64)] = True
        else:
            keep[:] = True
            keep[np.asarray(self.flow.get_sink_side_min_cut(), dtype=np.int64)] = False
        return keep[: self.k]

    def usage_flow(self) -> NDArray[np.int64]:
        """Flow on each usage arc that was not folded."""
        if self._usage.size == 0:
            return np.zeros(0, dtype=np.int64)
        return np.asarray(self.flow.flows(self._usage), dtype=np.int64)


def _folded(problem: ClosureProblem, shared: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Price of each split's purchases that no other split needs."""
    own = np.zeros(k, dtype=np.int64)
    mine = ~shared
    np.add.at(own, problem.tail[mine], problem.price[problem.head[mine]])
    return own


def _all_duals(problem: ClosureProblem, shared: NDArray[np.bool_], flow: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Duals on all usage arcs: a folded purchase is borne by its only user, at its full price."""
    dual = np.where(shared, 0, problem.price[problem.head])
    if flow is not None:
        dual[shared] = flow
    return dual


def _sum(a: NDArray[np.int64]) -> int:
    """The sum, checked: int64 sums wrap silently."""
    if a.size and float(a.max()) * a.size >= 2.0**63:
        return sum(map(int, a))
    return int(a.sum())


def _check_fits(source: int, sink: int) -> None:
    if source >= MAX_TOTAL or sink >= 2 * MAX_TOTAL:
        raise CapacityOverflowError(
            f"the capacities add up to {source:.3g} at the source and {sink:.3g} at the sink, 62 bits hold "
            f"{MAX_TOTAL:.3g}; use prices and weights with fewer digits"
        )
