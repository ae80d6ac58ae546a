"""Which arcs of a star point to the hub, and which components are on which side of an arc: both are 2-colourings.

The formulas are those of `proofs_checks.total_unimodularity.network_recognition`.
"""

from __future__ import annotations

import numpy as np

from formulations.compiled import njit
from proofs_checks.total_unimodularity.network_pieces import through


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
    above, parity = np.arange(count), np.zeros(count, np.int64)
    known = np.full(count, -1, np.int64)
    side = np.empty(count, np.int8)
    for k in range(count):
        for j in range(begin[k] + 1, begin[k + 1]):
            if not _compare(column[use[begin[k]]], column[use[j]], k, at, inside, value, known, above, parity):
                return label, side[:0]
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
    size, alike, first = np.zeros(count, np.int64), np.ones(count, np.int64), np.zeros(count, np.int64)
    for u in range(component.shape[0]):
        k = component[u]
        if size[k] == 0:
            first[k] = total[u]
        elif total[u] != first[k]:
            alike[k] = 0
        size[k] += 1
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
    while True:
        first = inside[i] if i < at[c + 1] else last
        second = inside[j] if j < at[d + 1] else last
        k = min(first, second)
        if k >= last:
            return True
        same = first == second and value[i] == value[j]
        i += first == k
        j += second == k
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
