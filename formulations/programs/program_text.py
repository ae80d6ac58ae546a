r"""The text of .lp and .mps files, checked before HiGHS reads it, because HiGHS passes over much that is wrong.

It drops text in front of the first section, entries of rows that do not exist and values that are no numbers; it takes two
names side by side for a sum, and a bound of an unknown variable for a new variable. A check of the matrix that remains would be
one of another program.

An .lp file has the sections

    minimize  [label:] terms        subject to  {[label:] terms  sense  number}        [bounds | general | binary]*  end

in which a term is a sign, perhaps a number, and a name; constants stand in the objective only. An .mps file is in the free
format: lines of fields between blanks, section names at the beginning of lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Contents:
    """Number of rows, names of the columns as they come, and number of entries other than 0."""

    rows: int
    columns: list[str]
    entries: int


_NUMBER = r"(?!0[xX])(?:\d{1,300}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?(?:30[0-8]|[012]?\d{1,2}))?+"
"""A finite number without its sign; the largest float is 1.8e308. HiGHS takes 0x10 for 16."""

_LETTER = r"[A-Za-z0-9_!\"#$%&(),.;?@'`{}~]"
_NAME = rf"(?![0-9.]|(?i:inf|nan)){_LETTER}++"
"""HiGHS takes a name that begins with inf or nan for a number, and loses the variable."""

_SENSE = r"(?:<=|=<|>=|=>|<|>|=)"
_SIDE = rf"[+-]?\s*(?:{_NUMBER}|inf(?:inity)?(?!\S))"
_LABEL = rf"(?:{_NAME}\s*:)?"
_TERM = rf"(?:{_NUMBER}\s*+)?{_NAME}"
_TERMS = rf"\s*[+-]?\s*{_TERM}(?:\s*[+-]\s*{_TERM})*+"
_COST = rf"(?:{_NUMBER}\s*+)?{_NAME}|{_NUMBER}"

_OBJECTIVE = re.compile(rf"\s*{_LABEL}(?:\s*[+-]?\s*(?:{_COST})(?:\s*[+-]\s*(?:{_COST}))*+)?\s*")
_ROWS = re.compile(rf"(?:\s*{_LABEL}(?:{_TERMS}|\s*0)\s*{_SENSE}\s*{_SIDE}(?!\S))*+\s*", re.IGNORECASE)
_BOUNDS = re.compile(
    rf"(?:\s*(?:{_SIDE}\s*{_SENSE}\s*{_NAME}(?:\s*{_SENSE}\s*{_SIDE}(?!\S))?|{_NAME}\s*(?:{_SENSE}\s*{_SIDE}(?!\S)|free(?!\S))))*+\s*",
    re.IGNORECASE,
)
_NAMES = re.compile(rf"(?:\s+{_NAME})*+\s*")
_SECTION = re.compile(
    r"(?<!\S)(?:(?P<objective>min(?:imi[sz]e|imum)?|max(?:imi[sz]e|imum)?)|(?P<rows>subject\s+to|such\s+that|st\.?|s\.t\.):?"
    r"|(?P<bounds>bounds?)|(?P<names>gen(?:erals?)?|int(?:egers?)?|bin(?:ary|aries)?)|(?P<other>semi\S*|semis?|sos\d?|sec)"
    r"|(?P<end>end))(?!\S)",
    re.IGNORECASE,
)

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def contents_of_lp(text: str) -> Contents | str:
    """What is in an .lp file, columns as its objective and rows have them; or the first thing that is wrong with it."""
    control = _CONTROL.search(text)
    if control is not None:
        return f"the character {control[0]!r} is in it"
    bare = re.sub(r"\\.*", "", text)
    marks = list(_SECTION.finditer(bare))
    kinds = [str(mark.lastgroup) for mark in marks]
    if not kinds or kinds[0] != "objective" or bare[: marks[0].start()].strip():
        return f"it begins with {bare.strip()[:20]!r}, not with minimize or maximize"
    if kinds[-1] != "end" or bare[marks[-1].end() :].strip() or kinds.count("end") > 1:
        return "it does not end with 'end', so a part may be missing"
    if kinds[1] != "rows" or "other" in kinds or kinds.count("objective") + kinds.count("rows") > 2:
        return "its sections are not an objective, 'subject to', bounds, integers and 'end', in this order and of linear programs"
    grammar = {"objective": _OBJECTIVE, "rows": _ROWS, "bounds": _BOUNDS, "names": _NAMES}
    for kind, mark, following in zip(kinds, marks, marks[1:], strict=False):
        part = bare[mark.end() : following.start()]
        end = found.end() if (found := grammar[kind].match(part)) else 0
        if end < len(part):
            rest = part[end:].strip()[:40]
            number = re.search(rf"(?<!{_LETTER})(?:inf|nan){_LETTER}*", rest, re.IGNORECASE)
            why = f"; {number[0]!r} is a number there, rename the variable" if number else ""
            return f"it cannot be read from {rest!r} on, in the section {mark[0]!r}{why}"
    return _contents(bare[marks[0].end() : marks[1].start()], bare[marks[1].end() : marks[2].start()])


_NUMBER_NAME = re.compile(rf"{_SENSE}\s*{_SIDE}|{_NAME}\s*:|(?:({_NUMBER})\s*+)?({_NAME})|{_NUMBER}", re.IGNORECASE)


def _contents(objective: str, rows: str) -> Contents:
    """What is in two sections of an .lp file that follow the format."""
    columns = dict.fromkeys(name for _, name in _NUMBER_NAME.findall(objective) if name)
    entries = 0
    for number, name in _NUMBER_NAME.findall(rows):
        if name:
            columns.setdefault(name)
            entries += not number or float(number) != 0
    return Contents(len(re.findall(_SENSE, rows)), list(columns), entries)


_MPS_NUMBER = re.compile(rf"[+-]?(?:{_NUMBER}|inf(?:inity)?)", re.IGNORECASE)
_MPS_ENTRY = re.compile(rf"[+-]?{_NUMBER}")
_BOUND_KINDS = {"UP": 1, "LO": 1, "FX": 1, "LI": 1, "UI": 1, "MI": 0, "PL": 0, "FR": 0, "BV": 0}
"""Kinds of bounds, and how many numbers each has."""

_RESERVED = ("NAME", "OBJSENSE")
"""HiGHS takes every line that begins with one of these, also one of data, for the begin of that section."""

_MPS_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")


def contents_of_mps(text: str) -> Contents | str:
    """What is in an .mps file in the free format; or the first thing that is wrong with it."""
    control = _CONTROL.search(text)
    if control is not None:
        return f"the character {control[0]!r} is in it"
    reading = _Mps()
    for k, line in enumerate(text.split("\n"), 1):
        if not line.startswith("*") and (fields := line.split()):
            wrong = reading.header(fields) if not line[0].isspace() else reading.data(fields)
            if wrong is not None:
                return f"line {k}: {wrong}"
    if reading.section != "ENDATA":
        return "it does not end with ENDATA, so a part may be missing"
    if "ROWS" not in reading.seen:
        return "it has no section ROWS"
    return Contents(len(reading.rows) - len(reading.free), list(reading.columns), reading.entries)


class _Mps:
    """The names that the lines so far have declared, and the rows in which the last column has entries."""

    def __init__(self) -> None:
        self.section = ""
        self.seen: set[str] = set()
        self.rows: set[str] = set()
        self.free: set[str] = set()
        self.columns: dict[str, None] = {}
        self.column = ""
        self.entered: set[str] = set()
        self.entries = 0

    def header(self, fields: list[str]) -> str | None:
        """Begin a section."""
        name = fields[0].upper()
        if self.section == "ENDATA" or name not in _MPS_SECTIONS or (name in self.seen):
            return f"{fields[0]!r} is no section of a linear program that can stand here"
        if len(fields) > (3 if name == "NAME" else 2 if name == "OBJSENSE" else 1):
            return f"the section {fields[0]!r} has {fields[-1]!r} beside it"
        self.section = name
        self.seen.add(name)
        return None

    def data(self, fields: list[str]) -> str | None:
        """One line of a section."""
        if fields[0].upper() in _RESERVED:
            return f"the name {fields[0]!r} begins a section there; rename it"
        if self.section == "COLUMNS":
            return self._column(fields)
        if self.section == "ROWS":
            if len(fields) != 2 or fields[0].upper() not in ("N", "E", "L", "G") or fields[1] in self.rows:
                return f"{' '.join(fields)[:40]!r} is no new row"
            self.rows.add(fields[1])
            if fields[0].upper() == "N":
                self.free.add(fields[1])
            return None
        if self.section in ("RHS", "RANGES"):
            if len(fields) % 2 and fields[0] in self.rows:
                return _same_name(fields[0], "row")
            pairs = fields[len(fields) % 2 :]
            return self._pairs(pairs, _MPS_NUMBER) if len(fields) in (2, 3, 4, 5) else "it has too many fields"
        if self.section == "BOUNDS":
            return self._bound(fields)
        return None if self.section == "OBJSENSE" and len(fields) == 1 else f"{fields[0]!r} is in no section"

    def _column(self, fields: list[str]) -> str | None:
        if len(fields) == 3 and fields[1] == "'MARKER'":
            return None if fields[2] in ("'INTORG'", "'INTEND'") else f"{fields[2]!r} is no marker of integers"
        if len(fields) not in (3, 5):
            return f"{' '.join(fields)[:40]!r} is not a column with one or two entries"
        if fields[0] != self.column:
            if fields[0] in self.columns:
                return f"the column {fields[0]!r} comes again"
            self.column = fields[0]
            self.columns[fields[0]] = None
            self.entered.clear()
        for row in fields[1::2]:
            if row in self.entered:
                return f"the column {fields[0]!r} has two entries in the row {row!r}"
            self.entered.add(row)
        wrong = self._pairs(fields[1:], _MPS_ENTRY)
        if wrong is None:
            pairs = zip(fields[1::2], fields[2::2], strict=True)
            self.entries += sum(row not in self.free and float(value) != 0 for row, value in pairs)
        return wrong

    def _pairs(self, pairs: list[str], number: re.Pattern[str]) -> str | None:
        """Names of rows, each with a number."""
        for row, value in zip(pairs[::2], pairs[1::2], strict=True):
            if row not in self.rows:
                return f"there is no row {row!r}"
            if number.fullmatch(value) is None:
                return f"{value[:40]!r} is no finite number"
        return None

    def _bound(self, fields: list[str]) -> str | None:
        width = _BOUND_KINDS.get(fields[0].upper())
        if width is None:
            return f"{fields[0]!r} is no bound of a linear program"
        rest = fields[1:]
        if width == 0 and len(rest) == 3:
            rest = rest[:2]  # a number that means nothing
        if len(rest) not in (1 + width, 2 + width):
            return f"{' '.join(fields)[:40]!r} is no bound"
        if width and _MPS_NUMBER.fullmatch(rest.pop()) is None:
            return f"{fields[-1][:40]!r} is no number"
        if len(rest) == 2 and rest[0] in self.columns:
            return _same_name(rest[0], "column")
        return None if rest[-1] in self.columns else f"there is no column {rest[-1]!r}"


def _same_name(name: str, kind: str) -> str:
    """Why a set of numbers may not be called like a row or a column: HiGHS takes the name for that, and reads other numbers."""
    return f"the set {name!r} has the name of a {kind}; rename the set"
