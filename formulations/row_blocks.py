"""A routing cut into blocks of rows that fit a processor's cache.

Block b holds the rows  b B, ..., (b + 1) B - 1.  Within a block the rows of each tree are sorted by leaf as in the routing, so

    S_h and block b  =  b B + order[t, b B + start[b, h] : b B + stop[b, h]]                                              (1)

Passes that gather one number a row, block by block, then find it in the cache; and an index takes two bytes instead of four.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from formulations.routing import Routing

BLOCK = 2**16
"""B: as many rows as two bytes can tell apart; half a megabyte of one float64 a row, which is less than a core's own cache."""


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """N rows in blocks of B, see (1).

    Parameters
    ----------
    size
        B.
    order
        uint16, shape (T, N): places within their block.
    start, stop
        int32, shape (blocks, n).
    """

    size: int
    order: NDArray[np.uint16]
    start: NDArray[np.int32]
    stop: NDArray[np.int32]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.start.shape[0])


def row_blocks(routing: Routing, tree_of: NDArray[np.int32], size: int = BLOCK) -> RowBlocks:
    """Cut a routing into blocks of at most `size` <= 65,536 rows; n-array `tree_of`: the tree of each node."""
    n_trees, n_rows = routing.order.shape
    n_blocks = max(1, -(-n_rows // size))
    order = np.empty((n_trees, n_rows), dtype=np.uint16)
    start, stop = (np.empty((n_blocks, tree_of.size), dtype=np.int32) for _ in range(2))
    by_start = np.lexsort((routing.start, tree_of))
    by_stop = np.lexsort((routing.stop, tree_of))
    first = np.searchsorted(tree_of, np.arange(n_trees + 1))
    _cut(routing.order, routing.start, routing.stop, by_start, by_stop, first, size, order, start, stop)
    return RowBlocks(size, order, start, stop)


@njit(cache=True, nogil=True)
def _cut(order, start, stop, by_start, by_stop, first, size, cut, block_start, block_stop):  # type: ignore[no-untyped-def]
    """One sweep over each tree's rows; nodes are met where they start and where they stop."""
    n_rows = order.shape[1]
    for t in range(order.shape[0]):
        filled = np.zeros(block_start.shape[0], dtype=np.int32)
        a = b = first[t]
        for p in range(n_rows + 1):
            while a < first[t + 1] and start[by_start[a]] == p:
                block_start[:, by_start[a]] = filled
                a += 1
            while b < first[t + 1] and stop[by_stop[b]] == p:
                block_stop[:, by_stop[b]] = filled
                b += 1
            if p < n_rows:
                k = order[t, p] // size
                cut[t, k * size + filled[k]] = order[t, p] - k * size
                filled[k] += 1
