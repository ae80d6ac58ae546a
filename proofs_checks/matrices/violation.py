"""Why a matrix is not totally unimodular: a square submatrix whose determinant is none of -1, 0, 1.

Determinants are exact. A pivot of 1 or -1 eliminates without a division, row by row that has an entry below it, which is all that
large sparse matrices of -1, 0 and 1 need. Where none is left, Bareiss' elimination goes on, whose divisions have no remainder:

    a_ij <- (a_kk a_ij - a_ik a_kj) / (previous pivot)                                                                (1)

keeps integers integers: every entry is a minor of the matrix (Bareiss 1968). Fractions pass through as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.verdict import aligned

Number = int | Fraction

Place = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows and columns of a square submatrix."""


def determinant(entries: Sequence[Sequence[Number]]) -> Number:
    """The determinant of a square matrix of integers or fractions, exactly; 1 for order 0."""
    # Python's own integers, which do not overflow
    rows: list[list[Number]] = [[x if isinstance(x, Fraction) else operator.index(x) for x in row] for row in entries]
    sign, n = 1, len(rows)
    if any(len(row) != n for row in rows):
        raise InvalidInputError(f"a matrix with {n} rows and {max(map(len, rows))} columns has no determinant; give a square one")
    for k in range(n):
        unit = next((i for i in range(k, n) if rows[i][k] in (1, -1)), None)
        if unit is None:
            return sign * _bareiss([row[k:] for row in rows[k:]])
        if unit != k:
            rows[k], rows[unit] = rows[unit], rows[k]
            sign = -sign
        pivot, own = rows[k], int(rows[k][k])
        others = [j for j in range(k + 1, n) if pivot[j]]
        for row in rows[k + 1 :]:
            factor = row[k] * own
            if factor:
                for j in others:
                    row[j] -= factor * pivot[j]
        sign *= own
    return sign


def _bareiss(rows: list[list[Number]]) -> Number:
    """The determinant by (1)."""
    sign, previous, n = 1, 1, len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            sign = -sign
        _eliminate(rows, k, previous)
        previous = rows[k][k]  # type: ignore[assignment]
    return sign * previous


def _eliminate(rows: list[list[Number]], k: int, previous: Number) -> None:
    """Apply (1) below row k and right of column k; the entries left of it are not read again."""
    pivot = rows[k]
    for row in rows[k + 1 :]:
        factor = row[k]
        for j in range(k + 1, len(row)):
            entry = pivot[k] * row[j] - factor * pivot[j]
            row[j] = entry // previous if isinstance(entry, int) and isinstance(previous, int) else Fraction(entry) / previous


@checked
@dataclass(frozen=True, eq=False)
class ViolatingSubmatrix:
    """A square submatrix, its determinant, and where it stands.

    Parameters
    ----------
    rows, columns
        indices in the matrix, ascending.
    entries
        row by row.
    determinant
        none of -1, 0, 1. In a matrix of -1, 0 and 1 it is -2 or 2 if the submatrix is minimal (Gomory).
    row_names, column_names
        their names.

    Examples
    --------
    >>> import prunemodels as pm
    >>> verdict = pm.checks.check_total_unimodularity([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> verdict.certificate.determinant, verdict.certificate.rows
    (2, (0, 1, 2))
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    entries: tuple[tuple[int | Fraction, ...], ...]
    determinant: int | Fraction
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]

    @property
    def order(self) -> int:
        """Number of rows, and of columns."""
        return len(self.rows)

    def __str__(self) -> str:
        """The submatrix as a table with its names, and the determinant below."""
        body = [[name, *row] for name, row in zip(self.row_names, self.entries, strict=True)]
        return "\n".join([*aligned([["", *self.column_names], *body]), f"determinant {self.determinant}"])


def submatrix(matrix: SignMatrix, rows: Sequence[int], columns: Sequence[int]) -> ViolatingSubmatrix:
    """The submatrix of some rows and as many columns, with its determinant; violating or not."""
    row, column = tuple(sorted(map(int, rows))), tuple(sorted(map(int, columns)))
    entries: tuple[tuple[int | Fraction, ...], ...]
    if matrix.other is not None and matrix.other[0] in row and matrix.other[1] in column:
        if len(row) > 1 or len(column) > 1:
            i, j, value = matrix.other
            raise InvalidInputError(f"the entry in row {i}, column {j} is {value}, which violates alone; give [{i}], [{j}]")
        entries = ((matrix.other[2],),)
    else:
        entries = tuple(tuple(int(x) for x in line) for line in matrix.part(row, column).dense())
    return ViolatingSubmatrix(
        row, column, entries, determinant(entries), tuple(matrix.rows[i] for i in row), tuple(matrix.columns[j] for j in column)
    )


def of_whole(matrix: SignMatrix, rows: NDArray[Any], columns: NDArray[Any], found: ViolatingSubmatrix) -> ViolatingSubmatrix:
    """A submatrix of some rows and columns as one of the whole matrix."""
    return submatrix(matrix, rows[list(found.rows)].tolist(), columns[list(found.columns)].tolist())
