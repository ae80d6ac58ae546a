"""Columns of tables whose cells people wrote: which are numbers, and which mark stands before their decimals.

A cell may be a number in two ways, 3.477 with a decimal point and 3477 with a decimal comma. So no cell is read by itself:

    a column's mark is what one of its cells can only mean: 57,9 has a decimal comma, 0.123 and 1,234.5 a decimal point,   (1)
        1.234.567 a decimal comma, because its points are for thousands; 900 may have either;
    else the mark of the file's other columns, where they agree; else, where commas separate fields, a point;               (2)
    else what the user says; else the column is refused with both readings.                                                (3)

A column is one of numbers if all of its cells are numbers, empty, or words for a missing value (`MISSING`), and one at least is a
number; in the same way, of dates. All other columns stay as they are. All cells of a column may have the sign of a currency, that
of per cent, or, if their numbers are many, one unit of letters behind them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from formulations.errors import InvalidInputError
from formulations.shown import row_of
from prunemodels.written_numbers import EMPTY, ISO_DATE, Mark, Number, Written, stands_for_missing, without_missing_words, written

TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
"""What pandas takes for truth values."""

FEWEST_NUMBERS = 10
"""So many distinct numbers, among words or with letters behind them, may be codes: 1a, 2a."""

_MEASURED = re.compile(r"(.*[0-9])\s*([^\W\d_]{1,6}(?:/[^\W\d_]{1,6})?)")
"""A number and a unit: 5 cm, 88 mg/dl."""

_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d\d){1,2}")
"""A date of which only the writer knows where its day stands."""

_COMMAS = "[+-]?[0-9]*,?[0-9]+(?:[eE][+-]?[0-9]+)?"
_DECIMAL_COMMA = "[+-]?(?:[0-9]{4,},[0-9]+|0[0-9]*,[0-9]+|,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,}))"
_OPEN = re.compile(r"\s*[+-]?(?:[0-9]+|[1-9][0-9]{0,2}\.[0-9]{3})\s*")

TAKEN = "taken"
"""The attribute of a table that was read: for each column of text what was taken for numbers."""


def has_decimal_commas(column: pd.Series[Any]) -> bool:
    """Whether a column of text is one of numbers, and some of them have commas."""
    if column.dtype not in (object, "str") or not any(isinstance(cell, str) and "," in cell for cell in column):
        return False
    return _Column.of(column).is_numbers


def points_decide(column: pd.Series[Any]) -> bool:
    """Whether a point in one of the cells, all of which pandas takes for numbers, can only stand before decimals."""
    return any(isinstance(cell, str) and _OPEN.fullmatch(cell) is None for cell in column)


@dataclass(frozen=True)
class Marks:
    """What is known of a file before a part of it is read: the marks of columns, and those of the others; see (1) to (3)."""

    columns: Mapping[str, Mark] = field(default_factory=dict)
    others: frozenset[Mark] = frozenset()
    points: bool = False  # whether a point is a decimal point where no cell has a comma: commas separate the fields
    said: Mark | None = None  # what the user says
    remedy: str = "say which: --decimal point or --decimal comma"


@dataclass
class _Column:
    """The distinct cells of one column of text."""

    codes: Any  # of each row the place among the distinct cells, -1 where it is empty
    cells: Sequence[Any]
    numbers: list[Written | None]
    missing: list[bool]

    @classmethod
    def of(cls, column: pd.Series[Any]) -> _Column:
        codes, cells = pd.factorize(column.astype(object))
        numbers = [written(cell) if isinstance(cell, str) else _plain(cell) for cell in cells]
        missing = [number is None and stands_for_missing(cell) for cell, number in zip(cells, numbers, strict=True)]
        if None not in numbers:
            return cls(codes, list(cells), numbers, missing)
        measured = [
            _MEASURED.fullmatch(cell.strip())
            for cell, gone in zip(cells, missing, strict=True)
            if isinstance(cell, str) and not gone
        ]
        units = {None if found is None else found[2] for found in measured}
        if len(measured) > max(FEWEST_NUMBERS, len(cells) - sum(missing) - 1) and len(units) == 1 and None not in units:
            numbers = [None if gone else _of_unit(str(cell)) for cell, gone in zip(cells, missing, strict=True)]
        return cls(codes, list(cells), numbers, missing)

    @property
    def is_numbers(self) -> bool:
        """Whether the cells are numbers beside missing ones."""
        wrong = any(number is None and not gone for number, gone in zip(self.numbers, self.missing, strict=True))
        return not wrong and any(number is not None for number in self.numbers)

    @property
    def is_dates_with_gaps(self) -> bool:
        """Whether the cells are dates beside words for missing ones."""
        dates = [isinstance(cell, str) and ISO_DATE.fullmatch(cell) is not None for cell in self.cells]
        return any(dates) and any(self.missing) and all(np.array(dates) | self.missing)

    def count(self, chosen: Sequence[bool]) -> int:
        """The number of rows with one of the chosen distinct cells."""
        return int(np.append(chosen, False)[self.codes].sum())

    @property
    def marks(self) -> set[Mark]:
        return {mark for number in self.numbers if number is not None for mark in number.marks}

    @property
    def is_open(self) -> bool:
        """Whether a cell is another number with each mark."""
        return any(number is not None and number.is_open for number in self.numbers)

    def first(self, what: str, value: Any) -> tuple[int, str, Written]:
        """The first row whose cell is such a number, with the cell and its readings."""
        found = ((k, number) for k, number in enumerate(self.numbers) if number is not None)
        k, number = next((k, number) for k, number in found if getattr(number, what) == value)
        return int(np.argmax(self.codes == k)), str(self.cells[k]).strip(), number


def _of_unit(cell: str) -> Written | None:
    """The readings of a number with a unit of letters behind it."""
    found = _MEASURED.fullmatch(cell.strip())
    number = None if found is None else written(found[1])
    if found is None or number is None or number.unit:
        return None
    point, comma = (part and Number(part.text, (*part.taken, f"{found[2]} left out")) for part in (number.point, number.comma))
    return Written(point, comma, found[2])


def _plain(cell: Any) -> Written | None:
    """A number that is no text, as a spreadsheet has it; truth values and times are none."""
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, int | float | np.number):
        return None
    number = Number(repr(cell.item() if isinstance(cell, np.generic) else cell), ())
    return Written(number, number, "")


def read_numbers(
    table: pd.DataFrame, source: str, marks: Marks, *, first: int = 0, as_text: Collection[str] = (), skip: Collection[str] = ()
) -> tuple[pd.DataFrame, Marks, list[str]]:
    """The table with numbers in the place of text that is one; the marks of its columns; and what was taken, for the user.

    Columns of `as_text` stay text, in Python's spelling, their words as they are; those of `skip` stay as they are. `first`: the
    rows of the file before these.
    """
    found = table.copy(deep=False)
    texts = [str(name) for name, column in table.items() if name not in skip and column.dtype in (object, "str")]
    # columns with plain decimal commas, by pandas alone
    simple = [
        name
        for name in texts
        if name not in as_text and marks.columns.get(name) != "point" and _has_decimal_commas_alone(table[name])
    ]
    for name in simple:
        found[name] = pd.to_numeric(table[name].str.replace(",", "."))
    marks = replace(
        marks, columns={**marks.columns, **dict.fromkeys(simple, "comma")}, others=marks.others | ({"comma"} if simple else set())
    )
    # the others cell by cell, each distinct one once; marks that are open are decided by other columns
    columns = {name: _Column.of(table[name]) for name in texts if name not in simple}
    numbers = {name: column for name, column in columns.items() if name in as_text or column.is_numbers}
    for name, column in numbers.items():
        _check_units(name, column, source, first)
    decided = _decided(numbers, source, marks, first)
    # write numbers, or text in Python's spelling, in the place of the cells
    taken: dict[str, list[str]] = {"decimal comma": simple} if simple else {}
    for name, column in numbers.items():
        mark: Mark = decided.get(name, "point")
        readings = [None if number is None else getattr(number, mark) for number in column.numbers]
        for what in dict.fromkeys(what for reading in readings if reading is not None for what in reading.taken):
            taken.setdefault(what, []).append(str(name))
        if name in as_text:
            kept = [cell if reading is None else reading.text for cell, reading in zip(column.cells, readings, strict=True)]
            found[name] = _with_gaps(pd.Series([*kept, np.nan], dtype=object).iloc[column.codes].set_axis(table.index))
        else:
            found[name] = _values(readings, column.codes)
    # what is no number stays, but words for missing cells become gaps
    dates = {name: column for name, column in columns.items() if name not in numbers and column.is_dates_with_gaps}
    for name in columns.keys() - numbers.keys():
        found[name] = without_missing_words(table[name]) if name in dates else _with_gaps(table[name])
    # what is told
    found.attrs[TAKEN] = {
        name: [what for what, names in taken.items() if name in names] for name in (*simple, *map(str, numbers))
    }
    told = [f"{what} in {_listed(names)}" for what, names in taken.items()]
    told += _missing_told({name: column for name, column in (numbers | dates).items() if name not in as_text}, len(table))
    words = (_words_told(name, column, first) for name, column in columns.items() if name not in numbers)
    known = replace(marks, columns={**marks.columns, **decided}, others=marks.others | {*decided.values()})
    return found, known, [*(["; ".join(told)] if told else []), *(sentence for sentence in words if sentence)]


def _has_decimal_commas_alone(column: pd.Series[Any]) -> bool:
    """Whether the cells of a large column are digits with commas alone, one of which can only stand before decimals: no other
    column is needed to read it, and no loop over its cells.
    """
    present = column.dropna()
    if not len(present) or pd.api.types.infer_dtype(present) != "string" or not present.str.fullmatch(_COMMAS).all():
        return False
    return bool(present.str.fullmatch(_DECIMAL_COMMA).any())


def _with_gaps(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of words with the gaps, and then perhaps the truth values, that pandas finds in it."""
    gaps = column.isin(EMPTY)
    if not gaps.any():
        return column
    found = column.mask(gaps)
    present = found.dropna()
    if not len(present):
        return found.astype(np.float64)
    return found.astype(object).map(TRUTH) if present.isin([*TRUTH]).all() else found


def _values(readings: Sequence[Number | None], codes: Any) -> Any:
    """The numbers of all rows: integers where all are, NaN where there is none."""
    present = np.array([reading is not None for reading in readings] + [False])
    values = pd.to_numeric(pd.Series([reading.text for reading in readings if reading is not None])).to_numpy()
    place, there = np.cumsum(present) - 1, present[codes]
    if there.all():
        return values[place[codes]]
    found = np.full(len(codes), np.nan)
    found[there] = values.astype(np.float64)[place[codes[there]]]
    return found


def _check_units(name: str, column: _Column, source: str, first: int) -> None:
    """Refuse amounts of several currencies, and per cent beside other numbers."""
    units = {number.unit for number in column.numbers if number is not None}
    if len(units) > 1 and ("%" in units or len(units - {""}) > 1):
        shown = [column.first("unit", unit) for unit in units]
        raise InvalidInputError(
            f"{source}: the column {name!r} holds numbers of different units, {_cells(shown, first)}; write one unit "
            "throughout, or leave the column out"
        )


def _decided(columns: Mapping[str, _Column], source: str, marks: Marks, first: int) -> dict[str, Mark]:
    """(1) to (3): the marks of the columns that must have one."""
    found: dict[str, Mark] = {}
    # (1): a column's own numbers, and what is known of it
    for name, column in columns.items():
        known: set[Mark] = {marks.columns[name]} if name in marks.columns else set()
        if len(column.marks | known) > 1:
            shown = [column.first("marks", {mark}) for mark in column.marks]
            raise InvalidInputError(
                f"{source}: the column {name!r} has numbers with decimal points and with decimal commas, {_cells(shown, first)}; "
                "write one of them throughout, or leave the column out"
            )
        for mark in column.marks | known:
            found[name] = mark
    # (2) and (3): open columns follow the others, then what the user said
    others: set[Mark] = {*found.values(), *marks.others}
    undecided = [name for name, column in columns.items() if name not in found and column.is_open]
    commas = any("," in str(cell) for name in undecided for cell in columns[name].cells)
    for name in undecided:
        if len(others) == 1:
            found[name] = next(iter(others))
        elif marks.points and not others and not commas:
            found[name] = "point"
        elif marks.said is not None:
            found[name] = marks.said
        else:
            i, cell, both = columns[name].first("is_open", True)
            raise InvalidInputError(
                f"{row_of(source, first + i)}: the column {name!r} holds {cell!r}, which is {both.text('point')} with a decimal "
                f"point and {both.text('comma')} with a decimal comma, and no other number decides; {marks.remedy}"
            )
    return found


def _cells(cells: Sequence[tuple[int, str, Written]], first: int) -> str:
    """Cells and their rows, for messages."""
    return " and ".join(f"{cell!r} in row {first + i + 1:,}" for i, cell, _ in sorted(cells, key=lambda found: found[:2]))


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more columns" if len(names) > most else "")


def _missing_told(columns: Mapping[str, _Column], n_rows: int, most: int = 6) -> list[str]:
    """Which words stand for missing values, by column."""
    counts = []
    for name, column in columns.items():
        words = sorted({str(cell).strip() for cell, gone in zip(column.cells, column.missing, strict=True) if gone} - {""})
        if words:
            shown = ", ".join(f"`{word}`" for word in words)
            verb = "is" if len(words) == 1 else "are"
            counts.append(f"{shown} {verb} missing in {name}: {column.count(column.missing):,} of {n_rows:,}")
    more = [f"such words in {len(counts) - most} more columns"] if len(counts) > most else []
    return counts[:most] + more


def _words_told(name: str, column: _Column, first: int) -> str:
    """What to say of a column of words most of whose cells are numbers, or numbers with a unit; nothing of others."""
    plain = [number is not None for number in column.numbers]
    measured = [_MEASURED.fullmatch(cell.strip()) if isinstance(cell, str) else None for cell in column.cells]
    units = [found is not None and written(found[1]) is not None for found in measured]
    dates = [isinstance(cell, str) and _DATE.fullmatch(cell.strip()) is not None for cell in column.cells]
    half = 0.5 * int((column.codes >= 0).sum())
    for chosen, kind, why in (
        (plain, "numbers", "empty such cells if they stand for missing values"),
        (units, "numbers", "write the numbers alone, all in one unit, if they are to be compared"),
        (dates, "dates", "write dates as 2024-12-31 if they are to be compared"),
    ):
        if sum(chosen) <= FEWEST_NUMBERS or column.count(chosen) <= half:
            continue
        other = next(k for k, number in enumerate(chosen) if number == (chosen is not plain) and not column.missing[k])
        row, cell = int(np.argmax(column.codes == other)), str(column.cells[other])
        return f"{name} is read as words, though most cells hold {kind}, because of {cell!r} in row {first + row + 1:,}; {why}"
    return ""
