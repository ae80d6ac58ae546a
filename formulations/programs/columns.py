"""The purchase variables w of a model, and the arcs that bind them to nodes.

Two kinds of arcs force w_j up:

    usage arcs (u, j):   u is the first split on i's path in its tree that needs item m,  j = (m, i)          (1)
    naive arcs (h, j):   i reaches h, and some strict ancestor of h needs item m                             (2)

(2) has an arc for every node below u on i's path, so (1) is the shorter list. Variables with the same arcs are identical columns
of the constraint matrix: `merge` replaces them by one at the sum of their prices, exactly, for integer programs and
relaxations alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import Charges, UsageArcs, merge_purchases, usage_arcs
from formulations.programs.linear_program import FOR_ALL, Block


@dataclass(frozen=True, eq=False)
class PurchaseColumns:
    """J purchase variables and a arcs."""

    # node, column: int32, shape (a,): arc k binds node[k] to the variable column[k]; sorted by node.
    node: NDArray[np.int32]
    column: NDArray[np.int32]
    # int32, shape (a,): the split that charges the purchase to those who reach node[k]; `node` itself in (1).
    user: NDArray[np.int32]
    purchase: NDArray[np.int32]  # int32, shape (J,): the purchase that each variable stands for, numbered as in `UsageArcs`
    price: NDArray[np.float64]  # float64, shape (J,): what it adds to the cost
    of_purchase: NDArray[np.int32]  # int32, one a purchase: its variable, -1 where no split needs it
    # item, row: int32, shape (J,): m and i of `purchase`; i is `FOR_ALL` for an item that is paid once for all rows.
    item: NDArray[np.int32]
    row: NDArray[np.int32]

    @property
    def n_columns(self) -> int:
        """J."""
        return len(self.purchase)

    @property
    def w(self) -> Block:
        """The variables' names, w[m,i]."""
        return Block("w", (self.item, self.row))

    def arcs(self, name: str, first: NDArray[np.int32]) -> Block:
        """Names for the arcs: name[first,m,i]."""
        return Block(name, (first, self.item[self.column], self.row[self.column]))


def usage_columns(problem: PruningProblem, *, merge: bool = False) -> PurchaseColumns:
    """Variables and arcs by (1)."""
    arcs = problem.usage.arcs()
    return _columns(problem, arcs, arcs.tail, merge=merge)


def naive_columns(problem: PruningProblem, *, merge: bool = False) -> PurchaseColumns:
    """Variables and arcs by (2)."""
    met, user = items_above(problem)
    once = problem.costs.paid_once
    below = np.flatnonzero(problem.ensemble.parent >= 0).astype(np.int32)
    arcs = usage_arcs(met, problem.usage.routing, problem.ensemble.tree_of, once, below)
    of_node = np.repeat(np.arange(problem.ensemble.n_nodes), np.diff(met.start))
    times = np.where(once[met.item], 1, problem.usage.routing.counts()[of_node])
    return _columns(problem, arcs, np.repeat(user, times), merge=merge)


def columns_of(problem: PruningProblem, arcs: Literal["usage", "naive"], *, merge: bool = False) -> PurchaseColumns:
    """Variables and arcs of a formulation with arcs of this kind."""
    return (naive_columns if arcs == "naive" else usage_columns)(problem, merge=merge)


def items_above(problem: PruningProblem) -> tuple[Charges, NDArray[np.int32]]:
    """The priced items that the strict ancestors of each node need, and for each the ancestor that charges it."""
    ensemble, charges = problem.ensemble, problem.usage.charges
    count = np.diff(charges.start)
    start = np.zeros(ensemble.n_nodes + 1, dtype=np.int64)
    start[1:] = np.cumsum(_summed_above(ensemble.parent, count))
    item = np.empty(start[-1], dtype=np.int32)
    user = np.empty(start[-1], dtype=np.int32)
    _inherit(ensemble.parent, charges.start, charges.item, start, item, user)
    return Charges(start, item), user


def _columns(problem: PruningProblem, arcs: UsageArcs, user: NDArray[np.int32], *, merge: bool) -> PurchaseColumns:
    """Number the purchases that occur, in the order of their numbers, merged or not."""
    used = np.zeros(problem.usage.n_purchases, dtype=bool)
    used[arcs.head] = True
    purchase = np.flatnonzero(used).astype(np.int32)
    of_purchase = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    price = problem.usage.purchase_price()[purchase]
    node, column = arcs.tail, of_purchase[arcs.head]
    if merge and purchase.size:
        merged = merge_purchases(node, column, np.zeros(purchase.size, dtype=np.int64))
        stays = merged.representative == np.arange(purchase.size)
        place = (np.cumsum(stays) - 1).astype(np.int32)[merged.representative]
        price = np.bincount(place, weights=price).astype(np.float64)
        node, user, column = node[merged.arc], user[merged.arc], place[column[merged.arc]]
        of_purchase[purchase] = place
        purchase = purchase[stays]
    per_row = (
        problem.costs.n_items * problem.usage.n_rows
    )  # purchases that are paid once for all rows have the numbers from here on
    item = np.where(purchase < per_row, purchase // problem.usage.n_rows, purchase - per_row).astype(np.int32)
    row = np.where(purchase < per_row, purchase % problem.usage.n_rows, FOR_ALL).astype(np.int32)
    return PurchaseColumns(node, column, user, purchase, price, of_purchase, item, row)


@njit(cache=True)
def _summed_above(parent, count):  # type: ignore[no-untyped-def]
    """Sum of `count` over the strict ancestors of each node."""
    total = np.zeros(parent.shape[0], dtype=np.int64)
    for h in range(parent.shape[0]):
        if parent[h] >= 0:
            total[h] = total[parent[h]] + count[parent[h]]
    return total


@njit(cache=True)
def _inherit(parent, charge_start, charge_item, start, item, user):  # type: ignore[no-untyped-def]
    """A node's list is its parent's and what the parent charges."""
    for h in range(parent.shape[0]):
        p = parent[h]
        if p >= 0:
            k = start[h]
            for j in range(start[p], start[p + 1]):
                item[k] = item[j]
                user[k] = user[j]
                k += 1
            for j in range(charge_start[p], charge_start[p + 1]):
                item[k] = charge_item[j]
                user[k] = p
                k += 1
