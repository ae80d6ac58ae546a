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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

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
