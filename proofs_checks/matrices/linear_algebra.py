"""Determinants and ranks without rounding: Bareiss' elimination, whose divisions have no remainder.

    a_ij <- (a_kk a_ij - a_ik a_kj) / (previous pivot)                                                                (1)

keeps integers integers: every entry is a minor of the matrix (Bareiss 1968). Fractions pass through as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from fractions import Fraction

from formulations.errors import InvalidInputError

Number = int | Fraction


def determinant(entries: Sequence[Sequence[Number]]) -> Number:
    """The determinant of a square matrix of integers or fractions, exactly; 1 for order 0.

    Raises
    ------
    InvalidInputError
        if it is not square.
    """
    rows = _exact(entries)
    sign, previous, n = 1, 1, len(rows)
    if any(len(row) != n for row in rows):
        raise InvalidInputError(f"a matrix with {n} rows and {max(map(len, rows))} columns has no determinant; give a square one")
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            sign = -sign
        _eliminate(rows, k, k, previous)
        previous = rows[k][k]  # type: ignore[assignment]
    return sign * previous


def rank(entries: Sequence[Sequence[Number]]) -> int:
    """The rank of a matrix of integers or fractions, exactly.

    Raises
    ------
    InvalidInputError
        if its rows differ in length.
    """
    rows = _exact(entries)
    if any(len(row) != len(rows[0]) for row in rows):
        raise InvalidInputError(f"rows with {', '.join(str(len(row)) for row in rows)} entries; give all the same number")
    done, previous = 0, 1
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        _eliminate(rows, done, column, previous)
        previous = rows[done][column]  # type: ignore[assignment]
        done += 1
    return done


def _exact(entries: Sequence[Sequence[Number]]) -> list[list[Number]]:
    """Python's own integers, which do not overflow, and fractions."""
    return [[x if isinstance(x, Fraction) else operator.index(x) for x in row] for row in entries]


def _eliminate(rows: list[list[Number]], k: int, column: int, previous: Number) -> None:
    """Apply (1) below row k and right of a column; the entries left of it are not read again."""
    pivot = rows[k]
    for row in rows[k + 1 :]:
        factor = row[column]
        for j in range(column + 1, len(row)):
            entry = pivot[column] * row[j] - factor * pivot[j]
            row[j] = entry // previous if isinstance(entry, int) and isinstance(previous, int) else Fraction(entry) / previous
