"""0-1 matrices for which polyhedra are integral: balanced ones and perfect ones, by definition, for small matrices.

**Balanced** (Berge 1972): without a square submatrix of odd order with two ones in every row and column. Such a submatrix falls
apart into cycles of rows and columns, one of them odd; a shortest one has no chords. So a matrix is balanced if and only if the
bipartite graph of its ones has no chordless cycle through an odd number of rows, three or more:

    r_0, c_0, r_1, c_1, ..., r_k, c_k      k even, c_k meets r_0, and no row meets another of the columns                    (1)

If A is balanced, all vertices of  { x >= 0 : A_1 x <= 1, A_2 x >= 1, A_3 x = 1 }  are integral for every division of the rows
(Fulkerson, Hoffman and Oppenheim 1974). Matrices of 0 and 1 that are totally unimodular are balanced.

**Perfect** (Lovász 1972, Chvátal 1975; Padberg 1974): the rows are the cliques of a perfect graph. The graph of a 0-1 matrix has
the columns as vertices; two are joined if some row has ones in both. The matrix is perfect if

    its rows that are contained in no other row are just the maximal cliques of the graph                                (2)
    the graph is perfect: every induced subgraph can be coloured with as many colours as its largest clique has vertices  (3)

and just then all vertices of  { x >= 0 : A x <= 1 }  are integral. (3) is asked of all subsets of vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.arguments import checked
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.verdict import Verdict

METHOD = "chordless cycles, all of them"

MOST_PATHS = 2_000_000
"""Largest number of chordless paths that are looked at."""


@checked
def check_balanced(matrix: Any) -> Verdict:
    """Is the matrix balanced?

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.

    Returns
    -------
    Verdict
        certificate of a yes: how many chordless paths there are; of a no: a `ViolatingSubmatrix` of odd order with two ones in
        every row and column (its determinant is 2 or -2), or the entry that is neither 0 nor 1; of None: more than
        `MOST_PATHS` paths.

    Examples
    --------
    >>> import prunemodels as pm
    >>> triangle = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> bool(pm.checks.check_balanced(triangle)), bool(pm.checks.check_balanced(triangle[:2]))
    (False, True)
    """
    given = read_matrix(matrix)
    claim = f"the matrix with {given.shape[0]:,} rows and {given.shape[1]:,} columns is balanced"
    other = entry_not_01(given)
    if other is not None:
        return Verdict(claim, False, METHOD, other)
    cycle, count = _odd_cycle(given)
    if cycle is not None:
        return Verdict(claim, False, METHOD, submatrix(given, *cycle))
    if count > MOST_PATHS:
        return Verdict(claim, None, METHOD, f"there are more than {MOST_PATHS:,} chordless paths")
    return Verdict(claim, True, METHOD, f"{count:,} chordless paths, none of which an odd cycle closes")


def entry_not_01(matrix: SignMatrix) -> str | None:
    """The first entry that is neither 0 nor 1, in words."""
    if matrix.other is not None:
        i, j, value = matrix.other
        return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} is {value}, neither 0 nor 1"
    body = matrix.entries
    for j in range(matrix.shape[1]):
        for k in range(int(body.indptr[j]), int(body.indptr[j + 1])):
            if body.data[k] < 0:
                return f"the entry in row {matrix.rows[body.indices[k]]}, column {matrix.columns[j]} is -1, neither 0 nor 1"
    return None


def _odd_cycle(matrix: SignMatrix) -> tuple[tuple[list[int], list[int]] | None, int]:
    """Rows and columns of a cycle (1), None without one; and how many paths were looked at."""
    dense = matrix.dense().tolist()
    m, n = matrix.shape
    columns_of = [[j for j in range(n) if dense[i][j]] for i in range(m)]
    rows_of = [[i for i in range(m) if dense[i][j]] for j in range(n)]
    count = 0
    for first in range(m):
        # paths from the cycle's first row, which has the smallest number: its rows, its columns
        stack: list[tuple[list[int], list[int]]] = [([first], [])]
        while stack:
            rows, columns = stack.pop()
            count += 1
            if count > MOST_PATHS:
                return None, count
            for c in columns_of[rows[-1]]:
                if c in columns or any(dense[r][c] for r in rows[1:-1]):
                    continue
                if len(rows) > 1 and dense[first][c]:
                    if len(rows) % 2:
                        return (rows, [*columns, c]), count
                    continue
                more = (r for r in rows_of[c] if r > first and r not in rows and not any(dense[r][d] for d in columns))
                stack.extend(([*rows, r], [*columns, c]) for r in more)
    return None, count


PERFECT_METHOD = "maximal cliques, and colours of all induced subgraphs"

MOST_COLUMNS = 13
"""Largest number of columns: 3^13 steps."""


@checked
def check_perfect(matrix: Any) -> Verdict:
    """Is the matrix perfect?

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`. Columns of zeros are left out.

    Returns
    -------
    Verdict
        certificate: how many cliques and subgraphs were looked at; for no, a clique that is no row, or columns whose graph needs
        more colours than its largest clique has vertices, or the entry that is neither 0 nor 1; for None, the number of columns.

    Examples
    --------
    >>> import prunemodels as pm
    >>> triangle = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> bool(pm.checks.check_perfect(triangle))  # the clique of all three columns is no row
    False
    >>> bool(pm.checks.check_perfect([[1, 1, 1]]))
    True
    """
    given = read_matrix(matrix)
    claim = f"the matrix with {given.shape[0]:,} rows and {given.shape[1]:,} columns is perfect"
    return Verdict(claim, *_perfect(given))


def _perfect(given: SignMatrix) -> tuple[bool | None, str, str]:
    """The answer, the method and the certificate."""
    method, other = PERFECT_METHOD, entry_not_01(given)
    if other is not None:
        return False, method, other
    rows, names = _rows_as_sets(given)
    if len(names) > MOST_COLUMNS:
        return None, method, f"there are {len(names):,} columns that are not zero, the limit is {MOST_COLUMNS}"
    near = [0] * len(names)
    for row in rows:
        for j in range(len(names)):
            if row >> j & 1:
                near[j] |= row & ~(1 << j)
    cliques = _maximal_cliques(near)
    missing = next((clique for clique in cliques if clique not in rows), None)
    if missing is not None:
        return False, method, f"the columns {_listed(missing, names)} meet pairwise in rows, but not all in one"
    wrong = _imperfect(near)
    if wrong is not None:
        needs = f"needs {wrong[1]} colours, its largest clique has {wrong[2]} vertices"
        return False, method, f"the graph of the columns {_listed(wrong[0], names)} {needs}"
    return True, method, f"{len(cliques):,} maximal cliques, all rows; {2 ** len(names):,} induced subgraphs"


def _rows_as_sets(matrix: SignMatrix) -> tuple[set[int], list[str]]:
    """The rows as bit masks of the columns that are not zero, and the names of these."""
    dense = matrix.dense()
    used = np.flatnonzero(dense.any(axis=0))
    names = [str(matrix.columns[int(j)]) for j in used]
    return {sum(1 << j for j, x in enumerate(row) if x) for row in dense[:, used].tolist()}, names


def _listed(subset: int, names: list[str]) -> str:
    return ", ".join(name for j, name in enumerate(names) if subset >> j & 1)


def _maximal_cliques(near: list[int]) -> list[int]:
    """As bit masks (Bron and Kerbosch)."""
    found = []
    stack = [(0, (1 << len(near)) - 1, 0)]
    while stack:
        clique, candidates, done = stack.pop()
        if not candidates:
            if not done and clique:
                found.append(clique)
            continue
        j = candidates.bit_length() - 1
        stack.append((clique, candidates & ~(1 << j), done | 1 << j))
        stack.append((clique | 1 << j, candidates & near[j], done & near[j]))
    return found


def _imperfect(near: list[int]) -> tuple[int, int, int] | None:
    """(3): the first subset of vertices that fails, its colours, and the size of its largest clique."""
    total = 1 << len(near)
    clique, stable, colours = [0] * total, [True] * total, [0] * total
    for subset in range(1, total):
        j = subset.bit_length() - 1
        rest = subset & ~(1 << j)
        clique[subset] = max(clique[rest], 1 + clique[rest & near[j]])
        stable[subset] = stable[rest] and not rest & near[j]
        # the colour of j has some stable set of others
        most = len(near)
        others = rest & ~near[j]
        chosen = others
        while True:
            if stable[chosen]:
                most = min(most, 1 + colours[rest & ~chosen])
            if not chosen:
                break
            chosen = (chosen - 1) & others
        colours[subset] = most
        if most > clique[subset]:
            return subset, most, clique[subset]
    return None
