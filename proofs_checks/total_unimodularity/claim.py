"""What all the methods share: the claim, and the answers that need no search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.verdict import Verdict

Place = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows and columns of a square submatrix."""


def written(count: int) -> str:
    """A count as text: in full below 10^15, else its order of magnitude."""
    if count < 10**15:
        return f"{count:,}"
    return f"more than 10^{int((count.bit_length() - 1) * math.log10(2))}"


def too_large(shape: tuple[int, int], work: int, limit: int) -> str:
    """Why a method did not begin: the elementary steps that it may need, and those that it is allowed."""
    return f"{shape[0]:,} x {shape[1]:,} entries may take {written(work)} steps, the limit is {limit:,}"


def claim(matrix: SignMatrix) -> str:
    """The sentence that every method decides."""
    rows, columns = matrix.shape
    return f"the matrix with {rows:,} rows and {columns:,} columns is totally unimodular"


def entry_refutes(matrix: SignMatrix, method: str) -> Verdict | None:
    """The answer where one entry is none of -1, 0, 1: a violating submatrix of order 1."""
    if matrix.other is None:
        return None
    row, column, _ = matrix.other
    return Verdict(claim(matrix), False, method, submatrix(matrix, [row], [column]))


@dataclass(frozen=True)
class Reference:
    """An exponential search, within its limit, in the matrix or its transpose, whichever takes fewer steps."""

    method: str  # its name in the verdict
    limit: int  # number of steps allowed; beyond it the answer is undecided
    steps: Callable[[int, int], int]  # for m rows and n columns
    # (the entries, what their rows are called) -> (a minimal violating submatrix or None, the certificate of a yes)
    search: Callable[[NDArray[np.int8], str], tuple[Place | None, Any]]

    def __call__(self, matrix: SignMatrix) -> Verdict:
        """The answer; the certificate of None says why."""
        refuted = entry_refutes(matrix, self.method)
        if refuted is not None:
            return refuted
        m, n = matrix.shape
        upright, flipped = self.steps(m, n), self.steps(n, m)
        work = min(upright, flipped)
        if work > self.limit:
            return Verdict(claim(matrix), None, self.method, too_large((m, n), work, self.limit))
        if upright <= flipped:
            place, certificate = self.search(matrix.dense(), "rows")
        else:
            place, certificate = self.search(np.ascontiguousarray(matrix.dense().T), "columns")
            place = None if place is None else (place[1], place[0])
        if place is None:
            return Verdict(claim(matrix), True, self.method, certificate)
        return Verdict(claim(matrix), False, self.method, submatrix(matrix, *place))
