"""The certificate of total unimodularity for a matrix whose blocks need different evidence, and its verification.

Line x is left out in step t(x); lines that remain have t = infinity. In step t, the matrix has the lines y with t(y) > t. So with
each line's nonzeros in descending order of t, what a line has in step t is a prefix of its list, and the conditions (1)-(3) of
`proofs_checks.total_unimodularity.reductions` are comparisons of such prefixes: linear in the nonzeros apart from the sorting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.total_unimodularity.claim import claim
from proofs_checks.total_unimodularity.reductions import COPY, UNIT, ZERO, Reductions, lines_of
from proofs_checks.total_unimodularity.references import REFERENCES
from proofs_checks.total_unimodularity.two_sums import TwoSum, wrong_with_two_sum
from proofs_checks.verdict import Verdict

METHOD = "reductions and blocks"


@dataclass(frozen=True, eq=False)
class Split:
    """Evidence that a block is a 2-sum, and why its two parts are totally unimodular.

    Parameters
    ----------
    two_sum
        the sides.
    parts
        of the first side with w, and of the second with v, as `TwoSum.parts` has them.
    """

    two_sum: TwoSum
    parts: tuple[Pieces, Pieces]


@dataclass(frozen=True, eq=False)
class Piece:
    """A block and why it is totally unimodular.

    Parameters
    ----------
    rows, columns
        indices in the whole matrix.
    evidence
        a tree and paths, the name of the reference that decides the block, or a 2-sum.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    evidence: NetworkMatrix | str | Split

    @property
    def kind(self) -> str:
        """The evidence's kind, in words."""
        if isinstance(self.evidence, Split):
            return "2-sum"
        return self.evidence if isinstance(self.evidence, str) else kind_of(self.evidence)


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


def kind_of(network: NetworkMatrix) -> str:
    """The certificate's kind, in words."""
    return "transposed network matrix" if network.transposed else "network matrix"


def check_pieces(matrix: Any, pieces: Pieces) -> Verdict:
    """Do these reductions and blocks show that the matrix is totally unimodular?

    Time is linear in the nonzeros, apart from sorting them, from 2-sums within 2-sums, whose nonzeros are read once for each, and
    from blocks that a reference decides: it is run again.

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.
    pieces
        the certificate, from any source.

    Returns
    -------
    Verdict
        certificate: the pieces, or the first thing that is wrong with them. A no refutes the certificate, not the claim.
    """
    given = read_matrix(matrix)
    wrong: str | None = None
    open_parts = [(given, pieces, "")]
    while open_parts and wrong is None:
        part, evidence, where = open_parts.pop()
        wrong = _wrong_with(part, evidence)
        if wrong is not None:
            wrong = where + wrong
        else:
            open_parts.extend(_parts(part, evidence, where))
    return Verdict(f"{claim(given)}, by its pieces", wrong is None, METHOD, pieces if wrong is None else wrong)


def _wrong_with(matrix: SignMatrix, pieces: Pieces) -> str | None:
    """The first thing that is wrong."""
    if matrix.other is not None:
        i, j, value = matrix.other
        return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} is {value}, none of -1, 0, 1"
    m, n = matrix.shape
    steps = pieces.reductions
    if not all(len(a) == len(steps) for a in (steps.kind, steps.partner, steps.sign)):
        return "the reductions' arrays differ in length"
    covered = np.concatenate([steps.line, *(p.rows for p in pieces.pieces), *(p.columns + m for p in pieces.pieces)])
    if not np.array_equal(np.sort(covered), np.arange(m + n)):
        return "the lines left out and those of the blocks are not all rows and columns, each once"
    if np.any((steps.partner >= m + n) | ((steps.partner < 0) & (steps.kind != ZERO))):
        return "a step names a line that the matrix does not have"
    bad = _bad_step(matrix, steps)
    if bad >= 0:
        x = int(steps.line[bad])
        name = f"row {matrix.rows[x]}" if x < m else f"column {matrix.columns[x - m]}"
        what = {ZERO: "zero", UNIT: "a unit line", COPY: "a copy"}.get(int(steps.kind[bad]), "of any known kind")
        return f"step {bad}: {name} is not {what} as the step says"
    return _between_blocks(matrix, pieces) or _wrong_block(matrix, pieces)


def _parts(matrix: SignMatrix, pieces: Pieces, where: str) -> Iterator[tuple[SignMatrix, Pieces, str]]:
    """The parts of the blocks that are 2-sums."""
    for k, piece in enumerate(pieces.pieces):
        if isinstance(piece.evidence, Split):
            block = matrix.part(piece.rows, piece.columns)
            places = piece.evidence.two_sum.parts(block.shape)
            for side, place, part in zip(("first", "second"), places, piece.evidence.parts, strict=True):
                yield block.part(*place), part, f"{where}{side} part of block {k}: "


def _bad_step(matrix: SignMatrix, steps: Reductions) -> int:
    """The first step whose condition fails, or -1."""
    pointer, across, sign = lines_of(matrix)
    total = len(pointer) - 1
    time = np.full(total, len(steps), dtype=np.int64)
    time[steps.line] = np.arange(len(steps))
    owner = np.repeat(np.arange(total), np.diff(pointer))
    order = np.lexsort((across, -time[across], owner))
    bad: int = _first_bad_step(steps.kind, steps.line, steps.partner, steps.sign, pointer, across[order], sign[order], time)
    return bad


def _between_blocks(matrix: SignMatrix, pieces: Pieces) -> str | None:
    """The first nonzero between two blocks, as a message."""
    m, n = matrix.shape
    block = np.full(m + n, -1, dtype=np.int64)
    for k, piece in enumerate(pieces.pieces):
        block[piece.rows] = block[piece.columns + m] = k
    row = matrix.entries.indices
    column = np.repeat(np.arange(n), np.diff(matrix.entries.indptr)) + m
    astray = np.flatnonzero((block[row] >= 0) & (block[column] >= 0) & (block[row] != block[column]))
    if not astray.size:
        return None
    i, j = int(row[astray[0]]), int(column[astray[0]]) - m
    return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} joins two blocks"


def _wrong_block(matrix: SignMatrix, pieces: Pieces) -> str | None:
    """The first block whose evidence fails."""
    for k, piece in enumerate(pieces.pieces):
        part = matrix.part(piece.rows, piece.columns)
        if isinstance(piece.evidence, NetworkMatrix):
            verdict = check_network_matrix(part, piece.evidence)
        elif isinstance(piece.evidence, Split):
            wrong = wrong_with_two_sum(part, piece.evidence.two_sum)
            if wrong is not None:
                return f"block {k}: {wrong}"
            continue
        elif piece.evidence in REFERENCES:
            verdict = REFERENCES[piece.evidence](part)
        else:
            return f"block {k}: {piece.evidence!r} is none of {', '.join(REFERENCES)}"
        if not verdict:
            return f"block {k}: {verdict.certificate}"
    return None


@njit(cache=True)
def _first_bad_step(kind, line, partner, sign, pointer, across, entry, time):  # type: ignore[no-untyped-def]
    """Check step by step; each line's nonzeros descend in time."""
    for t in range(line.shape[0]):
        x, z = line[t], partner[t]
        a, size = pointer[x], 0
        while a + size < pointer[x + 1] and time[across[a + size]] > t:
            size += 1
        if kind[t] == ZERO:
            good = size == 0
        elif kind[t] == UNIT:
            good = size == 1 and across[a] == z and entry[a] == sign[t]
        elif kind[t] == COPY:
            b = pointer[z]
            good = time[z] > t and pointer[z + 1] - b >= size
            for k in range(size if good else 0):
                good = good and across[a + k] == across[b + k] and entry[a + k] == sign[t] * entry[b + k]
            good = good and (b + size == pointer[z + 1] or time[across[b + size]] <= t)
        else:
            good = False
        if not good:
            return t
    return -1
