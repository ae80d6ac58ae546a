"""A table as functions that go through X block by block see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from formulations.errors import InvalidInputError
from prunemodels.tables.reading import Part, Reader


class RowsInTurn:
    """The features of a table as float32; rows are taken in rising order, and what was taken is forgotten.

    Indexing goes on from where the last one ended; one that goes back begins a new pass. `numpy.asarray` reads the whole table.

    Parameters
    ----------
    reader
        reads the table.
    n_rows
        how many rows it has.
    """

    def __init__(self, reader: Reader, n_rows: int) -> None:
        self._reader = reader
        self.shape = (n_rows, reader.ensemble.n_features)
        self.columns = reader.ensemble.feature_names
        self._parts: Iterator[Part] = iter(())
        self._read = 0
        self._ahead = np.empty((0, self.shape[1]), dtype=np.float32)
        self._started = False

    def __len__(self) -> int:
        return self.shape[0]

    def tocsr(self) -> RowsInTurn:
        """Itself: like a sparse matrix, it is made dense block by block, by those who take rows."""
        return self

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a table that is read from a file cannot be an array without a copy")
        rows = self[np.arange(len(self))]
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def __getitem__(self, wanted: slice | NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Rows by their numbers, which must rise, or a slice of them."""
        numbers = np.arange(len(self))[wanted] if isinstance(wanted, slice) else np.asarray(wanted)
        if numbers.size and (np.diff(numbers) <= 0).any():
            raise InvalidInputError("rows of a table that is read in chunks are taken in rising order only; sort their numbers")
        if not numbers.size:
            return np.empty((0, self.shape[1]), dtype=np.float32)
        if not self._started or numbers[0] < self._read - len(self._ahead):
            self._begin()
        found = np.empty((numbers.size, self.shape[1]), dtype=np.float32)
        done = 0
        while True:
            here = int(np.searchsorted(numbers, self._read))  # those below it have been read
            first = self._read - len(self._ahead)
            found[done:here] = self._ahead[numbers[done:here] - first]
            done = here
            if done == numbers.size:
                break
            self._next()
        self._ahead = self._ahead[int(numbers[-1]) + 1 - self._read + len(self._ahead) :]
        if self._read == len(self) and not len(self._ahead):
            next(self._parts, None)  # the pass ends: its last checks
        return found

    def _begin(self) -> None:
        if self._started and not self._reader.table.source.again:
            raise InvalidInputError(
                f"{self._reader.table.source.name} can be gone through once only; give a function that returns them, or a file"
            )
        self._parts, self._read, self._started = self._reader.parts("reading"), 0, True
        self._ahead = self._ahead[:0]

    def _next(self) -> None:
        part = next(self._parts, None)
        if part is None:
            raise IndexError(f"the table has {len(self)} rows")
        self._ahead = part.rows
        self._read += len(part.rows)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the pass that is under way."""
        return {"_reader": self._reader, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_reader"], state["shape"][0])  # type: ignore[misc]
