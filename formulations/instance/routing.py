"""Which examples reach which node: one permutation of the rows for each tree, as a whole or cut into blocks of rows.

The rows are sorted by leaf in the order in which a depth-first walk meets the leaves, so the set S_h of a
node h, leaf or not, is a contiguous range of the permutation of its tree:

    S_h = order[t, start[h] : stop[h]]                                                   (1)

This takes 4 bytes for each pair of row and tree, and 8 bytes a node. No matrix of rows by nodes is ever made.

Blocks of rows fit a processor's cache. Rows are put into an order; block b holds the rows in places  b B, ..., (b + 1) B - 1  of
it. Within a block the rows of each tree are sorted by leaf as in the routing, and by place within a leaf, so

    S_h and block b  =  rows[b B + order[t, b B + start[b, h] : b B + stop[b, h]]]                                        (2)

A pass that reads one number for each row, block by block, finds it in the cache. An index takes two bytes instead of four.

In a good order, rows that reach the same nodes are near one another:

    key of a row  =  for depth 1 to D, for tree 0 to K - 1: whether its node at that depth is not a first child           (3)

read as one binary number, with the roots' children as its leading bits. Rows with the same leading bits went the same way at the
first splits of K trees, so they mostly reach the same nodes of the other trees too.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import real_array, refuse_unreal
from formulations.instance.ensemble import Ensemble, Forest
from formulations.memory import scratch_array, too_large
from formulations.sparse_arrays import check_sparse, dense_array

Amount = TypeVar("Amount", np.int64, np.float64, np.object_)


class Reached(NamedTuple):
    """Which rows reach each node, as compiled code takes it: ``order[tree_of[h], start[h]:stop[h]]``, see `Routing`."""

    tree_of: NDArray[np.int32]
    order: NDArray[np.int32]
    start: NDArray[np.int32]
    stop: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Routing:
    """N rows sent through T trees, as ranges (1)."""

    order: NDArray[np.int32]  # int32, shape (T, N): the rows of each tree, sorted by leaf
    # start, stop: int32, shape (n,): the range of each node in the row `order[tree_of[h]]`.
    start: NDArray[np.int32]
    stop: NDArray[np.int32]
    scratch: Path | None = None  # the folder of a file that holds the order, see `formulations.memory`; None: memory

    def __reduce__(self) -> tuple[type[Routing], tuple[NDArray[np.int32], ...]]:
        """Pickle as a routing in memory, since the folder may not exist where it is unpickled."""
        return Routing, (self.order, self.start, self.stop)

    @property
    def n_rows(self) -> int:
        """N, the number of rows that were routed."""
        return int(self.order.shape[1])

    def node_sums(self, ensemble: Forest, amounts: NDArray[Amount]) -> NDArray[Amount]:
        """Sum of the amounts of the rows that reach each node, shape (n,); `amounts` has the shape (N,) or (T, N)."""
        sums = np.empty(ensemble.n_nodes, dtype=amounts.dtype)
        for t in range(ensemble.n_trees):
            nodes = ensemble.nodes_of(t)
            by_row = (amounts if amounts.ndim == 1 else amounts[t])[self.order[t]]
            sums[nodes] = range_sums(by_row, self.start[nodes], self.stop[nodes])
        return sums

    def leaves(self, ensemble: Forest) -> NDArray[np.int32]:
        """The leaf that each row ends in, for each tree: int32, shape (T, N)."""
        leaves = np.empty_like(self.order)
        for t in range(ensemble.n_trees):
            nodes = np.arange(ensemble.tree_start[t], ensemble.tree_start[t + 1], dtype=np.int32)
            nodes = nodes[~ensemble.is_split[nodes]]
            nodes = nodes[np.argsort(self.start[nodes], kind="stable")]
            leaves[t, self.order[t]] = np.repeat(nodes, self.stop[nodes] - self.start[nodes])
        return leaves

    def counts(self) -> NDArray[np.int64]:
        """Number of rows that reach each node, shape (n,)."""
        return self.stop.astype(np.int64) - self.start


def range_sums(amounts: NDArray[Amount], start: NDArray[np.int32], stop: NDArray[np.int32]) -> NDArray[Amount]:
    """Sum of the amounts over each range [start, stop)."""
    sums = np.concatenate([np.zeros(1, dtype=amounts.dtype), np.cumsum(amounts)])
    between: NDArray[Amount] = sums[stop] - sums[start]
    return between


def as_rows(X: Any, n_features: int, name: str = "X", first_row: int = 0) -> NDArray[np.float32]:
    """Check a table of examples and cast it to float32, as scikit-learn's trees do.

    NaN is a missing value and allowed. Infinities are refused, as scikit-learn does. If X is a part of a larger table,
    `first_row` is the number of its first row there, for messages.
    """
    is_sparse: bool = sparse.issparse(X)
    if is_sparse:
        check_sparse(X, name)
        size = too_large(X.dtype.itemsize * X.shape[0] * X.shape[1])
        if size is not None:
            raise InvalidInputError(f"{name} has the shape {X.shape} and {size} as an array; give fewer rows at a time")
        X = dense_array(X, name)
    elif hasattr(X, "toarray"):
        X = X.toarray()
    refuse_unreal(X, name)
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused below
            if hasattr(X, "iloc"):  # a pandas table; its NA is a missing value, as to scikit-learn
                X = X.to_numpy(dtype=np.float32, na_value=np.nan)
            rows = np.ascontiguousarray(real_array(X, name), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} has a column that is not numeric ({error}); encode it as the forest's training data was"
        ) from error
    if rows.ndim != 2:
        raise InvalidInputError(f"{name} has shape {rows.shape}; give a table with one row an example")
    if rows.shape[1] != n_features:
        raise InvalidInputError(f"{name} has {rows.shape[1]} columns, the forest was trained on {n_features} features")
    if rows.shape[0] == 0:
        raise InvalidInputError(f"{name} is empty: at least one example is needed")
    if np.isinf(rows).any():
        i, j = np.argwhere(np.isinf(rows))[0]
        raise InvalidInputError(
            f"{name}[{first_row + i}, {j}] is infinite as a float32; scikit-learn refuses to route it: clip it or use NaN"
        )
    return rows


def features_of(ensemble: Ensemble, X: Any, name: str = "X") -> NDArray[np.float32]:
    """Examples as the trees read them, shape (N, F); raw columns go through the steps of the pipeline."""
    return as_rows(X if ensemble.made is None else ensemble.made.features(X, name), ensemble.n_features, name)


def n_examples(X: Any) -> int:
    """Rows of a table, an array or a sparse matrix."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        raise InvalidInputError(f"X is {X!r}; give a table with one row an example") from None


def route(ensemble: Ensemble, rows: NDArray[np.float32]) -> Routing:
    """Send every row through every tree.

    Parameters
    ----------
    ensemble
        the trees.
    rows
        float32, shape (N, n_features), see `as_rows`; NaN goes where the node's `missing_left` says.

    Returns
    -------
    Routing
        the rows of each tree sorted by leaf.
    """
    # 6 bytes for each row and tree: the rows by leaf, and again in blocks of rows
    size = too_large(6 * ensemble.n_trees * rows.shape[0])
    if size is not None:
        raise InvalidInputError(
            f"X has {rows.shape[0]:,} rows, and where they go in {ensemble.n_trees:,} trees {size}; give fewer: the mean cost of "
            "20,000 random rows is within 0.7 % of the price of everything in 19 of 20 samples; or a table in a file and a "
            "scratch folder, see prunemodels.tables.problem_from_table"
        )
    leaf_first = leaf_positions(ensemble)
    start = np.zeros(ensemble.n_nodes, dtype=np.int32)
    stop = np.zeros(ensemble.n_nodes, dtype=np.int32)
    order = np.empty((ensemble.n_trees, rows.shape[0]), dtype=np.int32)
    rows = read_only(rows)

    def route_tree(t: int) -> None:
        place = np.empty(rows.shape[0], dtype=np.int32)
        walk_tree(ensemble, t, rows, leaf_first, place)
        sort_by_leaf(ensemble, t, place, leaf_first, order[t], start, stop)

    # Python's threads, since numba's fallback scheduler aborts the process if two threads of the user route at once
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(route_tree, range(ensemble.n_trees)))
    return Routing(order, start, stop)


def read_only(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """A read-only view. Rows of tables are read-only, other arrays are not; so one compiled kernel serves both."""
    rows = np.ascontiguousarray(rows).view()
    rows.flags.writeable = False
    return rows


def walk_tree(
    ensemble: Ensemble, t: int, rows: NDArray[np.float32], leaf_first: NDArray[np.int32], place: NDArray[np.int32]
) -> None:
    """Write the position of each row's leaf in tree t into `place`, shape (N,); `rows` is `read_only`."""
    left, right, feature = ensemble.left, ensemble.right, ensemble.feature
    root = int(ensemble.tree_start[t])
    _walk_tree(rows, root, left, right, feature, ensemble.threshold, ensemble.missing_left, leaf_first, place)


def sort_by_leaf(
    ensemble: Ensemble,
    t: int,
    place: NDArray[np.int32],
    leaf_first: NDArray[np.int32],
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    stop: NDArray[np.int32],
) -> None:
    """Write the rows sorted by the positions of their leaves in tree t into `order`, shape (N,), and the nodes' ranges (1)."""
    nodes = ensemble.nodes_of(t)
    count = np.zeros(int(nodes.stop - nodes.start) + 1, dtype=np.int32)
    _sort_by_leaf(place, nodes.start, nodes.stop, ensemble.left, ensemble.right, leaf_first, count, order, start, stop)


def leaves_of(ensemble: Ensemble, rows: NDArray[np.float32]) -> NDArray[np.int32]:
    """The leaf that each row ends in, for each tree: int32, shape (T, N)."""
    return route(ensemble, rows).leaves(ensemble)


def leaf_positions(ensemble: Ensemble) -> NDArray[np.int32]:
    """Position of each leaf among its tree's leaves in depth-first order (0 at internal nodes)."""
    position = np.zeros(ensemble.n_nodes, dtype=np.int32)
    _depth_first_leaves(ensemble.left, ensemble.right, np.zeros(ensemble.n_nodes, dtype=np.int32), position)
    return position


@njit(cache=True)
def _depth_first_leaves(left, right, below, position):  # type: ignore[no-untyped-def]
    """The number of leaves left of a node is that of its parent, plus for a right child the leaves of its sibling."""
    n = left.shape[0]
    for h in range(n - 1, -1, -1):
        below[h] = 1 if left[h] < 0 else below[left[h]] + below[right[h]]
    for h in range(n):
        if left[h] >= 0:
            position[left[h]] = position[h]
            position[right[h]] = position[h] + below[left[h]]
    for h in range(n):
        if left[h] >= 0:
            position[h] = 0


@njit(cache=True, nogil=True)
def _walk_tree(rows, root, left, right, feature, threshold, missing_left, leaf_first, place):  # type: ignore[no-untyped-def]
    """Walk every row down one tree."""
    for i in range(rows.shape[0]):
        h = root
        while left[h] >= 0:
            x = rows[i, feature[h]]
            go_left = missing_left[h] if np.isnan(x) else np.float64(x) <= threshold[h]
            h = left[h] if go_left else right[h]
        place[i] = leaf_first[h]


@njit(cache=True, nogil=True)
def _sort_by_leaf(place, first, last, left, right, leaf_first, count, order, start, stop):  # type: ignore[no-untyped-def]
    """A stable counting sort of the rows by leaf; `count` are zeros, one more than nodes."""
    # count[k]: where the rows of leaf k begin
    for i in range(place.shape[0]):
        count[place[i] + 1] += 1
    for k in range(1, count.shape[0]):
        count[k] += count[k - 1]
    # a node's rows are one range: from the first row of its left child to the last of its right one
    for h in range(last - 1, first - 1, -1):
        if left[h] < 0:
            start[h] = count[leaf_first[h]]
            stop[h] = count[leaf_first[h] + 1]
        else:
            start[h] = start[left[h]]
            stop[h] = stop[right[h]]
    # place the rows; count[k] is where the next row of leaf k goes
    for i in range(place.shape[0]):
        k = place[i]
        order[count[k]] = i
        count[k] += 1


BLOCK_ROWS = 2**16
"""B: the number of rows that two bytes can number. One float64 for each takes half a megabyte, less than a core's own cache."""


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """N rows in blocks of B, see (2)."""

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
    routing: Routing, tree_of: NDArray[np.int32], size: int = BLOCK_ROWS, rows: NDArray[np.int32] | None = None
) -> RowBlocks:
    """Cut a routing into blocks of at most `size` <= 65,536 rows.

    If the routing is on disk, so are its blocks. Passes read one block after the other, so few have to be in memory at a time.

    `tree_of`: shape (n,): the tree of each node. `rows`: a permutation of the rows, int32 of shape (N,): see `row_order`.
    Default: the rows' own order.
    """
    n_trees, n_rows = routing.order.shape
    n_blocks = max(1, -(-n_rows // size))
    order = scratch_array((n_trees, n_rows), np.uint16, routing.scratch)
    start, stop = (scratch_array((n_blocks, tree_of.size), np.int32, routing.scratch) for _ in range(2))
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
    # the piece of each place
    for k in range(ends.shape[0] - 1):
        for p in range(ends[k], ends[k + 1]):
            piece_of[place[order[p]]] = k
    filled = np.empty(ends.shape[0] + 1, dtype=np.int32)
    for b in range(start.shape[0]):
        begin, end = b * size, min((b + 1) * size, n_rows)
        filled[:] = 0
        # filled[k]: where piece k begins in this block
        for j in range(begin, end):
            filled[piece_of[j] + 1] += 1
        for k in range(ends.shape[0]):
            filled[k + 1] += filled[k]
        # a node's range is a run of pieces
        for a in range(nodes.shape[0]):
            start[b, nodes[a]] = filled[first[a]]
            stop[b, nodes[a]] = filled[last[a]]
        # sort the places by piece; filled[k] is where the next place of piece k goes
        for j in range(begin, end):
            cut[begin + filled[piece_of[j]]] = j - begin
            filled[piece_of[j]] += 1


DEPTH, TREES = 3, 16
"""D and K: 48 bits of a key; more of either gains a few per cent."""


def row_order(routing: Routing, ensemble: Forest) -> NDArray[np.int32]:
    """The rows sorted by their keys (3), rows of equal keys in their own order; int32, shape (N,)."""
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
