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
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from ortools.graph.python import max_flow

from formulations.compiled import njit
from formulations.errors import CapacityOverflowError, InterruptedSolveError, SolverFailedError
from formulations.instance.numbers import INT64_SAFE
from formulations.instance.usage_arcs import merge_purchases, split_duals, starts_by_tail

Ties = Literal["smallest", "largest"]


@dataclass(frozen=True, eq=False)
class ClosureProblem:
    """(1) with k splits, j purchases and some usage arcs, all numbered from 0."""

    profit: NDArray[np.int64]  # int64, shape (k,)
    parent: NDArray[np.int32]  # int32, shape (k,): the parent within the problem, or -1
    # tail, head: int32: usage arcs, split -> purchase.
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    price: NDArray[np.int64]  # int64, shape (j,): > 0


@dataclass(frozen=True, eq=False)
class Subproblem:
    """k splits, parents before children, and j purchases, each with a user; all numbered from 0."""

    nodes: NDArray[np.int32]  # int32, shape (k,): the splits' numbers in the forest
    parent: NDArray[np.int32]  # int32, shape (k,): places of the parents among the splits, -1 where they are not among them
    # tail, head: int32: usage arcs, split -> purchase; every purchase's arcs in the order of their tails.
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    purchases: NDArray[Any]  # int32 or int64, shape (j,): the purchases' numbers in the whole instance

    def closure_problem(self, profit: NDArray[np.int64], price: NDArray[np.int64]) -> ClosureProblem:
        """(1) with profits of the splits, shape (k,), and prices of the purchases, shape (j,)."""
        return ClosureProblem(profit, self.parent, self.tail, self.head, price)

    def used(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which purchases some splits need; bool, shape (j,)."""
        mark = np.zeros(self.purchases.size, dtype=bool)
        mark[self.head[keep[self.tail]]] = True
        return mark


@dataclass(frozen=True, eq=False)
class Closure:
    """A best closure, its value by (1), and the flow that proves it."""

    keep: NDArray[np.bool_]  # bool, shape (k,): the smallest or the largest best closure
    value: int  # its value by (1), >= 0
    n_arcs: int  # arcs of the network that was solved
    # call it for the flow on each usage arc, int64; it reads the solved network, which lives as long as this does.
    duals: Callable[[], NDArray[np.int64]]


def subproblem(
    parent: NDArray[np.int32],
    nodes: NDArray[np.int32],
    tail: NDArray[np.int32],
    head: NDArray[Any],
    n_purchases: int | None,
) -> Subproblem:
    """Some splits of a forest with some of their usage arcs, numbered from 0.

    Parameters
    ----------
    parent
        int32, shape (n,): of all nodes.
    nodes
        int32, shape (k,): the splits, ascending.
    tail, head
        usage arcs of these splits, grouped by tail in ascending order, in the numbers of the whole instance.
    n_purchases
        of the whole instance: purchases are numbered with a table of that length, in the order in which they occur. None: they
        are numbered by sorting, in ascending order, which takes longer but no more memory than the arcs.
    """
    if n_purchases is None:
        purchases, inverse = np.unique(head, return_inverse=True)
        place = inverse.astype(np.int32)
    else:
        purchases, place = compact(head, n_purchases)
    table = np.full(parent.size, -1, dtype=np.int32)
    table[nodes] = np.arange(nodes.size, dtype=np.int32)
    above = parent[nodes]
    return Subproblem(nodes, np.where(above >= 0, table[above], np.int32(-1)), table[tail], place, purchases)


def best_closure(problem: ClosureProblem, *, ties: Ties = "smallest") -> Closure:
    """Solve (1) by one minimum cut with OR-Tools."""
    k = problem.profit.shape[0]
    users = np.bincount(problem.head, minlength=problem.price.shape[0])
    shared = users[problem.head] > 1
    profit = problem.profit - _folded(problem, shared, k)
    total = _sum(np.maximum(profit, 0))
    _check_fits(total, _sum(np.maximum(-profit, 0)) + _sum(problem.price))
    if total == 0 and ties == "smallest":
        return Closure(np.zeros(k, dtype=bool), 0, 0, lambda: _all_duals(problem, shared, None))
    network, usage = _closure_network(problem, profit, shared, total)
    flow = network.maximum_flow()
    keep = network.source_side(ties)[:k]
    return Closure(keep, total - flow, network.n_arcs, lambda: _all_duals(problem, shared, network.flow_on(usage)))


def merged_cut(
    problem: ClosureProblem, ties: Ties, cut: Callable[..., Closure] = best_closure
) -> tuple[Closure, NDArray[np.int64]]:
    """Merge purchases with the same users, cut, and share the flow out again.

    Parameters
    ----------
    problem
        its usage arcs grouped by tail, in ascending order of tails.
    cut
        called like `best_closure`, with the merged problem.

    Returns
    -------
    Closure, NDArray
        of the merged problem, which has the same closures; and int64, the dual of each usage arc of `problem`.
    """
    tail, head, price = problem.tail, problem.head, problem.price
    merged = merge_purchases(tail, head, price)
    representative = merged.representative
    groups = ClosureProblem(problem.profit, problem.parent, tail[merged.arc], head[merged.arc], merged.price)
    del merged  # frees its list of arcs before the network is made
    closure = cut(groups, ties=ties)
    group_dual = closure.duals()
    closure = replace(closure, duals=lambda: group_dual)  # frees the network
    dual = np.zeros(tail.size, dtype=np.int64)
    start = starts_by_tail(groups.tail, problem.profit.size)
    split_duals(tail, dual, representative, start, groups.head, group_dual, price, head)
    return closure, dual


class FlowNetwork:
    """A network of OR-Tools, whose arcs are added in groups."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self._flow = max_flow.SimpleMaxFlow()

    def add(self, tail: ArrayLike, head: ArrayLike, capacity: ArrayLike) -> NDArray[np.int32]:
        """Add arcs from arrays of vertices, or from one vertex to many, or many to one; their numbers."""
        shape = np.broadcast_shapes(np.shape(tail), np.shape(head), np.shape(capacity))
        columns = []
        for ends, kind in ((tail, np.int32), (head, np.int32), (capacity, np.int64)):
            columns.append(np.atleast_1d(np.broadcast_to(np.asarray(ends, dtype=kind), shape)))
        arcs: NDArray[np.int32] = self._flow.add_arcs_with_capacity(*columns)
        return arcs

    @property
    def n_arcs(self) -> int:
        """How many arcs were added."""
        return int(self._flow.num_arcs())

    def maximum_flow(self) -> int:
        """The value of the maximum flow, which is that of the minimum cut."""
        try:
            status = self._flow.solve(self.source, self.sink)
        except KeyboardInterrupt as stop:
            raise InterruptedSolveError("interrupted during a minimum cut; nothing was changed") from stop
        if status == self._flow.POSSIBLE_OVERFLOW:
            raise CapacityOverflowError(
                "OR-Tools reports a possible overflow of its 64-bit flow; scale prices down to fewer digits"
            )
        if status != self._flow.OPTIMAL:
            raise SolverFailedError(f"OR-Tools' maximum flow ended with {status} on {self.n_arcs} arcs")
        return int(self._flow.optimal_flow())

    def source_side(self, ties: Ties = "smallest") -> NDArray[np.bool_]:
        """The vertices on the source side of the smallest or the largest minimum cut."""
        small = ties == "smallest"
        side = self._flow.get_source_side_min_cut() if small else self._flow.get_sink_side_min_cut()
        keep = np.full(max(self.source, self.sink) + 1, not small)
        keep[np.asarray(side, dtype=np.int64)] = small
        return keep

    def flow_on(self, arcs: NDArray[np.int32]) -> NDArray[np.int64]:
        """The flow on some arcs."""
        return np.asarray(self._flow.flows(arcs), dtype=np.int64) if arcs.size else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class PredictedSeconds:
    """CPU seconds of a step, about; by default of a minimum cut by OR-Tools. `solvers.automatic` says what it was fitted to."""

    for_arc: float = 0.55e-6  # for each usage arc
    for_split: float = 0.9e-6  # for each split

    def __call__(self, n_arcs: int, n_splits: int) -> float:
        """For a network of this size."""
        return self.for_arc * n_arcs + self.for_split * n_splits


cut_seconds = PredictedSeconds()


def _closure_network(
    problem: ClosureProblem, profit: NDArray[np.int64], shared: NDArray[np.bool_], total: int
) -> tuple[FlowNetwork, NDArray[np.int32]]:
    """The network of (1), after folding, and its usage arcs."""
    k, unlimited = profit.shape[0], total + 1
    purchases, head = compact(problem.head[shared], problem.price.shape[0])
    source, sink = k + purchases.size, k + purchases.size + 1
    below = np.flatnonzero(problem.parent >= 0)
    earns, pays = np.flatnonzero(profit > 0), np.flatnonzero(profit < 0)
    network = FlowNetwork(source, sink)
    network.add(source, sink, 0)  # without an arc at the sink OR-Tools solves nothing and reports no source side
    usage = network.add(problem.tail[shared], head + np.int32(k), unlimited)
    network.add(source, earns, profit[earns])
    network.add(pays, sink, -profit[pays])
    network.add(below, problem.parent[below], unlimited)
    network.add(np.arange(k, source), sink, problem.price[purchases])
    return network, usage


def _folded(problem: ClosureProblem, shared: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Price of each split's purchases that no other split needs."""
    own = np.zeros(k, dtype=np.int64)
    mine = ~shared
    np.add.at(own, problem.tail[mine], problem.price[problem.head[mine]])
    return own


def _all_duals(problem: ClosureProblem, shared: NDArray[np.bool_], flow: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Duals on all usage arcs: the only user of a folded purchase pays its full price."""
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
    if source >= INT64_SAFE or sink >= 2 * INT64_SAFE:
        raise CapacityOverflowError(
            f"the capacities add up to {source:.3g} at the source and {sink:.3g} at the sink, 62 bits hold "
            f"{INT64_SAFE:.3g}; use prices and weights with fewer digits"
        )


def check_products(largest: float) -> None:
    """Refuse sums of gains and prices, in the integers of a lambda, that do not fit 62 bits: int64 products wrap silently."""
    if largest >= INT64_SAFE:
        raise CapacityOverflowError(
            f"gains and prices multiply to {largest:.3g}, 62 bits hold {float(INT64_SAFE):.3g}; use prices with fewer digits"
        )


def compact(ids: NDArray[np.int32], n_ids: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The ids that occur, each once in the order of their first occurrence, and each id's place among them.

    `ids`: int32: each below `n_ids`, the length of the table that is made.
    """
    table = np.empty(n_ids, dtype=np.int32)
    table[ids] = -1
    place, occurring = np.empty(ids.size, dtype=np.int32), np.empty(ids.size, dtype=np.int32)
    count = _number(ids, table, place, occurring)
    return occurring[:count].copy(), place


@njit(cache=True, nogil=True)
def _number(ids, table, place, occurring):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(ids.shape[0]):
        j = ids[k]
        if table[j] < 0:
            table[j] = count
            occurring[count] = j
            count += 1
        place[k] = table[j]
    return count
