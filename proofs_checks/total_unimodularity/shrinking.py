"""Find a minimal violating submatrix in a matrix of any size: shrink what is neither network nor transposed network.

Call a matrix *easy* if each of its reduced blocks is a network matrix or the transpose of one. An easy matrix is totally
unimodular, and its submatrices are easy. Leave lines out of a matrix that is not easy, many at once first, as long as the rest
is not easy; keep one block that is not. In the end

    the rest is not easy, but is without any one of its lines.                                                   (1)

Every square submatrix but, perhaps, the rest itself misses one of its lines, and has determinant -1, 0 or 1 by (1). So

    if the rest is square and its determinant is none of -1, 0, 1, it is a minimal violating submatrix;
    else it is totally unimodular.                                                                               (2)

In the second case, say for R10, nothing is known of the whole; another order of the lines may find another rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity.blocks import Place, hard_blocks

ATTEMPTS = 8
"""Orders of the lines that are tried."""


@dataclass(frozen=True)
class Unresolved:
    """What was tried without deciding the block.

    Parameters
    ----------
    block
        rows and columns of the block that nothing decides.
    rests
        rows and columns of minimal parts of it that are neither network matrices nor transposed, one for each attempt; all are
        totally unimodular.
    """

    block: tuple[int, int]
    rests: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        sizes = ", ".join(sorted({f"{m} x {n}" for m, n in self.rests}))
        return (
            f"a block with {self.block[0]:,} rows and {self.block[1]:,} columns is neither a network matrix nor the transpose of "
            f"one nor a 2-sum, no chordless cycle has wrong signs, and it is too large for the exponential methods; shrunk "
            f"{len(self.rests)} times, it came down to totally unimodular submatrices ({sizes}), which say nothing of the whole"
        )


def least_hard_part(matrix: SignMatrix, rows: NDArray[np.int64], columns: NDArray[np.int64], seed: int) -> Place:
    """(1): rows and columns of a part of a submatrix that is not easy.

    Parameters
    ----------
    rows, columns
        of the submatrix.
    seed
        for the order in which lines are left out.
    """
    m = matrix.shape[0]
    lines = np.concatenate([rows, columns + m])
    order = np.random.default_rng(seed).permutation(lines)
    chunk = max(1, len(lines) // 2)
    while True:
        for first in range(0, len(order), chunk):
            rest = np.setdiff1d(lines, order[first : first + chunk])
            if len(rest) == len(lines):
                continue
            smaller = next(hard_blocks(matrix, rest[rest < m], rest[rest >= m] - m), None)
            if smaller is not None:
                lines = np.concatenate([smaller[0], smaller[1] + m])
        if chunk == 1:
            return lines[lines < m], lines[lines >= m] - m
        order = order[np.isin(order, lines)]
        chunk = max(1, min(chunk, order.size) // 2)


def violation_in(matrix: SignMatrix, place: Place, seed: int) -> ViolatingSubmatrix | tuple[int, int]:
    """(2), in a block that is not easy: a minimal violating submatrix, or rows and columns of the rest that is none."""
    rows, columns = least_hard_part(matrix, *place, seed)
    if len(rows) == len(columns):
        found = submatrix(matrix, rows.tolist(), columns.tolist())
        if found.determinant not in (-1, 0, 1):
            return found
    return len(rows), len(columns)
