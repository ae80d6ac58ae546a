"""Determinants and ranks without rounding: Bareiss' elimination, whose divisions have no remainder.

    a_ij <- (a_kk a_ij - a_ik a_kj) / (previous pivot)                                                                (1)

keeps integers integers: every entry is a minor of the matrix (Bareiss 1968). Fractions pass through as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Number = int | Fraction


def determinant(entries: Sequence[Sequence[Number]]) -> Number:
    """The determinant of a square matrix of integers or fractions, exactly; 1 for order 0."""
    rows = [list(row) for row in entries]
    sign, previous, n = 1, 1, len(rows)
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
    """The rank of a matrix of integers or fractions, exactly."""
    rows = [list(row) for row in entries]
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


def _eliminate(rows: list[list[Number]], k: int, column: int, previous: Number) -> None:
    """(1), below row k and right of a column."""
    pivot = rows[k]
    for row in rows[k + 1 :]:
        factor = row[column]
        for j in range(column + 1, len(row)):
            entry = pivot[column] * row[j] - factor * pivot[j]
            row[j] = entry // previous if isinstance(entry, int) and isinstance(previous, int) else Fraction(entry) / previous
        row[column] = 0
