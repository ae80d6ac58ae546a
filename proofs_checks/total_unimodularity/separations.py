"""3-separations: the one of R12, and the one of the whole matrix that it induces.

Divide the elements into two sides. In any matrix of the matroid, let P be the rows of the first side in the columns of the
second, Q those of the second in the columns of the first. That this is a 3-separation says

    rank P + rank Q = 2,  with four elements or more on either side.                                                      (1)

R12 has just one with six elements on either side. If the matroid is regular, the whole has one of which this is a part (Seymour
1980). Where R12 is a submatrix, with P and Q of its own, those of the whole have the same ranks. So

    a row y may be on the second side only if, in the columns that are on the first for certain, it is a combination of the
    rows of R12 there: the coefficients are known from the columns of R12                                                 (2)

and likewise for columns. What may not be on the second side is on the first, for certain. If (2) drives an element of R12 from
its side, there is no such separation, and the elements on the way show it: with R12, they are not regular.              (3)
Otherwise, what is not on the first side for certain is the second. O(rows * columns).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from formulations.compiled import njit
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs, rank


@dataclass(frozen=True, eq=False)
class Separation:
    """Sides of all elements that are sides of R12.

    Parameters
    ----------
    first
        elements of the first side, ascending.
    minor_first, minor_second
        the elements of R12 on each side.
    """

    first: Ints
    minor_first: Ints
    minor_second: Ints


@dataclass(frozen=True, eq=False)
class NoSeparation:
    """(3).

    Parameters
    ----------
    rows, columns
        places of R12, and of the elements on the way: the submatrix of them is not regular.
    """

    rows: Ints
    columns: Ints


def sides_of_r12(entries: Signs) -> tuple[Ints, Ints] | None:
    """Lines of a 6 x 6 matrix on the first side of its 3-separation into six and six, and on the second; None without one."""
    for others in itertools.combinations(range(1, 12), 5):
        first = np.array([0, *others])
        second = np.setdiff1d(np.arange(12), first)
        if sum(_ranks(entries, first, second)) == 2:
            return first, second
    return None


def induced_separation(whole: Display, rows: Ints, columns: Ints) -> Separation | NoSeparation | None:
    """The separation that R12 induces.

    Parameters
    ----------
    whole
        the matrix.
    rows, columns
        places of R12 in it.

    Returns
    -------
    Separation | NoSeparation | None
        None if the submatrix is no R12.
    """
    found = sides_of_r12(whole.entries[np.ix_(rows, columns)])
    if found is None:
        return None
    m, n = whole.entries.shape
    first, second = (np.concatenate([rows[s[s < 6]], columns[s[s >= 6] - 6] + m]) for s in found)
    entries = whole.entries
    row_base, row_factor = _combinations(entries, second[second < m], first[first >= m] - m)
    column_base, column_factor = _combinations(entries.T, second[second >= m] - m, first[first < m])
    side = np.zeros(m + n, np.int8)
    side[first], side[second] = 1, 2
    certain = np.concatenate([row_factor[:, 0] < -1, column_factor[:, 0] < -1]) & (side == 0)
    parent, wrong = _propagate(entries, side, certain, row_base, row_factor, column_base, column_factor)
    if wrong >= 0:
        way = []
        while wrong >= 0:
            way.append(wrong)
            wrong = parent[wrong]
        lines = np.union1d(np.concatenate([first, second]), way).astype(np.int64)
        return NoSeparation(lines[lines < m], lines[lines >= m] - m)
    names = np.concatenate([whole.rows, whole.columns])
    return Separation(np.sort(names[side == 1]), names[first], names[second])


def _ranks(entries: Signs, first: Ints, second: Ints) -> tuple[int, int]:
    """(1): of P and Q."""
    m = len(entries)
    upper = entries[np.ix_(first[first < m], second[second >= m] - m)]
    lower = entries[np.ix_(second[second < m], first[first >= m] - m)]
    return rank(upper, 3), rank(lower, 3)


def _combinations(entries: Signs, base: Ints, across: Ints) -> tuple[Ints, Signs]:
    """Independent rows among `base`, two at most, and every row as a combination of them in the columns `across`.

    The coefficients are -2 where a row is no combination.
    """
    chosen: list[int] = []
    for i in base:
        if rank(entries[[*chosen, int(i)]][:, across], 3) > len(chosen):
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
