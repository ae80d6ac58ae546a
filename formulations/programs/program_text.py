r"""The text of .lp and .mps files, checked beside HiGHS, which passes over much that is wrong.

It drops text in front of the first section, entries of rows that do not exist and values that are no numbers; it takes two names
side by side for a sum, a bound of an unknown variable for a new variable, ``OBJSENSE MAXIMIZE`` for a minimisation, names with
blanks for others, the first of two costs or right-hand sides for both, and ranges in front of right-hand sides for others. A
check of the matrix that remains would be one of another program. So a file is read where every word of it can be accounted for.

An .lp file has the sections

    minimize  [label:] terms        subject to  {[label:] terms  sense  number}        [bounds | general | binary]*  end

in which a term is a sign, perhaps a number, and a name; constants stand in the objective only; HiGHS also writes an empty section
of semi-continuous variables. An .mps file is in the free format: lines of fields between blanks, section names at the beginning
of lines.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse

from formulations.arguments import checked
from formulations.errors import BrokenFileError
from formulations.extras import package
from formulations.programs.files import ending_of, without_constant
from formulations.programs.linear_program import FOR_ALL, Block, LinearProgram, Names


class WrongTextError(ValueError):
    """The first thing that is wrong with a file."""


@dataclass(frozen=True)
class Contents:
    """Number of rows, names of the columns as they come, number of entries other than 0, whether the objective is maximised, and
    the variables that are called binary.
    """

    rows: int
    columns: list[str]
    entries: int
    maximised: bool
    binary: tuple[str, ...] = ()


@checked
def read_program(file: str | Path) -> LinearProgram:
    """Read a program with HiGHS, rows and columns in the file's order.

    Names are read by (1) of `formulations.programs.files`, and a last column by (2) is the offset.

    A maximisation becomes a minimisation. What HiGHS warns of is passed on as a RuntimeWarning.

    Parameters
    ----------
    file
        an .mps or .lp file.

    Raises
    ------
    BrokenFileError
        for a file that cannot be read, or that does not follow its format.

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> program = pm.programs.build(pm.datasets.two_trees(), "IP3", lam=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.programs.read_program(program.write(f"{folder}/model.mps"))
    ...
    LinearProgram(integer program: 15 rows, 19 columns, 38 nonzeros)
    """
    highspy = package("highspy")

    file = Path(file)
    contents = _contents(file, ending_of(file))
    solver = highspy.Highs()
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        solver.setOptionValue("log_to_console", False)
        solver.setOptionValue("log_file", str(log))
        try:
            read, why = solver.readModel(str(file)), ""
        except Exception as error:  # HiGHS raises what its parser meets
            read, why = highspy.HighsStatus.kError, str(error)
        solver.silent()
        said = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    told = [line.partition(":")[2].strip() for line in said if line.startswith(("WARNING:", "ERROR:")) and str(file) not in line]
    if read == highspy.HighsStatus.kError:
        why = "; ".join([why, *told]).strip("; ") or "HiGHS cannot read it"
        raise BrokenFileError(f"{file} is no linear program in the format of its ending; {why}")
    lp = solver.getLp()
    program = _program_of(lp, maximised=contents.maximised)
    entries = int(program.matrix.count_nonzero())
    found = replace(contents, rows=program.shape[0], columns=list(lp.col_names_), entries=entries)
    extra = sorted(set(found.columns) - set(contents.columns))
    if extra:
        raise BrokenFileError(f"{file} names {extra[0]!r} among bounds or integers, but no row and no objective has it")
    for name in contents.binary:
        k = found.columns.index(name)
        if program.lower[k] < 0 or program.upper[k] > 1:
            raise BrokenFileError(
                f"{file} calls {name!r} binary and bounds it by {program.lower[k]:g} and {program.upper[k]:g}; drop one of them"
            )
    if found != contents:
        raise BrokenFileError(
            f"{file} has {contents.rows} rows, {len(contents.columns)} columns and {contents.entries} entries, HiGHS reads "
            f"{found.rows}, {len(found.columns)} and {found.entries}; "
            + ("; ".join(told) or "rename its rows and columns to letters and digits")
        )
    if told:
        warnings.warn(f"{file}: HiGHS reads it, but warns: {'; '.join(told)}", RuntimeWarning, stacklevel=3)
    return without_constant(program)


def _contents(file: Path, ending: str) -> Contents:
    """What is in a file that follows its format; else a BrokenFileError that names the file and the first thing that is wrong."""
    try:
        return contents_of(file.read_bytes().decode("utf-8"), ending)
    except OSError as error:
        raise BrokenFileError(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BrokenFileError(f"{file} is no text (byte {error.start}); it is damaged, or in another format") from error
    except WrongTextError as wrong:
        raise BrokenFileError(f"{file} is no linear program in the format of its ending: {wrong}") from None


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
    "rows": rf"(?:\s*(?:{_LABEL}(?:\s*[+-]?\s*{_TERM}(?:\s*[+-]\s*{_TERM})*+|\s*0)|{_NAME}\s*:)"
    rf"\s*{_SENSE}\s*{_SIDE}(?!\S))*+\s*",
    "bounds": rf"(?:\s*(?:{_SIDE}\s*{_SENSE}\s*{_NAME}(?:\s*{_SENSE}\s*{_SIDE}(?!\S))?"
    rf"|{_NAME}\s*(?:{_SENSE}\s*{_SIDE}(?!\S)|free(?!\S))))*+\s*",
    "names": rf"(?:\s+{_NAME})*+\s*",
    "nothing": r"\s*",
}
"""What each section of an .lp file consists of."""

_SECTION = re.compile(
    r"(?<!\S)(?:(?P<objective>min(?:imi[sz]e|imum)?|max(?:imi[sz]e|imum)?)|(?P<rows>subject\s+to|such\s+that|st\.?|s\.t\.):?"
    r"|(?P<bounds>bounds?)|(?P<names>gen(?:erals?)?|int(?:egers?)?|bin(?:ary|aries)?)|(?P<nothing>semi\S*|sec)|(?P<other>sos\d?)"
    r"|(?P<end>end))(?!\S)",
    re.IGNORECASE,
)
_SIGNED_TERM = re.compile(rf"([+-]?)\s*(?:({_NUMBER})\s*+)?({_NAME})", re.IGNORECASE)
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
    cost = [name for _, name in _NUMBER_NAME.findall(parts[0]) if name]
    columns = dict.fromkeys(cost)
    if len(columns) < len(cost):
        raise WrongTextError(
            f"the objective has {next(name for name in columns if cost.count(name) > 1)!r} twice; add up its costs"
        )
    rows = [
        [(float(number or 1) * (-1) ** minus.count("-"), name) for minus, number, name in _SIGNED_TERM.findall(row)]
        for row in re.split(rf"{_SENSE}\s*{_SIDE}", re.sub(rf"{_NAME}\s*:", " ", parts[1]), flags=re.IGNORECASE)
    ]
    entries = 0
    for terms in rows:
        total = dict.fromkeys((name for _, name in terms), 0.0)
        for number, name in terms:
            total[name] += number
        columns |= dict.fromkeys(total)
        entries += sum(number != 0 for number in total.values())
    binary = [part for mark, part in zip(marks, parts, strict=False) if mark[0].lower().startswith("bin")]
    maximised = marks[0][0].lower().startswith("max")
    return Contents(len(re.findall(_SENSE, parts[1])), list(columns), entries, maximised, tuple(" ".join(binary).split()))


_MPS_ENTRY = re.compile(rf"[+-]?{_NUMBER.replace('[eE]', '[eEdD]')}")
_MPS_NUMBER = re.compile(rf"{_MPS_ENTRY.pattern}|[+-]?inf(?:inity)?", re.IGNORECASE)
_MPS_SECTIONS = {"NAME": 999, "OBJSENSE": 2, "ROWS": 1, "COLUMNS": 1, "RHS": 1, "RANGES": 1, "BOUNDS": 1, "ENDATA": 1}
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
        self.numbered: dict[str, set[str]] = {"RHS": set(), "RANGES": set()}  # rows that have a number there
        self.sets: dict[str, str] = {}  # the name of the set of numbers in each section

    def contents(self, text: str) -> Contents:
        """Of all lines."""
        for k, line in enumerate(text.split("\n"), 1):
            if line.startswith("*") or not (fields := line.split()):
                continue
            try:
                if line[0].isspace() or (self.section == "OBJSENSE" and fields[0].upper() in _SENSES):
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
        if name == "RHS" and "RANGES" in self.seen:
            raise WrongTextError("RANGES stand before RHS, where HiGHS reads other ranges; exchange the sections")
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
                names, pairs = fields[: len(fields) % 2], fields[len(fields) % 2 :]
                _not_called_like(self.rows, names)
                self._pairs(pairs, _MPS_NUMBER)
                self._once(names, pairs[::2])
            case "BOUNDS", ["UP" | "LO" | "FX" | "LI" | "UI", *names, number] if _MPS_NUMBER.fullmatch(number):
                self._bounded(names)
            case "BOUNDS", ["MI" | "PL" | "FR" | "BV", *names]:
                self._bounded(names[:2])  # a number behind them means nothing
            case _:
                blanks = "; names in such files have no blanks" if len(fields) > 2 and self.section in ("ROWS", "COLUMNS") else ""
                raise WrongTextError(f"{' '.join(fields)[:40]!r} is no line of the section {self.section!r}{blanks}")

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
            self.entries += not self.rows[row] and float(re.sub("[dD]", "e", value)) != 0

    def _pairs(self, pairs: list[str], number: re.Pattern[str]) -> None:
        """Names of rows, each with a number."""
        for row, value in zip(pairs[::2], pairs[1::2], strict=True):
            if row not in self.rows:
                raise WrongTextError(f"there is no row {row!r}")
            if number.fullmatch(value) is None:
                raise WrongTextError(f"{value[:40]!r} is no finite number")

    def _once(self, names: list[str], rows: list[str]) -> None:
        """Refuse what HiGHS passes over without a word: a second number of a row, and a second set."""
        name, section = " ".join(names), self.section
        if self.sets.setdefault(section, name) != name:
            raise WrongTextError(f"{section} has two sets, {self.sets[section]!r} and {name!r}; keep the one that counts")
        for row in rows:
            if row in self.numbered[section]:
                raise WrongTextError(f"the row {row!r} has two numbers in {section}; keep the one that counts")
            self.numbered[section].add(row)

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


def _program_of(lp: Any, *, maximised: bool) -> LinearProgram:
    """What HiGHS has read, as a minimisation; it stores columns, and kinds of variables where some are integers."""
    sign = -1.0 if maximised else 1.0
    parts = (np.array(lp.a_matrix_.value_), np.array(lp.a_matrix_.index_, np.int32), np.array(lp.a_matrix_.start_, np.int64))
    kinds = np.array([int(kind) for kind in lp.integrality_] or np.zeros(lp.num_col_, int))
    return LinearProgram(
        cost=sign * np.array(lp.col_cost_),
        offset=sign * lp.offset_,
        matrix=sparse.csr_array(sparse.csc_array(parts, shape=(lp.num_row_, lp.num_col_))),
        row_lower=np.array(lp.row_lower_),
        row_upper=np.array(lp.row_upper_),
        lower=np.array(lp.col_lower_),
        upper=np.array(lp.col_upper_),
        integer=kinds != 0,
        columns=_names(list(lp.col_names_) or [f"c{k}" for k in range(lp.num_col_)]),
        rows=_names(list(lp.row_names_) or [f"r{k}" for k in range(lp.num_row_)]),
    )


def _names(labels: list[str]) -> Names:
    """Labels of files as blocks: runs of one component with as many indices."""
    number = r"(?:0|[1-9][0-9]{0,17}|all)"  # as (1) writes them, in 64 bits
    pattern = re.compile(rf"(?P<name>[^()]+)\((?P<index>{number}(?:,{number})*)\)")
    found = [pattern.fullmatch(label) for label in labels]
    keys = [(m["name"], m["index"].count(",") + 1) if m else (label, 0) for m, label in zip(found, labels, strict=True)]
    blocks, at = [], 0
    for (name, width), run in groupby(keys):
        size = sum(1 for _ in run)
        if width == 0:
            blocks += [Block(name, ())] * size
        else:
            inside = ",".join(m["index"] for m in found[at : at + size] if m).replace("all", str(FOR_ALL)).split(",")
            table = np.array(inside, dtype=np.int64).reshape(size, width)
            blocks.append(Block(name, tuple(table.T)))
        at += size
    return Names(tuple(blocks))
