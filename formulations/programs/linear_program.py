"""A linear or integer program as arrays, with names for its rows and columns; and its columns for purchases.

    minimise  cost x + offset      row_lower <= A x <= row_upper,   lower <= x <= upper,   x_j integer where integer_j     (1)

The names are those of the Pyomo models, ``w_t[0,1,3]``. They are made when asked for: ten million strings would weigh more than
the program.

Two kinds of arcs bind the purchase variables w of a model to nodes and force w_j up:

    usage arcs (u, j):   u is the first split on i's path in its tree that needs item m,  j = (m, i)          (2)
    naive arcs (h, j):   i reaches h, and some strict ancestor of h needs item m                             (3)

(3) has an arc for every node below u on i's path, so (2) is the shorter list. Variables with the same arcs are identical columns
of the constraint matrix: `merge` replaces them by one at the sum of their prices, exactly, for integer programs and
relaxations alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.compiled import njit
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import Charges, UsageArcs, merge_purchases, usage_arcs

INTEGRAL = 1e-6
"""A value of a point counts as an integer if it is this close to one; engines run with the same tolerance."""

FOR_ALL = -1
"""In place of a row's index in a `Block`: the item is paid once for all rows."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows or columns of one kind: a component of the model and the indices of its members."""

    name: str  # the component: ``z``, ``w``, ``coupling``
    # one array for each part of the index, of one length; empty for a component without an index. `FOR_ALL` is written ``all``.
    index: tuple[NDArray[np.integer[Any]], ...]

    def __len__(self) -> int:
        return len(self.index[0]) if self.index else 1

    def key(self, k: int) -> tuple[int | str, ...]:
        """The k-th index."""
        return tuple("all" if part[k] == FOR_ALL else int(part[k]) for part in self.index)

    def keys(self) -> list[tuple[int | str, ...]]:
        """All indices in their order."""
        return [self.key(k) for k in range(len(self))]

    def label(self, k: int) -> str:
        """The k-th name."""
        return f"{self.name}[{','.join(map(str, self.key(k)))}]" if self.index else self.name


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """The names of all rows, or of all columns: blocks one after the other."""

    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        place = int(k) + (len(self) if k < 0 else 0)
        for block in self.blocks:
            if 0 <= place < len(block):
                return block.label(place)
            place -= len(block)
        raise IndexError(f"{k} of {len(self)} names")

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks:
            yield from (block.label(k) for k in range(len(block)))

    def has(self, component: str) -> bool:
        """Whether there is a block of that name."""
        return any(block.name == component for block in self.blocks)

    def of(self, component: str) -> slice:
        """The places of a block."""
        start = 0
        for block in self.blocks:
            if block.name == component:
                return slice(start, start + len(block))
            start += len(block)
        raise KeyError(f"there is no {component!r} here; there are {', '.join(b.name for b in self.blocks)}")


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """(1): n columns, r rows.

    Parameters
    ----------
    cost, offset
        float64, shape (n,), and a constant.
    matrix
        A, shape (r, n), compressed by rows.
    row_lower, row_upper
        shape (r,), infinite where there is no bound.
    lower, upper
        shape (n,).
    integer
        bool, shape (n,).
    columns, rows
        the names.
    """

    cost: NDArray[np.float64]
    offset: float
    matrix: sparse.csr_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    columns: Names
    rows: Names

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.row_lower), len(self.cost)

    def __repr__(self) -> str:
        rows, columns = self.shape
        kind = "integer program" if self.integer.any() else "linear program"
        return f"LinearProgram({kind}: {rows:,} rows, {columns:,} columns, {self.matrix.nnz:,} nonzeros)"


@dataclass(frozen=True, eq=False, repr=False)
class Named(Mapping[str, float]):
    """Numbers by name: ``duals["coupling[0,1,3]"]``."""

    names: Names
    amounts: NDArray[np.float64]

    def __getitem__(self, name: str) -> float:
        component = name.partition("[")[0]
        place = self.names.of(component)
        for k in np.flatnonzero(self._candidates(name)):
            if self.names[place.start + int(k)] == name:
                return float(self.amounts[place.start + int(k)])
        raise KeyError(f"there is no {name!r}; {component} is numbered like {self.names[place.start]!r}")

    def _candidates(self, name: str) -> NDArray[np.bool_]:
        """Members whose last index is the name's: a few, without writing out all names."""
        component, _, inside = name.partition("[")
        block = next(b for b in self.names.blocks if b.name == component)
        last = inside.rstrip("]").rpartition(",")[2]
        if not block.index or not (last == "all" or last.isdecimal()):
            return np.ones(len(block), dtype=bool)
        found: NDArray[np.bool_] = block.index[-1] == (FOR_ALL if last == "all" else int(last))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        first = ", ".join(f"{self.names[k]} = {self.amounts[k] + 0:.6g}" for k in range(min(3, len(self))))
        return f"Named({len(self):,} numbers: {first}{', ...' if len(self) > 3 else ''})"


@dataclass(frozen=True, eq=False)
class PurchaseColumns:
    """J purchase variables and a arcs."""

    # node, column: int32, shape (a,): arc k binds node[k] to the variable column[k]; sorted by node.
    node: NDArray[np.int32]
    column: NDArray[np.int32]
    # int32, shape (a,): the split that charges the purchase to those who reach node[k]; `node` itself in (2).
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
    """Variables and arcs by (2)."""
    arcs = problem.usage.arcs()
    return _columns(problem, arcs, arcs.tail, merge=merge)


def naive_columns(problem: PruningProblem, *, merge: bool = False) -> PurchaseColumns:
    """Variables and arcs by (3)."""
    met, user = items_above(problem)
    once = problem.costs.paid_once
    below = np.flatnonzero(problem.ensemble.parent >= 0).astype(np.int32)
    arcs = usage_arcs(met, problem.usage.reached, once, below)
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
