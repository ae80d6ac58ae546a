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

from formulations.compiled import njit
from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity.network_pieces import candidates, components, cut, glue, has_three, through

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
        if not has_three(piece.pointer):
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


def random_weights(size: int) -> NDArray[np.int64]:
    """A random number for each line: lines with the same sum of them over their nonzeros are alike, but for chance."""
    return np.random.default_rng(0).integers(-(2**50), 2**50, size)


def _star(piece: _Piece) -> bool:
    """(1)."""
    m, n = len(piece.rows), len(piece.columns)
    piece.tail, piece.head, piece.ends = np.empty(m, np.int32), np.empty(m, np.int32), np.empty((n, 2), np.int32)
    return bool(star(piece.pointer, piece.row, piece.sign, piece.tail, piece.head, piece.ends))


def _split(piece: _Piece, weight: NDArray[np.int64]) -> bool:
    """(2) and (4): choose row r, its components, and their sides."""
    m = len(piece.rows)
    for r in candidates(piece.pointer, piece.row, piece.pendant):
        label, count = components(piece.pointer, piece.row, m, r)
        if count > 1:
            break
    else:
        return False
    label, side = sides(piece.pointer, piece.row, label, count, r, weight)
    if side.size == 0:
        return False
    piece.split, piece.side = int(r), side
    _cut(piece, label, count)
    return True


def _cut(piece: _Piece, label: Ints, count: int) -> None:
    """Make a piece of each component with row r; the piece's own nonzeros are needed no more."""
    arrays: tuple[Any, ...] = cut(piece.pointer, piece.row, piece.sign, label, count, piece.split)
    row_at, rows, column_at, columns, entry_at, pointer, row, sign = arrays
    for k in range(count):
        a, b = row_at[k], row_at[k + 1]
        c, d = column_at[k], column_at[k + 1]
        e, f = entry_at[k], entry_at[k + 1]
        pendant = piece.pendant[rows[a:b]]
        pendant[0] = True  # (3)
        part = _Piece(pointer[c + k : d + k + 1], row[e:f], sign[e:f], rows[a:b], columns[c:d], pendant)
        piece.parts.append(part)
    piece.through = through(piece.pointer, piece.row, piece.split)
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
        vertices = glue(*arrays, side, passes, vertices, piece.tail, piece.head, piece.ends)
    piece.parts.clear()


@njit(cache=True)
def sides(pointer, row, label, count, r, weight):  # type: ignore[no-untyped-def]
    """The components numbered as (5) takes them, and (4): side 0 or 1 of each; of length 0 where conflicts are not bipartite.

    Of k before l only "the columns of U_l differ in k" has to be looked at: if those of U_k do not differ in l, then
    U_k is all of U_l or apart from it, and l would come first, or would not differ. What a column has in a component is told by
    the sum of random weights of its rows there.
    """
    columns = through(pointer, row, r)
    room = 0
    for c in columns:
        room += pointer[c + 1] - pointer[c]
    # a use: a column's part in a component
    column, component, total = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(room, np.int64)
    last, place, n = np.full(count, -1, np.int64), np.zeros(count, np.int64), 0
    for c in range(columns.shape[0]):
        for k in range(pointer[columns[c]], pointer[columns[c] + 1]):
            if row[k] != r:
                x = label[row[k]]
                if last[x] != c:
                    last[x], place[x] = c, n
                    column[n], component[n] = c, x
                    n += 1
                total[place[x]] += weight[row[k]]
    # components in the order of (5)
    rank = _in_order_of_use(component[:n], total, count, columns.shape[0])
    # the uses by component, so that those of each column come in this order
    begin, at = np.zeros(count + 1, np.int64), np.zeros(columns.shape[0] + 1, np.int64)
    for u in range(n):
        begin[rank[component[u]] + 1] += 1
        at[column[u] + 1] += 1
    begin, at = np.cumsum(begin), np.cumsum(at)
    use, free = np.empty(n, np.int64), begin[:-1].copy()
    for u in range(n):
        mine = rank[component[u]]
        use[free[mine]] = u
        free[mine] += 1
    inside, value, free = np.empty(n, np.int64), np.empty(n, np.int64), at[:-1].copy()
    for x in use:
        inside[free[column[x]]], value[free[column[x]]] = rank[component[x]], total[x]
        free[column[x]] += 1
    # (4): two columns that differ in an earlier component put this one on the other side
    above, parity = np.arange(count), np.zeros(count, np.int64)
    known = np.full(count, -1, np.int64)
    side = np.empty(count, np.int8)
    for k in range(count):
        for j in range(begin[k] + 1, begin[k + 1]):
            if not _compare(column[use[begin[k]]], column[use[j]], k, at, inside, value, known, above, parity):
                return label, side[:0]
    # what was found, by component and by row
    for k in range(count):
        side[k] = _root(above, parity, k)[1]
    ordered = label.copy()
    for i in range(label.shape[0]):
        if i != r:
            ordered[i] = rank[label[i]]
    return ordered, side


@njit(cache=True)
def _in_order_of_use(component, total, count, n_columns):  # type: ignore[no-untyped-def]
    """(5): the rank of each component, by counting sort, as sorting in compiled code takes seconds to compile."""
    # how many columns use each component, and whether all use it alike
    size, alike, first = np.zeros(count, np.int64), np.ones(count, np.int64), np.zeros(count, np.int64)
    for u in range(component.shape[0]):
        k = component[u]
        if size[k] == 0:
            first[k] = total[u]
        elif total[u] != first[k]:
            alike[k] = 0
        size[k] += 1
    # the sort's groups: most columns first, and among these the alike ones first; free[g] is where group g begins
    free = np.zeros(2 * n_columns + 3, np.int64)
    for k in range(count):
        free[2 * (n_columns - size[k]) + 2 - alike[k]] += 1
    free = np.cumsum(free)
    rank = np.empty(count, np.int32)
    for k in range(count):
        place = 2 * (n_columns - size[k]) + 1 - alike[k]
        rank[k] = free[place]
        free[place] += 1
    return rank


@njit(cache=True)
def _compare(c, d, last, at, inside, value, known, above, parity):  # type: ignore[no-untyped-def]
    """Put the component `last` on another side than every k before it in which columns c and d differ; False if that fails."""
    i, j = at[c], at[d]
    # merge the two ascending lists of components
    while True:
        first = inside[i] if i < at[c + 1] else last
        second = inside[j] if j < at[d + 1] else last
        k = min(first, second)
        if k >= last:
            return True
        same = first == second and value[i] == value[j]
        i += first == k
        j += second == k
        # k is in one column only, or differs in its value
        if not same and known[k] != last:
            known[k] = last
            if not _relate(above, parity, k, last, 1):
                return False


@njit(cache=True)
def star(pointer, row, sign, tail, head, ends):  # type: ignore[no-untyped-def]
    """(1): hub 0, arc i between it and vertex i + 1."""
    m = tail.shape[0]
    above, parity = np.arange(m), np.zeros(m, np.int64)
    for c in range(pointer.shape[0] - 1):
        k = pointer[c]
        n = pointer[c + 1] - k
        ends[c, 0] = row[k] + 1 if n > 0 else 0
        ends[c, 1] = row[k + 1] + 1 if n > 1 else 0
        # a path through the hub: with equal signs one of its arcs leads to the hub and one away from it
        if n > 1 and not _relate(above, parity, row[k], row[k + 1], 1 if sign[k] == sign[k + 1] else 0):
            return False
    # direct the arcs by their parity
    for i in range(m):
        away = _root(above, parity, i)[1]
        tail[i], head[i] = (0, i + 1) if away else (i + 1, 0)
    return True


@njit(cache=True)
def _root(above, parity, i):  # type: ignore[no-untyped-def]
    """The root of i, and whether i is unlike it; paths are shortened on the way."""
    root, odd = i, 0
    while above[root] != root:
        odd ^= parity[root]
        root = above[root]
    j, odd_to_root = i, odd
    while above[j] != root and j != root:
        up, step = above[j], parity[j]
        above[j], parity[j] = root, odd_to_root
        odd_to_root ^= step
        j = up
    return root, odd


@njit(cache=True)
def _relate(above, parity, i, j, odd):  # type: ignore[no-untyped-def]
    """Note that i and j are unlike (odd = 1) or alike (0); False where that is known to be otherwise."""
    a, p = _root(above, parity, i)
    b, q = _root(above, parity, j)
    if a == b:
        return p ^ q == odd
    above[b], parity[b] = a, p ^ q ^ odd
    return True
