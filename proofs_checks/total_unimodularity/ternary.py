"""Matrices over the field of three elements -1, 0, 1: pivots, minors of their matroids, Eulerian submatrices, and their signs.

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

Chordless cycles tell whether the signs of a matrix are those that total unimodularity demands (Camion 1963; Truemper 1982).
The nonzeros are the edges of the bipartite graph of rows and columns. The submatrix of the k rows and k columns of a chordless
cycle has just two nonzeros in each line, so

    its determinant is 0 where its entries add up to 0 modulo 4, and 2 or -2 where they add up to 2               (7)

and all its proper submatrices are forests: a cycle with 2 is a minimal violating submatrix.

Start with all rows, or with all columns if there are more of them, and add the other lines one by one. In the graph so far, a
breadth-first search from a neighbour of the new line v reaches v's other neighbours of that component on shortest paths; the
stretch of such a path from its last but one neighbour of v is without chords, and closes a chordless cycle through v:

    v, t', ..., t    with (7) for every neighbour t but the first of a component                                 (8)

The cycles (8) settle all signs but those that negated lines can choose. So where they all pass, and some signing of the support
is totally unimodular, this one is; where none is, passing says nothing. At most O(lines * nonzeros) steps.

Before all of a large matrix is worked on, small parts of it are looked at: lines are gathered breadth first from a few rows on,
few of each line's neighbours, until there are some hundred. A wrong cycle in such a part is one of the whole; where formulations
are not totally unimodular, small ones abound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.matrices.violation import Place, ViolatingSubmatrix, of_whole, submatrix
from proofs_checks.total_unimodularity.reductions import lines_of
from proofs_checks.verdict import DEFAULTS

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
    # the other rows outside column j, while row i and column j are still as they were
    for r in range(m):
        if r == i or entries[r, j] == 0:
            continue
        factor = e * entries[r, j]
        # then row i and column j themselves
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


def wrong_cycle(matrix: SignMatrix) -> ViolatingSubmatrix | None:
    """The first cycle (8) that fails (7), as a minimal violating submatrix; None where all pass."""
    m, n = matrix.shape
    pointer, across, sign = lines_of(matrix)
    order = np.arange(m, m + n) if n <= m else np.arange(m)
    cycle = _wrong_cycle(pointer, across, sign, order)
    if not cycle.size:
        return None
    return submatrix(matrix, cycle[cycle < m].tolist(), (cycle[cycle >= m] - m).tolist())


@njit(cache=True)
def _wrong_cycle(pointer, across, sign, order):  # type: ignore[no-untyped-def]
    """The lines of the first cycle that fails; empty where all pass."""
    total = pointer.shape[0] - 1
    present = np.ones(total, np.bool_)
    for v in order:
        present[v] = False
    seen = np.full(total, -1, np.int64)
    entry = np.zeros(total, np.int64)
    parent, step = np.full(total, -1, np.int64), np.zeros(total, np.int64)
    queue = np.empty(total, np.int64)
    for v in order:
        # the entries that v has; put back to 0 below
        open_ends = pointer[v + 1] - pointer[v]
        for k in range(pointer[v], pointer[v + 1]):
            entry[across[k]] = sign[k]
        for k in range(pointer[v], pointer[v + 1]):
            s = across[k]
            if seen[s] == v:
                continue
            # breadth first from s, among lines that were taken before v, until all ends of v are met
            seen[s], parent[s] = v, -1
            open_ends -= 1
            queue[0], first, last = s, 0, 1
            while first < last and open_ends > 0:
                x = queue[first]
                first += 1
                for e in range(pointer[x], pointer[x + 1]):
                    y = across[e]
                    if not present[y] or seen[y] == v:
                        continue
                    seen[y], parent[y], step[y] = v, x, sign[e]
                    queue[last] = y
                    last += 1
                    if entry[y] != 0:
                        open_ends -= 1
                        # y meets v: back along the path to the first line that does, which closes a chordless cycle
                        total_sign, length, t = entry[y], 2, y
                        while t == y or entry[t] == 0:
                            total_sign += step[t]
                            length += 1
                            t = parent[t]
                        if (total_sign + entry[t]) % 4 != 0:
                            return _cycle(v, y, parent, length)
        for k in range(pointer[v], pointer[v + 1]):
            entry[across[k]] = 0
        present[v] = True
    return np.empty(0, np.int64)


@njit(cache=True)
def _cycle(v, y, parent, length):  # type: ignore[no-untyped-def]
    """(8): v, and y up to t."""
    cycle = np.empty(length, np.int64)
    cycle[0], cycle[1] = v, y
    for k in range(2, length):
        y = parent[y]
        cycle[k] = y
    return cycle


def violation_nearby(matrix: SignMatrix) -> ViolatingSubmatrix | None:
    """A minimal violating submatrix, if one lies in the parts that are looked at."""
    if not matrix.nnz or matrix.nnz < DEFAULTS.large_matrix:
        return None
    by_row, by_column = matrix.entries.tocsr(), matrix.entries
    for start in np.unique(np.linspace(0, matrix.shape[0] - 1, DEFAULTS.quick_parts).astype(np.int64)):
        rows, columns = _neighbourhood(int(start), by_row, by_column)
        found = wrong_cycle(matrix.part(rows, columns))
        if found is not None:
            return of_whole(matrix, rows, columns, found)
    return None


def _neighbourhood(start: int, by_row: object, by_column: object) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns near a row."""
    matrices = (by_row, by_column)
    gathered: tuple[list[int], list[int]] = ([start], [])
    seen: tuple[set[int], set[int]] = ({start}, set())
    kind, todo = 0, [start]
    while todo and len(gathered[0]) + len(gathered[1]) < DEFAULTS.quick_lines:
        found = []
        for line in todo:
            pointer, across = matrices[kind].indptr, matrices[kind].indices  # type: ignore[attr-defined]
            for other in across[pointer[line] : pointer[line + 1]][: DEFAULTS.quick_neighbours].tolist():
                if other not in seen[1 - kind]:
                    seen[1 - kind].add(other)
                    found.append(other)
        gathered[1 - kind].extend(found)
        kind, todo = 1 - kind, found
    return np.array(sorted(gathered[0])), np.array(sorted(gathered[1]))
