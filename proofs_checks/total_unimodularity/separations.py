"""3-separations: the one of R12, and the one of the whole matrix that it induces.

Divide the elements into two sides. In any matrix of the matroid, let P be the rows of the first side in the columns of the
second, Q those of the second in the columns of the first. That this is a 3-separation says

    rank P + rank Q = 2,  with four elements or more on either side.                                                      (1)

R12 has just one with six elements on either side. If the matroid is regular, the whole has one of which this is a part (Seymour
1980). Where R12 is a submatrix, with P and Q of its own, those of the whole have the same ranks. So

    a row y may be on the second side only if, in the columns that are on the first for certain, it is a combination of the
    rows of R12 there: the coefficients are known from the columns of R12                                                 (2)

and likewise for columns. What may not be on the second side is on the first, for certain. If (2) drives an element of R12 from
its side, there is no such separation, and the elements on the way show it: with R12, they are not regular. Otherwise, what is
not on the first side for certain is the second. O(rows * columns).
"""

from __future__ import annotations

import itertools

import numpy as np

from formulations.compiled import njit
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs, rank


def sides_of_r12(entries: Signs) -> tuple[Ints, Ints] | None:
    """Lines of a 6 x 6 matrix on the first side of its 3-separation into six and six, and on the second; None without one."""
    for others in itertools.combinations(range(1, 12), 5):
        first = np.array([0, *others])
        second = np.setdiff1d(np.arange(12), first)
        upper = entries[np.ix_(first[first < 6], second[second >= 6] - 6)]
        lower = entries[np.ix_(second[second < 6], first[first >= 6] - 6)]
        if rank(upper) + rank(lower) == 2:  # (1)
            return first, second
    return None


def induced_separation(whole: Display, rows: Ints, columns: Ints, sides: tuple[Ints, Ints]) -> tuple[bool, Ints]:
    """Whether R12 induces a separation, and the elements of its first side; or elements with which R12 is not regular.

    `rows` and `columns` are the places of R12 in the whole matrix, `sides` its own.
    """
    first, second = (np.concatenate([rows[s[s < 6]], columns[s[s >= 6] - 6] + len(whole.rows)]) for s in sides)
    entries = whole.entries
    m, n = entries.shape
    row_base, row_factor = _combinations(entries, second[second < m], first[first >= m] - m)
    column_base, column_factor = _combinations(entries.T, second[second >= m] - m, first[first < m])
    side = np.zeros(m + n, np.int8)
    side[first], side[second] = 1, 2
    certain = np.concatenate([row_factor[:, 0] < -1, column_factor[:, 0] < -1]) & (side == 0)
    parent, wrong = _propagate(entries, side, certain, row_base, row_factor, column_base, column_factor)
    way = []
    while wrong >= 0:
        way.append(wrong)
        wrong = parent[wrong]
    return not way, np.sort(np.concatenate([whole.rows, whole.columns])[way or side == 1])


def _combinations(entries: Signs, base: Ints, across: Ints) -> tuple[Ints, Signs]:
    """Independent rows among `base`, two at most, and every row as a combination of them in the columns `across`.

    The coefficients are -2 where a row is no combination.
    """
    chosen: list[int] = []
    for i in base:
        if rank(entries[[*chosen, int(i)]][:, across]) > len(chosen):
            chosen.append(int(i))
    factor = np.full((len(entries), 2), -2, dtype=np.int8)
    for coefficients in itertools.product((-1, 0, 1), repeat=len(chosen)):
        wanted = np.array(coefficients, dtype=np.int64) @ entries[chosen][:, across].astype(np.int64)
        fits = ((entries[:, across] - wanted) % 3 == 0).all(axis=1)
        factor[fits] = (*coefficients, *[0] * (2 - len(chosen)))
    return np.array([*chosen, *[0] * (2 - len(chosen))], dtype=np.int64), factor


@njit(cache=True)
def _propagate(entries, side, certain, row_base, row_factor, column_base, column_factor):  # type: ignore[no-untyped-def]
    """(2), by a queue: 1 in `side` becomes the first side. What put each line there, and a line of R12 that is driven out."""
    m, n = entries.shape
    parent = np.full(m + n, -1, np.int64)
    queue = np.empty(m + n, np.int64)
    last = 0
    for x in range(m + n):
        if certain[x]:
            side[x] = 1
            queue[last] = x
            last += 1
    for place in range(m + n):
        if place == last:
            break
        x = queue[place]
        for k in range(n if x < m else m):
            y = m + k if x < m else k
            if side[y] == 1:
                continue
            if x < m:
                expected = column_factor[k, 0] * entries[x, column_base[0]] + column_factor[k, 1] * entries[x, column_base[1]]
                entry = entries[x, k]
            else:
                expected = row_factor[k, 0] * entries[row_base[0], x - m] + row_factor[k, 1] * entries[row_base[1], x - m]
                entry = entries[k, x - m]
            if (entry - expected) % 3 == 0:
                continue
            parent[y] = x
            if side[y] == 2:
                return parent, y
            side[y] = 1
            queue[last] = y
            last += 1
    return parent, -1
