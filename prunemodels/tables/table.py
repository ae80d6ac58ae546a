"""A table that is read in chunks of rows, and a check that its files do not change while they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formulations.arguments import Count, checked
from formulations.errors import BrokenFileError, InvalidInputError
from prunemodels.tables.sources import Source, open_source

Stamp = tuple[int, int, int]
"""Size in bytes, time of the last change in nanoseconds, and inode number of a file."""


@dataclass(frozen=True)
class Unchanged:
    """Files, and their sizes and times of change when they were opened."""

    stamps: tuple[tuple[Path, Stamp], ...]

    @classmethod
    def of(cls, files: Sequence[Path]) -> Unchanged:
        """Record the state of the files.

        Raises
        ------
        BrokenFileError
            if a file is absent.
        """
        return cls(tuple((file, _stamp(file)) for file in files))

    def check(self) -> None:
        """Compare the files with their recorded state.

        Raises
        ------
        BrokenFileError
            for a file that changed or is absent.
        """
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


CHUNK_ROWS = 65_536


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
    chunk_rows: Count = CHUNK_ROWS
    progress: bool = False
    source: Source = field(init=False, repr=False)
    unchanged: Unchanged = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [] if self.columns is None else list(self.columns)
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise InvalidInputError(f"columns has {twice[0]!r} more than once; give one column for each feature")
        if isinstance(self.given, ChunkedTable):
            raise InvalidInputError("given is a ChunkedTable already; use it as it is")
        source = open_source(self.given)
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
