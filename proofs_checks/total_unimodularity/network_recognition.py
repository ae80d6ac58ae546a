"""Is a matrix a network matrix: find the tree, or prove that there is none (Auslander and Trent 1959, Tutte 1960, Gould 1958).

As in Schrijver 1986, section 20.1. Rows are the arcs of the tree that is looked for, columns its paths.

    If no column has three nonzeros, a star will do or nothing will: arcs that point to the hub, and arcs that point away
    from it; two entries of equal signs in a column ask for one of either kind, of unequal signs for two of a kind.        (1)

    Else take a row r, and call other rows joined if some column with 0 in row r has nonzeros in both: a path that does not
    use arc r stays on one side of it. An arc with further arcs at both of its ends leaves at least two components.
    In a column with three nonzeros or more at most the two outermost arcs have none at one end: three rows of it are enough
    to try, and if the other rows stay connected for each, there is no tree.                                               (2)

    Arc r with one component must have a tree of its own; arc r is pendant in it. Reversing all arcs and paths moves the
    component to arc r's other end.                                                                                        (3)

    W: columns through r; U_k: those that also meet component k. If l hangs on k's tree, on one side of r, all of U_l go the
    same way through k. So if columns of U_l differ in k, and columns of U_k in l, the two are on different sides: the
    graph of these conflicts has to be bipartite.                                                                          (4)

    By falling |U_k|, and where equal first those that all of U_k use alike, each component is glued where its columns end
    so far. Compatible components always fit.                                                                              (5)

A column with k nonzeros leaves pieces with k - 1 nonzeros in all, not counting arc r: all pieces of one level together have at
most twice the matrix's nonzeros. So the time is O(nonzeros) a level (and O(k^2) a column for (4)), the number of levels at most
that of rows; for most matrices it is logarithmic, because the row with the most nonzeros is tried first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity import network_pieces, network_sides
from proofs_checks.total_unimodularity.reductions import random_weights

Ints = NDArray[np.int32]


@dataclass(eq=False)
class _Piece:
    """Some rows, and some columns cut down to them; later its tree."""

    pointer: Ints  # the nonzeros column by column.
    row: Ints
    sign: NDArray[np.int8]
    rows: Ints  # in the piece that this one was split from; 0 is its row r.
    columns: Ints  # in that piece.
    pendant: NDArray[np.bool_]  # rows that are known to be pendant arcs.
    split: int = -1
    through: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    side: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    parts: list[_Piece] = field(default_factory=list)
    tail: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    head: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    ends: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int32))


def recognise_network(matrix: SignMatrix, *, transposed: bool = False) -> NetworkMatrix | None:
    """Find a tree and paths for a matrix or its transpose, verified; None where it is not the network matrix of any."""
    if matrix.other is not None:
        return None
    upright = matrix.transposed() if transposed else matrix
    body = upright.entries
    tree = tree_of(upright.shape[0], body.indptr, body.indices, body.data)
    if tree is None:
        return None
    network = paths_in_tree(matrix, *tree, transposed=transposed)
    if network is None or not check_network_matrix(matrix, network):
        raise SolverFailedError(f"the tree that was found for {matrix!r} does not fit it; please report the matrix")
    return network


def tree_of(m: int, pointer: NDArray[Any], row: NDArray[Any], sign: NDArray[np.int8]) -> tuple[Ints, Ints] | None:
    """Tails and heads of the m arcs, not verified. Pieces are split until all are stars, and then glued, the last first."""
    whole = _Piece(
        pointer.astype(np.int32),
        row.astype(np.int32),
        sign,
        np.arange(m, dtype=np.int32),
        np.arange(len(pointer) - 1, dtype=np.int32),
        np.zeros(m, dtype=np.bool_),
    )
    pieces, weight = [whole], np.zeros(0, dtype=np.int64)
    for piece in pieces:
        if not network_pieces.has_three(piece.pointer):
            good = _star(piece)
        else:
            weight = weight if weight.size else random_weights(m)
            good = _split(piece, weight)
        if not good:
            return None
        pieces.extend(piece.parts)
    for piece in reversed(pieces):
        if piece.parts:
            _glue(piece)
    return whole.tail, whole.head


def _star(piece: _Piece) -> bool:
    """(1)."""
    m, n = len(piece.rows), len(piece.columns)
    piece.tail, piece.head, piece.ends = np.empty(m, np.int32), np.empty(m, np.int32), np.empty((n, 2), np.int32)
    return bool(network_sides.star(piece.pointer, piece.row, piece.sign, piece.tail, piece.head, piece.ends))


def _split(piece: _Piece, weight: NDArray[np.int64]) -> bool:
    """(2) and (4): choose row r, its components, and their sides."""
    m = len(piece.rows)
    for r in network_pieces.candidates(piece.pointer, piece.row, piece.pendant):
        label, count = network_pieces.components(piece.pointer, piece.row, m, r)
        if count > 1:
            break
    else:
        return False
    label, side = network_sides.sides(piece.pointer, piece.row, label, count, r, weight)
    if side.size == 0:
        return False
    piece.split, piece.side = int(r), side
    _cut(piece, label, count)
    return True


def _cut(piece: _Piece, label: Ints, count: int) -> None:
    """Make a piece of each component with row r; the piece's own nonzeros are needed no more."""
    arrays: tuple[Any, ...] = network_pieces.cut(piece.pointer, piece.row, piece.sign, label, count, piece.split)
    row_at, rows, column_at, columns, entry_at, pointer, row, sign = arrays
    for k in range(count):
        a, b = row_at[k], row_at[k + 1]
        c, d = column_at[k], column_at[k + 1]
        e, f = entry_at[k], entry_at[k + 1]
        pendant = piece.pendant[rows[a:b]]
        pendant[0] = True  # (3)
        part = _Piece(pointer[c + k : d + k + 1], row[e:f], sign[e:f], rows[a:b], columns[c:d], pendant)
        piece.parts.append(part)
    piece.through = network_pieces.through(piece.pointer, piece.row, piece.split)
    piece.pointer, piece.row, piece.sign = piece.pointer[:0], piece.row[:0], piece.sign[:0]


def _glue(piece: _Piece) -> None:
    """(5): arc r runs from vertex 0 to vertex 1; side 0 is at its head."""
    m, n = len(piece.rows), len(piece.columns)
    piece.tail, piece.head = np.zeros(m, np.int32), np.zeros(m, np.int32)
    piece.head[piece.split] = 1
    # where each path through r ends so far: at the head's side, at the tail's
    piece.ends = np.zeros((n, 2), np.int32)
    piece.ends[piece.through, 0] = 1
    passes = np.zeros(n, np.bool_)
    passes[piece.through] = True
    vertices = 2
    for part, side in zip(piece.parts, piece.side, strict=True):
        arrays = (part.tail, part.head, part.ends, part.rows, part.columns)
        vertices = network_pieces.glue(*arrays, side, passes, vertices, piece.tail, piece.head, piece.ends)
    piece.parts.clear()
