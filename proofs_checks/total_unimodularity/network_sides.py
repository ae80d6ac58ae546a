"""Which arcs of a star point to the hub, and which components are on which side of an arc: both are 2-colourings.

The formulas are those of `proofs_checks.total_unimodularity.network_recognition`.
"""

from __future__ import annotations

import numpy as np

from formulations.compiled import njit
from proofs_checks.total_unimodularity.network_pieces import through


@njit(cache=True)
def in_order_of_use(pointer, row, label, count, r):  # type: ignore[no-untyped-def]
    """Number the components as (5) takes them."""
    used = np.zeros(label.shape[0], np.int64)
    size = np.zeros(count, np.int64)
    last = np.full(count, -1, np.int64)
    columns = through(pointer, row, r)
    for c in columns:
        for k in range(pointer[c], pointer[c + 1]):
            i = row[k]
            if i == r:
                continue
            used[i] += 1
            if last[label[i]] != c:
                last[label[i]] = c
                size[label[i]] += 1
    alike = np.ones(count, np.int64)
    for i in range(label.shape[0]):
        if i != r and 0 < used[i] < size[label[i]]:
            alike[label[i]] = 0
    # counting sort: sorting in compiled code takes seconds to compile
    first = np.zeros(2 * columns.shape[0] + 3, np.int64)
    for k in range(count):
        first[2 * (columns.shape[0] - size[k]) + 2 - alike[k]] += 1
    first = np.cumsum(first)
    rank = np.empty(count, np.int32)
    for k in range(count):
        place = 2 * (columns.shape[0] - size[k]) + 1 - alike[k]
        rank[k] = first[place]
        first[place] += 1
    ordered = label.copy()
    for i in range(label.shape[0]):
        if i != r:
            ordered[i] = rank[label[i]]
    return ordered


@njit(cache=True)
def sides(pointer, row, label, count, r):  # type: ignore[no-untyped-def]
    """(4): side 0 or 1 for each component; of length 0 where the conflicts are not bipartite.

    Of k before l only "the columns of U_l differ in k" has to be looked at: if those of U_k do not differ in l, then
    U_k is all of U_l or apart from it, and l would come first, or would not differ.
    """
    columns = through(pointer, row, r)
    # nonzeros of these columns, by column and component
    at = np.zeros(columns.shape[0] + 1, np.int64)
    for c in range(columns.shape[0]):
        at[c + 1] = at[c] + pointer[columns[c] + 1] - pointer[columns[c]] - 1
    rows = _by_component(pointer, row, label, count, r, columns, at)
    begin = np.zeros(count + 1, np.int64)
    for c in range(columns.shape[0]):
        for k in range(at[c], at[c + 1]):
            if k == at[c] or label[rows[k]] != label[rows[k - 1]]:
                begin[label[rows[k]] + 1] += 1
    begin = np.cumsum(begin)
    # U_l, as places in `columns`
    member, free = np.empty(begin[-1], np.int64), begin[:-1].copy()
    for c in range(columns.shape[0]):
        for k in range(at[c], at[c + 1]):
            if k == at[c] or label[rows[k]] != label[rows[k - 1]]:
                member[free[label[rows[k]]]] = c
                free[label[rows[k]]] += 1
    above, parity = np.arange(count), np.zeros(count, np.int64)
    known = np.full(count, -1, np.int64)
    for k in range(count):
        for u in range(begin[k] + 1, begin[k + 1]):
            if not _compare(member[begin[k]], member[u], k, at, rows, label, known, above, parity):
                return np.empty(0, np.int8)
    side = np.empty(count, np.int8)
    for k in range(count):
        side[k] = _root(above, parity, k)[1]
    return side


@njit(cache=True)
def _by_component(pointer, row, label, count, r, columns, at):  # type: ignore[no-untyped-def]
    """The rows of each column but r, sorted by component and then by row: counting sort of all rows, then of their columns."""
    m = label.shape[0]
    first = np.zeros(m + 1, np.int64)
    for c in columns:
        for k in range(pointer[c], pointer[c + 1]):
            if row[k] != r:
                first[row[k] + 1] += 1
    first = np.cumsum(first)
    used_by, free = np.empty(first[-1], np.int64), first[:-1].copy()
    for c in range(columns.shape[0]):
        for k in range(pointer[columns[c]], pointer[columns[c] + 1]):
            if row[k] != r:
                used_by[free[row[k]]] = c
                free[row[k]] += 1
    place = np.zeros(count + 1, np.int64)
    for i in range(m):
        if i != r:
            place[label[i] + 1] += 1
    place = np.cumsum(place)
    order = np.empty(place[-1], np.int64)
    for i in range(m):
        if i != r:
            order[place[label[i]]] = i
            place[label[i]] += 1
    rows, free = np.empty(at[-1], np.int64), at[:-1].copy()
    for i in order:
        for k in range(first[i], first[i + 1]):
            rows[free[used_by[k]]] = i
            free[used_by[k]] += 1
    return rows


@njit(cache=True)
def _compare(c, d, last, at, rows, label, known, above, parity):  # type: ignore[no-untyped-def]
    """Put the component `last` on another side than every k before it in which columns c and d differ; False if that fails."""
    i, j = at[c], at[d]
    while True:
        first = label[rows[i]] if i < at[c + 1] else last
        second = label[rows[j]] if j < at[d + 1] else last
        k = min(first, second)
        if k >= last:
            return True
        same = first == second
        while True:
            mine = i < at[c + 1] and label[rows[i]] == k
            other = j < at[d + 1] and label[rows[j]] == k
            if not mine and not other:
                break
            same = same and mine and other and rows[i] == rows[j]
            i += mine
            j += other
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
        if n > 1 and not _relate(above, parity, row[k], row[k + 1], 1 if sign[k] == sign[k + 1] else 0):
            return False
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
