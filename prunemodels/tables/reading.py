"""Chunks in the form that a forest needs: features as float32 in its order, labels, weights; and a table that stands for X."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray
from tqdm import tqdm

from formulations.arguments import Column
from formulations.errors import BrokenFileError, InterruptedSolveError, InvalidInputError, PruneModelsError, UnsupportedModelError
from formulations.instance.cost_sample import check_largest, weights_as_numbers
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import as_rows
from formulations.shown import row_of
from prunemodels.files.csv_tables import is_damage
from prunemodels.tables.table import Chunk, ChunkedTable, check_present, column_names


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows of a table, as float32, after its `first` rows; features with names that no tree splits on are 0.

    Labels are as they are in the table, None if the reader was given none; weights are >= 0, None: 1 each.
    """

    rows: NDArray[np.float32]
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    first: int

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights, 1 each if none are given; shape (n,)."""
        return np.ones(len(self.rows)) if self.weight is None else self.weight


class Reader:
    """Reads a table for some trees, as often as the table allows; labels and weights are columns of it, or arrays."""

    def __init__(self, table: ChunkedTable, ensemble: Ensemble, *, y: Column = None, weight: Column = None) -> None:
        if ensemble.made is not None:
            raise UnsupportedModelError(
                "tables in chunks are read for forests, not for a Pipeline; give its last step, a table of transformed chunks, "
                "ChunkedTable(lambda: (pipe[:-1].transform(chunk) for chunk in chunks())), and the prices "
                "CostItems.of_made(read_forest(pipe).made.sources)"
            )
        self.table, self.ensemble = table, ensemble
        given = {what: of for what, of in (("y", y), ("sample_weight", weight)) if of is not None}
        self._columns = {what: of for what, of in given.items() if isinstance(of, str)}
        self._arrays = {what: np.asarray(of) for what, of in given.items() if not isinstance(of, str)}
        self._non_features = tuple(self._columns.values())
        self._with_features = True
        self._used = np.unique(ensemble.feature[ensemble.is_split]).astype(np.int64)
        self._progress = table.progress
        names = table.source.columns
        self._names = None if names is None else self._feature_columns(list(names))
        for what, values in self._arrays.items():
            if table.n_rows is not None:
                self._check_length(what, values, table.n_rows)

    def without_features(self) -> Reader:
        """A reader of labels and weights only."""
        other = copy(self)
        other._with_features = False
        return other

    def without_labels(self, *, quiet: bool) -> Reader:
        """A reader of features only; a `quiet` one shows no progress."""
        other = copy(self)
        other._columns, other._arrays, other._progress = {}, {}, other._progress and not quiet
        return other

    @property
    def n_rows(self) -> int | None:
        """Number of rows of the table; None if it is not known."""
        return self.table.n_rows

    def each(self, what: str, do: Callable[[RowBlock], None]) -> int:
        """Read the table once, call `do` with each block, and return the number of rows."""
        read = 0
        try:
            for block in self.blocks(what):
                do(block)
                read = block.first + len(block.rows)
        except KeyboardInterrupt as stop:
            raise InterruptedSolveError(f"interrupted while {what}, after {read:,} rows; nothing was kept") from stop
        return read

    def blocks(self, what: str) -> Iterator[RowBlock]:
        """Read the table once, block by block; `what` names the activity in the progress bar."""
        read = 0
        with tqdm(
            total=self.n_rows, desc=what, unit=" rows", file=sys.stderr, leave=False, disable=not self._progress, delay=1
        ) as bar:
            for chunk in self._raw_chunks():
                if chunk.shape[0]:
                    yield self._block(chunk, read)
                    read += chunk.shape[0]
                    bar.update(chunk.shape[0])
        self._check_end(read)

    def _raw_chunks(self) -> Iterator[Any]:
        """Chunks as the source gives them; checks before each that the source's files have not changed."""
        table = self.table
        needed = None
        if self._names is not None:
            features = [self._names[j] for j in self._used] if self._with_features else []
            needed = [*features, *self._columns.values()] or [self._names[0]]
        # an error of a file that changed meanwhile is told as the change, other damage as what it is
        chunks = table.source.chunks(needed, table.chunk_rows)
        while True:
            table.unchanged.check()
            try:
                chunk = next(chunks, None)
            except Exception as error:
                if table.source.own_code or isinstance(error, PruneModelsError):
                    raise
                table.unchanged.check()
                if not is_damage(error):
                    raise
                raise BrokenFileError(
                    f"{table.source.name} cannot be read to its end ({type(error).__name__}: {str(error).strip()})"
                ) from error
            if chunk is None:
                return
            chunk = _table_or_array(chunk)
            if len(chunk.shape) != 2:
                raise InvalidInputError(
                    f"{table.source.name} holds a chunk of shape {tuple(chunk.shape)}; give chunks of shape (rows, features)"
                )
            yield chunk

    def _block(self, raw: Any, first: int) -> RowBlock:
        """One chunk as float32, with its labels and weights."""
        last = first + raw.shape[0]
        source = self.table.source.name
        named = _has_names(raw)
        if not named and self._columns:
            what, column = next(iter(self._columns.items()))
            raise InvalidInputError(f"{what} is the column {column!r}, {source} has no names; give an array, one entry a row")
        chunk = Chunk(raw, source, first) if named else None
        rows = self._features(raw, chunk, first) if self._with_features else np.empty((raw.shape[0], 0), dtype=np.float32)
        y = self._labels_or_weights("y", chunk, first, last)
        weight = self._labels_or_weights("sample_weight", chunk, first, last)
        return RowBlock(rows, y, None if weight is None else self._checked_weights(weight, first), first)

    def _features(self, raw: Any, chunk: Chunk | None, first: int) -> NDArray[np.float32]:
        """The rows as float32, with the features in the trees' order."""
        if chunk is None:
            return as_rows(raw, self.ensemble.n_features, self.table.source.name, first)
        return chunk.features(self._names or self._feature_columns(column_names(chunk.rows)), self._used)

    def _labels_or_weights(self, what: str, chunk: Chunk | None, first: int, last: int) -> NDArray[Any] | None:
        """Labels or weights (`what`) of one chunk, the rows `first` to `last` of the table; None if there are none."""
        if chunk is not None and what in self._columns:
            name = self._columns[what]
            return chunk.values(name) if what == "y" else chunk.numbers(name, np.float64)
        if what not in self._arrays:
            return None
        values = self._arrays[what][first:last]
        if len(values) < last - first:
            self._check_length(what, self._arrays[what], last)
        return values

    def _checked_weights(self, weight: NDArray[Any], first: int) -> NDArray[np.float64]:
        """The weights as float64; refuses weights that are not finite and >= 0."""
        where = f"the column {self._columns['sample_weight']!r}" if "sample_weight" in self._columns else "sample_weight"
        return weights_as_numbers(weight, "sample_weight", lambda i: f"{row_of(self.table.source.name, first + i)}: {where}")

    def _check_length(self, what: str, values: NDArray[Any], n_rows: int) -> None:
        if values.ndim != 1 or len(values) != n_rows:
            raise InvalidInputError(
                f"{what} has shape {values.shape}, {self.table.source.name} has {n_rows:,} rows or more: give one entry each"
            )

    def _check_end(self, read: int) -> None:
        """Check, after the last chunk, that the numbers of rows agree and that no file changed."""
        self.table.unchanged.check()
        source = self.table.source.name
        if not read:
            raise InvalidInputError(f"{source} holds no examples; give at least one row")
        if self.n_rows is not None and read != self.n_rows:
            raise BrokenFileError(f"{source} gave {read:,} rows, but announced {self.n_rows:,}; write it again")
        for what, values in self._arrays.items():
            self._check_length(what, values, read)

    def _feature_columns(self, there: list[str]) -> tuple[str, ...]:
        """The names of the columns that are the forest's features, in its order."""
        source, n_features = self.table.source.name, self.ensemble.n_features
        non_features = self._non_features
        chosen = self.table.columns if self.table.columns is not None else self.ensemble.feature_names
        names = tuple(str(c) for c in (chosen if chosen is not None else [c for c in there if c not in non_features]))
        if len(names) != n_features:
            raise InvalidInputError(
                f"{source} has {len(names)} columns for features, the forest was trained on {n_features}, without names; "
                "name its columns, in the order of training: ChunkedTable(..., columns=[...])"
                if chosen is None
                else f"columns has {len(names)} names, the forest was trained on {n_features} features"
            )
        check_present([*names, *non_features], there, source)
        return names


def _table_or_array(chunk: Any) -> Any:
    """A chunk as a pandas or Arrow table; an array if it has no names, such as a list of rows."""
    if _has_names(chunk):
        return chunk
    if hasattr(chunk, "__arrow_c_stream__"):
        return pa.table(chunk)
    return chunk if hasattr(chunk, "shape") else np.asarray(chunk)


def _has_names(chunk: Any) -> bool:
    return hasattr(chunk, "iloc") or isinstance(chunk, (pa.Table, pa.RecordBatch))


def labels_of(block: RowBlock) -> NDArray[Any]:
    """The block's labels."""
    if block.y is None:
        raise InvalidInputError("y is None; give the name of the column of labels, or an array with one label a row")
    return block.y


def weights_of(blocks: Sequence[NDArray[np.float64]], source: str) -> NDArray[np.float64]:
    """The weights of all blocks, checked as a whole."""
    weights = np.concatenate(blocks)
    check_largest(weights, f"{source}: sample_weight")
    return weights


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
