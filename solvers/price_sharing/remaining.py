"""The undecided part of an instance, without its usage arcs: open splits, and purchases that no fixed split has paid.

`solvers.closures.subproblem.Subproblem` is the same with arcs, for a cut. Rounds of price sharing read usage from slices of the
routing instead: the rows for which a split needs an item are a range of its tree's rows. A slice takes 8 bytes for a split and an
item, whatever the number of its usage arcs. Slices are sorted by item, so that a pass deals with one item after the other and
holds one number a row. `solvers.price_sharing.core` makes the arcs when little is left.

A split that is fixed in stays, with all its purchases; one that is fixed out goes, with all below it. What remains is a maximum
closure again,

    maximise  sum over open h of profit_h y_h - sum over unpaid j of price_j w_j,    y_h <= y_parent(h),  y_u <= w_j     (1)

in the integers of `solvers.closures.integer_objective`, plus `base`: what the fixed splits earn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.usage import ForestUsage
from formulations.memory import scratch_array
from solvers.closures.integer_objective import IntegerPrices


@dataclass(frozen=True, eq=False)
class Slices:
    """Usage of some splits: slice k says that the split in place `split[k]` needs `item[k]` for all rows that reach it."""

    # split, item: int32, shape (s,), sorted by item.
    split: NDArray[np.int32]
    item: NDArray[np.int32]
    begins: NDArray[np.int64]  # int64, shape (g + 1,): the first slice of each of the g items that some split needs, and the end
    parts: tuple[int, ...]  # places in `begins`, from 0 to g, where the list is divided between threads
    n_arcs: int  # the number of usage arcs of all slices


class BlockedUsage(NamedTuple):
    """Usage of the open splits in blocks of rows, as the compiled passes take it."""

    # item, split, begins: of the slices, see `Slices`
    item: NDArray[np.int32]
    split: NDArray[np.int32]
    begins: NDArray[np.int64]
    node: NDArray[np.int32]  # `Remaining.nodes`
    tree_of: NDArray[np.int32]  # the tree of each node
    # start, stop, order, rows, size: see `RowBlocks`
    start: NDArray[np.int32]
    stop: NDArray[np.int32]
    order: NDArray[np.uint16]
    rows: NDArray[np.int32]
    size: int
    once: NDArray[np.bool_]  # shape (M,): items that are paid once for all rows


class UnpaidPrices(NamedTuple):
    """What purchases cost, as the compiled passes take it; `price_for_row` and `price_once` read it."""

    paid: NDArray[np.bool_]  # `Remaining.paid`; empty: none is
    # item, weight, for_all, grid: `IntegerPrices.price_arrays`
    item: NDArray[np.int64]
    weight: NDArray[np.int64]
    for_all: NDArray[np.int64]
    grid: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Remaining:
    """(1): k open splits, numbered from 0, parents before children."""

    objective: IntegerPrices
    nodes: NDArray[np.int32]  # int32, shape (k,): the splits
    parent: NDArray[np.int32]  # int32, shape (k,): places of the parents among the open splits, -1 where they are not
    slices: Slices  # the items that the open splits need
    # bool, shape (M (N + 1),): purchases that a fixed split has paid, numbered as in `UsageArcs`; None: none.
    paid: NDArray[np.bool_] | None
    base: int  # integer value of the splits that are fixed in

    @cached_property
    def profit(self) -> NDArray[np.int64]:
        """int64, shape (k,); not to be changed."""
        return self.objective.profits(self.nodes)

    @cached_property
    def middle(self) -> int:
        """A place that divides the open splits into two parts of about equal size, with each tree in one of them."""
        tree = self.objective.usage.ensemble.tree_of[self.nodes]
        return int(np.searchsorted(tree, tree[tree.size // 2])) if tree.size else 0

    @property
    def blocked_usage(self) -> BlockedUsage:
        """The first argument of the compiled passes over blocks of rows."""
        usage, s = self.objective.usage, self.slices
        blocks = usage.row_blocks
        where = (blocks.start, blocks.stop, blocks.order, blocks.rows, blocks.size)
        return BlockedUsage(s.item, s.split, s.begins, self.nodes, usage.ensemble.tree_of, *where, usage.costs.paid_once)

    @property
    def prices(self) -> UnpaidPrices:
        """Their second argument."""
        return UnpaidPrices(np.zeros(0, dtype=bool) if self.paid is None else self.paid, *self.objective.price_arrays)

    def unpaid_prices(self, purchases: NDArray[np.int32]) -> NDArray[np.int64]:
        """The prices of some purchases, 0 for those that are paid."""
        price = self.objective.prices(purchases)
        if self.paid is not None:
            price[self.paid[purchases]] = 0
        return price

    def fixed(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> Remaining:
        """What remains after open splits were fixed in or out; bool, shape (k,). The array `paid` is updated, not copied."""
        paid, base = self.paid, self.base
        if kept.any():
            if paid is None:
                usage = self.objective.usage
                paid = scratch_array(usage.n_purchases, np.bool_, usage.routing.scratch)
                paid[:] = False
            prices = UnpaidPrices(paid, *self.objective.price_arrays)
            base += int(self.profit[kept].sum()) - int(_pay(self.blocked_usage, prices, kept))
        stays = ~(kept | out)
        return _opened(self.objective, self.nodes[stays], paid, base)


def all_open(
    objective: IntegerPrices, is_open: NDArray[np.bool_], paid: NDArray[np.bool_] | None = None, base: int = 0
) -> Remaining:
    """(1) before a run fixes anything; bool, shape (n,). What is fixed in beforehand has paid `paid`, and is worth `base`."""
    nodes = np.flatnonzero(is_open).astype(np.int32)
    return _opened(objective, nodes, paid, base)


def _opened(objective: IntegerPrices, nodes: NDArray[np.int32], paid: NDArray[np.bool_] | None, base: int) -> Remaining:
    ensemble = objective.usage.ensemble
    place = np.full(ensemble.n_nodes + 1, -1, dtype=np.int32)  # the last is for "no parent"
    place[nodes] = np.arange(nodes.size, dtype=np.int32)
    return Remaining(objective, nodes, place[ensemble.parent[nodes]], slices_of(objective.usage, nodes), paid, base)


def slices_of(usage: ForestUsage, nodes: NDArray[np.int32]) -> Slices:
    """The slices of some splits, which are numbered by their places in `nodes`."""
    split, item = _charged(usage, nodes)
    order = np.argsort(item, kind="stable").astype(np.int32)
    split, item = split[order], item[order]
    del order
    arcs = np.cumsum(_arcs_of(usage, nodes, split, item))
    begins = np.flatnonzero(np.diff(item, prepend=-1, append=-2)) if item.size else np.zeros(1, dtype=np.int64)
    return Slices(split, item, begins, _parts(begins, arcs), int(arcs[-1]) if arcs.size else 0)


def first_arcs(usage: ForestUsage, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """The place of each slice's first usage arc in canonical order; int64, shape (s,), in the order of `slices_of`."""
    split, item = _charged(usage, nodes)
    arcs = _arcs_of(usage, nodes, split, item)
    first = np.cumsum(arcs) - arcs
    return first[np.argsort(item, kind="stable")]


def _charged(usage: ForestUsage, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Split and item of each slice in canonical order."""
    charges = usage.charges
    count = (charges.start[nodes + 1] - charges.start[nodes]).astype(np.int32)
    split = np.repeat(np.arange(nodes.size, dtype=np.int32), count)
    place = np.repeat(charges.start[nodes].astype(np.int32) - np.cumsum(count, dtype=np.int32) + count, count)
    place += np.arange(split.size, dtype=np.int32)
    return split, charges.item[place]


def _arcs_of(
    usage: ForestUsage, nodes: NDArray[np.int32], split: NDArray[np.int32], item: NDArray[np.int32]
) -> NDArray[np.int64]:
    """The number of usage arcs of each slice."""
    start, stop, at = usage.routing.start, usage.routing.stop, nodes[split]
    return np.where(usage.costs.paid_once[item], 1, stop[at] - start[at]).astype(np.int64)


def _parts(begins: NDArray[np.int64], arcs: NDArray[np.int64]) -> tuple[int, ...]:
    """Two parts of about equal work, divided between two items; one part if there is a single item."""
    if begins.size < 3:
        return (0, begins.size - 1)
    half = int(np.searchsorted(arcs, arcs[-1] // 2))
    return (0, 1 + int(np.argmin(np.abs(begins[1:-1] - half))), begins.size - 1)


@njit(cache=True, nogil=True)
def _pay(usage, prices, kept):  # type: ignore[no-untyped-def]
    """Mark what some open splits need as paid, block by block; the sum of the prices that are new."""
    item, split, _, node, tree_of, start, stop, order, rows, size, once = usage
    n_rows = order.shape[1]
    total = np.int64(0)
    for b in range(start.shape[0]):
        first = b * size
        for k in range(item.shape[0]):
            if not kept[split[k]]:
                continue
            h, m = node[split[k]], item[k]
            # an item that is paid once is counted with the first block
            if once[m]:
                if b == 0:
                    total += price_once(prices, m)
                    prices.paid[once.shape[0] * n_rows + m] = True
                continue
            # rows that have paid already cost nothing
            for i in order[tree_of[h], first + start[b, h] : first + stop[b, h]]:
                row = rows[first + i]
                total += price_for_row(prices, m, row)
                prices.paid[m * n_rows + row] = True
    return total


@njit(cache=True, nogil=True)
def price_for_row(prices, m, row):  # type: ignore[no-untyped-def]
    """What item m costs for a row, 0 where it is paid."""
    j = m * prices.weight.shape[0] + row
    if prices.paid.shape[0] > 0 and prices.paid[j]:
        return np.int64(0)
    return prices.item[m] * prices.weight[row] if prices.grid.shape[0] == 0 else prices.grid[j]


@njit(cache=True, nogil=True)
def price_once(prices, m):  # type: ignore[no-untyped-def]
    """What item m costs for all rows together, 0 where it is paid."""
    is_paid = prices.paid.shape[0] > 0 and prices.paid[prices.item.shape[0] * prices.weight.shape[0] + m]
    return np.int64(0) if is_paid else prices.for_all[m]
