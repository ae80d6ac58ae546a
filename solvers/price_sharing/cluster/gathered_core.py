"""The core of a sharded instance: the usage arcs of what is left, gathered, and cut at the driver.

The arcs are put in the canonical order of `UsageArcs` for the whole instance, whose rows are those of the
shards one after the other: by split, by item as the split charges them, by leaf, by row. So the certificate does not depend on
how rows were parted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
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
    n_rows = int(problem.n_rows.sum())
    parts = [*problem.shards.usage_arcs(), _paid_once(remaining)]
    first_rows = np.concatenate([[0], np.cumsum(problem.n_rows)[:-1], [0]]).tolist()
    first_arcs = np.cumsum([0, *(part.tail.size for part in parts)]).tolist()
    total, charges = first_arcs[-1], charges_of(problem.driver.ensemble, problem.driver.costs)
    tail, price = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int64)
    # The order: by split and item as the split charges them, which are one number; by the first row of the leaf; by row.
    slice_and_leaf, purchase = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    for k, first_row in enumerate(first_rows):
        part, parts[k] = parts[k], None  # type: ignore[call-overload]  # each part is freed as soon as it is copied
        here = slice(first_arcs[k], first_arcs[k + 1])
        tail[here], price[here] = part.tail, part.price
        purchase[here] = part.item
        purchase[here] *= n_rows
        purchase[here] += part.row
        purchase[here] += first_row
        _number_of_charge(part.tail, part.item, charges.start, charges.item, slice_and_leaf[here])
        slice_and_leaf[here] *= n_rows
        if k + 1 < len(parts):  # what is paid once for all rows is one arc, at no leaf
            slice_and_leaf[here] += problem.start[part.leaf]
    order = np.lexsort((purchase, slice_and_leaf))
    del slice_and_leaf, part
    tail = tail[order]
    purchase = purchase[order]
    return GatheredArcs(tail, purchase, price[order])


def solve_gathered_core(problem: ShardedProblem, remaining: Remaining, ties: Ties) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid; the flow in canonical order."""
    arcs = gather(problem, remaining)
    priced = arcs.price > 0
    tail, purchase, arc_price = arcs.tail[priced], arcs.purchase[priced], arcs.price[priced]
    del arcs  # here and below: what the cut does not need would add to its peak
    part = subproblem(problem.driver.ensemble.parent, remaining.nodes, tail, purchase, None)
    price = np.empty(part.purchases.size, dtype=np.int64)
    price[part.head] = arc_price
    del tail, purchase, arc_price
    closure, flow = merged_cut(part.closure_problem(remaining.profit, price), ties)
    dual = np.zeros(priced.size, dtype=np.int64)
    dual[priced] = flow
    return SolvedCore(closure.keep, closure.value, lambda: dual, closure.n_arcs)


@njit(cache=True, nogil=True)
def _number_of_charge(tail, item, start, charged, number):  # type: ignore[no-untyped-def]
    """The place of each arc's split and item in the list of what all splits charge."""
    for k in range(tail.shape[0]):
        place = start[tail[k]]
        while charged[place] != item[k]:
            place += 1
        number[k] = place


def _paid_once(remaining: Remaining) -> ShardArcs:
    """Arcs of items that are paid once for all rows: those that the driver holds; row 0 stands for all rows."""
    usage = remaining.objective.usage
    arcs = usage.arcs(remaining.nodes)
    item = (arcs.head - usage.costs.n_items * usage.n_rows).astype(np.int32)
    row = np.zeros(arcs.tail.size, dtype=np.int32)
    price = remaining.unpaid_prices(arcs.head)
    return ShardArcs(arcs.tail, item, row, row, price)
