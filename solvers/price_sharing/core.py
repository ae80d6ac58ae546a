"""The core: what fixing leaves, solved exactly by one minimum cut, with the flow as loads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.merged_cut import merged_cut
from solvers.closures.numbering import compact, local_forest
from solvers.price_sharing.remaining import Remaining


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
    problem = left.objective.problem
    arcs = problem.usage_arcs(left.nodes)
    load = np.zeros(arcs.tail.size, dtype=np.int64)
    mine = np.arange(arcs.tail.size) if left.paid is None else np.flatnonzero(~left.paid[arcs.head])
    purchases, head = _numbered(arcs.head[mine], problem.n_purchases)
    scratch = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
    parent, tail = local_forest(problem.ensemble.parent, left.nodes, arcs.tail[mine], scratch)
    closure, load[mine] = merged_cut(ClosureProblem(left.profit, parent, tail, head, left.objective.prices(purchases)), ties)
    return Core(closure.keep, closure.value, load, closure.n_arcs)


def _numbered(ids: NDArray[np.int32], n_ids: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The ids that occur, and each one's place among them; a few by sorting, many by a table of all."""
    if 2 * ids.size < n_ids:
        occurring, place = np.unique(ids, return_inverse=True)
        return occurring, place.astype(np.int32)
    return compact(ids, np.empty(n_ids, dtype=np.int32))
