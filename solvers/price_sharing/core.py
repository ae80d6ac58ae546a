"""The core, which is what fixing leaves undecided: solved exactly by one minimum cut, whose flow gives the duals."""

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
        of the network.
    """

    keep: NDArray[np.bool_]
    value: int
    dual: NDArray[np.int64]
    n_arcs: int


def solve_core(left: Remaining, ties: Ties) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid."""
    problem = left.objective.problem
    arcs = problem.usage_arcs(left.nodes)
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    mine = np.arange(arcs.tail.size) if left.paid is None else np.flatnonzero(~left.paid[arcs.head])
    # beside few arcs a table of all purchases is too much memory
    n_purchases = problem.n_purchases if 2 * mine.size >= problem.n_purchases else None
    part = subproblem(problem.ensemble.parent, left.nodes, arcs.tail[mine], arcs.head[mine], n_purchases)
    closure, dual[mine] = merged_cut(part.closure_problem(left.profit, left.objective.prices(part.purchases)), ties)
    return SolvedCore(closure.keep, closure.value, dual, closure.n_arcs)
