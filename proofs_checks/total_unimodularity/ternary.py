"""Matrices over the field of three elements -1, 0, 1: pivots, and the minors of the matroid that a matrix represents.

With the identity beside it, a matrix of -1, 0 and 1 represents a matroid over this field: its *elements* are the rows (the
columns of the identity) and the columns, the rows are a basis of it. A pivot on a nonzero e

    e  c        -e   e c
    b  D   ->   e b  D - e b c                                                                                            (1)

exchanges a row for a column in the basis; modulo 3 it stays within -1, 0, 1. To leave out a row is to contract its element, to
leave out a column is to delete it; by a pivot before, elements of the basis can be deleted, and others contracted. What comes of
contracting and deleting is a *minor*.

    A matrix is totally unimodular if and only if its matroid has no minor of four elements with the matrix
    [[1, 1], [1, -1]].                                                                                                    (2)

(Without it, the matroid has a matrix over the field of two elements too, and so it has a totally unimodular one: Tutte 1958. Over
this field all its matrices on one basis agree but for negated lines: Brylawski and Lucas 1976.)

In such a minor every two elements are a basis. With the contracted elements, these are six bases of the whole: submatrices with
determinants other than 0 modulo 3. There are no four such elements modulo 2, so one of the six determinants is even: 2 or more.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

Signs = NDArray[np.int8]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class FourPoints:
    """The minor (2).

    Parameters
    ----------
    elements
        its four elements: row i as i, column j as number of rows + j.
    contracted
        the elements that are contracted, with any two of the four a basis.
    """

    elements: tuple[int, ...]
    contracted: tuple[int, ...]


@dataclass(eq=False)
class Display:
    """A matrix on its way through pivots.

    Parameters
    ----------
    entries
        int8, shape (m, n).
    rows, columns
        the elements that stand there now.
    """

    entries: Signs
    rows: Ints
    columns: Ints

    @classmethod
    def of(cls, entries: Signs) -> Display:
        """A matrix before all pivots; its entries are copied."""
        m, n = entries.shape
        return cls(entries.copy(), np.arange(m), np.arange(m, m + n))

    def part(self, rows: Ints, columns: Ints) -> Display:
        """Some rows and columns, copied."""
        return Display(np.ascontiguousarray(self.entries[np.ix_(rows, columns)]), self.rows[rows], self.columns[columns])

    def pivot(self, i: int, j: int) -> None:
        """(1) on the entry in row i, column j."""
        _pivot(self.entries, i, j)
        self.rows[i], self.columns[j] = self.columns[j], self.rows[i]


def four_points(display: Display, contracted: Ints) -> FourPoints:
    """Pivot a square matrix, minimal among those that are not totally unimodular, down to (2).

    Each pivot leaves a smaller one whose determinant is again 2 or -2; its proper submatrices are minors of those before.
    """
    away = [int(e) for e in contracted]
    while len(display.rows) > 2:
        j = int(np.flatnonzero(display.entries[0])[0])
        display.pivot(0, j)
        away.append(int(display.rows[0]))
        rest = np.arange(1, len(display.rows))
        display = display.part(rest, np.delete(np.arange(len(display.columns)), j))
    return FourPoints((*map(int, display.rows), *map(int, display.columns)), tuple(away))


def even_submatrix(entries: Signs, found: FourPoints) -> tuple[Ints, Ints] | None:
    """By (2): rows and columns of a square submatrix with an even determinant other than 0; None if `found` is no such minor."""
    m = len(entries)
    for pair in itertools.combinations(found.elements, 2):
        basis = np.array([*pair, *found.contracted])
        columns = np.sort(basis[basis >= m]) - m
        rows = np.setdiff1d(np.arange(m), basis)
        if len(rows) != len(columns):
            return None
        square = entries[np.ix_(rows, columns)]
        if rank(square, 3) == len(rows) > rank(square, 2):
            return rows, columns
    return None


def rank(entries: Signs, modulus: int) -> int:
    """The rank modulo 2 or 3."""
    return int(_eliminate(entries.astype(np.int64) % modulus, modulus, entries.shape[1], np.arange(len(entries))))


def eliminate(entries: Signs, columns: int) -> Signs:
    """What is left, modulo 3, of the other columns in the rows without pivot after eliminating the first `columns`."""
    body = entries.astype(np.int64) % 3
    done = int(_eliminate(body, 3, columns, np.arange(len(body))))
    rest: Signs = body[done:, columns:].astype(np.int8)
    rest[rest == 2] = -1
    return rest


def shrunk_even(entries: Signs, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
    """A part of a square submatrix with an even determinant other than 0 modulo 3, with one too, which has all line sums even.

    Columns that add up to 0 modulo 2 do so in any rows; these columns are independent modulo 3 in some as many rows. The same
    goes for rows. This is repeated as long as there are fewer.
    """
    upright = True
    unchanged = 0
    while unchanged < 2:
        square = entries[np.ix_(rows, columns)] if upright else entries[np.ix_(rows, columns)].T
        chosen = _dependent(square.astype(np.int64) % 2)
        inside = _independent_rows(square[:, chosen].astype(np.int64) % 3)
        unchanged = unchanged + 1 if len(chosen) == len(rows) else 0
        rows, columns = (rows[inside], columns[chosen]) if upright else (rows[chosen], columns[inside])
        upright = not upright
    return rows, columns


@njit(cache=True)
def _pivot(entries, i, j):  # type: ignore[no-untyped-def]
    """(1), modulo 3."""
    m, n = entries.shape
    e = entries[i, j]
    for r in range(m):
        if r == i or entries[r, j] == 0:
            continue
        factor = e * entries[r, j]
        for c in range(n):
            if c != j and entries[i, c] != 0:
                entries[r, c] = (entries[r, c] - factor * entries[i, c] + 4) % 3 - 1
    for c in range(n):
        entries[i, c] *= e
    for r in range(m):
        entries[r, j] *= e
    entries[i, j] = -e


@njit(cache=True)
def _eliminate(body, modulus, columns, row):  # type: ignore[no-untyped-def]
    """Bring the first columns to echelon form, modulo 2 or 3; the number of pivots, which are in the first rows.

    `row` is permuted as the rows of the matrix are.
    """
    m, n = body.shape
    done = 0
    for c in range(columns):
        pivot = done
        while pivot < m and body[pivot, c] == 0:
            pivot += 1
        if pivot == m:
            continue
        if pivot != done:
            row[pivot], row[done] = row[done], row[pivot]
            for k in range(n):
                body[pivot, k], body[done, k] = body[done, k], body[pivot, k]
        for r in range(done + 1, m):
            if body[r, c] != 0:
                factor = body[r, c] * body[done, c]  # every nonzero is its own inverse
                for k in range(c, n):
                    body[r, k] = (body[r, k] + (modulus - factor % modulus) * body[done, k]) % modulus
        done += 1
    return done


@njit(cache=True)
def _dependent(body):  # type: ignore[no-untyped-def]
    """Columns of a square matrix, singular modulo 2, that add up to zero: the first that depends on those before, and these."""
    m, n = body.shape
    pivot_of = np.full(m, -1, np.int64)  # the column whose pivot is in this row
    for c in range(n):
        # the columns before are unit columns by now, with their pivots in different rows
        pivot = -1
        for r in range(m):
            if pivot_of[r] < 0 and body[r, c] != 0:
                pivot = r
                break
        if pivot < 0:
            count = 1
            for r in range(m):
                if body[r, c] != 0:
                    count += 1
            found = np.empty(count, np.int64)
            count = 0
            for r in range(m):
                if body[r, c] != 0:
                    found[count] = pivot_of[r]
                    count += 1
            found[count] = c
            return np.sort(found)
        pivot_of[pivot] = c
        for r in range(m):
            if r != pivot and body[r, c] != 0:
                for k in range(c, n):
                    body[r, k] ^= body[pivot, k]
    return np.arange(n)


def _independent_rows(body: Ints) -> Ints:
    """As many rows of a matrix with independent columns, modulo 3, as it has columns, independent as well; ascending."""
    row = np.arange(len(body))
    done = int(_eliminate(body, 3, body.shape[1], row))
    return np.sort(row[:done])
