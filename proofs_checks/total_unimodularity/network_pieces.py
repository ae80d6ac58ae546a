"""How a matrix is taken to pieces at one row, and the trees of the pieces are glued.

The formulas are those of `proofs_checks.total_unimodularity.network_recognition`.
"""

from __future__ import annotations

import numpy as np

from formulations.compiled import njit


@njit(cache=True)
def has_three(pointer):  # type: ignore[no-untyped-def]
    """Whether a column has three nonzeros."""
    return np.any(pointer[1:] - pointer[:-1] >= 3)


@njit(cache=True)
def candidates(pointer, row, pendant):  # type: ignore[no-untyped-def]
    """(2): up to three rows of one column with three nonzeros, of those not known to be pendant; the fullest first."""
    # how many nonzeros each row has
    count = np.zeros(pendant.shape[0], np.int64)
    for k in range(row.shape[0]):
        count[row[k]] += 1
    # of the columns with three nonzeros the one that meets the fullest row not known to be pendant
    column, best = -1, -1
    for c in range(pointer.shape[0] - 1):
        if pointer[c + 1] - pointer[c] < 3:
            continue
        if column < 0:
            column = c
        for k in range(pointer[c], pointer[c + 1]):
            if not pendant[row[k]] and count[row[k]] > best:
                best, column = count[row[k]], c
    # its three fullest rows, the fullest first
    chosen = np.full(3, -1, np.int64)
    for place in range(3):
        best = -1
        for k in range(pointer[column], pointer[column + 1]):
            i = row[k]
            if not pendant[i] and count[i] > best and i != chosen[0] and i != chosen[1]:
                best, chosen[place] = count[i], i
    return chosen[chosen >= 0]


@njit(cache=True)
def components(pointer, row, m, r):  # type: ignore[no-untyped-def]
    """(2): the component of each row but r (-1), and how many there are."""
    above = np.arange(m)
    # join the rows of every column that avoids r
    for c in range(pointer.shape[0] - 1):
        avoids = True
        for k in range(pointer[c], pointer[c + 1]):
            avoids = avoids and row[k] != r
        if not avoids:
            continue
        for k in range(pointer[c] + 1, pointer[c + 1]):
            a, b = row[k - 1], row[k]
            while above[a] != a:
                above[a] = above[above[a]]
                a = above[a]
            while above[b] != b:
                above[b] = above[above[b]]
                b = above[b]
            above[max(a, b)] = min(a, b)
    # number the components
    label = np.full(m, -1, np.int32)
    count = 0
    for i in range(m):
        a = i
        while above[a] != a:
            a = above[a]
        if a == r:
            continue
        if label[a] < 0:
            label[a] = count
            count += 1
        label[i] = label[a]
    return label, count


@njit(cache=True)
def through(pointer, row, r):  # type: ignore[no-untyped-def]
    """W: the columns with a nonzero in row r."""
    found = np.zeros(pointer.shape[0] - 1, np.bool_)
    for c in range(found.shape[0]):
        for k in range(pointer[c], pointer[c + 1]):
            if row[k] == r:
                found[c] = True
    return np.flatnonzero(found).astype(np.int32)


@njit(cache=True)
def cut(pointer, row, sign, label, count, r):  # type: ignore[no-untyped-def]
    """The pieces one after the other: where their rows, columns and nonzeros begin, and these; row r is 0 in each.

    The pointers of piece k begin at its first column plus k: each piece has one more of them than columns.
    """
    row_at, rows, place = _rows_of_pieces(label, count, r)
    sign_r, column_at, entry_at = _sizes_of_pieces(pointer, row, sign, label, count, r)
    free_column, free_entry = column_at[:-1].copy(), entry_at[:-1].copy()
    # the last column that each piece has an entry in
    last = np.full(count, -1, np.int64)
    columns = np.empty(column_at[-1], np.int32)
    starts = np.zeros(column_at[-1] + count, np.int32)
    new_row, new_sign = np.empty(entry_at[-1], np.int32), np.empty(entry_at[-1], np.int8)
    for c in range(pointer.shape[0] - 1):
        for e in range(pointer[c], pointer[c + 1]):
            if row[e] == r:
                continue
            k = label[row[e]]
            # the first entry in piece k: its column begins, with row r's entry in front
            if last[k] != c:
                last[k] = c
                columns[free_column[k]] = c
                free_column[k] += 1
                if sign_r[c] != 0:
                    new_row[free_entry[k]], new_sign[free_entry[k]] = 0, sign_r[c]
                    free_entry[k] += 1
            new_row[free_entry[k]], new_sign[free_entry[k]] = place[row[e]], sign[e]
            free_entry[k] += 1
            starts[free_column[k] + k] = free_entry[k] - entry_at[k]
    return row_at, rows, column_at, columns, entry_at, starts, new_row, new_sign


@njit(cache=True)
def _rows_of_pieces(label, count, r):  # type: ignore[no-untyped-def]
    """Where each piece's rows begin, the rows, and the place of each row but r in its piece."""
    row_at = np.ones(count + 1, np.int64)
    row_at[0] = 0
    # each piece has its own rows and row r
    for k in label:
        if k >= 0:
            row_at[k + 1] += 1
    row_at = np.cumsum(row_at)
    rows, place = np.empty(row_at[-1], np.int32), np.zeros(label.shape[0], np.int32)
    # row r stands first in each piece, and the others ascend
    rows[row_at[:-1]] = r
    free = row_at[:-1] + 1
    for i in range(label.shape[0]):
        if i != r:
            k = label[i]
            place[i] = free[k] - row_at[k]
            rows[free[k]] = i
            free[k] += 1
    return row_at, rows, place


@njit(cache=True)
def _sizes_of_pieces(pointer, row, sign, label, count, r):  # type: ignore[no-untyped-def]
    """Row r's entry in each column; where each piece's columns and nonzeros begin."""
    n = pointer.shape[0] - 1
    sign_r = np.zeros(n, np.int8)
    column_at, entry_at = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    # the last column that was counted for each piece
    last = np.full(count, -1, np.int64)
    for c in range(n):
        for e in range(pointer[c], pointer[c + 1]):
            if row[e] == r:
                sign_r[c] = sign[e]
        # a column belongs to every piece that it has an entry in, and takes row r's entry along
        for e in range(pointer[c], pointer[c + 1]):
            if row[e] == r:
                continue
            k = label[row[e]]
            entry_at[k + 1] += 1
            if last[k] != c:
                last[k] = c
                column_at[k + 1] += 1
                entry_at[k + 1] += sign_r[c] != 0
    return sign_r, np.cumsum(column_at), np.cumsum(entry_at)


@njit(cache=True)
def glue(tail, head, ends, rows, columns, side, passes, vertices, whole_tail, whole_head, whole_ends):  # type: ignore[no-untyped-def]
    """(3) and (5): add one piece's tree to the whole tree. Returns the next free vertex."""
    # which end of arc r has arcs of this piece; the other is pendant
    at_tail = False
    for i in range(1, tail.shape[0]):
        at_tail = at_tail or tail[i] == tail[0] or head[i] == tail[0]
    base, pendant = (tail[0], head[0]) if at_tail else (head[0], tail[0])
    turned = at_tail != (side == 1)
    # where that end goes: where the paths through r end so far; all other vertices are new
    place = np.full(tail.shape[0] + 1, -1, np.int32)
    place[base] = 0  # where no path says otherwise, any vertex will do
    for c in range(columns.shape[0]):
        if passes[columns[c]]:
            place[base] = whole_ends[columns[c], side]
            break
    for v in range(place.shape[0]):
        if v != base and v != pendant:
            place[v] = vertices
            vertices += 1
    # arcs and paths, in the vertices of the whole tree
    for i in range(1, tail.shape[0]):
        a, b = (head[i], tail[i]) if turned else (tail[i], head[i])
        whole_tail[rows[i]], whole_head[rows[i]] = place[a], place[b]
    for c in range(columns.shape[0]):
        if passes[columns[c]]:
            whole_ends[columns[c], side] = place[ends[c, 0] ^ ends[c, 1] ^ pendant]
        else:
            whole_ends[columns[c], 0], whole_ends[columns[c], 1] = place[ends[c, 0]], place[ends[c, 1]]
    return vertices
