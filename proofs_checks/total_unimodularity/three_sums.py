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
brings it to (1): the ranks add up to 2 in every matrix of the matroid.                                                 (5)
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofs_checks.total_unimodularity.pieces import ThreeSum
from proofs_checks.total_unimodularity.separations import Separation
from proofs_checks.total_unimodularity.ternary import Display, FourPoints, Ints, Signs, eliminate, four_points


@dataclass(frozen=True, eq=False)
class Side:
    """One part (2) under construction.

    Parameters
    ----------
    rows, columns
        of the side, in the matrix after the pivot.
    a, c
        the column and the row that come in.
    """

    rows: Ints
    columns: Ints
    a: Signs
    c: Signs

    def part(self, entries: Signs, sign: int) -> Signs:
        """(2)."""
        own = entries[np.ix_(self.rows, self.columns)]
        a = self.a[:, None]
        corner = np.array([[0, sign]], dtype=np.int8)
        return np.block([[own, a, a], [self.c[None, :], corner]]).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Taken:
    """A matrix that was taken apart.

    Parameters
    ----------
    three_sum
        how.
    display
        the matrix after the pivot (5).
    sides
        what the parts are made of.
    """

    three_sum: ThreeSum
    display: Display
    sides: tuple[Side, Side]

    def parts(self) -> tuple[Signs, Signs]:
        """(2)."""
        one, other = (side.part(self.display.entries, self.three_sum.sign) for side in self.sides)
        return one, other


def take_apart(entries: Signs, separation: Separation) -> Taken | FourPoints:
    """The 3-sum along a separation; or a minor that shows that there is none because the matrix is not totally unimodular."""
    display = Display.of(entries)
    first_rows, first_columns = (np.isin(e, separation.first) for e in (display.rows, display.columns))
    pivot = _pivot(entries, first_rows, first_columns)
    if pivot is not None:
        wrong = _wrong_pivot(entries, *pivot)
        if wrong is not None:
            return four_points(display.part(*wrong), np.delete(display.rows, wrong[0]))
        display.pivot(*pivot)
        first_rows, first_columns = (np.isin(e, separation.first) for e in (display.rows, display.columns))
    r1, r2, c1, c2 = (np.flatnonzero(x) for x in (first_rows, ~first_rows, first_columns, ~first_columns))
    upper, lower = display.entries[np.ix_(r1, c2)], display.entries[np.ix_(r2, c1)]
    l, k = int(np.flatnonzero(upper.any(axis=0))[0]), int(np.flatnonzero(lower.any(axis=1))[0])  # noqa: E741
    a, c = upper[:, l], lower[k]
    b, d = a[np.flatnonzero(a)[0]] * upper[np.flatnonzero(a)[0]], c[np.flatnonzero(c)[0]] * lower[:, np.flatnonzero(c)[0]]
    sides = Side(r1, c1, a, c), Side(r2, c2, d, b)
    paths = [_shortest_path(display.entries[np.ix_(s.rows, s.columns)], s.a, s.c) for s in sides]
    signs = [_sign(display.entries[np.ix_(s.rows, s.columns)], s, *path) for s, path in zip(sides, paths, strict=True)]
    if signs[0] != signs[1]:
        rows = np.concatenate([s.rows[path[0]] for s, path in zip(sides, paths, strict=True)])
        columns = np.concatenate([s.columns[path[1]] for s, path in zip(sides, paths, strict=True)])
        return four_points(display.part(rows, columns), np.delete(display.rows, rows))
    lines = np.concatenate([r1, c1 + len(entries)])
    return Taken(ThreeSum(pivot, np.sort(lines), int(r2[k]), int(c2[l]), signs[0]), display, sides)


def _pivot(entries: Signs, first_rows: NDArray[np.bool_], first_columns: NDArray[np.bool_]) -> tuple[int, int] | None:
    """(5): the nonzero between the sides with the fewest changes of entries, if one of the ranks is 0."""
    upper, lower = entries[np.ix_(first_rows, ~first_columns)], entries[np.ix_(~first_rows, first_columns)]
    if upper.any() and lower.any():
        return None
    between = np.where(first_rows[:, None] != first_columns[None, :], entries, 0)
    places = np.argwhere(between)
    nonzero = entries != 0
    work = (nonzero.sum(axis=1)[places[:, 0]] - 1) * (nonzero.sum(axis=0)[places[:, 1]] - 1)
    i, j = places[int(np.argmin(work))].tolist()
    return i, j


def _wrong_pivot(entries: Signs, i: int, j: int) -> tuple[Ints, Ints] | None:
    """Two rows and columns with determinant 2 or -2, where the pivot would put one."""
    change = np.outer(entries[:, j].astype(np.int64) * entries[i, j], entries[i])
    change[i] = change[:, j] = 0
    wrong = np.argwhere(np.abs(entries - change) > 1)
    return None if not len(wrong) else (np.array([i, wrong[0, 0]]), np.array([j, wrong[0, 1]]))


def _shortest_path(own: Signs, a: Signs, c: Signs) -> tuple[list[int], list[int]]:
    """(3): rows and columns of a shortest path from a row where a is not zero to a column where c is not."""
    m, _ = own.shape
    above = {int(i): -1 for i in np.flatnonzero(a)}
    queue = list(above)
    for x in queue:
        if x >= m and c[x - m]:
            way = [x]
            while above[way[-1]] >= 0:
                way.append(above[way[-1]])
            return [y for y in way if y < m], [y - m for y in way if y >= m]
        near = np.flatnonzero(own[x]) + m if x < m else np.flatnonzero(own[:, x - m])
        for y in near.tolist():
            if y not in above:
                above[y] = x
                queue.append(y)
    raise AssertionError("the sides of a 3-separation that R12 induces are connected")


def _sign(own: Signs, side: Side, rows: list[int], columns: list[int]) -> int:
    """(3)."""
    total = int(own[np.ix_(rows, columns)].sum(dtype=np.int64) + side.a[rows].sum(dtype=np.int64))
    return 1 if (total + int(side.c[columns].sum(dtype=np.int64)) + 1) % 4 == 0 else -1


def realisation(taken: Taken, index: int, minor: Ints, basis: Ints) -> tuple[Ints, Ints] | None:
    """(4): elements of the other side that stand for the last three elements of a part, and what is contracted for that.

    Contract some elements of the other side, so many that rank 2 is left of it. In what is left, the two points

        of the rows of this side: a, in the first column that comes in;    of the rows of the other: d, in the last row     (6)

    and their sum or difference, in the last column, must be elements of R12.

    Parameters
    ----------
    index
        of the part.
    minor
        R12's elements on the other side.
    basis
        the rows where R12 is a submatrix.

    Returns
    -------
    tuple | None
        the elements for the last row and the last two columns; those that are contracted.
    """
    other = taken.sides[1 - index]
    names = taken.display
    elements = np.concatenate([names.rows[other.rows], names.columns[other.columns]])
    own = names.entries[np.ix_(other.rows, other.columns)]
    q = len(other.rows)
    # a vector for each element of the other side: in the rows of that side, and the multiple of a
    vectors = np.zeros((q + 1, len(elements) + 2), dtype=np.int8)
    vectors[:q, :q], vectors[:q, q : q + own.shape[1]] = np.eye(q, dtype=np.int8), own
    vectors[q, q : q + own.shape[1]] = other.c
    vectors[q, -2], vectors[:q, -1] = 1, other.a
    fixed = np.flatnonzero(np.isin(elements, basis) & ~np.isin(elements, minor))
    free = np.flatnonzero(np.isin(elements, minor))
    left = eliminate(vectors[:, [*fixed, *free, len(elements), len(elements) + 1]], len(fixed))
    more = q + 1 - len(fixed) - 2
    if len(left) != more + 2:
        return None
    sign = taken.three_sum.sign
    for chosen in itertools.combinations(range(len(free)), more):
        order = [*chosen, *(k for k in range(left.shape[1]) if k not in chosen)]
        plane = eliminate(left[:, order], more)
        if len(plane) != 2:
            continue
        a, d = plane[:, -2].astype(np.int64), plane[:, -1].astype(np.int64)
        wanted = (d, a, a + sign * d)
        rest = free[[k for k in range(len(free)) if k not in chosen]]
        places = [_multiple_of(plane[:, : len(rest)], w) for w in wanted]
        if all(p is not None for p in places) and (a[0] * d[1] - a[1] * d[0]) % 3:
            return elements[rest[np.array(places)]], elements[np.concatenate([fixed, free[list(chosen)]]).astype(np.int64)]
    return None


def _multiple_of(plane: Signs, wanted: Ints) -> int | None:
    """A column that is a nonzero multiple of the wanted one."""
    fits = ((plane - wanted[:, None]) % 3 == 0).all(axis=0) | ((plane + wanted[:, None]) % 3 == 0).all(axis=0)
    return int(np.flatnonzero(fits)[0]) if fits.any() and (wanted % 3).any() else None
