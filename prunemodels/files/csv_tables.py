"""CSV files, read whole or in chunks, by one rule.

    the header names each column once; every row below has as many fields as the header                                   (1)

pandas by itself shifts all columns of a row that has a field too many, and fills a row that has too few. So the bytes are checked
on their way to pandas. A field in quotes may hold commas and line breaks; empty lines do not count. The check counts separators
with numpy, which takes about a third of the time that pandas takes. Only where it finds a row that differs, or a quote within a
field, Python's own reader goes through the file: it finds the line, and is right about all quotes.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError

BLOCK = 1 << 20
"""Bytes that are checked at a time."""

COMMA, QUOTE, LINE_FEED, RETURN = b',"\n\r'


def read_csv(place: Path, as_text: Collection[str] = (), as_names: Collection[str] = ()) -> pd.DataFrame:
    """The table in a CSV file (.csv, .csv.gz); some columns stay text, with NaN for empty cells and for NA, None, nan ...

    Names are what is written: a column may be called NA, or 01.

    Raises
    ------
    InvalidInputError
        see `check_header`.
    BrokenFileError
        for a row with another number of fields than the header, and a file that is damaged.
    """
    names = read_header(place)
    with _opened(place, names) as rows:
        marked = dict.fromkeys(as_names, "'{}".format)  # pandas takes NA for a gap even where a converter answers it
        table = pd.read_csv(rows, index_col=False, dtype=dict.fromkeys(as_text, object) or None, converters=marked or None)
    for name in table.columns.intersection([*as_names]):
        table[name] = table[name].str[1:]
    return table


def csv_chunks(place: Path, size: int) -> Iterator[pd.DataFrame]:
    """The table in a CSV file, `size` rows at a time.

    Raises
    ------
    InvalidInputError, BrokenFileError
        as `read_csv`.
    """
    names = read_header(place)
    with _opened(place, names) as rows, pd.read_csv(rows, index_col=False, chunksize=size, low_memory=False) as reader:
        yield from reader


def read_header(place: Path) -> list[str]:
    """The names of the columns; empty for a file without any line.

    Raises
    ------
    InvalidInputError
        see `check_header`.
    """
    with _text(place) as text:
        names = next((fields for _, fields in _rows(text)), [])
    check_header(names, str(place))
    return names


def columns_of_csv(place: Path) -> list[str]:
    """The names of the columns as the tables of `csv_chunks` have them: pandas makes names for those without one.

    Raises
    ------
    InvalidInputError, BrokenFileError
        as `read_csv`.
    """
    names = read_header(place)
    with _opened(place, names) as rows:
        return [str(name) for name in pd.read_csv(rows, index_col=False, nrows=0).columns]


def check_header(names: Sequence[str], source: str) -> None:
    """Refuse names of columns that are all numbers, because then the header is missing, and two columns of one name.

    Raises
    ------
    InvalidInputError
        with the first row, or the column and its two places. Several columns without a name are no error.
    """
    if names and all(_is_number(name) for name in names):
        raise InvalidInputError(f"{source} has no header row (its first row is {list(names[:3])}, ...); name the columns there")
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if name and name in first:
            raise InvalidInputError(
                f"{source} names the column {name!r} twice, in the places {first[name] + 1} and {k + 1} of its header; "
                "rename or drop one of them"
            )
        first[name] = k


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class CheckedRows(io.RawIOBase):
    """The bytes of a CSV file, which raise an error before they give a row that violates (1).

    Parameters
    ----------
    place
        of the file.
    names
        its header.
    """

    def __init__(self, place: Path, names: Sequence[str]) -> None:
        self._place, self._names = place, names
        self._file = _binary(place)
        self._decided = False  # whether Python's reader has been through the file
        self._quoted = False  # whether the next byte is inside of quotes
        self._separators = 0  # in the row that the next byte continues
        self._length = 0  # of that row in bytes
        self._last = LINE_FEED

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read, and check what was read."""
        n = self._file.readinto(buffer)
        if not self._decided:
            block = np.frombuffer(buffer, dtype=np.uint8, count=n)
            if not (self._agree(block) if n else self._ends_well()):
                check_every_row(self._place, self._names)
                self._decided = True
        return int(n)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()

    def _agree(self, block: NDArray[np.uint8]) -> bool:
        """Whether all rows that end in the block have as many fields as the header; False also where quotes leave it open."""
        separator, ends = block == COMMA, (block == LINE_FEED) | (block == RETURN)
        quote = block == QUOTE
        if self._quoted or quote.any():
            inside = (np.cumsum(quote, dtype=np.int64) + self._quoted) % 2 == 1
            if not self._open_fields(block, quote & inside):
                return False
            self._quoted = bool(inside[-1])
            separator &= ~inside
            ends &= ~inside
        self._last = int(block[-1])
        stop = np.flatnonzero(ends)
        if not stop.size:
            self._separators += int(np.count_nonzero(separator))
            self._length += block.size
            return True
        start = np.concatenate(([0], stop[:-1] + 1))
        length = stop - start  # without the line's end
        separators = np.add.reduceat(separator.view(np.int8), start, dtype=np.int32)
        length[0] += self._length
        separators[0] += self._separators
        self._separators = int(np.count_nonzero(separator[stop[-1] + 1 :]))
        self._length = block.size - int(stop[-1]) - 1
        separators[-1] -= self._separators  # the last sum ran to the end of the block, where the next row has begun
        return bool(((separators == len(self._names) - 1) | (length == 0)).all())

    def _open_fields(self, block: NDArray[np.uint8], opening: NDArray[np.bool_]) -> bool:
        """Whether every quote that opens stands at the start of a field, or repeats the one before it, which it takes back."""
        before = np.concatenate(([self._last], block[:-1]))[opening]
        return bool(np.isin(before, (COMMA, QUOTE, LINE_FEED, RETURN)).all())

    def _ends_well(self) -> bool:
        """Whether the last row, which no line end may close, has as many fields as the header."""
        return self._length == 0 or self._separators == len(self._names) - 1


def check_every_row(place: Path, names: Sequence[str]) -> None:
    """Go through a file with Python's own reader.

    Raises
    ------
    BrokenFileError
        at the first row with another number of fields than the header.
    """
    with _text(place) as text:
        for line, fields in _rows(text):
            if len(fields) != len(names):
                found = f"{len(fields)} field{'s' * (len(fields) != 1)}"
                columns = f"{len(names)} column{'s' * (len(names) != 1)}"
                raise BrokenFileError(
                    f"{place}, line {line:,}, has {found}, but the header names {columns}: {_shown(fields)}; write one field for "
                    "each column, nothing between two commas where a value is missing, and quotes around text with a comma"
                )


def _rows(text: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its last line."""
    limit = csv.field_size_limit(1 << 30)
    try:
        reader = csv.reader(text)
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        raise BrokenFileError(f"{text.name}, line {reader.line_num:,}: {error}; write the file again") from error
    finally:
        csv.field_size_limit(limit)


def _shown(fields: Sequence[str], most: int = 60) -> str:
    row = ",".join(fields)
    return repr(row) if len(row) <= most else f"{row[:most]!r}..."


def _opened(place: Path, names: Sequence[str]) -> io.BufferedReader:
    return io.BufferedReader(CheckedRows(place, names), BLOCK)


def _binary(place: Path) -> io.BufferedReader | gzip.GzipFile:
    return gzip.GzipFile(place, "rb") if place.name.lower().endswith(".gz") else place.open("rb")


def _text(place: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(_binary(place), encoding="utf-8-sig", newline="")
