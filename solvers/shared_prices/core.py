"""The core: what fixing leaves, solved exactly by one minimum cut, with the flow as loads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.merging import merge_purchases, split_loads, starts_by_tail
from solvers.closure_cut import ClosureProblem, Ties, best_closure
from solvers.numbering import compact
from solvers.shared_prices.remaining import Remaining


@dataclass(frozen=True, eq=False)
class Core:
    """A best closure of the open splits.

    Parameters
    ----------
    keep
        bool, shape (k,).
    value
        its integer value, without `Remaining.base`.
    load
        int64: the flow on every usage arc of the open splits, canonical order.
    n_arcs
        of the network.
    """

    keep: NDArray[np.bool_]
    value: int
    load: NDArray[np.int64]
    n_arcs: int


def solve_core(left: Remaining, ties: Ties) -> Core:
    """Cut the network of the open splits and the purchases that are not paid."""
    problem = left.whole.problem
    arcs = problem.usage_arcs(left.nodes)
    place = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
    place[left.nodes] = np.arange(left.nodes.size, dtype=np.int32)
    load = np.zeros(arcs.tail.size, dtype=np.int64)
    mine = np.arange(arcs.tail.size) if left.paid is None else np.flatnonzero(~left.paid[arcs.head])
    tail = place[arcs.tail[mine]]
    purchases, head = _numbered(arcs.head[mine], problem.n_purchases)
    price = left.whole.of(purchases)
    merged = merge_purchases(tail, head, price)
    group_tail, group_head = tail[merged.arc], head[merged.arc]
    closure = best_closure(ClosureProblem(left.profit, left.parent, group_tail, group_head, merged.price), ties=ties)
    part = np.zeros(tail.size, dtype=np.int64)
    start = starts_by_tail(group_tail, left.nodes.size)
    split_loads(tail, part, merged.representative, start, group_head, closure.loads(), price, head)
    load[mine] = part
    return Core(closure.keep, closure.value, load, closure.n_arcs)


def _numbered(ids: NDArray[np.int32], n_ids: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The ids that occur, and each one's place among them; a few by sorting, many by a table of all."""
    if 2 * ids.size < n_ids:
        occurring, place = np.unique(ids, return_inverse=True)
        return occurring, place.astype(np.int32)
    return compact(ids, np.empty(n_ids, dtype=np.int32))
