"""A matrix block by block: reduced, taken apart, every block tried as a network matrix; the blocks' networks made one.

In one network of the whole matrix blocks share a vertex. Lines come back one by one, in the order opposite to that in which
`proofs_checks.total_unimodularity.reductions` left them out. In the tree that there is by then

    a zero column is an empty path, a zero row a pendant arc                                                     (1)
    a unit column is the path of one arc, a unit row a pendant arc that prolongs the path of its column          (2)
    a copy of a column runs the same way, or back; a copy of a row is what comes of subdividing the row's arc    (3)

and for the transpose rows and columns change places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import COPY, UNIT, ZERO, Pieces, Reductions
from proofs_checks.total_unimodularity.reductions import blocks_of, reduce_matrix


def find_network(matrix: SignMatrix, *, transposed: bool = False, known: Pieces | None = None) -> NetworkMatrix | None:
    """A tree and paths for the whole matrix, or its transpose, verified; None where it is not the network matrix of any.

    `known` are blocks that are network matrices or, where they are none, transposes of network matrices.
    """
    if matrix.other is not None:
        return None
    reductions = reduce_matrix(matrix) if known is None else known.reductions
    if known is None:
        given: list[Any] = [(*place, None) for place in blocks_of(matrix, reductions.rows, reductions.columns)]
    else:
        given = [(piece.rows, piece.columns, piece.evidence) for piece in known.pieces]
    blocks = []
    for rows, columns, network in given:
        if network is None or (transposed and not network.transposed):
            network = recognise_network(matrix.part(rows, columns), transposed=transposed)
        if network is None or network.transposed != transposed:
            return None
        blocks.append((rows, columns, network))
    whole = lift(matrix.shape, reductions, blocks, transposed=transposed)
    verdict = check_network_matrix(matrix, whole)
    if not verdict:
        raise SolverFailedError(
            f"the network that was put together for {matrix!r}: {verdict.certificate}; please report the matrix"
        )
    return whole


def lift(
    shape: tuple[int, int],
    reductions: Reductions,
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NetworkMatrix]],
    *,
    transposed: bool,
) -> NetworkMatrix:
    """One network for the whole matrix, from the networks of blocks that cover what is left, transposed as it is to be."""
    m, n = shape
    arcs, paths = (n, m) if transposed else (m, n)
    tail, head = np.zeros(arcs, np.int64), np.zeros(arcs, np.int64)
    start, end = np.zeros(paths, np.int64), np.zeros(paths, np.int64)
    vertices = 1
    for rows, columns, network in blocks:
        arc, path = (columns, rows) if transposed else (rows, columns)
        # a block's vertex 0 is the last vertex of the block before
        place = np.arange(vertices - 1, vertices + len(arc))
        tail[arc], head[arc] = place[network.tail], place[network.head]
        start[path], end[path] = place[network.start], place[network.end]
        vertices += len(arc)
    step = (reductions.kind, reductions.line, reductions.partner, reductions.sign)
    _lift(*step, m, transposed, tail, head, start, end, vertices)
    return NetworkMatrix(tail, head, start, end, transposed)


@njit(cache=True)
def _lift(kind, line, partner, sign, m, transposed, tail, head, start, end, vertices):  # type: ignore[no-untyped-def]
    """(1)-(3), the last line first; `vertices` is the next vertex."""
    for k in range(line.shape[0] - 1, -1, -1):
        x = line[k] if line[k] < m else line[k] - m
        y = partner[k] if partner[k] < m else partner[k] - m
        forward = sign[k] > 0
        if (line[k] < m) == transposed:  # a path
            if kind[k] == ZERO:
                start[x], end[x] = 0, 0
            elif kind[k] == UNIT:
                start[x], end[x] = (tail[y], head[y]) if forward else (head[y], tail[y])
            elif kind[k] == COPY:
                start[x], end[x] = (start[y], end[y]) if forward else (end[y], start[y])
            continue
        new = vertices
        vertices += 1
        if kind[k] == ZERO:
            tail[x], head[x] = 0, new
        elif kind[k] == UNIT:
            tail[x], head[x] = (end[y], new) if forward else (new, end[y])
            end[y] = new
        elif kind[k] == COPY:
            tail[x], head[x] = (new, head[y]) if forward else (head[y], new)
            head[y] = new
