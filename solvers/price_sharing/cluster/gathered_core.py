"""The core of a sharded instance: the usage arcs of what is left, gathered, and cut at the driver.

The arcs are put in the canonical order of `UsageArcs` for the whole instance, whose rows are those of the
shards one after the other: by split, by item as the split charges them, by leaf, by row. So the certificate does not depend on
how rows were parted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.usage_arcs import charges_of
from solvers.closures.cut import Ties
from solvers.closures.merged_cut import merged_cut
from solvers.closures.subproblem import subproblem
from solvers.price_sharing.cluster.shard_answers import ShardArcs
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.core import SolvedCore
from solvers.price_sharing.remaining import Remaining


@dataclass(frozen=True, eq=False)
class GatheredArcs:
    """Usage arcs of all shards and of items paid once, in canonical order.

    Parameters
    ----------
    tail
        int32: splits.
    purchase
        int64: equal for equal purchases only.
    price
        int64; 0 where it is paid already.
    """

    tail: NDArray[np.int32]
    purchase: NDArray[np.int64]
    price: NDArray[np.int64]


def gather(problem: ShardedProblem, remaining: Remaining) -> GatheredArcs:
    """The usage arcs of the open splits: those of all shards, and the driver's own."""
    ensemble, costs = problem.driver.ensemble, problem.driver.costs
    parts = problem.shards.usage_arcs()
    once = _paid_once(remaining)
    n_rows = int(problem.n_rows.sum())
    first = np.concatenate([[0], np.cumsum(problem.n_rows)])[: len(parts)]
    tail = np.concatenate([*(p.tail for p in parts), once.tail])
    item = np.concatenate([*(p.item for p in parts), once.item]).astype(np.int64)
    row = np.concatenate([*(p.row + f for p, f in zip(parts, first, strict=True)), once.row])
    leaf = np.concatenate([*(problem.start[p.leaf] for p in parts), once.row])
    charges = charges_of(ensemble, costs)
    place = np.empty(item.size, dtype=np.int64)
    for k in range(int(np.diff(charges.start).max(initial=0))):
        at = charges.start[tail] + k
        matches = at < charges.start[tail + 1]
        matches[matches] = charges.item[at[matches]] == item[matches]
        place[matches] = k
    order = np.lexsort((row, leaf, place, tail))
    price = np.concatenate([*(p.price for p in parts), once.price])
    return GatheredArcs(tail[order], (item * n_rows + row)[order], price[order])


def solve_gathered_core(problem: ShardedProblem, remaining: Remaining, ties: Ties) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid; the flow in canonical order."""
    arcs = gather(problem, remaining)
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    priced = np.flatnonzero(arcs.price > 0)
    parent = problem.driver.ensemble.parent
    part = subproblem(parent, remaining.nodes, arcs.tail[priced], arcs.purchase[priced], None)
    price = np.empty(part.purchases.size, dtype=np.int64)
    price[part.head] = arcs.price[priced]
    closure, dual[priced] = merged_cut(part.closure_problem(remaining.profit, price), ties)
    return SolvedCore(closure.keep, closure.value, dual, closure.n_arcs)


def _paid_once(remaining: Remaining) -> ShardArcs:
    """Arcs of items that are paid once for all rows: those that the driver holds; row 0 stands for all rows."""
    usage = remaining.objective.usage
    arcs = usage.arcs(remaining.nodes)
    item = (arcs.head - usage.costs.n_items * usage.n_rows).astype(np.int32)
    row = np.zeros(arcs.tail.size, dtype=np.int64)
    price = remaining.unpaid_prices(arcs.head)
    return ShardArcs(arcs.tail, item, row.astype(np.int32), row, price)
