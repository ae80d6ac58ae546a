"""Balanced matrices: 0-1 matrices without a square submatrix of odd order with two ones in every row and column (Berge 1972).

Such a submatrix falls apart into cycles of rows and columns, one of them odd; a shortest one has no chords. So a matrix is
balanced if and only if the bipartite graph of its ones has no chordless cycle through an odd number of rows, three or more:

    r_0, c_0, r_1, c_1, ..., r_k, c_k      k even, c_k meets r_0, and no row meets another of the columns                    (1)

If A is balanced, all vertices of  { x >= 0 : A_1 x <= 1, A_2 x >= 1, A_3 x = 1 }  are integral for every division of the rows
(Fulkerson, Hoffman and Oppenheim 1974). Matrices of 0 and 1 that are totally unimodular are balanced.

The search goes through all chordless paths, by definition and not in polynomial time: it is for small matrices.
"""

from __future__ import annotations

from typing import Any

from formulations.arguments import checked
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.verdict import Verdict

METHOD = "chordless cycles, all of them"

LIMIT = 2_000_000
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
        every row and column (its determinant is 2 or -2), or the entry that is neither 0 nor 1; of None: more than `LIMIT` paths.

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
    if count > LIMIT:
        return Verdict(claim, None, METHOD, f"there are more than {LIMIT:,} chordless paths")
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
            if count > LIMIT:
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
