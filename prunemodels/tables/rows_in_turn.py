"""A table that stands for X in functions that read X block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from formulations.errors import InvalidInputError
from prunemodels.tables.reading import Reader, RowBlock


class RowsInTurn:
    """The features of a table of so many rows as float32. Rows are read in rising order and are not kept afterwards.

    Each indexing continues where the last one ended. Indexing an earlier row starts a new pass over the table. `numpy.asarray`
    reads the whole table.
    """

    def __init__(self, reader: Reader, n_rows: int) -> None:
        self._reader = reader
        self.shape = (n_rows, reader.ensemble.n_features)
        self.columns = reader.ensemble.feature_names
        self._blocks: Iterator[RowBlock] = iter(())
        self._read = 0
        self._ahead = np.empty((0, self.shape[1]), dtype=np.float32)
        self._started = False

    def __len__(self) -> int:
        return self.shape[0]

    def tocsr(self) -> RowsInTurn:
        """Returns itself. Callers treat it like a sparse matrix: they take rows block by block, and each block is dense."""
        return self

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a table that is read from a file cannot be an array without a copy")
        rows = self[np.arange(len(self))]
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def __getitem__(self, wanted: slice | NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Rows by a slice, or by their numbers, which must rise."""
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
            available = int(np.searchsorted(numbers, self._read))  # the wanted rows before this one have been read
            first = self._read - len(self._ahead)
            found[done:available] = self._ahead[numbers[done:available] - first]
            done = available
            if done == numbers.size:
                break
            self._next()
        self._ahead = self._ahead[int(numbers[-1]) + 1 - self._read + len(self._ahead) :]
        if self._read == len(self) and not len(self._ahead):
            next(self._blocks, None)  # let the reader end its pass, which runs its last checks
        return found

    def _begin(self) -> None:
        if self._started and not self._reader.table.source.again:
            raise InvalidInputError(
                f"{self._reader.table.source.name} can be read only once; give a file, or a function that returns the chunks"
            )
        self._blocks, self._read, self._started = self._reader.blocks("reading"), 0, True
        self._ahead = self._ahead[:0]

    def _next(self) -> None:
        block = next(self._blocks, None)
        if block is None:
            raise IndexError(f"the table has {len(self)} rows")
        self._ahead = block.rows
        self._read += len(block.rows)

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling, without the pass that is in progress."""
        return {"_reader": self._reader, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_reader"], state["shape"][0])  # type: ignore[misc]
