"""The core, the splits that fixing leaves undecided: one minimum cut solves it exactly, and its flow gives the duals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import Ties
from solvers.closures.merged_cut import merged_cut
from solvers.closures.subproblem import subproblem
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
    dual
        int64: the flow on every usage arc of the open splits, canonical order.
    n_arcs
        arcs of the network that was cut.
    """

    keep: NDArray[np.bool_]
    value: int
    dual: NDArray[np.int64]
    n_arcs: int


def solve_core(remaining: Remaining, ties: Ties) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid."""
    usage = remaining.objective.usage
    arcs = usage.arcs(remaining.nodes)
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    unpaid = np.arange(arcs.tail.size) if remaining.paid is None else np.flatnonzero(~remaining.paid[arcs.head])
    # if there are few arcs, a table of all purchases would take too much memory
    n_purchases = usage.n_purchases if 2 * unpaid.size >= usage.n_purchases else None
    part = subproblem(usage.ensemble.parent, remaining.nodes, arcs.tail[unpaid], arcs.head[unpaid], n_purchases)
    closure, dual[unpaid] = merged_cut(part.closure_problem(remaining.profit, remaining.objective.prices(part.purchases)), ties)
    return SolvedCore(closure.keep, closure.value, dual, closure.n_arcs)
