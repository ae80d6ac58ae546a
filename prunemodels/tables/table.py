"""Tables that are read in chunks of rows: where the chunks come from, and their columns in the form that a forest needs.

A chunk is an Arrow table or batch, a pandas table, or an array without names. NaN and empty cells are missing values in
features; in labels and weights they are refused. Error messages count the rows of the whole table from 1.

Sources are Parquet and Arrow files, CSV, tables in memory, memory maps, and chunks that the user's code yields. A source knows
its columns and its number of rows if they can be had without reading the table. It gives its chunks again for every pass, if it
can, and checks that files do not change meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray
from pyarrow import parquet

from formulations.arguments import Count, checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.shown import row_of
from formulations.sparse_arrays import check_sparse
from prunemodels.data_files import first_word, shown
from prunemodels.files.csv_tables import columns_of_csv, csv_chunks, reading_table
from prunemodels.number_columns import Marks
from prunemodels.written_numbers import Mark, without_missing_words


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of the table `source`, after its `first` rows: an Arrow table or batch, or a pandas table."""

    rows: Any
    source: str
    first: int

    def place(self, i: int) -> str:
        """Where row i of the chunk is, for error messages."""
        return row_of(self.source, self.first + i)

    def features(self, names: Sequence[str], used: NDArray[np.int64]) -> NDArray[np.float32]:
        """The named columns in the order of `names`. Only those at the places `used` are read; the others are 0."""
        rows = np.zeros((self.rows.shape[0], len(names)), dtype=np.float32)
        for j in used.tolist():
            numbers = self.numbers(names[j])
            infinite = np.flatnonzero(np.isinf(numbers))
            if infinite.size:
                raise InvalidInputError(
                    f"{self.place(infinite[0])}: the column {names[j]!r} is infinite as a float32; scikit-learn refuses to "
                    "route it: clip it or use NaN"
                )
            rows[:, j] = numbers
        return rows

    def numbers(self, name: str, kind: type[np.float32] | type[np.float64] = np.float32) -> NDArray[Any]:
        """One column as floats, NaN where a cell is empty."""
        column = self._column(name)
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            return _arrow_numbers(column, name, self.source, kind)
        if getattr(column.dtype, "kind", "O") in "mMc":  # pandas would turn times into nanoseconds, and drop imaginary parts
            raise InvalidInputError(_no_numbers(self.source, name, column.dtype))
        column = without_missing_words(column)
        try:
            with np.errstate(over="ignore"):
                return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))
        except (TypeError, ValueError) as error:
            i = first_word(column) or 0
            raise InvalidInputError(
                f"{self.place(i)}: the column {name!r} holds {column.iloc[i]!r}, not a number; encode it as the training data was"
            ) from error

    def values(self, name: str) -> NDArray[Any]:
        """One column with its values unchanged; no cell may be empty."""
        column = self._column(name)
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = pd.Series(column.to_pandas())
        empty = np.flatnonzero(column.isna())
        if empty.size:
            raise InvalidInputError(f"{self.place(empty[0])}: no value of {name!r}; fill it or drop the row")
        return np.asarray(column.to_numpy())

    def _column(self, name: str) -> Any:
        """The column of that name: an Arrow array or a pandas column."""
        names = column_names(self.rows)
        check_present([name], names, self.source)
        k = names.index(name)
        return self.rows.iloc[:, k] if hasattr(self.rows, "iloc") else self.rows.column(k)


def column_names(rows: Any) -> list[str]:
    """The columns of a pandas or Arrow table."""
    return [str(c) for c in (rows.columns if hasattr(rows, "iloc") else rows.schema.names)]


def check_present(wanted: Sequence[str], names: Sequence[str], source: str) -> None:
    """Check that each wanted column exists exactly once."""
    have = set(names)
    absent = [n for n in wanted if n not in have]
    if absent:
        others = "" if len(absent) == 1 else f" ({len(absent)} are missing)"
        raise InvalidInputError(f"{source} has no column {absent[0]!r}{others}; it has {shown(names)}")
    if len(have) < len(names):
        twice = next((n for n in wanted if list(names).count(n) > 1), None)
        if twice is not None:
            raise InvalidInputError(f"{source} has the column {twice!r} more than once; rename one of them")


def _arrow_numbers(column: Any, name: str, source: str, kind: type[np.float32] | type[np.float64]) -> NDArray[Any]:
    """An Arrow column as floats, with the same result as in pandas."""
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numeric = pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held)
    if not (numeric or pa.types.is_boolean(held) or pa.types.is_null(held)):
        kind_of = f"categories of {held}" if held is not column.type else held
        raise InvalidInputError(_no_numbers(source, name, kind_of))
    if held is not column.type:
        column = pc.cast(column, held)
    target = pa.float32() if kind is np.float32 else pa.float64()
    return np.asarray(pc.cast(column, target, safe=False).to_numpy(zero_copy_only=False), dtype=kind)


def _no_numbers(source: str, name: str, held: object) -> str:
    return f"{source}: the column {name!r} holds {held}, not numbers; encode it as the training data was"


ARROW_FORMATS = {".parquet": "parquet", ".feather": "feather", ".arrow": "feather", ".ipc": "feather"}

ENDINGS = (*ARROW_FORMATS, ".csv", ".csv.gz")


@dataclass(frozen=True, eq=False)
class Source:
    """A table that gives its rows in chunks."""

    name: str  # the source's name in error messages
    # takes the wanted columns (None: all) and a number of rows. Yields arrays, or Arrow or pandas tables with at least these
    # columns, of about this number of rows if the source can choose it.
    chunks: Callable[[Sequence[str] | None, int], Iterator[Any]]
    # names of the columns; None if there are none, or if they are not known before the first chunk.
    columns: tuple[str, ...] | None = None
    n_rows: int | None = None  # number of rows; None if it is not known before the end
    files: tuple[Path, ...] = ()  # files that must not change while the table is read
    again: bool = True  # whether a second pass is possible
    own_code: bool = False  # whether the user's own code makes the chunks; its exceptions are passed on unchanged


def open_source(given: Any, decimal: Mark | None = None) -> Source:
    """The source of any table that `prunemodels.tables.table.ChunkedTable` accepts."""
    if isinstance(given, str) and "://" in given:
        raise InvalidInputError(f"{given} is not a local file; give pyarrow.dataset.dataset({given!r})")
    if isinstance(given, (str, Path)):
        return _of_file(Path(given), decimal)
    if isinstance(given, (pa.Table, pa.RecordBatch)):
        given = ds.dataset(given)
    if isinstance(given, ds.Dataset):
        return _of_dataset(given, "the Arrow dataset")
    if hasattr(given, "toarray") or (hasattr(given, "shape") and len(given.shape) == 2):
        return _in_memory(given)
    if (isinstance(given, Iterable) and not isinstance(given, (Mapping, np.ndarray))) or callable(given):
        once = isinstance(given, Iterator) or hasattr(given, "read_next_batch")
        return Source("the stream of chunks", partial(_own_chunks, given), again=not once, own_code=True)
    what = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
    raise InvalidInputError(
        f"{what} is no table; give a file ({', '.join(ENDINGS)}), a folder of Parquet files, a pyarrow Dataset, "
        "an array of shape (rows, features), or an iterable of chunks"
    )


def _of_file(place: Path, decimal: Mark | None) -> Source:
    ending = ".parquet" if place.is_dir() else next((e for e in ENDINGS if place.name.lower().endswith(e)), None)
    if ending is None:
        raise InvalidInputError(f"{place} is no table that can be read; give a file ending in {', '.join(ENDINGS)}")
    if not os.path.exists(place):
        raise BrokenFileError(f"there is no file {place}")
    if place.is_dir() and not any(place.rglob("*")):
        raise BrokenFileError(f"there is no Parquet file in the folder {place}")
    with reading_table(place):
        if ending in ARROW_FORMATS:
            found = _of_dataset(ds.dataset(place, format=ARROW_FORMATS[ending]), str(place))
            return found if ending != ".parquet" else replace(found, chunks=partial(_parquet_chunks, found.files))
        header = columns_of_csv(place)
    marks = Marks(said=decimal, remedy="give ChunkedTable(..., decimal='point') or decimal='comma'")
    return Source(str(place), partial(_csv_chunks, place, marks), tuple(header), files=(place,))


def _of_dataset(dataset: Any, name: str) -> Source:
    """An Arrow dataset: files on any file system, or a table in memory. Its rows are counted if its files store their number."""
    kind = getattr(getattr(dataset, "format", None), "default_extname", "")
    files = (Path(file) for file in getattr(dataset, "files", ()))
    local = tuple(file for file in files if os.path.exists(file))  # the others are on other file systems
    n_rows = None if kind in ("csv", "json") else int(dataset.count_rows())
    return Source(name, partial(_arrow_chunks, dataset), tuple(dataset.schema.names), n_rows, local)


def _in_memory(rows: Any) -> Source:
    """An array or memory map, or a pandas, polars or sparse table."""
    names = getattr(rows, "columns", None)
    files = (Path(rows.filename),) if isinstance(rows, np.memmap) and rows.filename is not None else ()
    check_sparse(rows, "the table")
    rows = rows.tocsr() if hasattr(rows, "tocsr") else rows
    columns = None if names is None else tuple(str(c) for c in names)
    return Source("the table", partial(_slices, rows), columns, int(rows.shape[0]), files)


def _parquet_chunks(files: Sequence[Path], columns: Sequence[str] | None, size: int) -> Iterator[Any]:
    """Batches in the order of the files, each decoded when asked for, from pieces of 256 KiB of each column.

    A dataset, or a file without a buffer, would decode whole row groups in advance.
    """
    wanted = None if columns is None else list(dict.fromkeys(columns))
    for place in files:
        with parquet.ParquetFile(place, buffer_size=2**18, pre_buffer=False) as file:
            if wanted is not None:
                check_present(wanted, file.schema_arrow.names, str(place))
            yield from file.iter_batches(batch_size=size, columns=wanted, use_threads=False)


def _arrow_chunks(dataset: Any, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
    """Batches in the order of the files; some row groups may be read in advance."""
    wanted = None if columns is None else list(dict.fromkeys(columns))
    yield from dataset.to_batches(columns=wanted, batch_size=size, batch_readahead=1, fragment_readahead=0)


def _csv_chunks(file: Path, marks: Marks, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
    """All columns, because pandas has to parse them anyway."""
    del columns
    yield from csv_chunks(file, size, marks)


def _slices(table: Any, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
    """All columns, because they are in memory anyway."""
    del columns
    rows = getattr(table, "iloc", table)
    for first in range(0, table.shape[0], size):
        yield rows[first : first + size]


def _own_chunks(given: Any, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
    """The user's chunks, of whatever size: from an iterable, or from a function that returns one."""
    del columns, size
    yield from given if isinstance(given, Iterable) else given()


Stamp = tuple[int, int, int]
"""Size in bytes, time of the last change in nanoseconds, and inode number of a file."""


@dataclass(frozen=True)
class Unchanged:
    """Files, and their sizes and times of change when they were opened."""

    stamps: tuple[tuple[Path, Stamp], ...]

    @classmethod
    def of(cls, files: Sequence[Path]) -> Unchanged:
        """Record the state of the files."""
        return cls(tuple((file, _stamp(file)) for file in files))

    def check(self) -> None:
        """Compare the files with their recorded state."""
        for file, was in self.stamps:
            now = _stamp(file)
            if now != was:
                sizes = f"from {was[0]:,} to {now[0]:,} bytes" if now[0] != was[0] else "though not its size"
                raise BrokenFileError(f"{file} changed, {sizes}, since it was opened; start again when nothing writes to it")


def _stamp(file: Path) -> Stamp:
    try:
        seen = os.stat(file)
    except OSError as error:
        raise BrokenFileError(f"there is no file {file} ({error.strerror})") from error
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


@checked
@dataclass(frozen=True, eq=False)
class ChunkedTable:
    """A table of examples that may be larger than memory: its source, and how it is read.

    Parameters
    ----------
    given
        - a file ``.parquet``, ``.feather``, ``.arrow``, ``.csv``, ``.csv.gz``, or a folder of Parquet files;
        - a pyarrow Dataset or Table;
        - an array (a NumPy memmap, say), a sparse matrix, a pandas or polars table;
        - an iterable of chunks, each an array or a pandas, polars or Arrow table, or a function that returns such an iterable.
          Functions and lists can be read several times, which `evaluate_path` needs; iterators only once.
    columns
        names of the columns that are the forest's features, in its order. Default: the names that the forest was trained with,
        in any order; if it has none, all columns but labels and weights.
    chunk_rows
        number of rows to read at a time; chunks of an iterable keep their sizes.
    progress
        show a progress bar on stderr at each pass.
    decimal
        what stands before the decimals of a CSV file's numbers, ``"point"`` or ``"comma"``, where its first 10,000 rows leave it
        open: 3.477 may be 3477.

    Raises
    ------
    InvalidInputError
        for anything that is not a table, and for less than one row a chunk.
    BrokenFileError
        for a file that is absent or damaged.

    Notes
    -----
    A file that changes while it is read raises an error. Features that no tree splits on are not read, except from CSV files.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid
    >>> table = pm.tables.ChunkedTable(X_valid, chunk_rows=50)
    >>> table
    ChunkedTable(the table, 150 rows)
    >>> table.n_rows
    150
    """

    given: Any
    columns: Sequence[str] | None = None
    chunk_rows: Count = 65_536
    progress: bool = False
    decimal: Mark | None = None
    source: Source = field(init=False, repr=False)
    unchanged: Unchanged = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [] if self.columns is None else list(self.columns)
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise InvalidInputError(f"columns has {twice[0]!r} more than once; give one column for each feature")
        if isinstance(self.given, ChunkedTable):
            raise InvalidInputError("given is a ChunkedTable already; use it as it is")
        source = open_source(self.given, self.decimal)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "unchanged", Unchanged.of(source.files))

    @property
    def n_rows(self) -> int | None:
        """Number of rows of the table; None if it is known only after a pass (CSV, iterables)."""
        return self.source.n_rows

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f", {self.n_rows:,} rows"
        return f"ChunkedTable({self.source.name}{rows})"


Table = ChunkedTable | str | Path | Any
"""A `ChunkedTable`, or anything that one can be made of."""


def as_chunked(table: Table) -> ChunkedTable:
    """The table as a `ChunkedTable`."""
    return table if isinstance(table, ChunkedTable) else ChunkedTable(table)
