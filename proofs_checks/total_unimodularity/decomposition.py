"""Seymour's decomposition: reductions, blocks, networks and transposes, R10, 3-sums, 2-sums, until all is taken apart.

For each block that is neither a network matrix nor the transpose of one, nor R10:

    it may be a 2-sum                                                  `two_sums`                                         (1)
    else it has a least minor that is not easy                         `hard_minors`                                      (2)
    R12: it induces a 3-separation, and the block is a 3-sum           `separations`, `three_sums`                        (3)
    else the block is not totally unimodular                                                                              (4)

Both parts of a sum have fewer lines than the block, and are totally unimodular if it is: as submatrices or as minors of it. So
the first part that is not refutes the whole, and the minor that shows it is followed back to the whole. The number of steps is
polynomial: a 3-sum has six lines on each side and adds six, a 2-sum two and two.

A separation that fails (3) shows that R12 and some elements more are not regular. The minor for (4) is looked for among
these: by the exponential reference if they are few, else in another least minor. If that fails, lines are left out as long as
the rest is refuted; what is left in the end is square, and minimal.                                                     (5)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.total_unimodularity.blocks import Lines
from proofs_checks.total_unimodularity.camion import least_violation
from proofs_checks.total_unimodularity.hard_minors import is_r10, least_hard_minor
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import R10, Piece, Pieces, Reductions, Split, ThreeSum, TwoSum
from proofs_checks.total_unimodularity.reductions import blocks_of, reduce_matrix
from proofs_checks.total_unimodularity.separations import NoSeparation, induced_separation
from proofs_checks.total_unimodularity.ternary import Display, FourPoints, Ints, Signs, even_submatrix, four_points
from proofs_checks.total_unimodularity.three_sums import Taken, realisation, take_apart
from proofs_checks.total_unimodularity.two_sums import find_two_sum, parts_of

FEW_ROWS = 16
"""Rows, or columns, up to which (5) asks the reference."""

ORDERS = 8
"""Orders of the lines in which (5) looks for another least minor."""

Back = Callable[[FourPoints], FourPoints | None]
"""From a minor of a part to one of the matrix that it is a part of; None where that fails."""


@dataclass(frozen=True)
class Counterexample:
    """The matrix is not totally unimodular.

    Parameters
    ----------
    minor
        the minor that shows it; None where it is known of a part only.
    """

    minor: FourPoints | None


@dataclass(eq=False)
class _Node:
    """A matrix to be taken apart, and where it comes from; then its reductions and blocks.

    Parameters
    ----------
    blocks
        rows, columns, evidence, and for a sum the index of its first part.
    """

    matrix: SignMatrix
    parent: _Node | None = None
    back: Back | None = None
    reductions: Reductions | None = None
    blocks: list[tuple[Ints, Ints, NetworkMatrix | R10 | TwoSum | ThreeSum, int]] = field(default_factory=list)


def decompose(matrix: SignMatrix) -> Pieces | Counterexample:
    """Take the matrix apart completely.

    Parameters
    ----------
    matrix
        entries -1, 0 and 1.
    """
    nodes = [_Node(matrix)]
    for node in nodes:
        node.reductions = reduce_matrix(node.matrix)
        for place in blocks_of(node.matrix, node.reductions.rows, node.reductions.columns):
            found = _take(node.matrix.part(*place))
            if isinstance(found, Counterexample):
                return _refuted(node, place, found)
            evidence, parts = found
            node.blocks.append((*place, evidence, len(nodes)))
            nodes.extend(_Node(part, node, _through_block(node, place, back)) for part, back in parts)
        if node.parent is not None:
            node.matrix = _EMPTY
    return _assemble(nodes)


_EMPTY = read_matrix(np.zeros((0, 0), dtype=np.int8))


def _assemble(nodes: list[_Node]) -> Pieces:
    """The certificate, put together from the last part to the first."""
    done: dict[int, Pieces] = {}
    for k in reversed(range(len(nodes))):
        pieces = []
        for rows, columns, found, first in nodes[k].blocks:
            if isinstance(found, TwoSum | ThreeSum):
                pieces.append(Piece(rows, columns, Split(found, (done.pop(first), done.pop(first + 1)))))
            else:
                pieces.append(Piece(rows, columns, found))
        reductions = nodes[k].reductions
        assert reductions is not None
        done[k] = Pieces(reductions, tuple(pieces))
    return done[0]


_Parts = list[tuple[SignMatrix, Back]]


def _take(block: SignMatrix) -> tuple[NetworkMatrix | R10 | TwoSum | ThreeSum, _Parts] | Counterexample:
    """(1)-(4) for a reduced, connected block."""
    for transposed in (False, True):
        network = recognise_network(block, transposed=transposed)
        if network is not None:
            return network, []
    entries = block.dense()
    if is_r10(entries):
        return R10(), []
    two_sum = find_two_sum(block)
    if two_sum is not None:
        return two_sum, [(block.part(*place), _submatrix(block.shape, *place)) for place in parts_of(two_sum, block.shape)]
    hard = least_hard_minor(entries)
    if hard is None:
        raise SolverFailedError(f"{block!r} is easy, but neither network nor R10 nor a 2-sum; please report the matrix")
    if len(hard.display.rows) == 2:
        whole = hard.displayed_in(entries)
        away = np.setdiff1d(whole.rows, hard.display.rows)
        return Counterexample(FourPoints((*hard.display.rows.tolist(), *hard.display.columns.tolist()), tuple(away.tolist())))
    whole = hard.displayed_in(entries)
    rows, columns = (
        np.flatnonzero(np.isin(a, b)) for a, b in ((whole.rows, hard.display.rows), (whole.columns, hard.display.columns))
    )
    separation = induced_separation(whole, rows, columns)
    if separation is None:
        raise SolverFailedError(f"a least minor of {block!r} is neither R12 nor [[1, 1], [1, -1]]; please report the matrix")
    if isinstance(separation, NoSeparation):
        return Counterexample(_not_regular(whole, separation))
    taken = take_apart(entries, separation)
    if isinstance(taken, FourPoints):
        return Counterexample(taken)
    minors = (separation.minor_second, separation.minor_first)
    parts = []
    for index, part in enumerate(taken.parts()):
        back = _through_three_sum(taken, index, minors[index], whole.rows)
        parts.append((_named(block, taken, index, part), back))
    return taken.three_sum, parts


def _named(block: SignMatrix, taken: Taken, index: int, part: Signs) -> SignMatrix:
    """A part of a 3-sum with names: those of the block, and an apostrophe where a line comes in."""
    side, m = taken.sides[index], block.shape[0]
    of = [*(block.rows[i] for i in range(m)), *(block.columns[j] for j in range(block.shape[1]))]
    row, column = taken.three_sum.row, taken.three_sum.column
    if index == 1:
        row, column = (
            int(taken.sides[0].rows[np.flatnonzero(taken.sides[0].a)[0]]),
            int(taken.sides[0].columns[np.flatnonzero(taken.sides[0].c)[0]]),
        )
    rows = [*(of[e] for e in taken.display.rows[side.rows]), of[taken.display.rows[row]] + "'"]
    name = of[taken.display.columns[column]]
    columns = [*(of[e] for e in taken.display.columns[side.columns]), name + "'", name + "''"]
    return read_matrix(part, rows, columns)


def _submatrix(shape: tuple[int, int], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Back:
    """From a minor of a submatrix to one of the matrix: the other rows are contracted."""

    def back(minor: FourPoints) -> FourPoints:
        names = np.concatenate([rows, columns + shape[0]])
        away = np.setdiff1d(np.arange(shape[0]), rows)
        return FourPoints(tuple(names[list(minor.elements)].tolist()), (*names[list(minor.contracted)].tolist(), *away.tolist()))

    return back


def _through_three_sum(taken: Taken, index: int, minor: Ints, basis: Ints) -> Back:
    """From a minor of a part to one of the 3-sum."""

    def back(found: FourPoints) -> FourPoints | None:
        stand_ins = realisation(taken, index, minor, basis)
        if stand_ins is None:
            return None
        (row, one, two), away = stand_ins
        side, display = taken.sides[index], taken.display
        names = np.concatenate([display.rows[side.rows], [row], display.columns[side.columns], [one, two]])
        contracted = (*names[list(found.contracted)].tolist(), *away.tolist())
        return FourPoints(tuple(names[list(found.elements)].tolist()), contracted)

    return back


def _through_block(node: _Node, place: Lines, back: Back) -> Back:
    """From a minor of a part of a block to one of the node's matrix."""
    inside = _submatrix(node.matrix.shape, *place)

    def both(minor: FourPoints) -> FourPoints | None:
        found = back(minor)
        return None if found is None else inside(found)

    return both


def _refuted(node: _Node, place: Lines, found: Counterexample) -> Counterexample:
    """Follow the minor of a node's block back to the whole."""
    minor = None if found.minor is None else _submatrix(node.matrix.shape, *place)(found.minor)
    above: _Node | None = node
    while above is not None and above.back is not None and minor is not None:
        minor, above = above.back(minor), above.parent
    return Counterexample(minor)


def _not_regular(whole: Display, found: NoSeparation) -> FourPoints:
    """(5): the minor within R12 and the elements on the way."""
    part = whole.part(found.rows, found.columns)
    return _within(part, _least_minor_of(part.entries), np.delete(whole.rows, found.rows))


def _least_minor_of(entries: Signs) -> FourPoints:
    """(5)."""
    if min(entries.shape) <= FEW_ROWS:
        upright = len(entries) <= FEW_ROWS
        place = least_violation(entries if upright else np.ascontiguousarray(entries.T))
        if place is None:
            raise SolverFailedError("a matrix is totally unimodular that is known not to be regular; please report it")
        return _minor_at(entries, *(place if upright else place[::-1]))
    for seed in range(1, ORDERS + 1):
        hard = least_hard_minor(entries, seed)
        if hard is not None and len(hard.display.rows) == 2:
            contracted = np.setdiff1d(hard.displayed_in(entries).rows, hard.display.rows)
            return FourPoints((*hard.display.rows.tolist(), *hard.display.columns.tolist()), tuple(contracted.tolist()))
    return minor_by_elimination(entries)


def minor_by_elimination(entries: Signs) -> FourPoints:
    """The last resort of (5), for a matrix that is refuted: many lines at once first."""
    m, n = entries.shape
    whole = Display.of(entries)
    lines = np.arange(m + n)
    chunk = max(1, len(lines) // 2)
    while True:
        first = 0
        while first < len(lines):
            rest = np.delete(lines, np.arange(first, min(first + chunk, len(lines))))
            rows, columns = rest[rest < m], rest[rest >= m] - m
            part = whole.part(rows, columns)
            found = decompose(read_matrix(part.entries))
            if not isinstance(found, Counterexample):
                first += chunk
                continue
            lines = rest
            if found.minor is not None and even_submatrix(part.entries, found.minor) is not None:
                return _within(part, found.minor, np.delete(whole.rows, rows))
        if chunk == 1:
            return _minor_at(entries, lines[lines < m], lines[lines >= m] - m)
        chunk = max(1, min(chunk, len(lines)) // 2)


def _minor_at(entries: Signs, rows: Sequence[int] | Ints, columns: Sequence[int] | Ints) -> FourPoints:
    """The minor that a minimal violating submatrix has."""
    whole = Display.of(entries)
    return four_points(whole.part(np.array(rows), np.array(columns)), np.delete(whole.rows, rows))


def _within(part: Display, minor: FourPoints, contracted: Ints) -> FourPoints:
    """From a minor of a submatrix's entries to one of the matrix; the rows that were left out are contracted."""
    names = np.concatenate([part.rows, part.columns])
    away = (*names[list(minor.contracted)].tolist(), *contracted.tolist())
    return FourPoints(tuple(names[list(minor.elements)].tolist()), away)
