"""Are the signs of a matrix those that total unimodularity demands (Camion 1963; Truemper 1982)?

The nonzeros are the edges of the bipartite graph of rows and columns. The submatrix of the k rows and k columns of a chordless
cycle has just two nonzeros in each line, so

    its determinant is 0 where its entries add up to 0 modulo 4, and 2 or -2 where they add up to 2               (1)

and all its proper submatrices are forests: a cycle with 2 is a minimal violating submatrix.

Start with all rows, or with all columns if there are more of them, and add the other lines one by one. In the graph so far, a
breadth-first search from a neighbour of the new line v reaches v's other neighbours of that component on shortest paths; the
stretch of such a path from its last but one neighbour of v is without chords, and closes a chordless cycle through v:

    v, t', ..., t    with (1) for every neighbour t but the first of a component                                 (2)

The cycles (2) settle all signs but those that negated lines can choose. So where they all pass, and some signing of the support
is totally unimodular, this one is; where none is, passing says nothing. At most O(lines * nonzeros) steps.

Before all of a large matrix is worked on, small parts of it are looked at: lines are gathered breadth first from a few rows on,
few of each line's neighbours, until there are some hundred. A wrong cycle in such a part is one of the whole; where formulations
are not totally unimodular, small ones abound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, of_whole, submatrix
from proofs_checks.params import DEFAULTS
from proofs_checks.total_unimodularity.reductions import lines_of


def wrong_cycle(matrix: SignMatrix) -> ViolatingSubmatrix | None:
    """The first cycle (2) that fails (1), as a minimal violating submatrix; None where all pass."""
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
    """(2): v, and y up to t."""
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
