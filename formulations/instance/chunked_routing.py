"""The routing of rows that come in chunks: what `route` gives for all of them, without all of them at once.

Of each chunk we keep the position of each row's leaf in each tree, and nothing else. After the last chunk each tree's rows are
sorted by these positions, as `route` does. If the number of rows is known beforehand, the positions are stored in the array of
the order itself:

    memory  =  4 T N bytes (the order)  +  4 N bytes a thread that sorts a tree  +  the chunk                               (1)

Otherwise the positions are kept apart until the end, 2 T N bytes more (4 T N where a tree has over 65,536 leaves). With a
scratch folder both stand in files there, see `formulations.instance.scratch`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import Routing, leaf_positions, read_only, sort_by_leaf, walk_tree
from formulations.instance.scratch import RoutingOnDisk, scratch_array

SORTING_THREADS = 4
"""At most so many trees are sorted at once: each takes 4 bytes a row meanwhile."""


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
        how many rows will come at most; None: not known.
    scratch
        a folder for the order, 4 bytes for each row and tree, and what is made of it; None: memory. Its files have no names
        where the system allows that, and are gone when the routing is, or the process.

    Raises
    ------
    BrokenFileError
        if there is no such folder, or no room in it.
    """

    def __init__(self, ensemble: Ensemble, n_rows: int | None = None, *, scratch: str | Path | None = None) -> None:
        self.n_rows = 0
        self._ensemble = ensemble
        self._leaf_first = leaf_positions(ensemble)
        self._scratch = None if scratch is None else Path(scratch)
        most_leaves = int(np.diff(ensemble.tree_start).max(initial=1) + 1) // 2
        self._places: _Places = (
            _PlacesApart(ensemble.n_trees, most_leaves, self._scratch)
            if n_rows is None
            else _PlacesInOrder(ensemble.n_trees, n_rows, self._scratch)
        )

    def add(self, rows: NDArray[np.float32]) -> None:
        """Send a chunk through every tree; float32, shape (rows, n_features), see `formulations.instance.routing.as_rows`.

        Raises
        ------
        InvalidInputError
            if more rows come than were announced.
        """
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
        """The routing of all rows that came, numbered as they came.

        Raises
        ------
        InvalidInputError
            if no row came.
        """
        if not self.n_rows:
            raise InvalidInputError("X is empty: at least one example is needed")
        start, stop = (np.zeros(self._ensemble.n_nodes, dtype=np.int32) for _ in range(2))
        order = self._places.order(self.n_rows)

        def sort(t: int) -> None:
            place = self._places.of_tree(t, self.n_rows)
            sort_by_leaf(self._ensemble, t, place, self._leaf_first, order[t], start, stop)

        threads = min(SORTING_THREADS, os.cpu_count() or 1) if self._places.any_tree_first(self.n_rows) else 1
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(sort, range(self._ensemble.n_trees)))
        return Routing(order, start, stop) if self._scratch is None else RoutingOnDisk(order, start, stop, self._scratch)


class _Places(Protocol):
    """Where the positions of the rows' leaves wait to be sorted."""

    def take(self, first: int, n_rows: int) -> NDArray[Any]:
        """Room for the positions of some more rows, shape (T, n_rows)."""
        ...

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        """The positions of all rows in tree t, a copy."""
        ...

    def order(self, n_rows: int) -> NDArray[np.int32]:
        """Where the order is to be written, shape (T, n_rows)."""
        ...

    def any_tree_first(self, n_rows: int) -> bool:
        """Whether trees may be sorted in any order; if not, from the first to the last."""
        ...


class _PlacesInOrder:
    """Positions stand where the order will: tree t's n at t N; its order, of fewer rows, perhaps before that."""

    def __init__(self, n_trees: int, n_rows: int, scratch: Path | None) -> None:
        self._n_trees, self._n_rows = n_trees, n_rows
        self._numbers = scratch_array(n_trees * n_rows, np.int32, scratch)

    def take(self, first: int, n_rows: int) -> NDArray[np.int32]:
        if first + n_rows > self._n_rows:
            raise InvalidInputError(f"{first + n_rows:,} rows have come, {self._n_rows:,} were announced; announce them all")
        return self._numbers.reshape(self._n_trees, self._n_rows)[:, first : first + n_rows]

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        return self._numbers[t * self._n_rows :][:n_rows].copy()

    def order(self, n_rows: int) -> NDArray[np.int32]:
        return self._numbers[: self._n_trees * n_rows].reshape(self._n_trees, n_rows)

    def any_tree_first(self, n_rows: int) -> bool:
        return n_rows == self._n_rows  # else tree t's order covers positions of the trees before it


class _PlacesApart:
    """Positions chunk by chunk, as small as the trees allow. On disk a file holds many chunks: open files are few."""

    def __init__(self, n_trees: int, most_leaves: int, scratch: Path | None) -> None:
        self._n_trees, self._scratch = n_trees, scratch
        self._type: DTypeLike = np.uint16 if most_leaves <= 2**16 else np.int32
        self._chunks: list[NDArray[Any]] = []
        self._room = np.empty((n_trees, 0), dtype=self._type)
        self._taken = 0

    def take(self, first: int, n_rows: int) -> NDArray[Any]:
        del first
        if self._taken + n_rows > self._room.shape[1]:
            size = n_rows if self._scratch is None else max(n_rows, 2 * self._room.shape[1])
            self._room, self._taken = scratch_array((self._n_trees, size), self._type, self._scratch), 0
        self._chunks.append(self._room[:, self._taken : self._taken + n_rows])
        self._taken += n_rows
        return self._chunks[-1]

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        places = np.empty(n_rows, dtype=np.int32)
        np.concatenate([chunk[t] for chunk in self._chunks], out=places)
        return places

    def order(self, n_rows: int) -> NDArray[np.int32]:
        return scratch_array((self._n_trees, n_rows), np.int32, self._scratch)

    def any_tree_first(self, n_rows: int) -> bool:
        del n_rows
        return True
