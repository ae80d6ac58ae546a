"""Seymour's decomposition: reductions, blocks, networks and transposes, R10, 3-sums, 2-sums, until all is taken apart.

For each block that is neither a network matrix nor the transpose of one, nor R10:

    it may be a 2-sum                                                  `sums`                                             (1)
    else it has a least minor that is not easy                         `hard_minors`                                      (2)
    R12: it induces a 3-separation, and the block is a 3-sum           `sums`                                             (3)
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

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from formulations.errors import SolverFailedError
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.params import DEFAULTS
from proofs_checks.total_unimodularity.hard_minors import is_r10, least_hard_minor, least_part
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import R10, Piece, Pieces, Split, ThreeSum, TwoSum
from proofs_checks.total_unimodularity.reductions import blocks_of, reduce_matrix
from proofs_checks.total_unimodularity.signing import wrong_cycle
from proofs_checks.total_unimodularity.sums import find_two_sum, induced_separation, parts_of, sides_of_r12, take_apart
from proofs_checks.total_unimodularity.ternary import Ints, least_violation


def decompose(matrix: SignMatrix) -> Pieces | Ints:
    """Take the matrix apart completely; or lines (rows, and columns after them) that took part in refuting it.

    Nearly always these lines alone are not totally unimodular.
    """
    # take parts in the order of their numbers; the two parts of a sum get the next free ones
    waiting: dict[int, tuple[SignMatrix, _Origin | None]] = {0: (matrix, None)}
    taken = []
    for k in count():
        if k not in waiting:
            break
        part, origin = waiting.pop(k)
        reductions, blocks = reduce_matrix(part), []
        for rows, columns in blocks_of(part, reductions.rows, reductions.columns):
            place = np.concatenate([rows, columns + part.shape[0]])
            found = _take(part.part(rows, columns))
            if isinstance(found, np.ndarray):
                return _in_the_whole(place[found], origin)
            first = k + 1 + len(waiting)
            parts = [(each, _Origin(origin, place, own, guests)) for each, own, guests in found[1]]
            waiting |= enumerate(parts, first)
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


@dataclass(frozen=True, eq=False)
class _Origin:
    """Where a part of a sum comes from: nearly always it is a minor of these lines of the sum."""

    above: _Origin | None  # of the matrix that the sum is a block of
    block: Ints  # that block's lines
    own: Ints  # of each line of the part the block's line, -1 where it stands for the other side
    guests: Ints  # the block's lines for which those stand


def _in_the_whole(lines: Ints, origin: _Origin | None) -> Ints:
    """The lines of the whole that some lines of a part stand for."""
    while origin is not None:
        own = origin.own[lines]
        lines = origin.block[np.union1d(own[own >= 0], origin.guests if (own < 0).any() else own[:0])]
        origin = origin.above
    return np.unique(lines)


def _take(block: SignMatrix) -> tuple[Any, list[tuple[SignMatrix, Ints, Ints]]] | Ints:
    """(1)-(4) for a reduced, connected block: what it is, and the parts of a sum with their own lines and guests.

    Or some of its lines that are not totally unimodular.
    """
    for transposed in (False, True):
        network = recognise_network(block, transposed=transposed)
        if network is not None:
            return network, []
    # R10, or a 2-sum (1)
    entries = block.dense()
    if is_r10(entries):
        return R10(), []
    two_sum = find_two_sum(block)
    if two_sum is not None:
        places, nobody = parts_of(two_sum, block.shape), np.zeros(0, dtype=np.int64)
        return two_sum, [(block.part(r, c), np.concatenate([r, c + len(entries)]), nobody) for r, c in places]
    # (2): its least minor that is not easy; of two rows and columns, it refutes the block
    hard = least_hard_minor(entries)
    if hard is None:
        raise SolverFailedError(f"{block!r} is easy, but neither network nor R10 nor a 2-sum; please report the matrix")
    involved = np.concatenate([hard.display.rows, hard.display.columns, np.ravel(hard.pivots).astype(np.int64)])
    if len(hard.display.rows) == 2:
        return involved
    # (3): R12, whose sides separate the whole block, or (4) it is refuted
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
    # a part is a minor of its side with R12 and what the pivots exchanged, but for signs
    pivots = [] if three_sum.pivot is None else [three_sum.pivot[0], len(entries) + three_sum.pivot[1]]
    guests = np.union1d(involved, pivots).astype(np.int64)
    own = (np.concatenate([part.rows, [-1], part.columns, [-1, -1]]) for part in parts)
    return three_sum, [(read_matrix(part.entries), lines, guests) for part, lines in zip(parts, own, strict=True)]


def minimal_violation(matrix: SignMatrix, lines: Ints) -> ViolatingSubmatrix:
    """A minimal violating submatrix of a matrix that `decompose` refuted, first looked for among the lines that it named."""
    m = matrix.shape[0]

    def refuted(lines: Ints) -> Ints | None:
        """A part of some lines that is refuted, None where they are not."""
        rows, columns = lines[lines < m], lines[lines >= m] - m
        part = matrix.part(rows, columns)
        if min(part.shape) <= DEFAULTS.camion_lines:
            upright = part.shape[0] <= DEFAULTS.camion_lines
            place = least_violation(part.dense() if upright else np.ascontiguousarray(part.dense().T))
            if place is None:
                return None
            r, c = place if upright else place[::-1]
            return np.concatenate([rows[list(r)], columns[list(c)] + m])
        cycle = wrong_cycle(part)
        if cycle is not None:
            return np.concatenate([rows[list(cycle.rows)], columns[list(cycle.columns)] + m])
        found = decompose(part)
        if isinstance(found, Pieces):
            return None
        smaller = refuted(lines[found]) if len(found) < len(lines) else None
        return lines if smaller is None else smaller

    # lines are left out as long as the rest is refuted
    start = refuted(lines)
    found = least_part(np.arange(sum(matrix.shape)) if start is None else start, refuted, np.random.default_rng(0))
    rows, columns = found[found < m].tolist(), (found[found >= m] - m).tolist()
    violating = submatrix(matrix, rows, columns) if len(rows) == len(columns) else None
    if violating is None or abs(violating.determinant) != 2:
        raise SolverFailedError(f"{matrix!r} is refuted, but no part of it has the determinant 2 or -2; please report the matrix")
    return violating
