"""CSV files as people have them, read whole or in chunks, by one rule.

    the header names each column once; every row below has as many fields as the header                                   (1)

Fields are separated by what separates most names of the header: commas, semicolons or tabs. What numbers are written like is the
matter of `prunemodels.number_columns`. Bytes that are no UTF-8 are taken for Windows-1252, the Latin-1 of spreadsheets.

pandas by itself shifts all columns of a row that has a field too many, and fills a row that has too few. So the bytes are
checked on their way to pandas. A field in quotes may hold separators and line breaks; empty lines do not count. The check counts
separators with numpy, which takes about a third of the time that pandas takes. Only where it finds a row that differs, or a
quote within a field, Python's own reader goes through the file: it finds the line, and is right about all quotes.

Libraries raise almost anything for a damaged file, so the type of an error tells little. The place tells more: an error of a
library's own code is about the file, and one that a line of ours raised is ours, unless it is of a type that only reading raises.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import traceback
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError, PruneModelsError
from prunemodels.number_columns import Marks, has_decimal_commas, points_decide, read_numbers
from prunemodels.written_numbers import Mark

BLOCK = 1 << 20
"""Bytes that are checked at a time."""

WINDOWS = "prunemodels.windows-1252"
"""The name under which Python's decoders know what is done with bytes that are no UTF-8."""

codecs.register_error(WINDOWS, lambda error: (error.object[error.start : error.end].decode("cp1252", "replace"), error.end))  # type: ignore[attr-defined]

QUOTE, LINE_FEED, RETURN = b'"\n\r'

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}

NO_WORDS = {"keep_default_na": False, "na_values": [""], "low_memory": False}
"""Have pandas leave words for missing values to `prunemodels.written_numbers`, and read every column as a whole."""

SAMPLE_ROWS = 10_000
"""Rows that decide how the numbers of a table are written that is read in chunks."""


@dataclass(frozen=True)
class Layout:
    """How a file is written: the names in its header, and what separates fields."""

    names: list[str]
    separator: str


def layout_of(place: Path) -> Layout:
    """How a CSV file is written; no names for a file without any line."""
    with _text(place) as text:
        head = next((line for line in text if line.strip()), "")
    counts = {mark: len(next(csv.reader([head], delimiter=mark), [])) for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: counts[mark])  # the first, a comma, where there are as many
    with _text(place) as text:
        names = next((fields for _, fields in _rows(text, separator)), [])
    check_header(names, str(place))
    return Layout(names, separator)


def read_csv(
    place: Path, marks: Marks, *, as_text: Collection[str] = (), as_names: Collection[str] = (), skip: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """The table in a CSV file (.csv, .csv.gz), and what was taken for numbers, see `prunemodels.number_columns.read_numbers`.

    Names are what is written: a column may be called NA, or 01.
    """
    layout = layout_of(place)
    marked = dict.fromkeys(as_names, "'{}".format)  # pandas takes NA for a gap even where a converter answers it
    kinds = dict.fromkeys(as_text, object)
    table, marks = _with_text(place, layout, marks, dtype=kinds or None, converters=marked or None)
    for name in table.columns.intersection([*as_names]):
        table[name] = table[name].str[1:]
    skip = {*as_names, *skip}
    found, _, told = read_numbers(table, str(place), marks, as_text=as_text, skip=skip)
    return found, told


def _with_text(place: Path, layout: Layout, marks: Marks, **options: Any) -> tuple[pd.DataFrame, Marks]:
    """The table as pandas reads it, and what its points decide; numbers are text where a point in them may be for thousands."""
    with _opened(place, layout) as rows:
        table: pd.DataFrame = pd.read_csv(rows, **options, **_options(layout))
    marks = replace(marks, points=layout.separator == ",")
    if marks.points and not any(has_decimal_commas(column) for _, column in table.items()):
        return table, marks
    decided: dict[str, Mark] = {}
    for most in (SAMPLE_ROWS, options.get("nrows")):  # the first rows decide nearly always
        floats = [
            k for k, kind in enumerate(table.dtypes) if pd.api.types.is_float_dtype(kind) and table.columns[k] not in decided
        ]
        if floats:
            with _opened(place, layout) as rows:
                texts = pd.read_csv(rows, nrows=most, dtype=object, usecols=floats, **_options(layout))
            decided |= {str(name): "point" for name in texts.columns if points_decide(texts[name])}
            if len(texts) == len(table):
                for name in texts.columns.difference([*decided]):
                    table[name] = texts[name]
    return table, replace(marks, columns=decided, others=frozenset(decided.values()))


def csv_chunks(place: Path, size: int, marks: Marks) -> Iterator[pd.DataFrame]:
    """The table in a CSV file, `size` rows at a time; its first rows decide how numbers are written."""
    layout = layout_of(place)
    table, marks = _with_text(place, layout, marks, nrows=SAMPLE_ROWS)
    sample, marks, _ = read_numbers(table, str(place), marks)
    plain = "comma" not in marks.others and (marks.points or "point" in marks.others)  # numbers are what pandas reads
    kinds = (
        {} if plain else {name: object for name, kind in sample.dtypes.items() if pd.api.types.is_any_real_numeric_dtype(kind)}
    )
    first = 0
    with _opened(place, layout) as rows, pd.read_csv(rows, chunksize=size, dtype=kinds or None, **_options(layout)) as reader:
        for chunk in reader:
            yield read_numbers(chunk, str(place), marks, first=first)[0]
            first += len(chunk)


def columns_of_csv(place: Path) -> list[str]:
    """The names of the columns as the tables of `csv_chunks` have them: pandas makes names for those without one."""
    layout = layout_of(place)
    with _opened(place, layout) as rows:
        return [str(name) for name in pd.read_csv(rows, nrows=0, **_options(layout)).columns]


def _options(layout: Layout) -> dict[str, Any]:
    """What pandas needs to read a file of this layout."""
    return {"index_col": False, "sep": layout.separator, "encoding_errors": WINDOWS} | NO_WORDS


def check_header(names: Sequence[str], source: str) -> None:
    """Refuse names of columns that are all numbers, because then the header is missing, and two columns of one name."""
    if names and all(is_number(name) for name in names):
        raise InvalidInputError(f"{source} has no header row (its first row is {list(names[:3])}, ...); name the columns there")
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if name and name in first:
            raise InvalidInputError(
                f"{source} names the column {name!r} twice, in the places {first[name] + 1} and {k + 1} of its header; "
                "rename or drop one of them"
            )
        first[name] = k


def is_number(text: str) -> bool:
    """Whether Python takes the text for a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class _CheckedRows(io.RawIOBase):
    """The bytes of a CSV file of this layout, which raise an error before they give a row that violates (1)."""

    def __init__(self, place: Path, layout: Layout) -> None:
        self._place, self._layout, self._names = place, layout, layout.names
        self._file = _binary(place)
        self._mark = ord(layout.separator)
        self._decided = False  # whether Python's reader has been through the file
        self._quoted = False  # whether the next byte is inside of quotes
        self._separators = 0  # in the row that the next byte continues
        self._length = 0  # of that row in bytes
        self._last = LINE_FEED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._file.readinto(buffer)
        if not self._decided:
            block = np.frombuffer(buffer, dtype=np.uint8, count=n)
            if not (self._agree(block) if n else self._ends_well()):
                check_every_row(self._place, self._layout)
                self._decided = True
        return int(n)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def _agree(self, block: NDArray[np.uint8]) -> bool:
        """Whether all rows that end in the block have as many fields as the header; False also where quotes leave it open."""
        separator, ends = block == self._mark, (block == LINE_FEED) | (block == RETURN)
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
        return bool(np.isin(before, (self._mark, QUOTE, LINE_FEED, RETURN)).all())

    def _ends_well(self) -> bool:
        """Whether the last row, which no line end may close, has as many fields as the header."""
        return self._length == 0 or self._separators == len(self._names) - 1


def check_every_row(place: Path, layout: Layout) -> None:
    """Go through a file with Python's own reader."""
    names = layout.names
    with _text(place) as text:
        for line, fields in _rows(text, layout.separator):
            if len(fields) != len(names):
                found = f"{len(fields)} field{'s' * (len(fields) != 1)}"
                columns = f"{len(names)} column{'s' * (len(names) != 1)}"
                raise BrokenFileError(
                    f"{place}, line {line:,}, has {found}, but the header names {columns}: {_shown(fields, layout.separator)}; "
                    + _remedy(fields, layout)
                )


def _remedy(fields: Sequence[str], layout: Layout) -> str:
    """What to do about a row with another number of fields than the header."""
    row, mark, n = layout.separator.join(fields), layout.separator, len(layout.names) - 1
    other = next((m for m in SEPARATORS if m != mark and row.count(m) == n > 0 == row.count(mark)), None)
    if other is not None:
        return f"it separates fields by {SEPARATORS[other]}, the header by {SEPARATORS[mark]}: use one of them throughout"
    decimal = "; or, if it has decimal commas, write decimal points, or separate all fields of the file by semicolons"
    return (
        f"write one field for each column, nothing between two {SEPARATORS[mark]} where a value is missing, and quotes around "
        f"text with a {SEPARATORS[mark][:-1]}{decimal * (mark == ',' and len(fields) > len(layout.names))}"
    )


def _rows(text: IO[str], separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its last line."""
    limit = csv.field_size_limit(1 << 30)
    try:
        reader = csv.reader(text, delimiter=separator)
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        raise BrokenFileError(f"{text.name}, line {reader.line_num:,}: {error}; write the file again") from error
    finally:
        csv.field_size_limit(limit)


def _shown(fields: Sequence[str], separator: str, most: int = 60) -> str:
    row = separator.join(fields)
    return repr(row) if len(row) <= most else f"{row[:most]!r}..."


def _opened(place: Path, layout: Layout) -> io.BufferedReader:
    return io.BufferedReader(_CheckedRows(place, layout), BLOCK)


def _binary(place: Path) -> Any:
    file: Any = gzip.GzipFile(place, "rb") if place.name.lower().endswith(".gz") else place.open("rb")
    try:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise BrokenFileError(f"{place} is written in UTF-16; save it as CSV in UTF-8")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _text(place: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(_binary(place), encoding="utf-8-sig", errors=WINDOWS, newline="")


def text_of(place: Path) -> str:
    """All of a text file."""
    with _text(place) as text:
        return text.read()


OURS = tuple(str(Path(__file__).resolve().parents[2] / package) for package in ("formulations", "solvers", "prunemodels"))
"""The folders of this code."""

OF_READING = (OSError, EOFError, UnicodeError, zlib.error, csv.Error)
"""Errors that calls of Python's own library raise, which leave no line of theirs in a traceback."""

NEVER_OF_FILES = (MemoryError, NameError, AttributeError, AssertionError, ImportError)
"""Errors that no content of a file causes. pandas passes errors of the file object that it reads on without their place."""


def is_damage(error: Exception) -> bool:
    """Whether an error that was raised while a file was read is about the file."""
    size = re.search(r"of size (\d+) failed", str(error)) if isinstance(error, MemoryError) else None
    # a file that asks for more bytes than programs can address on common machines is damaged, whatever memory there is
    if size is not None and int(size[1]) >= 2**47:
        return True
    if isinstance(error, NEVER_OF_FILES):
        return False
    if isinstance(error, OF_READING) or type(error).__module__.partition(".")[0] in ("pandas", "pyarrow"):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and not str(Path(frames[-1].filename).resolve()).startswith(OURS)


@contextmanager
def reading_table(place: Path) -> Iterator[None]:
    """Have what pandas, pyarrow and gzip raise for a damaged table become one error that names the file."""
    try:
        yield
    except (PruneModelsError, MemoryError):
        raise
    except Exception as error:  # each has types of its own
        if not is_damage(error):
            raise
        raise BrokenFileError(f"{place} cannot be read as a table ({type(error).__name__}: {str(error).strip()})") from error
