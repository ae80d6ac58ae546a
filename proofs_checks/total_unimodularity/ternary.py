"""Matrices over the field of three elements -1, 0, 1: pivots, the minors of their matroids, and Eulerian submatrices.

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

Total unimodularity can also be decided by Eulerian submatrices (Camion 1963, 1965; Schrijver 1986, theorem 19.3). A submatrix is
**Eulerian** if every row and every column of it has an even sum. A matrix of -1, 0 and 1 is totally unimodular if and only if
every square Eulerian submatrix has an entry sum that is divisible by 4. Here the same is asked of every Eulerian submatrix,
square or not. A totally unimodular matrix fulfils that too: by Ghouila-Houri, the rows fall into two parts with equal column
sums, so with equal entry sums x, and x is even since whole rows add up to it.                                (3)

For rows R, let E be the columns whose sum over R is even. Eulerian are just the A[R, C] with C in E and

    sum over c in C of A[R, c] = 0  modulo 2,                                                                              (4)

and the entry sum is divisible by 4 if and only if an even number of columns in C have a sum of 2 modulo 4 over R. Write this as
one more bit below A[R, c] mod 2. The condition says that columns which add up to zero in (4) do so with that bit. This is
linear, so Gaussian elimination decides it for all C at once: each R takes one pass over the columns.                      (5)

The first R that fails, as bit masks ascend, has no proper subset that does. The column at which it fails is a sum, modulo 2, of
independent columns before it; with these it is a C of which no proper part fulfils (4). By (3), A[R, C] is not totally
unimodular. So it has a square Eulerian submatrix with entry sum 2 modulo 4, whose rows fail: they are R; its columns are a part
of C that fulfils (4): they are C. The same goes for any part of A[R, C] that is not totally unimodular: it is all of it.
Hence A[R, C] is square and minimal.                                                                                       (6)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.violation import Place

Signs = NDArray[np.int8]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Display:
    """A matrix on its way through pivots."""

    entries: Signs  # int8, shape (m, n).
    rows: Ints  # the elements that stand there now.
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
def rank(entries):  # type: ignore[no-untyped-def]
    """The rank."""
    body = entries.copy()
    m, n = body.shape
    done = 0
    for c in range(n):
        pivot = done
        while pivot < m and body[pivot, c] == 0:
            pivot += 1
        if pivot == m:
            continue
        for k in range(n):
            body[pivot, k], body[done, k] = body[done, k], body[pivot, k]
        for r in range(done + 1, m):
            factor = body[r, c] * body[done, c]  # every nonzero is its own inverse
            for k in range(c, n):
                body[r, k] = (body[r, k] - factor * body[done, k] + 4) % 3 - 1
        done += 1
    return done


def least_violation(entries: NDArray[np.int8]) -> Place | None:
    """Rows and columns of a minimal violating submatrix, for few rows: 2^m passes over the columns, as bit masks of rows."""
    m = entries.shape[0]
    bit = np.int64(1) << np.arange(m, dtype=np.int64)
    support = bit @ (entries != 0)
    mask, column = _first_failure(m, support, bit @ (entries < 0))
    if not mask:
        return None
    rows = tuple(i for i in range(m) if mask >> i & 1)
    even = [c for c in range(column) if (int(support[c]) & mask).bit_count() % 2 == 0]
    return rows, _circuit([int(support[c]) & mask for c in even], int(support[column]) & mask, even, column)


def _circuit(vectors: list[int], last: int, names: list[int], name: int) -> tuple[int, ...]:
    """The independent ones among bit vectors that add up to the last, and the last itself."""
    basis: dict[int, tuple[int, int]] = {}
    for place, vector in enumerate([*vectors, last]):
        members = 1 << place
        while vector and vector.bit_length() in basis:
            with_top, used = basis[vector.bit_length()]
            vector, members = vector ^ with_top, members ^ used
        if vector:
            basis[vector.bit_length()] = vector, members
    return (*(c for place, c in enumerate(names) if members >> place & 1), name)


@njit(cache=True)
def _first_failure(m, support, negative):  # type: ignore[no-untyped-def]
    """(5): the first mask of rows that fails and the column at which it does, or (0, 0)."""
    top = np.int64(1) << m
    # number of bits of every mask
    ones = np.zeros(top, dtype=np.uint8)
    for mask in range(1, top):
        ones[mask] = ones[mask >> 1] + (mask & 1)
    basis = np.empty(m + 1, dtype=np.int64)
    for mask in range(1, top):
        rank = 0
        for c in range(support.shape[0]):
            vector = support[c] & mask
            size = np.int64(ones[vector])
            if size % 2 == 1:
                continue
            # the column's sum is size - 2 * (its negative entries); the bit is the lowest, so that no basis vector begins with it
            vector = vector << 1 | (size // 2 + ones[negative[c] & mask]) & 1
            for k in range(rank):
                vector = min(vector, vector ^ basis[k])
            if vector > 1:
                basis[rank] = vector
                rank += 1
            elif vector == 1:
                return mask, c
    return np.int64(0), 0
