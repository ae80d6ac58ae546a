"""What a shard answers: numbers about its rows, about its open splits, and their usage arcs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_WEIGHTS = 10_000
"""Most different weights that are made integers, as in `formulations.instance.integers`."""


@dataclass(frozen=True, eq=False)
class ShardFacts:
    """What the driver must know about a shard's rows.

    Parameters
    ----------
    n_rows
        rows of positive weight.
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
class ShardOpened:
    """What is open at a shard after splits were opened or fixed.

    Parameters
    ----------
    n_arcs
        usage arcs of the open splits.
    paid
        what the shard's rows have paid for splits that are fixed in, in integers.
    """

    n_arcs: int
    paid: int


@dataclass(frozen=True)
class ShardMemory:
    """What a shard needs to list the usage arcs of its open splits.

    Parameters
    ----------
    machine
        the host's name: shards with the same one share its memory.
    needed, free
        bytes; None: the system does not say.
    """

    machine: str
    needed: int
    free: int | None


@dataclass(frozen=True, eq=False)
class ShardArcs:
    """Usage arcs of some splits within a shard.

    Parameters
    ----------
    tail, item, leaf, row
        int32: the split, the item, the leaf of the split's tree that the row ends in, and the row's number within the shard.
    price
        int64: the purchase's price; 0 where it is paid already.
    """

    tail: NDArray[np.int32]
    item: NDArray[np.int32]
    leaf: NDArray[np.int32]
    row: NDArray[np.int32]
    price: NDArray[np.int64]
