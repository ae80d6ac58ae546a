"""A routing cut into blocks of rows that fit a processor's cache.

Rows are put into an order; block b holds the rows in places  b B, ..., (b + 1) B - 1  of it. Within a block the rows of each tree
are sorted by leaf as in the routing, and by place within a leaf, so

    S_h and block b  =  rows[b B + order[t, b B + start[b, h] : b B + stop[b, h]]]                                        (1)

A pass that reads one number for each row, block by block, finds it in the cache. An index takes two bytes instead of four.

In a good order, rows that reach the same nodes are near one another:

    key of a row  =  for depth 1 to D, for tree 0 to K - 1: whether its node at that depth is not a first child           (2)

read as one binary number, with the roots' children as its leading bits. Rows with the same leading bits went the same way at the
first splits of K trees, so they mostly reach the same nodes of the other trees too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.forest import Forest
from formulations.instance.routing import Routing

BLOCK = 2**16
"""B: the number of rows that two bytes can number. One float64 for each takes half a megabyte, less than a core's own cache."""


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """N rows in blocks of B, see (1)."""

    size: int  # B
    order: NDArray[np.uint16]  # uint16, shape (T, N): places within their block
    # start, stop: int32, shape (blocks, n).
    start: NDArray[np.int32]
    stop: NDArray[np.int32]
    rows: NDArray[np.int32]  # int32, shape (N,): the row in each place

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.start.shape[0])


def row_blocks(
    routing: Routing, tree_of: NDArray[np.int32], size: int = BLOCK, rows: NDArray[np.int32] | None = None
) -> RowBlocks:
    """Cut a routing into blocks of at most `size` <= 65,536 rows.

    If the routing is on disk, so are its blocks. Passes read one block after the other, so few have to be in memory at a time.

    Parameters
    ----------
    tree_of
        shape (n,): the tree of each node.
    rows
        a permutation of the rows, int32 of shape (N,): see `row_order`. Default: the rows' own order.
    """
    n_trees, n_rows = routing.order.shape
    n_blocks = max(1, -(-n_rows // size))
    order = routing.array((n_trees, n_rows), np.uint16)
    start, stop = (routing.array((n_blocks, tree_of.size), np.int32) for _ in range(2))
    rows = np.arange(n_rows, dtype=np.int32) if rows is None else rows
    place = np.empty(n_rows, dtype=np.int32)
    place[rows] = np.arange(n_rows, dtype=np.int32)
    piece_of = np.empty(n_rows, dtype=np.int32)
    for t in range(n_trees):
        nodes = np.flatnonzero(tree_of == t)
        ends = np.unique(np.concatenate([routing.start[nodes], routing.stop[nodes], [0, n_rows]]))
        first, last = np.searchsorted(ends, routing.start[nodes]), np.searchsorted(ends, routing.stop[nodes])
        _cut(routing.order[t], ends, place, size, nodes, first, last, piece_of, order[t], start, stop)
    return RowBlocks(size, order, start, stop, rows)


@njit(cache=True, nogil=True)
def _cut(order, ends, place, size, nodes, first, last, piece_of, cut, start, stop):  # type: ignore[no-untyped-def]
    """Cut one tree's order into blocks.

    The ends of all nodes' ranges divide the order into pieces. The places of each block are sorted by piece.
    """
    n_rows = order.shape[0]
    for k in range(ends.shape[0] - 1):
        for p in range(ends[k], ends[k + 1]):
            piece_of[place[order[p]]] = k
    filled = np.empty(ends.shape[0] + 1, dtype=np.int32)
    for b in range(start.shape[0]):
        begin, end = b * size, min((b + 1) * size, n_rows)
        filled[:] = 0
        for j in range(begin, end):
            filled[piece_of[j] + 1] += 1
        for k in range(ends.shape[0]):
            filled[k + 1] += filled[k]
        for a in range(nodes.shape[0]):
            start[b, nodes[a]] = filled[first[a]]
            stop[b, nodes[a]] = filled[last[a]]
        for j in range(begin, end):
            cut[begin + filled[piece_of[j]]] = j - begin
            filled[piece_of[j]] += 1


DEPTH, TREES = 3, 16
"""D and K: 48 bits of a key; more of either gains a few per cent."""


def row_order(routing: Routing, ensemble: Forest) -> NDArray[np.int32]:
    """The rows sorted by their keys (2), rows of equal keys in their own order; int32, shape (N,)."""
    n_trees = min(TREES, ensemble.n_trees)
    key = np.zeros(routing.n_rows, dtype=np.int64)
    last = int(ensemble.tree_start[n_trees])
    shallow = np.flatnonzero((ensemble.depth[:last] > 0) & (ensemble.depth[:last] <= DEPTH))
    first = np.unique(ensemble.parent[shallow], return_index=True)[1]
    for h in np.delete(shallow, first):
        t, depth = int(ensemble.tree_of[h]), int(ensemble.depth[h])
        bit = (DEPTH - depth) * n_trees + n_trees - 1 - t
        key[routing.order[t, routing.start[h] : routing.stop[h]]] |= np.int64(1 << bit)
    return np.argsort(key, kind="stable").astype(np.int32)
