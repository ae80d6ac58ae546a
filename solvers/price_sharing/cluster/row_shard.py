"""Some rows of a cost sample, and everything that depends on them alone.

Given the scores, rows are independent, see (1) of `solvers.price_sharing.shares`. A shard computes what its rows charge every
open split, what they would pay for a level set, and what they have paid for splits that are fixed in. It knows nothing of errors
and gains, nor of items that are paid once for all rows: both are the driver's.

Splits are numbered by their places among the open ones, k in number, at the driver and at all shards alike. Each shard rounds its
integer charges down, so that the sums over all shards are at most those of feasible shares too.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import MOST_PURCHASES, check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.numbers import MOST_WEIGHTS
from formulations.instance.routing import features_of, route
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import Charges, charges_of
from formulations.memory import memory_free
from solvers.closures.integer_objective import IntegerPrices
from solvers.price_sharing.cluster.workers import RowSource
from solvers.price_sharing.params import ClusterParams, SharingParams
from solvers.price_sharing.remaining import Remaining, all_open
from solvers.price_sharing.shares import Sharing, paid_at


@dataclass(frozen=True, eq=False)
class ShardFacts:
    """What the driver must know about a shard's rows."""

    n_rows: int  # rows of positive weight
    # weights, counts: float64 and int64: the different weights, at most `MOST_WEIGHTS` + 1 of them, and how many rows have each.
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    # start, reach: int64, shape (n,): `Routing.start`, and the number of rows that reach each node.
    start: NDArray[np.int64]
    reach: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShardOpened:
    """What is open at a shard after splits were opened or fixed."""

    n_arcs: int  # usage arcs of the open splits
    paid: int  # what the shard's rows have paid for splits that are fixed in, in integers


@dataclass(frozen=True)
class ShardMemory:
    """What a shard needs to list the usage arcs of its open splits."""

    machine: str  # the host's name: shards with the same one share its memory
    # needed, free: bytes; None: the system does not say.
    needed: int
    free: int | None


@dataclass(frozen=True, eq=False)
class ShardArcs:
    """Usage arcs of some splits within a shard."""

    # tail, item, leaf, row: int32: the split, the item, the leaf of the split's tree that the row ends in, and the row's number
    # within the shard.
    tail: NDArray[np.int32]
    item: NDArray[np.int32]
    leaf: NDArray[np.int32]
    row: NDArray[np.int32]
    price: NDArray[np.int64]  # int64: the purchase's price; 0 where it is paid already


class RowShard(Sharing):
    """A part of the rows, at the place where it was built; `solvers.price_sharing.cluster.sharded_problem.Shards` calls it.

    `source`: its rows. `name`: of the part, for messages. `threads`: 1, or 2: then a pass over many arcs is divided between two
    threads.
    """

    def __init__(self, source: RowSource, ensemble: Ensemble, costs: CostItems, name: str = "the part", threads: int = 1) -> None:
        self.ensemble, self.costs, self.params = ensemble, costs, SharingParams()
        self.pool = ThreadPoolExecutor(1) if threads > 1 else _CallingThread()
        X, weights = _read(source(), name)
        rows = features_of(ensemble, X, name)
        omega = check_weights(weights, len(rows), f"{name}: the weights")
        weighted = np.flatnonzero(omega > 0)
        if costs.n_items * (weighted.size + 1) > MOST_PURCHASES:
            raise CapacityOverflowError(
                f"{name} has {weighted.size:,} rows and costs {costs.n_items:,} items: a part can number {MOST_PURCHASES:,} "
                "pairs of them; give more parts"
            )
        self.weights = omega[weighted]
        self.routing = route(ensemble, rows if weighted.size == len(rows) else rows[weighted])
        self._unpriced: IntegerPrices | None = None

    def facts(self) -> ShardFacts:
        """Rows, weights and routing in numbers; asked for before anything else."""
        values, counts = np.unique(self.weights, return_counts=True)
        some = slice(0, MOST_WEIGHTS + 1)
        start = self.routing.start.astype(np.int64)
        return ShardFacts(self.routing.n_rows, values[some], counts[some].astype(np.int64), start, self.routing.counts())

    def row_digest(self) -> int:
        """The sum, modulo 2^64, of a hash of each row's weight and leaves: for checkpoints. The order of rows has no effect."""
        ensemble, routing = self.ensemble, self.routing
        code = _mixed(self.weights.astype(np.float64).view(np.uint64))
        for t in range(ensemble.n_trees):
            nodes = np.arange(ensemble.tree_start[t], ensemble.tree_start[t + 1])
            leaves = nodes[~ensemble.is_split[nodes]]
            leaves = leaves[np.argsort(routing.start[leaves], kind="stable")]
            leaf = np.repeat(leaves, routing.stop[leaves] - routing.start[leaves]).astype(np.uint64)
            code[routing.order[t]] = _mixed(code[routing.order[t]] + leaf)
        return int(code.sum())

    def node_weights(self, weight_unit: Fraction) -> NDArray[np.int64]:
        """Integer weight of the rows that reach each node, shape (n,)."""
        return self.routing.node_sums(self.ensemble, _in_units(self.weights, weight_unit))

    def set_weight_unit(self, weight_unit: Fraction) -> None:
        """Set up what the shard's rows pay, in the unit of all shards' integer weights."""
        ensemble, costs = self.ensemble, self.costs
        # what is paid once for all rows, the driver counts
        charges = charges_of(ensemble, _with_free_items(costs, costs.paid_once))
        no_price, rows = (Fraction(0),) * ensemble.n_features, np.arange(self.weights.size)
        usage = Usage(ensemble, costs, no_price, charges, self.weights, self.routing, X=None, rows=rows)
        no_prices = np.zeros(costs.n_items, dtype=np.int64)
        self._unpriced = IntegerPrices(usage, no_prices, _in_units(self.weights, weight_unit), None)

    def open(self, item_price: NDArray[np.int64], is_open: NDArray[np.bool_]) -> ShardOpened:
        """Begin anew, with integer prices for a row of weight 1, shape (M,), and open splits, bool of shape (n,)."""
        return self._set(all_open(self._prices(item_price), np.array(is_open)))

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> ShardOpened:
        """Fix open splits in or out; bool, shape (k,). The shard alone knows which purchases the kept ones have paid."""
        return self._set(self.remaining.fixed(np.array(kept), np.array(out)))

    def _set(self, remaining: Remaining) -> ShardOpened:
        self.take(remaining)
        # There are no gains here, so the base is what was paid.
        return ShardOpened(remaining.slices.n_arcs, -remaining.base)

    def level_bills(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases cost whose highest user is at each level, 0 to `top`; all levels in one pass."""
        return super().level_bills(np.array(level), top)  # a copy, because Ray's arrays are read-only

    def bill(self, kept: NDArray[np.bool_], item_price: NDArray[np.int64]) -> int:
        """What the shard's rows pay for a pruning, bool of shape (n,), at any integer prices."""
        pruned = all_open(self._prices(item_price), np.array(kept))
        return paid_at(pruned, np.ones(pruned.nodes.size, dtype=np.int32), 1)[1]

    def memory_for_arcs(self) -> ShardMemory:
        """What `usage_arcs` takes, and what is free."""
        needed = ClusterParams.listing_bytes_per_arc * self.remaining.slices.n_arcs
        return ShardMemory(socket.gethostname(), needed, memory_free())

    def usage_arcs(self) -> ShardArcs:
        """The usage arcs of the open splits, listed one by one; few are left when the core is gathered."""
        remaining, ensemble, routing = self.remaining, self.ensemble, self.routing
        arcs = remaining.objective.usage.arcs(remaining.nodes)
        item, row = np.divmod(arcs.head, np.int32(routing.n_rows))
        leaf = np.empty(arcs.tail.size, dtype=np.int32)
        _leaves(arcs.tail, ensemble.left, ensemble.right, routing.start, routing.stop, leaf)
        return ShardArcs(arcs.tail, item, leaf, row, remaining.unpaid_prices(arcs.head))

    def _prices(self, item_price: NDArray[np.int64]) -> IntegerPrices:
        """The shard's part of (OBJ) in integers: prices, and no gains."""
        assert self._unpriced is not None, "set_weight_unit comes first"
        return replace(self._unpriced, item_price=np.array(item_price))


class _CallingThread(ThreadPoolExecutor):
    """An executor without a thread: `submit` does the work before it returns."""

    def __init__(self) -> None:
        super().__init__(1)

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """A future that is done already."""
        done: Future[Any] = Future()
        done.set_result(work(*args, **options))
        return done


def _read(rows: Any, name: str) -> tuple[Any, Any]:
    """What a source returned, as rows and weights."""
    if not isinstance(rows, tuple):
        return rows, None
    if len(rows) != 2:
        raise InvalidInputError(f"{name}: its source returned {len(rows)} things; return rows, or rows and weights")
    return rows


def _in_units(weights: NDArray[np.float64], unit: Fraction) -> NDArray[np.int64]:
    """Weights, which are decimals, as integer multiples of a unit."""
    values, place = np.unique(weights, return_inverse=True)
    multiples = np.array([int(Fraction(repr(float(w))) / unit) for w in values], dtype=np.int64)
    return multiples[place]


def _mixed(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit integers, any bit of which changes about half of the bits: a round of SplitMix64."""
    code = code + np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def charges_once(ensemble: Ensemble, costs: CostItems) -> Charges:
    """The items that each split charges once for all rows."""
    return charges_of(ensemble, _with_free_items(costs, ~costs.paid_once))


def _with_free_items(costs: CostItems, is_free: NDArray[np.bool_]) -> CostItems:
    """The costs with some items free, which nodes therefore do not charge; bool, shape (M,)."""
    prices = tuple(Fraction(0) if free else price for price, free in zip(costs.prices, is_free, strict=True))
    return replace(costs, prices=prices)


@njit(cache=True)
def _leaves(tail, left, right, start, stop, leaf):  # type: ignore[no-untyped-def]
    """The leaf below the split of each arc. The arcs of one split and item follow the split's range of rows, leaf by leaf."""
    k = 0
    while k < tail.shape[0]:
        h = tail[k]
        end = k + stop[h] - start[h]
        first = start[h] - k
        while k < end:
            node = h
            while left[node] >= 0:
                node = left[node] if first + k < stop[left[node]] else right[node]
            while k < end and first + k < stop[node]:
                leaf[k] = node
                k += 1
