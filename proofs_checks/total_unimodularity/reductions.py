"""What can be left out of a matrix without changing whether it is totally unimodular: series-parallel reductions, and blocks.

A *line* is a row or a column; row i has the number i, column j of a matrix with m rows the number m + j. A line may go if, among
the lines that are left, it is

    zero                                                                                                         (1)
    a unit line: with a single nonzero                                                                           (2)
    a copy of another line, or of its negative                                                                   (3)

A square submatrix with a line (1) or (2), or with two lines (3), has determinant 0 or, but for the sign, that of a smaller one.
So the matrix is totally unimodular if and only if the rest is; the same holds for "network matrix" and for "transpose of one"
(`proofs_checks.total_unimodularity.reductions` says how the tree grows). The rest falls apart into the connected blocks of
its nonzeros (1-sums).

Lines are compared by random sums of their entries that are kept up to date as other lines go, and only then entry by entry: the
expected time is linear in the nonzeros (Walter and Truemper 2013, section 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from formulations.compiled import njit
from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity.network_recognition import random_weights, recognise_network
from proofs_checks.total_unimodularity.pieces import COPY, UNIT, ZERO, Pieces, Reductions


def reduce_matrix(matrix: SignMatrix) -> Reductions:
    """Leave out lines by (1)-(3) until none is left that may go."""
    m, n = matrix.shape
    pointer, across, sign = lines_of(matrix)
    kind, line, partner, factor, kept = _reduce(pointer, across, sign, random_weights(m + n))
    remaining = np.flatnonzero(kept)
    return Reductions(kind, line, partner, factor, remaining[remaining < m], remaining[remaining >= m] - m)


def kept_lines(pointer: NDArray[np.int64], across: NDArray[np.int64], sign: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which lines `reduce_matrix` leaves, for the nonzeros line by line."""
    kept: NDArray[np.bool_] = _reduce(pointer, across, sign, random_weights(len(pointer) - 1))[4]
    return kept


def lines_of(matrix: SignMatrix) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """The nonzeros line by line, rows first: where each line begins, the lines across (ascending), the signs."""
    m = matrix.shape[0]
    by_row = sparse.csr_array(matrix.entries)
    by_column = matrix.entries
    pointer = np.concatenate([by_row.indptr.astype(np.int64), by_column.indptr[1:].astype(np.int64) + matrix.nnz])
    across = np.concatenate([by_row.indices.astype(np.int64) + m, by_column.indices.astype(np.int64)])
    return pointer, across, np.concatenate([by_row.data, by_column.data])


def blocks_of(
    matrix: SignMatrix, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and columns of the connected blocks of a submatrix, as indices of the whole matrix, ascending."""
    if not rows.size and not columns.size:
        return []
    part: Any = matrix.part(rows, columns).entries
    joined = sparse.coo_array(part)
    total = rows.size + columns.size
    graph = sparse.coo_array((np.ones(joined.nnz, np.int8), (joined.row, joined.col + rows.size)), shape=(total, total))
    count, label = connected_components(graph.tocsr(), directed=False)
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(1, count))
    found = []
    for lines in np.split(order, ends):
        inside = int(np.searchsorted(lines, rows.size))
        found.append((rows[lines[:inside]], columns[lines[inside:] - rows.size]))
    return found


@njit(cache=True)
def _reduce(pointer, across, sign, weight):  # type: ignore[no-untyped-def]
    """Take lines from a queue; a line enters it again whenever it loses a nonzero.

    Every line's list is compacted when it is read, so that an entry that is gone is read only once more.
    """
    total = pointer.shape[0] - 1
    across, sign = across.copy(), sign.copy()
    length = pointer[1:] - pointer[:-1]
    count = length.copy()
    key, table = _keys(pointer, across, sign, weight)
    queue, in_queue, first, queued = np.arange(total), np.ones(total, np.bool_), 0, total
    kept = np.ones(total, np.bool_)
    kinds, lines = np.empty(total, np.int8), np.empty(total, np.int64)
    partners, factors = np.empty(total, np.int64), np.empty(total, np.int8)
    done = 0
    while queued:
        # the next line: may it go?
        x = queue[first]
        first = (first + 1) % total
        queued -= 1
        in_queue[x] = False
        kind, partner, factor = -1, -1, 0
        if count[x] == 0:
            kind = ZERO
        elif count[x] == 1:
            _compact(x, pointer, across, sign, length, kept)
            kind, partner, factor = UNIT, across[pointer[x]], sign[pointer[x]]
        else:
            partner, factor = _find_copy(x, pointer, across, sign, length, kept, count, key, table)
            kind = COPY if partner >= 0 else -1
        if kind < 0:
            continue
        # it goes, and lines that lose a nonzero are looked at again
        kinds[done], lines[done], partners[done], factors[done] = kind, x, partner, factor
        done += 1
        kept[x] = False
        for k in range(pointer[x], pointer[x] + length[x]):
            y = across[k]
            if not kept[y]:
                continue
            count[y] -= 1
            key[y] -= sign[k] * weight[x]
            if not in_queue[y]:
                in_queue[y] = True
                queue[(first + queued) % total] = y
                queued += 1
    return kinds[:done], lines[:done], partners[:done], factors[:done], kept


@njit(cache=True)
def _keys(pointer, across, sign, weight):  # type: ignore[no-untyped-def]
    """The random sum of each line, modulo 2^64, and an empty table for twice as many look-ups as there can be."""
    total = pointer.shape[0] - 1
    key = np.zeros(total, np.int64)
    for x in range(total):
        for k in range(pointer[x], pointer[x + 1]):
            key[x] += sign[k] * weight[across[k]]
    size = 16
    while size < 2 * (total + across.shape[0]):
        size *= 2
    return key, np.full(size, -1, np.int64)


@njit(cache=True)
def _find_copy(x, pointer, across, sign, length, kept, count, key, table):  # type: ignore[no-untyped-def]
    """Look line x up in the table. If there is no copy, the answer is -1 and x is entered in the table.

    Lines stay in the slots of their former keys, so the comparison is by the present key.
    """
    mask = table.shape[0] - 1
    wanted = abs(key[x])
    slot = (wanted ^ (wanted >> 31)) & mask
    while table[slot] >= 0:
        z = table[slot]
        # equal keys are no proof: compare the entries that are left
        if z != x and kept[z] and count[z] == count[x] and abs(key[z]) == wanted:
            _compact(x, pointer, across, sign, length, kept)
            _compact(z, pointer, across, sign, length, kept)
            a, b = pointer[x], pointer[z]
            factor = sign[a] * sign[b]
            same = True
            for k in range(length[x]):
                if across[a + k] != across[b + k] or sign[a + k] != factor * sign[b + k]:
                    same = False
                    break
            if same:
                return z, factor
        slot = (slot + 1) & mask
    table[slot] = x
    return -1, 0


@njit(cache=True)
def _compact(x, pointer, across, sign, length, kept):  # type: ignore[no-untyped-def]
    """Drop the lines that were left out from the list of line x."""
    place = pointer[x]
    for k in range(pointer[x], pointer[x] + length[x]):
        if kept[across[k]]:
            across[place], sign[place] = across[k], sign[k]
            place += 1
    length[x] = place - pointer[x]


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
    found: NetworkMatrix = verdict.certificate
    return found


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
    """(4)-(6), the last line first; `vertices` is the next vertex."""
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
