"""The routing of rows that come in chunks: the result of `route`, without all rows in memory at once.

Of each chunk we keep the position of each row's leaf in each tree, and nothing else. After the last chunk each tree's rows are
sorted by these positions, as `route` does. If the number of rows is known beforehand, the positions are stored in the array of
the order itself:

    memory  =  4 T N bytes (the order)  +  4 N bytes a thread that sorts a tree  +  the chunk                               (1)

Otherwise the positions have arrays of their own until the end. These take 2 T N bytes more (4 T N where a tree has over 65,536
leaves). With a scratch folder, positions and order are files in it, see `formulations.stored_arrays`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import Routing, leaf_positions, read_only, sort_by_leaf, walk_tree
from formulations.stored_arrays import scratch_array

SORTING_THREADS = 4
"""The largest number of trees that are sorted at the same time. Sorting a tree takes 4 bytes a row."""


class ChunkedRouting:
    """Takes rows chunk by chunk and gives their routing at the end.

    >>> routing = ChunkedRouting(ensemble, n_rows=5_000_000)      # doctest: +SKIP
    >>> for rows in chunks:                                       # doctest: +SKIP
    ...     routing.add(rows)
    >>> routing.finish()                                          # doctest: +SKIP

    Parameters
    ----------
    ensemble
        the trees.
    n_rows
        the largest number of rows that may come; None: unknown.
    scratch
        a folder for files that hold the order, 4 bytes for each row and tree, and arrays derived from it; None: memory. Where
        the system allows it the files have no names, and they vanish with the routing or at the end of the process.

    Raises
    ------
    BrokenFileError
        if the folder does not exist or has too little free space.
    """

    def __init__(self, ensemble: Ensemble, n_rows: int | None = None, *, scratch: str | Path | None = None) -> None:
        self.n_rows = 0
        self._ensemble = ensemble
        self._leaf_first = leaf_positions(ensemble)
        self._scratch = None if scratch is None else Path(scratch)
        most_leaves = int(np.diff(ensemble.tree_start).max(initial=1) + 1) // 2
        self._places: _PlacesInOrder | _PlacesByChunk = (
            _PlacesByChunk(ensemble.n_trees, most_leaves, self._scratch)
            if n_rows is None
            else _PlacesInOrder(ensemble.n_trees, n_rows, self._scratch)
        )

    def add(self, rows: NDArray[np.float32]) -> None:
        """Send a chunk through every tree; float32, shape (rows, n_features), see `formulations.instance.routing.as_rows`."""
        places = self._places.take(self.n_rows, len(rows))
        rows = read_only(rows)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda t: self._walk(t, rows, places), range(self._ensemble.n_trees)))
        self.n_rows += len(rows)

    def _walk(self, t: int, rows: NDArray[np.float32], places: NDArray[Any]) -> None:
        place = np.empty(len(rows), dtype=np.int32)
        walk_tree(self._ensemble, t, rows, self._leaf_first, place)
        places[t] = place

    def finish(self) -> Routing:
        """The routing of all rows that were added, numbered in that order."""
        if not self.n_rows:
            raise InvalidInputError("X is empty: at least one example is needed")
        start, stop = (np.zeros(self._ensemble.n_nodes, dtype=np.int32) for _ in range(2))
        order = self._places.order(self.n_rows)

        def sort(t: int) -> None:
            place = self._places.of_tree(t, self.n_rows)
            sort_by_leaf(self._ensemble, t, place, self._leaf_first, order[t], start, stop)

        threads = min(SORTING_THREADS, os.cpu_count() or 1) if self._places.any_sequence(self.n_rows) else 1
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(sort, range(self._ensemble.n_trees)))
        return Routing(order, start, stop, self._scratch)


class _PlacesInOrder:
    """Positions in the array that will hold the order.

    The positions of tree t start at t N. If only n < N rows came, the order of tree t starts at t n, before its positions.
    """

    def __init__(self, n_trees: int, n_rows: int, scratch: Path | None) -> None:
        self._n_trees, self._n_rows = n_trees, n_rows
        self._array = scratch_array(n_trees * n_rows, np.int32, scratch)

    def take(self, first: int, n_rows: int) -> NDArray[np.int32]:
        """An array for the positions of the next rows, shape (T, n_rows); the caller fills it."""
        if first + n_rows > self._n_rows:
            raise InvalidInputError(f"{first + n_rows:,} rows have come, {self._n_rows:,} were announced; announce them all")
        return self._array.reshape(self._n_trees, self._n_rows)[:, first : first + n_rows]

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        """The positions of all rows in tree t, a copy."""
        return self._array[t * self._n_rows :][:n_rows].copy()

    def order(self, n_rows: int) -> NDArray[np.int32]:
        """An array for the order, shape (T, n_rows); the caller fills it."""
        return self._array[: self._n_trees * n_rows].reshape(self._n_trees, n_rows)

    def any_sequence(self, n_rows: int) -> bool:
        """Whether trees may be sorted in any sequence; if not, they must be sorted from the first to the last."""
        return n_rows == self._n_rows  # with fewer rows, the order of a tree overwrites positions of trees before it


class _PlacesByChunk:
    """Positions chunk by chunk, in the smallest type that the trees allow.

    On disk one file holds many chunks, so that few files are open.
    """

    def __init__(self, n_trees: int, most_leaves: int, scratch: Path | None) -> None:
        self._n_trees, self._scratch = n_trees, scratch
        self._type: DTypeLike = np.uint16 if most_leaves <= 2**16 else np.int32
        self._chunks: list[NDArray[Any]] = []
        self._buffer = np.empty((n_trees, 0), dtype=self._type)
        self._used = 0

    def take(self, first: int, n_rows: int) -> NDArray[Any]:
        del first
        if self._used + n_rows > self._buffer.shape[1]:
            size = n_rows if self._scratch is None else max(n_rows, 2 * self._buffer.shape[1])
            self._buffer, self._used = scratch_array((self._n_trees, size), self._type, self._scratch), 0
        self._chunks.append(self._buffer[:, self._used : self._used + n_rows])
        self._used += n_rows
        return self._chunks[-1]

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        places = np.empty(n_rows, dtype=np.int32)
        np.concatenate([chunk[t] for chunk in self._chunks], out=places)
        return places

    def order(self, n_rows: int) -> NDArray[np.int32]:
        return scratch_array((self._n_trees, n_rows), np.int32, self._scratch)

    def any_sequence(self, n_rows: int) -> bool:
        del n_rows
        return True
