r"""The text of .lp and .mps files, checked beside HiGHS, which passes over much that is wrong.

It drops text in front of the first section, entries of rows that do not exist and values that are no numbers; it takes two names
side by side for a sum, a bound of an unknown variable for a new variable, ``OBJSENSE MAXIMIZE`` for a minimisation, and names
with blanks for others. A check of the matrix that remains would be one of another program. So a file is read where every word of
it can be accounted for.

An .lp file has the sections

    minimize  [label:] terms        subject to  {[label:] terms  sense  number}        [bounds | general | binary]*  end

in which a term is a sign, perhaps a number, and a name; constants stand in the objective only. An .mps file is in the free
format: lines of fields between blanks, section names at the beginning of lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise


class WrongTextError(ValueError):
    """The first thing that is wrong with a file."""


@dataclass(frozen=True)
class Contents:
    """Number of rows, names of the columns as they come, number of entries other than 0, whether the objective is maximised."""

    rows: int
    columns: list[str]
    entries: int
    maximised: bool


def contents_of(text: str, ending: str) -> Contents:
    """What is in a file, columns as its objective and rows have them; raises `WrongTextError`."""
    control = re.search(r"[\x00-\x08\x0e-\x1f\x7f]", text)
    if control is not None:
        raise WrongTextError(f"the character {control[0]!r} is in it")
    return _contents_of_lp(text) if ending == ".lp" else _Mps().contents(text)


_NUMBER = r"(?!0[xX])(?:\d{1,300}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?(?:30[0-8]|[012]?\d{1,2}))?+"
"""A finite number without its sign; the largest float is 1.8e308. HiGHS takes 0x10 for 16."""

_LETTER = r"[A-Za-z0-9_!\"#$%&(),.;?@'`{}~]"
_NAME = rf"(?![0-9.]|(?i:inf|nan)){_LETTER}++"
"""HiGHS takes a name that begins with inf or nan for a number, and loses the variable."""

_SENSE = r"(?:<=|=<|>=|=>|<|>|=)"
_SIDE = rf"[+-]?\s*(?:{_NUMBER}|inf(?:inity)?(?!\S))"
_LABEL = rf"(?:{_NAME}\s*:)?"
_TERM = rf"(?:{_NUMBER}\s*+)?{_NAME}"
_COST = rf"(?:{_TERM}|{_NUMBER})"

_GRAMMAR = {
    "objective": rf"\s*{_LABEL}(?:\s*[+-]?\s*{_COST}(?:\s*[+-]\s*{_COST})*+)?\s*",
    "rows": rf"(?:\s*{_LABEL}(?:\s*[+-]?\s*{_TERM}(?:\s*[+-]\s*{_TERM})*+|\s*0)\s*{_SENSE}\s*{_SIDE}(?!\S))*+\s*",
    "bounds": rf"(?:\s*(?:{_SIDE}\s*{_SENSE}\s*{_NAME}(?:\s*{_SENSE}\s*{_SIDE}(?!\S))?"
    rf"|{_NAME}\s*(?:{_SENSE}\s*{_SIDE}(?!\S)|free(?!\S))))*+\s*",
    "names": rf"(?:\s+{_NAME})*+\s*",
}
"""What each section of an .lp file consists of."""

_SECTION = re.compile(
    r"(?<!\S)(?:(?P<objective>min(?:imi[sz]e|imum)?|max(?:imi[sz]e|imum)?)|(?P<rows>subject\s+to|such\s+that|st\.?|s\.t\.):?"
    r"|(?P<bounds>bounds?)|(?P<names>gen(?:erals?)?|int(?:egers?)?|bin(?:ary|aries)?)|(?P<other>semi\S*|semis?|sos\d?|sec)"
    r"|(?P<end>end))(?!\S)",
    re.IGNORECASE,
)
_NUMBER_NAME = re.compile(rf"{_SENSE}\s*{_SIDE}|{_NAME}\s*:|(?:({_NUMBER})\s*+)?({_NAME})|{_NUMBER}", re.IGNORECASE)


def _contents_of_lp(text: str) -> Contents:
    bare = re.sub(r"\\.*", "", text)
    marks = list(_SECTION.finditer(bare))
    kinds = [str(mark.lastgroup) for mark in marks]
    # the sections, in their order
    if not kinds or kinds[0] != "objective" or bare[: marks[0].start()].strip():
        raise WrongTextError(f"it begins with {bare.strip()[:20]!r}, not with minimize or maximize")
    if kinds[-1] != "end" or bare[marks[-1].end() :].strip() or kinds.count("end") > 1:
        raise WrongTextError("it does not end with 'end', so a part may be missing")
    if kinds[1] != "rows" or "other" in kinds or kinds.count("objective") + kinds.count("rows") > 2:
        raise WrongTextError("its sections are not an objective, 'subject to', bounds, integers and 'end', of a linear program")
    # each section from its beginning to its end
    parts = [bare[mark.end() : following.start()] for mark, following in pairwise(marks)]
    for kind, mark, part in zip(kinds, marks, parts, strict=False):
        found = re.match(_GRAMMAR[kind], part, re.IGNORECASE)
        rest = part[found.end() if found else 0 :].strip()[:40]
        if rest:
            number = re.search(rf"(?<!{_LETTER})(?:inf|nan){_LETTER}*", rest, re.IGNORECASE)
            why = f"; {number[0]!r} is a number there, rename the variable" if number else ""
            raise WrongTextError(f"it cannot be read from {rest!r} on, in the section {mark[0]!r}{why}")
    # what the objective and the rows have
    columns = dict.fromkeys(name for _, name in _NUMBER_NAME.findall(parts[0]) if name)
    terms = [(number, name) for number, name in _NUMBER_NAME.findall(parts[1]) if name]
    columns |= dict.fromkeys(name for _, name in terms)
    entries = sum(not number or float(number) != 0 for number, _ in terms)
    return Contents(len(re.findall(_SENSE, parts[1])), list(columns), entries, marks[0][0].lower().startswith("max"))


_MPS_NUMBER = re.compile(rf"[+-]?(?:{_NUMBER}|inf(?:inity)?)", re.IGNORECASE)
_MPS_ENTRY = re.compile(rf"[+-]?{_NUMBER}")
_MPS_SECTIONS = {"NAME": 3, "OBJSENSE": 2, "ROWS": 1, "COLUMNS": 1, "RHS": 1, "RANGES": 1, "BOUNDS": 1, "ENDATA": 1}
"""The sections of an .mps file, and the most words of their headers."""

RESERVED = ("NAME", "OBJSENSE")
"""HiGHS takes every line that begins with one of these, also one of data, for the begin of that section."""

_SENSES = {"MIN": False, "MINIMIZE": False, "MINIMISE": False, "MAX": True, "MAXIMIZE": True, "MAXIMISE": True}


class _Mps:
    """The names that the lines so far have declared, and the entries of the last column."""

    def __init__(self) -> None:
        self.section, self.seen = "", set[str]()
        self.rows: dict[str, bool] = {}  # whether each is free, as the objective is
        self.columns: dict[str, None] = {}
        self.column, self.entered, self.entries = "", set[str](), 0
        self.maximised = False

    def contents(self, text: str) -> Contents:
        """Of all lines."""
        for k, line in enumerate(text.split("\n"), 1):
            if line.startswith("*") or not (fields := line.split()):
                continue
            try:
                if line[0].isspace():
                    self.data(fields)
                else:
                    self.header(fields)
            except WrongTextError as wrong:
                raise WrongTextError(f"line {k}: {wrong}") from None
        if self.section != "ENDATA":
            raise WrongTextError("it does not end with ENDATA, so a part may be missing")
        return Contents(sum(not free for free in self.rows.values()), list(self.columns), self.entries, self.maximised)

    def header(self, fields: list[str]) -> None:
        """Begin a section."""
        name = fields[0].upper()
        if self.section == "ENDATA" or name in self.seen or len(fields) > _MPS_SECTIONS.get(name, 0):
            raise WrongTextError(f"{' '.join(fields)[:40]!r} is no section of a linear program that can stand here")
        self.section = name
        self.seen.add(name)
        if name == "OBJSENSE" and fields[1:]:
            self.data(fields[1:])

    def data(self, fields: list[str]) -> None:
        """One line of a section."""
        if fields[0].upper() in RESERVED:
            raise WrongTextError(f"the name {fields[0]!r} begins a section there; rename it")
        match self.section, [fields[0].upper(), *fields[1:]]:
            case "OBJSENSE", [sense] if sense in _SENSES:
                self.maximised = _SENSES[sense]
            case "ROWS", ["N" | "E" | "L" | "G" as kind, row] if row not in self.rows:
                self.rows[row] = kind == "N"
            case "COLUMNS", [_, "'MARKER'", "'INTORG'" | "'INTEND'"]:
                pass
            case "COLUMNS", [_, *pairs] if len(pairs) in (2, 4):
                self._entries(fields[0], pairs)
            case "RHS" | "RANGES", _ if len(fields) in (2, 3, 4, 5):
                _not_called_like(self.rows, fields[: len(fields) % 2])
                self._pairs(fields[len(fields) % 2 :], _MPS_NUMBER)
            case "BOUNDS", ["UP" | "LO" | "FX" | "LI" | "UI", *names, number] if _MPS_NUMBER.fullmatch(number):
                self._bounded(names)
            case "BOUNDS", ["MI" | "PL" | "FR" | "BV", *names]:
                self._bounded(names[:2])  # a number behind them means nothing
            case _:
                raise WrongTextError(f"{' '.join(fields)[:40]!r} is no line of the section {self.section!r}")

    def _entries(self, column: str, pairs: list[str]) -> None:
        """Entries of a column, which stand side by side."""
        if column != self.column:
            if column in self.columns:
                raise WrongTextError(f"the column {column!r} comes again")
            self.column, self.entered = column, set()
            self.columns[column] = None
        self._pairs(pairs, _MPS_ENTRY)
        for row, value in zip(pairs[::2], pairs[1::2], strict=True):
            if row in self.entered:
                raise WrongTextError(f"the column {column!r} has two entries in the row {row!r}")
            self.entered.add(row)
            self.entries += not self.rows[row] and float(value) != 0

    def _pairs(self, pairs: list[str], number: re.Pattern[str]) -> None:
        """Names of rows, each with a number."""
        for row, value in zip(pairs[::2], pairs[1::2], strict=True):
            if row not in self.rows:
                raise WrongTextError(f"there is no row {row!r}")
            if number.fullmatch(value) is None:
                raise WrongTextError(f"{value[:40]!r} is no finite number")

    def _bounded(self, names: list[str]) -> None:
        """Perhaps the name of a set, and that of a column."""
        if len(names) not in (1, 2) or names[-1] not in self.columns:
            raise WrongTextError(f"there is no column {' '.join(names[-1:])[:40]!r}")
        _not_called_like(self.columns, names[:-1])


def _not_called_like(names: dict[str, bool] | dict[str, None], sets: list[str]) -> None:
    """Refuse a set of numbers that is called like a row or a column: HiGHS takes it for that, and reads other numbers."""
    for name in sets:
        if name in names:
            raise WrongTextError(f"the set {name!r} has the name of a row or column; rename the set")
