"""`Rows` that workers hold: the driver asks them, and adds its own share.

The driver's instance has one row that stands for all of them and reaches nothing, so it has the items that are paid once for all
rows, and no others. A round sends the scores and receives the charges, one number for each open split both times. A check sends
levels, twice, and scores, and receives a sum for each level and charges in integers. What is fixed is sent as two masks, and each
shard notes by itself which purchases are paid. Trees, steps, fixing and the bound are the driver's, see
`solvers.price_sharing.run`.

In the end the usage arcs of what is left are gathered, and cut at the driver. They are put in the canonical order of `UsageArcs`
for the whole instance, whose rows are those of the shards one after the other: by split, by item as the split charges them, by
leaf, by row. So the certificate does not depend on how rows were parted.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.usage_arcs import charges_of
from solvers.closures.cut import Ties, merged_cut, subproblem
from solvers.closures.integer_objective import IntegerObjective, fitting_objective
from solvers.price_sharing.cluster.row_shard import RowShard, ShardArcs, ShardOpened
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.core import SolvedCore, cut_from_shares
from solvers.price_sharing.params import ClusterParams, SharingParams
from solvers.price_sharing.remaining import Remaining
from solvers.price_sharing.rows import LocalRows, problem_fingerprint


def sharded_objective(problem: ShardedProblem, rate: Fraction) -> IntegerObjective:
    """(OBJ) at one lambda in integers; where errors were rounded, what that can hide is the slack."""
    objective = fitting_objective(problem.driver, rate).refined()
    return replace(objective, hidden=math.ceil(2 * Fraction(problem.error_rounding) / objective.unit))


class ShardedRows:
    """The rows of a `ShardedProblem`.

    Parameters
    ----------
    pool
        for the driver's own passes.

    Attributes
    ----------
    driver : LocalRows
        the driver's own instance.
    margin : int
        twice what the rounding of gains can change of (OBJ), in integers.
    """

    opened: ShardOpened

    def __init__(self, problem: ShardedProblem, objective: IntegerObjective, pool: ThreadPoolExecutor) -> None:
        self.problem, self.shards, self.objective = problem, problem.shards, objective
        self.params = SharingParams()
        self.driver, self.pool = LocalRows(objective, pool, self.params), pool
        self.margin = objective.hidden

    @property
    def remaining(self) -> Remaining:
        """The open splits, with the driver's purchases."""
        return self.driver.remaining

    @property
    def base(self) -> int:
        """Integer value of the splits that are fixed in: what they earn at the driver, less what the shards' rows have paid."""
        return self.driver.base - self.opened.paid

    @property
    def n_arcs(self) -> int:
        """Usage arcs of the open splits, at the driver and at all shards."""
        return self.driver.n_arcs + self.opened.n_arcs

    @property
    def cut_arcs(self) -> int:
        """The same: workers send all of them."""
        return self.n_arcs

    @property
    def cut_bytes(self) -> int:
        """Bytes of the driver that a cut of the core takes. Gathering takes 62 an arc, but is over when the cut begins.

        Measured on Ray, on a core of 5.1 million usage arcs: 101 an arc.
        """
        return (self.params.cut_bytes_per_arc + ClusterParams.store_bytes_per_arc) * self.n_arcs

    def workers_have_memory(self) -> bool:
        """Whether each machine has the memory for the lists that its workers make of their parts of the core."""
        needed: dict[str, int] = {}
        free: dict[str, float] = {}
        for shard in self.shards.ask(RowShard.memory_for_arcs):
            needed[shard.machine] = needed.get(shard.machine, 0) + shard.needed
            bytes_free = math.inf if shard.free is None else shard.free
            free[shard.machine] = min(free.get(shard.machine, math.inf), bytes_free)
        return all(needed[machine] <= free[machine] for machine in needed)

    def fingerprint(self) -> str:
        """The driver's instance and the digest of all shards' rows; it does not depend on how the rows are divided."""
        digest = sum(self.shards.ask(RowShard.row_digest)) % 2**64
        return problem_fingerprint(self.problem.driver, self.problem.n_rows.sum(), digest)

    def open(self, is_open: NDArray[np.bool_], paid: NDArray[np.bool_] | None = None, base: int = 0) -> None:
        """Begin anew with these open splits, and nothing fixed: what is paid is the shards' to note."""
        assert paid is None
        assert base == 0
        self.driver.open(is_open)
        self.opened = _added_up(self.shards.tell(1, RowShard.open, self.objective.item_price, is_open))

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Fix open splits in or out."""
        self.driver.fix(kept, out)
        self.opened = _added_up(self.shards.tell(None, RowShard.fix, kept, out))

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each open split is charged at these scores, up to rounding."""
        charge = self.driver.charges(score)
        for theirs in self.shards.ask(RowShard.charges, score):
            charge += theirs
        return charge

    def integer_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers that are at most the charges of some feasible shares: driver and shards each round down by themselves."""
        charge = self.driver.integer_charges(score)
        for theirs in self.shards.ask(RowShard.integer_charges, score):
            charge += theirs
        return charge

    def level_bills(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases cost whose highest user is at each level."""
        bills = [self.driver.level_bills(level, top), *self.shards.ask(RowShard.level_bills, level, top)]
        return [sum(at_level) for at_level in zip(*bills, strict=True)]

    def closure_value(self, keep: NDArray[np.bool_]) -> int:
        """Integer value of a closure of the open splits."""
        bills = self.shards.ask(RowShard.level_bills, keep.astype(np.int32), 1)
        return self.driver.closure_value(keep) - sum(bill[1] for bill in bills)

    def solve_core(self, score: NDArray[np.float32], ties: Ties) -> SolvedCore:
        """Gather the usage arcs of the open splits, and cut them here, from their shares."""
        return _solve_gathered_core(self.problem, self.remaining, score, ties)


def _added_up(opened: list[ShardOpened]) -> ShardOpened:
    """Sums over the shards, which need the same items."""
    return ShardOpened(sum(o.n_arcs for o in opened), sum(o.paid for o in opened))


@dataclass(frozen=True, eq=False)
class GatheredArcs:
    """Usage arcs of all shards and of items paid once, in canonical order."""

    tail: NDArray[np.int32]  # int32: splits
    purchase: NDArray[np.int64]  # int64: equal for equal purchases only
    price: NDArray[np.int64]  # int64; 0 where it is paid already


def gather(problem: ShardedProblem, remaining: Remaining) -> GatheredArcs:
    """The usage arcs of the open splits: those of all shards, and the driver's own."""
    n_rows = int(problem.n_rows.sum())
    parts = [*problem.shards.ask(RowShard.usage_arcs), _paid_once(remaining)]
    first_rows = np.concatenate([[0], np.cumsum(problem.n_rows)[:-1], [0]]).tolist()
    first_arcs = np.cumsum([0, *(part.tail.size for part in parts)]).tolist()
    total, charges = first_arcs[-1], charges_of(problem.driver.ensemble, problem.driver.costs)
    tail, price = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int64)
    # The order: by split and item as the split charges them, which are one number; by the first row of the leaf; by row.
    slice_and_leaf, purchase = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    for k, first_row in enumerate(first_rows):
        part, parts[k] = parts[k], None  # type: ignore[call-overload]  # each part is freed as soon as it is copied
        its_arcs = slice(first_arcs[k], first_arcs[k + 1])
        tail[its_arcs], price[its_arcs] = part.tail, part.price
        purchase[its_arcs] = part.item
        purchase[its_arcs] *= n_rows
        purchase[its_arcs] += part.row
        purchase[its_arcs] += first_row
        _number_of_charge(part.tail, part.item, charges.start, charges.item, slice_and_leaf[its_arcs])
        slice_and_leaf[its_arcs] *= n_rows
        if k + 1 < len(parts):  # what is paid once for all rows is one arc, at no leaf
            slice_and_leaf[its_arcs] += problem.start[part.leaf]
    order = np.lexsort((purchase, slice_and_leaf))
    del slice_and_leaf, part
    tail = tail[order]
    purchase = purchase[order]
    return GatheredArcs(tail, purchase, price[order])


def _solve_gathered_core(problem: ShardedProblem, remaining: Remaining, score: NDArray[np.float32], ties: Ties) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid; the flow in canonical order."""
    arcs = gather(problem, remaining)
    priced = arcs.price > 0
    tail, purchase, arc_price = arcs.tail[priced], arcs.purchase[priced], arcs.price[priced]
    del arcs  # here and below: what the cut does not need would add to its peak
    part = subproblem(problem.driver.ensemble.parent, remaining.nodes, tail, purchase, None)
    price = np.empty(part.purchases.size, dtype=np.int64)
    price[part.head] = arc_price
    del tail, purchase, arc_price
    closure, flow = merged_cut(part.closure_problem(remaining.profit, price), ties, partial(cut_from_shares, score))
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
