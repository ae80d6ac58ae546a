"""A best closure by one cut of the network with merged purchases, and its flow on the arcs as they were before merging."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.instance.merging import merge_purchases, split_duals, starts_by_tail
from solvers.closures.cut import Closure, ClosureProblem, Ties, best_closure


def merged_cut(problem: ClosureProblem, ties: Ties) -> tuple[Closure, NDArray[np.int64]]:
    """Merge purchases with the same users, cut, and share the flow out again.

    Parameters
    ----------
    problem
        its usage arcs grouped by tail, in ascending order of tails.

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
    closure = best_closure(groups, ties=ties)
    group_dual = closure.duals()
    closure = replace(closure, duals=lambda: group_dual)  # frees the network
    dual = np.zeros(tail.size, dtype=np.int64)
    start = starts_by_tail(groups.tail, problem.profit.size)
    split_duals(tail, dual, representative, start, groups.head, group_dual, price, head)
    return closure, dual
