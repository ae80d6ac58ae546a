"""All shards of a cost sample, at their workers: every call of the driver to a `RowShard` goes through here.

Methods are named by the functions of `RowShard` themselves, so a type checker sees arguments and answers; only the transport,
`Workers`, knows them by their names. Sums are made in the order of the shards, so that they do not depend on who answers first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from formulations.instance.routing import Amount
from solvers.price_sharing.cluster.row_shard import RowShard, ShardArcs, ShardFacts, ShardOpened
from solvers.price_sharing.cluster.workers import Workers

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Shards:
    """A `RowShard` at each worker.

    What changes the shards is kept in the workers' journal, so that a lost shard can be built again: first the unit of weights,
    then the open splits, then what was fixed since.
    """

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    def facts(self) -> list[ShardFacts]:
        """Rows, weights and routing of each shard."""
        return self._ask(RowShard.facts)

    def row_digest(self) -> int:
        """The sum of the shards' digests, modulo 2^64."""
        return sum(self._ask(RowShard.row_digest)) % 2**64

    def node_weights(self, weight_unit: Fraction) -> NDArray[np.int64]:
        """Integer weight of all rows that reach each node, shape (n,)."""
        return cast("NDArray[np.int64]", sum(self._ask(RowShard.node_weights, weight_unit)))

    def set_weight_unit(self, weight_unit: Fraction) -> None:
        """Tell the unit of all integer weights; it comes before prices."""
        self._tell(0, RowShard.set_weight_unit, weight_unit)

    def open(self, item_price: NDArray[np.int64], is_open: NDArray[np.bool_]) -> ShardOpened:
        """Begin anew with integer prices for a row of weight 1, shape (M,), and open splits, bool of shape (n,)."""
        return _all_opened(self._tell(1, RowShard.open, item_price, is_open))

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> ShardOpened:
        """Fix open splits in or out; bool, shape (k,)."""
        return _all_opened(self._tell(None, RowShard.fix, kept, out))

    def add_charges(self, score: NDArray[np.float32], charge: NDArray[np.float64]) -> None:
        """Add what the shards' rows charge each open split, up to rounding; shape (k,)."""
        _add(charge, self._ask(RowShard.charges, score))

    def add_integer_charges(self, score: NDArray[np.float32], charge: NDArray[np.int64]) -> None:
        """Add integers that are at most that, for certain."""
        _add(charge, self._ask(RowShard.integer_charges, score))

    def level_bills(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases of all shards cost whose highest user is at each level, 0 to `top`."""
        bills = self._ask(RowShard.level_bills, level, top)
        return [sum(bill[k] for bill in bills) for k in range(top + 1)]

    def bill(self, kept: NDArray[np.bool_], item_price: NDArray[np.int64]) -> int:
        """What the rows of all shards pay for a pruning, bool of shape (n,), at any integer prices."""
        return sum(self._ask(RowShard.bill, kept, item_price))

    def have_memory_for_arcs(self) -> bool:
        """Whether `usage_arcs` fits into the memory that is free on each machine."""
        needed: dict[str, int] = {}
        free: dict[str, float] = {}
        for shard in self._ask(RowShard.memory_for_arcs):
            needed[shard.machine] = needed.get(shard.machine, 0) + shard.needed
            bytes_free = math.inf if shard.free is None else shard.free
            free[shard.machine] = min(free.get(shard.machine, math.inf), bytes_free)
        return all(needed[machine] <= free[machine] for machine in needed)

    def usage_arcs(self) -> list[ShardArcs]:
        """The usage arcs of the open splits, shard by shard."""
        return self._ask(RowShard.usage_arcs)

    def _ask(
        self,
        method: Callable[Concatenate[RowShard, Arguments], Answer],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> list[Answer]:
        """Call a method that does not change the shards."""
        assert not kwargs, "workers take arguments by position"
        return self.workers.ask(method.__name__, *args)

    def _tell(
        self,
        after: int | None,
        method: Callable[Concatenate[RowShard, Arguments], Answer],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> list[Answer]:
        """Call a method that changes the shards; `after` as of `Workers.tell`."""
        assert not kwargs, "workers take arguments by position"
        return self.workers.tell(method.__name__, *args, after=after)


def _add(total: NDArray[Amount], parts: list[NDArray[Amount]]) -> None:
    for part in parts:
        total += part


def _all_opened(opened: list[ShardOpened]) -> ShardOpened:
    """Sums over the shards, which need the same items."""
    return ShardOpened(sum(o.n_arcs for o in opened), sum(o.paid for o in opened))
