"""Look at small parts of a large matrix before working on all of it.

A submatrix that violates is a violation of the whole, and where formulations are not totally unimodular, small ones abound. From
a few rows on, lines are gathered breadth first, few of each line's neighbours, until there are some hundred; what is found wrong
in such a part (`signing.wrong_cycle`) spares the work on millions of nonzeros. Where all parts pass, nothing is known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity.signing import wrong_cycle

LARGE_MATRIX = 100_000
"""Number of nonzeros from which on the quick look is worthwhile."""

PARTS, LINES, NEIGHBOURS = 32, 300, 12
"""Parts that are looked at, lines of each, and neighbours of a line that are followed."""


def violation_nearby(matrix: SignMatrix) -> ViolatingSubmatrix | None:
    """A minimal violating submatrix, if one lies in the parts that are looked at."""
    if not matrix.nnz or matrix.nnz < LARGE_MATRIX:
        return None
    by_row, by_column = matrix.entries.tocsr(), matrix.entries
    for start in np.unique(np.linspace(0, matrix.shape[0] - 1, PARTS).astype(np.int64)):
        rows, columns = _neighbourhood(int(start), by_row, by_column)
        found = wrong_cycle(matrix.part(rows, columns))
        if found is not None:
            return submatrix(matrix, rows[list(found.rows)].tolist(), columns[list(found.columns)].tolist())
    return None


def _neighbourhood(start: int, by_row: object, by_column: object) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns near a row."""
    matrices = (by_row, by_column)
    gathered: tuple[list[int], list[int]] = ([start], [])
    seen: tuple[set[int], set[int]] = ({start}, set())
    kind, todo = 0, [start]
    while todo and len(gathered[0]) + len(gathered[1]) < LINES:
        found = []
        for line in todo:
            pointer, across = matrices[kind].indptr, matrices[kind].indices  # type: ignore[attr-defined]
            for other in across[pointer[line] : pointer[line + 1]][:NEIGHBOURS].tolist():
                if other not in seen[1 - kind]:
                    seen[1 - kind].add(other)
                    found.append(other)
        gathered[1 - kind].extend(found)
        kind, todo = 1 - kind, found
    return np.array(sorted(gathered[0])), np.array(sorted(gathered[1]))
