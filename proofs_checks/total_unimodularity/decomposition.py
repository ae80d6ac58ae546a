"""Seymour's decomposition: reductions, blocks, networks and transposes, R10, 3-sums, 2-sums, until all is taken apart.

For each block that is neither a network matrix nor the transpose of one, nor R10:

    it may be a 2-sum                                                  `sums`                                             (1)
    else it has a least minor that is not easy                         `hard_minors`                                      (2)
    R12: it induces a 3-separation, and the block is a 3-sum           `separations`, `sums`                              (3)
    else the block is not totally unimodular                                                                              (4)

Both parts of a sum have fewer lines than the block, and are totally unimodular if it is: as submatrices or as minors of it. So
the first part that is not refutes the whole. The number of steps is polynomial: a 3-sum has six lines on each side and adds six,
a 2-sum two and two.

The answer no comes without evidence. But a totally unimodular matrix stays so without a line: so lines are left out as long as
the rest is refuted, and what is left in the end is square, and minimal. On the way,

    with few rows or columns, the first failure of Camion's criterion is minimal                                          (5)
    a chordless cycle with a wrong sum is minimal                                                                         (6)
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from scipy import sparse

from formulations.errors import SolverFailedError
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity.camion import least_violation
from proofs_checks.total_unimodularity.hard_minors import is_r10, least_hard_minor, least_part
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import R10, Piece, Pieces, Split, ThreeSum, TwoSum
from proofs_checks.total_unimodularity.reductions import blocks_of, reduce_matrix
from proofs_checks.total_unimodularity.separations import induced_separation, sides_of_r12
from proofs_checks.total_unimodularity.signing import wrong_cycle
from proofs_checks.total_unimodularity.sums import find_two_sum, parts_of, take_apart
from proofs_checks.total_unimodularity.ternary import Ints

FEW_LINES = 14
"""Rows, or columns, up to which (5) is asked."""


def decompose(matrix: SignMatrix) -> Pieces | Ints:
    """Take the matrix apart completely; or lines (rows, and columns after them) of a part that is not totally unimodular."""
    # of each part what its lines stand for: with these lines of the whole, it is a minor
    waiting, taken = {0: (matrix, sparse.csr_array(sparse.eye_array(sum(matrix.shape), dtype=np.bool_)))}, []
    for k in count():
        if k not in waiting:
            break
        part, stands = waiting.pop(k)
        reductions, blocks = reduce_matrix(part), []
        for rows, columns in blocks_of(part, reductions.rows, reductions.columns):
            inside = stands[np.concatenate([rows, columns + part.shape[0]])]
            found = _take(part.part(rows, columns))
            if isinstance(found, np.ndarray):
                return np.unique(inside[found].indices).astype(np.int64)
            first = k + 1 + len(waiting)
            waiting |= enumerate([(each, lines @ inside) for each, lines in found[1]], first)
            blocks.append((rows, columns, found[0], first))
        taken.append((reductions, blocks))
    # the certificate is put together from the last part to the first
    done: dict[int, Pieces] = {}
    for k, (reductions, blocks) in reversed([*enumerate(taken)]):
        pieces = []
        for rows, columns, how, first in blocks:
            is_sum = isinstance(how, TwoSum | ThreeSum)
            evidence: Any = Split(how, (done.pop(first), done.pop(first + 1))) if is_sum else how
            pieces.append(Piece(rows, columns, evidence))
        done[k] = Pieces(reductions, tuple(pieces))
    return done[0]


def _take(block: SignMatrix) -> tuple[Any, list[tuple[SignMatrix, sparse.csr_array]]] | Ints:
    """(1)-(4) for a reduced, connected block: what it is, and the parts of a sum with what their lines stand for.

    Or some of its lines that are not totally unimodular.
    """
    for transposed in (False, True):
        network = recognise_network(block, transposed=transposed)
        if network is not None:
            return network, []
    entries = block.dense()
    own = sparse.csr_array(sparse.eye_array(sum(entries.shape), dtype=np.bool_))
    if is_r10(entries):
        return R10(), []
    two_sum = find_two_sum(block)
    if two_sum is not None:
        places = parts_of(two_sum, block.shape)
        return two_sum, [(block.part(r, c), own[np.concatenate([r, c + len(entries)])]) for r, c in places]
    hard = least_hard_minor(entries)
    if hard is None:
        raise SolverFailedError(f"{block!r} is easy, but neither network nor R10 nor a 2-sum; please report the matrix")
    involved = np.concatenate([hard.display.rows, hard.display.columns, np.ravel(hard.pivots).astype(np.int64)])
    if len(hard.display.rows) == 2:
        return involved
    sides = sides_of_r12(hard.display.entries)
    if sides is None:
        raise SolverFailedError(f"a least minor of {block!r} is neither R12 nor [[1, 1], [1, -1]]; please report the matrix")
    whole = hard.displayed_in(entries)
    rows, columns = (
        np.flatnonzero(np.isin(a, b)) for a, b in ((whole.rows, hard.display.rows), (whole.columns, hard.display.columns))
    )
    separates, first = induced_separation(whole, rows, columns, sides)
    apart = take_apart(entries, first) if separates else np.union1d(first, involved)
    if isinstance(apart, np.ndarray):
        return apart
    three_sum, parts = apart
    # a part is a minor of its side with R12 and what the pivots exchanged
    pivots = [] if three_sum.pivot is None else [three_sum.pivot[0], len(entries) + three_sum.pivot[1]]
    guests = sparse.csr_array(np.isin(np.arange(own.shape[0]), [*involved, *pivots])[None, :])
    lines = (sparse.vstack([own[part.rows], guests, own[part.columns], guests, guests], format="csr") for part in parts)
    return three_sum, [(read_matrix(part.entries), each) for part, each in zip(parts, lines, strict=True)]


def minimal_violation(matrix: SignMatrix, lines: Ints) -> ViolatingSubmatrix:
    """A minimal violating submatrix of those lines of a matrix that `decompose` found."""
    m = matrix.shape[0]

    def refuted(lines: Ints) -> Ints | None:
        """A part of some lines that is refuted, None where they are not."""
        rows, columns = lines[lines < m], lines[lines >= m] - m
        part = matrix.part(rows, columns)
        if min(part.shape) <= FEW_LINES:
            upright = part.shape[0] <= FEW_LINES
            place = least_violation(part.dense() if upright else np.ascontiguousarray(part.dense().T))
            if place is None:
                return None
            r, c = place if upright else place[::-1]
            return np.concatenate([rows[list(r)], columns[list(c)] + m])
        cycle = wrong_cycle(part)
        if cycle is not None:
            return np.concatenate([rows[list(cycle.rows)], columns[list(cycle.columns)] + m])
        found = decompose(part)
        return None if isinstance(found, Pieces) else lines[found]

    found = least_part(lines, refuted, np.random.default_rng(0))
    rows, columns = found[found < m].tolist(), (found[found >= m] - m).tolist()
    violating = submatrix(matrix, rows, columns) if len(rows) == len(columns) else None
    if violating is None or abs(violating.determinant) != 2:
        raise SolverFailedError(f"{matrix!r} is refuted, but no part of it has the determinant 2 or -2; please report the matrix")
    return violating
