r"""Linear and integer programs as files that other solvers read: .lp (CPLEX's format) and .mps (free format).

Numbers are written with enough digits to be read back bit for bit; HiGHS' own writer keeps 15, which moves 1/3 by
3e-16. The LP format does not allow brackets, so names change,

    w_t[0,1,3]  <->  w_t(0,1,3)                                                                                            (1)

The offset is the cost of a last column ``constant``, fixed at 1, and there is none where it is 0:

    cost x + offset  =  cost x + offset constant,    constant = 1                                                          (2)

A constant in the objective means other things to other solvers: CBC drops it from .lp, GLPK refuses it there, and takes it from
.mps with the other sign. All columns stand in the objective, also at cost 0: readers number columns as they meet them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.arguments import checked
from formulations.checkpoints import written_whole
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.programs.linear_program import FOR_ALL, Block, LinearProgram, Names

CHUNK = 1 << 18
"""Number of entries that are turned into text at a time."""

Text = NDArray[Any]
"""An array of strings."""


@checked
def write_program(program: LinearProgram, file: str | Path) -> None:
    """Write a program, the whole file or none of it; the ending .lp or .mps chooses the format.

    The constant of the objective is the cost of a last column ``constant``, fixed at 1, so that every solver counts it.

    Raises
    ------
    InvalidInputError
        for another ending, coefficients that are not finite, or, in .lp, a row with two different finite sides, which that format
        lacks.
    BrokenFileError
        if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> program = pm.programs.solve_relaxation(problem, 0.01).program
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.programs.write_program(program, f"{folder}/model.mps")
    ...     Path(folder, "model.mps").read_text().split()[0]
    ...
    'NAME'
    """
    file = Path(file)
    lines = _lp_text if ending_of(file) == ".lp" else _mps_text
    _check_finite(program)
    two_sided = np.isfinite(program.row_lower) & np.isfinite(program.row_upper) & (program.row_lower != program.row_upper)
    if lines is _lp_text and two_sided.any():
        name = program.rows[int(np.argmax(two_sided))]
        raise InvalidInputError(f"row {name} has two sides, which .lp files lack; write an .mps file")
    try:
        with written_whole(file, "half") as out:
            for text in lines(_with_constant(program)):
                out.write(text.encode("ascii"))
    except OSError as error:
        raise BrokenFileError(f"cannot write {file}: {error.strerror or error}") from error


def ending_of(file: Path) -> str:
    """The ending of a program's file; others are refused."""
    ending = file.suffix.lower()
    if ending not in (".lp", ".mps"):
        raise InvalidInputError(f"{file.name!r} ends in {ending!r}; name the file .lp or .mps")
    return ending


def _check_finite(lp: LinearProgram) -> None:
    """Refuse coefficients that no file can hold; bounds and sides may be infinite."""
    for what, numbers in (("cost", lp.cost), ("matrix", lp.matrix.data), ("offset", np.array([lp.offset]))):
        if not np.isfinite(numbers).all():
            raise InvalidInputError(
                f"the program's {what} has the coefficient {numbers[~np.isfinite(numbers)][0]}; give a smaller lambda, smaller "
                "prices, or another unit"
            )


def _with_constant(lp: LinearProgram) -> LinearProgram:
    """(2), from left to right."""
    if lp.offset == 0:
        return lp
    name, (rows, n), a = _other_name("constant", lp.columns), lp.shape, lp.matrix
    return replace(
        lp,
        cost=np.append(lp.cost, lp.offset),
        offset=0.0,
        matrix=sparse.csr_array((a.data, a.indices, a.indptr), shape=(rows, n + 1)),
        lower=np.append(lp.lower, 1.0),
        upper=np.append(lp.upper, 1.0),
        integer=np.append(lp.integer, False),
        columns=Names((*lp.columns.blocks, Block(name, ()))),
    )


def without_constant(lp: LinearProgram) -> LinearProgram:
    """(2), from right to left, if the last column is so called, fixed at 1, continuous, and in no row."""
    last = lp.shape[1] - 1
    if last < 0 or not re.fullmatch("constant_*", lp.columns[last]) or lp.integer[last] or (lp.matrix.indices == last).any():
        return lp
    if not lp.lower[last] == lp.upper[last] == 1:
        return lp
    return replace(
        lp,
        cost=lp.cost[:last],
        offset=lp.offset + float(lp.cost[last]),
        matrix=lp.matrix[:, :last],
        lower=lp.lower[:last],
        upper=lp.upper[:last],
        integer=lp.integer[:last],
        columns=Names(lp.columns.blocks[:-1]),
    )


def _lp_text(lp: LinearProgram) -> Iterator[str]:
    columns = labels_of(lp.columns)
    yield "\\ written by prunemodels\nminimize\n obj:\n"
    for part in _parts(len(columns)):
        yield "".join((_signed(lp.cost[part]) + " " + columns[part] + "\n").tolist())
    yield "subject to\n"
    yield from _lp_rows(lp, columns)
    yield "bounds\n"
    for part in _parts(len(columns)):
        yield "".join((" " + _number(lp.lower[part]) + " <= " + columns[part] + " <= " + _number(lp.upper[part]) + "\n").tolist())
    yield "general\n"
    integers = columns[lp.integer]
    for part in _parts(len(integers)):
        yield "".join((" " + integers[part] + "\n").tolist())
    yield "end\n"


def _lp_rows(lp: LinearProgram, columns: Text) -> Iterator[str]:
    """Each row on a line of its own; long rows are broken after every eighth entry."""
    start, matrix = lp.matrix.indptr, lp.matrix
    rows = labels_of(lp.rows)
    upper = np.isfinite(lp.row_upper)
    sense = np.where(lp.row_lower == lp.row_upper, " = ", np.where(upper, " <= ", " >= ")).astype(object)
    side = np.where(upper, lp.row_upper, lp.row_lower)
    for part in _parts_by(start):
        first, last = start[part.start], start[part.stop]
        length = np.diff(start[part.start : part.stop + 1])
        place = np.arange(last - first) - np.repeat(start[part] - first, length)
        terms = _signed(matrix.data[first:last]) + " " + columns[matrix.indices[first:last]]
        terms = np.where(place % 8 == 7, "\n ", "").astype(object) + terms
        head, tail = " " + rows[part] + ":", sense[part] + _number(side[part]) + "\n"
        empty = length == 0
        if empty.any():
            head[empty] += f" 0 {columns[0]}" if len(columns) else " 0"
        yield _interleaved(head, terms, tail, start[part.start : part.stop + 1] - first)


def _interleaved(head: Text, terms: Text, tail: Text, start: NDArray[np.integer[Any]]) -> str:
    """Head, terms and tail of each row, one row after the other."""
    rows = np.arange(len(head))
    pieces = np.empty(2 * len(head) + len(terms), dtype=object)
    heads, tails = start[:-1] + 2 * rows, start[1:] + 2 * rows + 1
    inner = np.ones(len(pieces), dtype=bool)
    inner[heads] = inner[tails] = False
    pieces[heads], pieces[tails], pieces[inner] = head, tail, terms
    return "".join(pieces.tolist())


def _mps_text(lp: LinearProgram) -> Iterator[str]:
    columns, rows = labels_of(lp.columns), labels_of(lp.rows)
    low, high = np.isfinite(lp.row_lower), np.isfinite(lp.row_upper)
    kind = np.where(lp.row_lower == lp.row_upper, " E ", np.where(high, " L ", " G ")).astype(object)
    objective, sides, ranges = (_other_name(name, lp.rows) for name in ("obj", "RHS", "RANGE"))
    bounds = _other_name("BND", lp.columns)
    yield f"NAME prunemodels FREE\nROWS\n N {objective}\n"
    for part in _parts(len(rows)):
        yield "".join((kind[part] + rows[part] + "\n").tolist())
    yield "COLUMNS\n"
    yield from _mps_columns(lp, columns, rows, objective)
    yield "RHS\n"
    side = np.where(high, lp.row_upper, lp.row_lower)
    for part in _parts(len(rows)):
        yield "".join((f" {sides} " + rows[part] + " " + _number(side[part], "1e30") + "\n").tolist())
    ranged = low & high & (lp.row_lower != lp.row_upper)
    if ranged.any():
        width = _number(lp.row_upper[ranged] - lp.row_lower[ranged])
        yield "RANGES\n" + "".join((f" {ranges} " + rows[ranged] + " " + width + "\n").tolist())
    yield "BOUNDS\n"
    for part in _parts(len(columns)):
        yield _mps_bounds(lp.lower[part], lp.upper[part], columns[part], bounds)
    yield "ENDATA\n"


def _other_name(name: str, names: Names) -> str:
    """The name, with as many underscores as make it none of the others; names with indices have parentheses."""
    taken = {block.name for block in names.blocks if not block.index}
    while name in taken:
        name += "_"
    return name


def _mps_columns(lp: LinearProgram, columns: Text, rows: Text, objective: str) -> Iterator[str]:
    """Each column's cost and entries; runs of integer columns are enclosed by markers."""
    by_column = sparse.csc_array(lp.matrix)
    start = by_column.indptr
    change = np.diff(lp.integer.astype(np.int8), prepend=np.int8(0), append=np.int8(0))
    opening = np.where(change > 0, " M1 'MARKER' 'INTORG'\n", np.where(change < 0, " M2 'MARKER' 'INTEND'\n", "")).astype(object)
    for part in _parts_by(start):
        first, last = start[part.start], start[part.stop]
        owner = np.repeat(columns[part], np.diff(start[part.start : part.stop + 1]))
        entries = " " + owner + " " + rows[by_column.indices[first:last]] + " " + _number(by_column.data[first:last]) + "\n"
        head = opening[part] + " " + columns[part] + f" {objective} " + _number(lp.cost[part]) + "\n"
        tail = np.full(len(head), "", dtype=object)
        yield _interleaved(head, entries, tail, start[part.start : part.stop + 1] - first)
    yield str(opening[-1])


def _mps_bounds(lower: NDArray[np.float64], upper: NDArray[np.float64], columns: Text, name: str) -> str:
    """Two lines for each column, the lower bound first: some readers take a negative upper bound alone for a free column."""
    low, high = np.isfinite(lower), np.isfinite(upper)
    below = np.where(low, f" LO {name} ", f" MI {name} ").astype(object) + columns + np.where(low, " ", "").astype(object)
    above = np.where(high, f" UP {name} ", f" PL {name} ").astype(object) + columns + np.where(high, " ", "").astype(object)
    lines = below + _number(lower, "") + "\n" + above + _number(upper, "") + "\n"
    return "".join(lines.tolist())


def labels_of(names: Names) -> Text:
    """All names in the spelling of files."""
    return np.concatenate([np.empty(0, dtype=object), *(_block_labels(block) for block in names.blocks)])


def _block_labels(block: Block) -> Text:
    if not block.index:
        return np.array([block.name], dtype=object)
    labels: Text = np.full(len(block), f"{block.name}(", dtype=object)
    for k, part in enumerate(block.index):
        text = _distinct(part, lambda value: "all" if value == FOR_ALL else str(value))
        labels = labels + ("," if k else "") + text
    return labels + ")"


def _number(values: NDArray[np.float64], infinite: str = "inf") -> Text:
    """The shortest decimals that are read as the same floats; infinity has its sign, without which GLPK takes it for a name."""

    def text(value: float) -> str:
        return repr(value) if np.isfinite(value) else infinite and f"{'-' if value < 0 else '+'}{infinite}"

    return _distinct(values, text)


def _signed(values: NDArray[np.float64]) -> Text:
    return _distinct(values, lambda value: f" {'-' if value < 0 else '+'} {abs(value)!r}")


def _distinct(values: NDArray[Any], text: Any) -> Text:
    """The text of each value; each distinct value is written once."""
    distinct, place = np.unique(values, return_inverse=True)
    written: Text = np.array([text(value) for value in distinct.tolist()], dtype=object)
    return written[place] if len(written) else np.empty(0, dtype=object)


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, CHUNK):
        yield slice(start, min(start + CHUNK, n))


def _parts_by(start: NDArray[np.integer[Any]]) -> Iterator[slice]:
    """Rows in runs of about `CHUNK` entries and at most `CHUNK` rows."""
    a, n = 0, len(start) - 1
    while a < n:
        b = int(np.searchsorted(start, start[a] + CHUNK, side="right")) - 1
        b = min(max(b, a + 1), a + CHUNK, n)
        yield slice(a, b)
        a = b
