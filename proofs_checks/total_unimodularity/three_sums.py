"""3-sums: a matrix that is put together of two smaller ones (Seymour 1980; Schrijver 1986, section 19.4; Truemper 1990).

Divide the lines into two sides with

    M  =  [ A     a b' ]       first side: the rows of A, the columns of A
          [ d c'   B   ]       second side: the rows of B, the columns of B                                             (1)

where a b' and d c' have rank 1. Then, with s = 1 or s = -1, M is the **3-sum** of

    [ A   a   a ]             [ B   d   d ]
    [ c'  0   s ]             [ b'  0   s ]                                                                              (2)

If both are totally unimodular, M is. Conversely: a shortest path of nonzeros in A, from a row where a is not zero to a column
where c is not, closes a chordless cycle with the last row and column of (2). Its sum has to be divisible by 4, which gives s.
The path in B gives the other s. If the two differ, both paths together are a chordless cycle in M with a wrong sum.      (3)
If they agree, and the sides are those of a 3-separation that R12 induces, both parts (2) are minors of M.               (4)

A 3-separation may also have a d c' of rank 2, and 0 instead of a b', or the other way round. A pivot on a nonzero of that part
brings it to (1): the ranks add up to 2 in every matrix of the matroid. If the pivot makes an entry 2 or -2, a submatrix of
order 2 had that determinant.                                                                                            (5)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proofs_checks.total_unimodularity.pieces import ThreeSum
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs


def take_apart(entries: Signs, first: Ints) -> tuple[ThreeSum, list[Display]] | Ints:
    """The 3-sum along a separation, and its parts (2) with the elements of their sides; or elements that violate.

    Parameters
    ----------
    first
        elements of the first side.
    """
    display = Display.of(entries)
    pivot = _pivot(entries, *(np.isin(e, first) for e in (display.rows, display.columns)))
    i, j = pivot or (-1, -1)
    if pivot is not None:
        change = np.outer(entries[:, j].astype(np.int64) * entries[i, j], entries[i])
        change[i] = change[:, j] = 0
        wrong = np.argwhere(np.abs(entries - change) > 1)
        if len(wrong):
            return np.array([i, wrong[0, 0], len(entries) + j, len(entries) + wrong[0, 1]])
        display.pivot(i, j)
    first_rows, first_columns = (np.isin(e, first) for e in (display.rows, display.columns))
    r1, r2, c1, c2 = (np.flatnonzero(x) for x in (first_rows, ~first_rows, first_columns, ~first_columns))
    upper, lower = display.entries[np.ix_(r1, c2)], display.entries[np.ix_(r2, c1)]
    l, k = int(np.flatnonzero(upper.any(axis=0))[0]), int(np.flatnonzero(lower.any(axis=1))[0])  # noqa: E741
    a, c = upper[:, l], lower[k]
    b, d = a[np.flatnonzero(a)[0]] * upper[np.flatnonzero(a)[0]], c[np.flatnonzero(c)[0]] * lower[:, np.flatnonzero(c)[0]]
    sides = [(display.part(r1, c1), a, c), (display.part(r2, c2), d, b)]
    (sign, one), (opposite, other) = (_sign(*side) for side in sides)
    if sign != opposite:
        return np.concatenate([one, other, [] if pivot is None else [i, len(entries) + j]]).astype(np.int64)
    lines = np.sort(np.concatenate([r1, c1 + len(entries)]))
    corner = np.array([[0, sign]], dtype=np.int8)
    for own, x, y in sides:
        own.entries = np.block([[own.entries, x[:, None], x[:, None]], [y[None, :], corner]]).astype(np.int8)
    parts = [own for own, _, _ in sides]
    return ThreeSum(pivot, lines, int(r2[k]), int(c2[l]), sign), parts


def _pivot(entries: Signs, first_rows: NDArray[np.bool_], first_columns: NDArray[np.bool_]) -> tuple[int, int] | None:
    """(5): the nonzero between the sides with the fewest changes of entries, if one of the ranks is 0."""
    upper, lower = entries[np.ix_(first_rows, ~first_columns)], entries[np.ix_(~first_rows, first_columns)]
    if upper.any() and lower.any():
        return None
    places = np.argwhere(np.where(first_rows[:, None] != first_columns[None, :], entries, 0))
    nonzero = entries != 0
    work = (nonzero.sum(axis=1)[places[:, 0]] - 1) * (nonzero.sum(axis=0)[places[:, 1]] - 1)
    i, j = places[int(np.argmin(work))].tolist()
    return i, j


def _sign(side: Display, a: Signs, c: Signs) -> tuple[int, Ints]:
    """(3): s, and the elements of a shortest path from a row where a is not zero to a column where c is not."""
    own, m = side.entries, len(side.rows)
    above = {int(i): -1 for i in np.flatnonzero(a)}
    queue = list(above)
    for x in queue:
        if x >= m and c[x - m]:
            way = [x]
            while above[way[-1]] >= 0:
                way.append(above[way[-1]])
            rows, columns = [y for y in way if y < m], [y - m for y in way if y >= m]
            parts = (own[np.ix_(rows, columns)], a[rows], c[columns])
            total = sum(int(part.sum(dtype=np.int64)) for part in parts) + 1
            return 1 if total % 4 == 0 else -1, np.concatenate([side.rows[rows], side.columns[columns]])
        near = np.flatnonzero(own[x]) + m if x < m else np.flatnonzero(own[:, x - m])
        for y in near.tolist():
            if y not in above:
                above[y] = x
                queue.append(y)
    raise AssertionError("the sides of a 3-separation that R12 induces are connected")
