"""Perfect matrices: 0-1 matrices whose rows are the cliques of a perfect graph (Lovász 1972, Chvátal 1975; Padberg 1974).

The graph of a 0-1 matrix has the columns as vertices; two are joined if some row has ones in both. The matrix is **perfect** if

    its rows that are contained in no other row are just the maximal cliques of the graph                                (1)
    the graph is perfect: every induced subgraph can be coloured with as many colours as its largest clique has vertices  (2)

and just then all vertices of  { x >= 0 : A x <= 1 }  are integral.

(2) is asked of all subsets of vertices, by dynamic programming over them: it is for at most `LIMIT` columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.arguments import checked
from proofs_checks.integrality.balanced import entry_not_01
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.verdict import Verdict

METHOD = "maximal cliques, and colours of all induced subgraphs"

LIMIT = 13
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
    other = entry_not_01(given)
    if other is not None:
        return Verdict(claim, False, METHOD, other)
    rows, names = _rows_as_sets(given)
    if len(names) > LIMIT:
        return Verdict(claim, None, METHOD, f"there are {len(names):,} columns that are not zero, the limit is {LIMIT}")
    near = [0] * len(names)
    for row in rows:
        for j in range(len(names)):
            if row >> j & 1:
                near[j] |= row & ~(1 << j)
    cliques = _maximal_cliques(near)
    missing = next((clique for clique in cliques if clique not in rows), None)
    if missing is not None:
        return Verdict(claim, False, METHOD, f"the columns {_listed(missing, names)} meet pairwise in rows, but not all in one")
    wrong = _imperfect(near)
    if wrong is not None:
        subset, colours, size = wrong
        text = (
            f"the graph of the columns {_listed(subset, names)} needs {colours} colours, its largest clique has {size} vertices"
        )
        return Verdict(claim, False, METHOD, text)
    return Verdict(claim, True, METHOD, f"{len(cliques):,} maximal cliques, all rows; {2 ** len(names):,} induced subgraphs")


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
    """(2): the first subset of vertices that fails, its colours, and the size of its largest clique."""
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
