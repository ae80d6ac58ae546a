"""The certificate of total unimodularity for a matrix that is taken apart: data only.

`proofs_checks.total_unimodularity.decomposition` makes it, `proofs_checks.total_unimodularity.pieces_check` verifies it; this
module is all that the two share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix

ZERO, UNIT, COPY = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Reductions:
    """The lines that are left out, in this order, and the rest.

    A *line* is a row or a column; row i has the number i, column j of a matrix with m rows the number m + j.
    """

    kind: NDArray[np.int8]  # int8: `ZERO`, `UNIT` (a single nonzero) or `COPY` (of another line, or of its negative)
    line: NDArray[np.int64]  # int64: the line that is left out
    partner: NDArray[np.int64]  # int64: the line across the only nonzero, the line that is copied, -1 for a zero line
    sign: NDArray[np.int8]  # int8: the nonzero; 1 for a copy, -1 for a copy of the negative; 0 for a zero line
    # rows, columns: int64, ascending: what is left.
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.line)

    def __repr__(self) -> str:
        return f"Reductions({len(self):,} lines left out, {len(self.rows):,} rows and {len(self.columns):,} columns left)"


@dataclass(frozen=True, eq=False)
class TwoSum:
    """The two sides of a 2-sum, and a nonzero between them; see `proofs_checks.total_unimodularity.sums`."""

    # int64, ascending: the lines of the first side (rows, and columns after them); the others are the second.
    first: NDArray[np.int64]
    # v, w: a line of the first and one of the second, which meet in a nonzero.
    v: int
    w: int


@dataclass(frozen=True, eq=False)
class ThreeSum:
    """The two sides of a 3-sum, and what its parts are made with; see `proofs_checks.total_unimodularity.sums`."""

    # row and column of a pivot that comes first, or None. All other numbers are of the matrix after it.
    pivot: tuple[int, int] | None
    # int64, ascending: the lines of the first side (rows, and columns after them); the others are the second.
    first: NDArray[np.int64]
    row: int  # a row of the second side whose entries in the columns of the first are c; d is 1 there
    column: int  # a column of the second side whose entries in the rows of the first are a; b is 1 there
    sign: int  # s


@dataclass(frozen=True, eq=False)
class Split:
    """Evidence that a block is a 2-sum or a 3-sum, and why its two parts are totally unimodular."""

    sum: TwoSum | ThreeSum  # the sides
    # of a 2-sum: the first side with w, the second with v, lines in ascending order. Of a 3-sum: (4) in
    # `proofs_checks.total_unimodularity.sums`.
    parts: tuple[Pieces, Pieces]


@dataclass(frozen=True)
class R10:
    """Evidence that a block with 5 rows and 5 columns is one of the two matrices of R10, but for the order and signs of lines."""

    def __str__(self) -> str:
        return "R10"


@dataclass(frozen=True, eq=False)
class Piece:
    """A block and why it is totally unimodular."""

    # rows, columns: indices in the whole matrix.
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    evidence: NetworkMatrix | R10 | Split  # a tree and paths, R10, or a sum with its parts

    @property
    def kind(self) -> str:
        """The evidence's kind, in words."""
        if isinstance(self.evidence, Split):
            return "3-sum" if isinstance(self.evidence.sum, ThreeSum) else "2-sum"
        return "R10" if isinstance(self.evidence, R10) else kind_of(self.evidence)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Lines that may be left out, and the blocks of the rest, each with its own evidence."""

    reductions: Reductions
    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        kinds = [piece.kind for piece in self.pieces]
        counted = ", ".join(f"{kinds.count(kind):,} x {kind}" for kind in dict.fromkeys(kinds))
        return f"{len(self.reductions):,} lines left out, blocks: {counted or 'none'}"

    __repr__ = __str__


def claim(matrix: SignMatrix) -> str:
    """The sentence that every method decides."""
    rows, columns = matrix.shape
    return f"the matrix with {rows:,} rows and {columns:,} columns is totally unimodular"


def kind_of(network: NetworkMatrix) -> str:
    """The certificate's kind, in words."""
    return "transposed network matrix" if network.transposed else "network matrix"
