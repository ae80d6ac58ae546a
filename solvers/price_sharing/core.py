"""The core, the splits that fixing leaves undecided: one minimum cut solves it exactly, and its flow gives the duals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import Ties, best_closure
from solvers.closures.merged_cut import merged_cut
from solvers.closures.subproblem import subproblem
from solvers.price_sharing.merged_core import flow_on_arcs, merged_problem
from solvers.price_sharing.merged_usage import MergedUsage
from solvers.price_sharing.remaining import Remaining


@dataclass(frozen=True, eq=False)
class SolvedCore:
    """A best closure of the open splits.

    Parameters
    ----------
    keep
        bool, shape (k,).
    value
        its integer value, without `Remaining.base`.
    duals
        call it for the flow on every usage arc of the open splits, int64, canonical order.
    n_arcs
        arcs of the network that was cut.
    """

    keep: NDArray[np.bool_]
    value: int
    duals: Callable[[], NDArray[np.int64]]
    n_arcs: int


def solve_core(remaining: Remaining, merged: tuple[MergedUsage, ...] | None, ties: Ties) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid, made from the merged lists if there are any."""
    if merged is None:
        return _from_arcs(remaining, ties)
    problem = merged_problem(remaining, merged)
    tail, head = problem.tail, problem.head
    if remaining.objective.usage.row_blocks.n_blocks > 1:  # classes of different blocks have the same users now and then
        closure, flow = merged_cut(problem, ties)
    else:
        closure = best_closure(problem, ties=ties)
        flow = closure.duals()
    return SolvedCore(closure.keep, closure.value, partial(flow_on_arcs, remaining, merged, tail, head, flow), closure.n_arcs)


def _from_arcs(remaining: Remaining, ties: Ties) -> SolvedCore:
    """The same from a list of all usage arcs."""
    usage = remaining.objective.usage
    arcs = usage.arcs(remaining.nodes)
    tail, head = arcs.tail, arcs.head
    del arcs  # its arrays go when others take their places: they would add a tenth to the peak
    unpaid = None if remaining.paid is None else ~remaining.paid[head]
    if unpaid is not None:
        tail, head = tail[unpaid], head[unpaid]
    # if there are few arcs, a table of all purchases would take too much memory
    n_purchases = usage.n_purchases if 2 * head.size >= usage.n_purchases else None
    part = subproblem(usage.ensemble.parent, remaining.nodes, tail, head, n_purchases)
    del tail, head
    closure, flow = merged_cut(part.closure_problem(remaining.profit, remaining.objective.prices(part.purchases)), ties)
    dual = flow
    if unpaid is not None:
        dual = np.zeros(unpaid.size, dtype=np.int64)
        dual[unpaid] = flow
    return SolvedCore(closure.keep, closure.value, lambda: dual, closure.n_arcs)
