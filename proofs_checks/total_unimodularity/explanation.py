"""A verdict on total unimodularity in sentences, for readers who know linear programming, and no matroids."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Count, checked
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity.pieces import COPY, UNIT, ZERO, Pieces, Reductions, Split, ThreeSum, TwoSum, kind_of
from proofs_checks.verdict import DEFAULTS, Verdict

LEFT_OUT = "left out"
"""The kind of a leaf of lines that reductions left out."""

REASONS = {
    LEFT_OUT: """Left out: a row or column with at most one nonzero, or one that equals another or its negative. Every determinant
        that it takes part in is 0 or, but for the sign, that of a smaller submatrix.""",
    "blocks": """Blocks: there are no nonzeros between them, so every determinant is a product of determinants within them.""",
    "network matrix": """Network matrix: there is a directed tree whose arcs are the rows, and every column is a path in it, with
        1 where it runs along an arc and -1 where it runs against it. The constraints of flows are of this kind.""",
    "transposed network matrix": """Transposed network matrix: the same with rows and columns exchanged. The constraints of
        potentials, which are the duals of flows, are of this kind.""",
    "R10": """R10: one of the two matrices with 5 rows and columns (but for the order and the signs of lines) that no sums of
        networks make. All their 251 subdeterminants were computed.""",
    "2-sum": """2-sum: the lines have two sides, and the entries between them are one column times one row. The matrix is totally
        unimodular if and only if each side is, together with one row or column of the other (which has an apostrophe).""",
    "3-sum": """3-sum: the lines have two sides, and the entries between them are one column times one row in the rows of the
        first side, and one column times one row in those of the second. The matrix is totally unimodular if each side is,
        together with one row and two columns that stand for the other (with apostrophes).""",
    "pivot": """Pivot: as in the simplex method, a row and a column change places. Subdeterminants before and after are the same,
        but for signs and places.""",
}
"""Why each step is allowed."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """Lines that end together: a network, a transpose, R10, or what was left out."""

    kind: str  # in words
    # rows, columns: indices in the whole matrix; every line is in one leaf. Lines that stand for the other side of a sum are left
    # away.
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    depth: int  # number of sums around it


def leaves_of(pieces: Pieces, shape: tuple[int, int]) -> list[Leaf]:
    """The leaves of a decomposition from left to right, what was left out of each matrix after its blocks."""
    found: list[Leaf] = []
    todo = [(pieces, np.arange(shape[0]), np.arange(shape[1]), 0)]
    while todo:
        here, rows, columns, depth = todo.pop()
        below: list[Any] = []
        for piece in here.pieces:
            r, c = rows[piece.rows], columns[piece.columns]
            if isinstance(piece.evidence, Split):
                sides = _sides(piece.evidence.sum, r, c)
                below.extend((part, *lines, depth + 1) for part, lines in zip(piece.evidence.parts, sides, strict=True))
            else:
                found.append(Leaf(piece.kind, r[r >= 0], c[c >= 0], depth))
        line = here.reductions.line
        r, c = rows[line[line < len(rows)]], columns[line[line >= len(rows)] - len(rows)]
        if (r >= 0).any() or (c >= 0).any():
            found.append(Leaf(LEFT_OUT, r[r >= 0], c[c >= 0], depth))
        todo.extend(reversed(below))
    return found


def _sides(how: TwoSum | ThreeSum, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Iterator[tuple[Any, Any]]:
    """The lines of both parts of a sum, -1 for those that stand for the other side."""
    m = len(rows)
    first = np.zeros(m + len(columns), dtype=np.bool_)
    first[how.first] = True
    for own in (first, ~first):
        if isinstance(how, ThreeSum):
            yield np.append(rows[own[:m]], -1), np.append(columns[own[m:]], [-1, -1])
            continue
        there = own.copy()
        there[[how.v, how.w]] = True
        lines = np.where(own, np.concatenate([rows, columns]), -1)
        yield lines[:m][there[:m]], lines[m:][there[m:]]


@checked
def explain_unimodularity(matrix: Any, verdict: Verdict, *, most: Count = 100) -> str:
    """Say how total unimodularity was decided, step by step, and why each kind of step is allowed.

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.
    verdict
        what `check_total_unimodularity` answered for it.
    most
        lines of the outline that are shown.

    Returns
    -------
    str
        for a decomposition, an outline: a line for each block, parts of sums indented, and below it the reason for each kind of
        step that occurs.

    Examples
    --------
    >>> import prunemodels as pm
    >>> r10 = [[1, -1, 0, 0, -1], [-1, 1, -1, 0, 0], [0, -1, 1, -1, 0], [0, 0, -1, 1, -1], [-1, 0, 0, -1, 1]]
    >>> text = pm.checks.explain_unimodularity(r10, pm.checks.check_total_unimodularity(r10))
    >>> print(text.splitlines()[0])
    The matrix with 5 rows and 5 columns is totally unimodular.
    """
    given = read_matrix(matrix)
    answer = {True: "is totally unimodular", False: "is not totally unimodular", None: "is undecided"}[verdict.holds]
    head = f"The matrix with {given.shape[0]:,} rows and {given.shape[1]:,} columns {answer}."
    certificate = verdict.certificate
    if isinstance(certificate, ViolatingSubmatrix):
        return "\n".join([head, _why_not(certificate), "", str(certificate)])
    if isinstance(certificate, NetworkMatrix):
        here, *paths = str(certificate).split("\n")
        return "\n".join([head, _wrapped(REASONS[kind_of(certificate)]), _wrapped(f"Here it is {here}."), *paths])
    if not isinstance(certificate, Pieces):
        return "\n".join([head, f"Method: {verdict.method}; {certificate}."])
    lines, used = _outline(certificate, given)
    if len(lines) > most:
        lines = [*lines[:most], f"... and {len(lines) - most:,} lines more"]
    return "\n".join([head, "", *lines, "", *(_wrapped(why) for kind, why in REASONS.items() if kind in used)])


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), DEFAULTS.text_width)


def _why_not(violating: ViolatingSubmatrix) -> str:
    """What a violating submatrix means for a linear program."""
    value = violating.determinant
    if violating.order == 1:
        return f"One entry is {value}: total unimodularity asks for -1, 0 and 1."
    return _wrapped(
        f"These {violating.order} rows and columns have the determinant {value}. So there are whole right-hand sides for which "
        f"the equations of these rows, in these variables, have a fractional solution. No smaller part violates."
    )


def _outline(pieces: Pieces, matrix: SignMatrix) -> tuple[list[str], set[str]]:
    """The decomposition as indented lines, with the names of the matrix; and the kinds of steps that occur."""
    lines: list[str] = []
    used: set[str] = set()
    todo: list[Any] = [("", pieces, list(matrix.rows), list(matrix.columns))]
    while todo:
        entry = todo.pop()
        if isinstance(entry, str):
            lines.append(entry)
            continue
        head, here, rows, columns = entry
        # a line for the matrix, and what was left out of it
        indent = " " * (len(head) - len(head.lstrip()) + 2)
        lines.append(f"{head}{len(rows)} x {len(columns)}, {_reduced(here.reductions)}")
        used |= ({LEFT_OUT} if len(here.reductions) else set()) | ({"blocks"} if len(here.pieces) > 1 else set())
        used |= {piece.kind for piece in here.pieces}
        # a line for each block; parts of a sum below it, farther in
        below: list[Any] = []
        for piece in here.pieces:
            r, c = [rows[i] for i in piece.rows], [columns[j] for j in piece.columns]
            if not isinstance(piece.evidence, Split):
                below.append(f"{indent}{_named(r, c)}: {piece.kind}")
                continue
            text, sides = _sum(piece.evidence.sum, r, c)
            used |= {"pivot"} if " after a pivot" in text else set()
            below.append(f"{indent}{_named(r, c)}: {text}")
            for name, part, (x, y) in zip(("first", "second"), piece.evidence.parts, sides, strict=True):
                below.append((f"{indent}  {name} part: ", part, x, y))
        todo.extend(reversed(below))
    return lines, used


def _reduced(reductions: Reductions) -> str:
    """How many lines were left out, by kind."""
    counts = [int(np.count_nonzero(reductions.kind == kind)) for kind in (ZERO, UNIT, COPY)]
    words = [f"{k} {word}" for k, word in zip(counts, ("zero", "with one nonzero", "that repeat others"), strict=True) if k]
    return f"left out: {', '.join(words)}" if words else "nothing left out"


def _named(rows: list[str], columns: list[str]) -> str:
    """A block's size and where it begins."""
    return f"{len(rows)} x {len(columns)} (rows {_few(rows)}; columns {_few(columns)})"


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])}, ..."


def _sum(how: TwoSum | ThreeSum, rows: list[str], columns: list[str]) -> tuple[str, list[tuple[list[str], list[str]]]]:
    """A sum in words, and the names of its parts' lines, with an apostrophe where they stand for the other side."""
    m = len(rows)
    names = np.array([*rows, *columns], dtype=object)
    first = np.zeros(len(names), dtype=np.bool_)
    first[how.first] = True
    if isinstance(how, TwoSum):
        sides = []
        for own, guest in ((first, how.w), (~first, how.v)):
            there = own.copy()
            there[guest] = True
            shown = np.where(own, names, names + "'")
            sides.append((shown[:m][there[:m]].tolist(), shown[m:][there[m:]].tolist()))
        return f"2-sum where {names[how.v]} meets {names[how.w]}", sides
    text = "3-sum"
    if how.pivot is not None:
        i, j = how.pivot
        text += f" after a pivot on row {names[i]}, column {names[m + j]}"
        names[i], names[m + j] = names[m + j], names[i]
    sides = []
    for k, own in enumerate((first, ~first)):
        row, column = (names[how.row], names[m + how.column]) if k == 0 else ("first side", "first side")
        sides.append(([*names[:m][own[:m]].tolist(), f"{row}'"], [*names[m:][own[m:]].tolist(), f"{column}'", f"{column}''"]))
    return text, sides
