"""What the driver asks of some rows, and what it is told.

Splits are numbered by their places among the open ones, at the driver and at all shards alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

MOST_WEIGHTS = 10_000
"""Different weights that are still made integers, as in `formulations.instance.integers`."""


@dataclass(frozen=True, eq=False)
class ShardFacts:
    """What the driver must know of a shard's rows.

    Parameters
    ----------
    n_rows
        of positive weight.
    weights, counts
        float64 and int64: the different weights, at most `MOST_WEIGHTS` + 1 of them, and how many rows have each.
    start, reach
        int64, shape (n,): `Routing.start`, and the number of rows that reach each node.
    """

    n_rows: int
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    start: NDArray[np.int64]
    reach: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Opened:
    """What a shard says after splits were fixed: its usage arcs that are left, and what its rows have paid, in integers."""

    n_arcs: int
    paid: int


@dataclass(frozen=True, eq=False)
class ShardArcs:
    """Usage arcs of some splits within a shard.

    Parameters
    ----------
    tail, item, leaf
        int32: the split, the item, and the leaf of the split's tree that the row ends in.
    row
        int64: the row within the shard.
    price
        int64: of the purchase; 0 where it is paid already.
    """

    tail: NDArray[np.int32]
    item: NDArray[np.int32]
    leaf: NDArray[np.int32]
    row: NDArray[np.int64]
    price: NDArray[np.int64]


class Shard(Protocol):
    """Some rows of a cost sample, wherever they are."""

    def facts(self) -> ShardFacts:
        """Before anything else."""
        ...

    def node_weights(self, weight_unit: Fraction) -> NDArray[np.int64]:
        """Integer weight of the rows that reach each node, shape (n,)."""
        ...

    def join(self, weight_unit: Fraction) -> None:
        """Take up the unit of all shards' integer weights."""
        ...

    def price(self, item_price: NDArray[np.int64], is_open: NDArray[np.bool_]) -> Opened:
        """Start anew, with integer prices for a row of weight 1, shape (M,), and open splits, bool of shape (n,)."""
        ...

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> Opened:
        """Fix open splits in or out."""
        ...

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """What the shard's rows charge each open split, up to rounding."""
        ...

    def whole_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers that are at most that, for certain."""
        ...

    def levels(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases cost whose highest user is at each level, 0 to `top`."""
        ...

    def bill(self, kept: NDArray[np.bool_], item_price: NDArray[np.int64]) -> int:
        """What the shard's rows pay for a pruning at any integer prices."""
        ...

    def arcs(self) -> ShardArcs:
        """The usage arcs of the open splits."""
        ...
