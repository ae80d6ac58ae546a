"""2-sums and 3-sums: a matrix that is put together of two smaller ones (Seymour 1980; Schrijver 1986, 19.4, 20.3; Truemper 1990).

The lines are divided into two sides of two lines or more. Let v on the first side and w on the second be a row and a column,
or a column and a row, with a nonzero where they meet. The matrix is a **2-sum** if

    where a line a like v of the first side meets a line y like w of the second, the entry is M[a, w] M[v, w] M[v, y]        (1)
    where a line a like w of the first side meets a line y like v of the second, it is 0                                 (2)

(that is: between the sides it has rank 1). It is totally unimodular if and only if its first side with w and its second side
with v are: they are submatrices of it, and it is their 2-sum, which keeps total unimodularity.

For given v and w, (1) and (2) ask of two lines only: if a is on the first side and their entry is another, y is as well. So the
2-sums are the closed sets of this relation; there is one unless the relation leads from every line to every other. A 2-sum of
a connected matrix has a nonzero between its sides on any spanning tree of the graph of the nonzeros: these v and w are
enough. O(lines * nonzeros), unless lines are dense.

**3-sums.** Divide the lines into two sides with

    M  =  [ A     a b' ]       first side: the rows of A, the columns of A
          [ d c'   B   ]       second side: the rows of B, the columns of B                                             (3)

where a b' and d c' have rank 1. Then, with s = 1 or s = -1, M is the **3-sum** of

    [ A   a   a ]             [ B   d   d ]
    [ c'  0   s ]             [ b'  0   s ]                                                                              (4)

If both are totally unimodular, M is. Conversely: a shortest path of nonzeros in A, from a row where a is not zero to a column
where c is not, closes a chordless cycle with the last row and column of (4). Its sum has to be divisible by 4, which gives s.
The path in B gives the other s. If the two differ, both paths together are a chordless cycle in M with a wrong sum.      (5)
If they agree, and the sides are those of a 3-separation that R12 induces, both parts (4) are minors of M.               (6)

A 3-separation may also have a d c' of rank 2, and 0 instead of a b', or the other way round. A pivot on a nonzero of that part
brings it to (3): the ranks add up to 2 in every matrix of the matroid. If the pivot makes an entry 2 or -2, a submatrix of
order 2 had that determinant.                                                                                            (7)

**3-separations.** Divide the elements of `proofs_checks.total_unimodularity.ternary` into two sides. In any matrix of the
matroid, let P be the rows of the first side in the columns of the second, Q those of the second in the columns of the first.
That this is a 3-separation says

    rank P + rank Q = 2,  with four elements or more on either side.                                                      (8)

R12 has just one with six elements on either side. If the matroid is regular, the whole has one of which this is a part (Seymour
1980). Where R12 is a submatrix, with P and Q of its own, those of the whole have the same ranks. So

    a row y may be on the second side only if, in the columns that are on the first for certain, it is a combination of the
    rows of R12 there: the coefficients are known from the columns of R12                                                 (9)

and likewise for columns. What may not be on the second side is on the first, for certain. If (9) drives an element of R12 from
its side, there is no such separation, and the elements on the way show it: with R12, they are not regular. Otherwise, what is
not on the first side for certain is the second. O(rows * columns).
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity.pieces import ThreeSum, TwoSum
from proofs_checks.total_unimodularity.reductions import lines_of
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs, rank


def find_two_sum(matrix: SignMatrix) -> TwoSum | None:
    """A 2-sum of a connected matrix, or None where there is none."""
    return two_sum_of_lines(*lines_of(matrix))


def two_sum_of_lines(pointer: NDArray[np.int64], across: NDArray[np.int64], sign: NDArray[np.int8]) -> TwoSum | None:
    """`find_two_sum` for the nonzeros line by line."""
    if len(pointer) < 5:
        return None
    v, w, inside = _find(pointer, across, sign)
    return TwoSum(np.flatnonzero(inside), int(v), int(w)) if v >= 0 else None


def parts_of(two_sum: TwoSum, shape: tuple[int, int]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and columns of the two parts: the first side with w, the second with v."""
    m, n = shape
    second = np.setdiff1d(np.arange(m + n), two_sum.first)
    sides = (np.union1d(two_sum.first, [two_sum.w]), np.union1d(second, [two_sum.v]))
    return [(lines[lines < m], lines[lines >= m] - m) for lines in sides]


@njit(cache=True)
def _find(pointer, across, sign):  # type: ignore[no-untyped-def]
    """Try each v and w of a spanning tree; v = -1 where nothing is found."""
    total = pointer.shape[0] - 1
    inside = np.zeros(total, np.bool_)
    seen = np.zeros(total, np.bool_)
    order = np.empty(total, np.int64)
    expected = np.zeros(total, np.int64)
    order[0], seen[0], last = 0, True, 1
    # breadth first: each line that is seen first from v is a pair v, w of the spanning tree
    for first in range(total):
        if first == last:
            break
        v = order[first]
        for k in range(pointer[v], pointer[v + 1]):
            w = across[k]
            if seen[w]:
                continue
            seen[w], order[last] = True, w
            last += 1
            # is every other line tied to the same side as s, either way?
            s = 0
            while s in (v, w):
                s += 1
            if _reach(pointer, across, sign, v, w, s, expected, inside) < total - 2:
                inside[v] = True
                return v, w, inside
            if _reach(pointer, across, sign, w, v, s, expected, inside) < total - 2:
                # what does not lead to s is closed
                inside[w] = True
                return v, w, ~inside
    return -1, -1, inside


@njit(cache=True)
def _reach(pointer, across, sign, v, w, s, expected, inside):  # type: ignore[no-untyped-def]
    """How many lines must be on v's side with s; they are marked in `inside`. `expected` holds zeros before and after.

    With v and w exchanged: the lines that must be on w's side, which are those that lead to s.
    """
    inside[:] = False
    inside[s] = True
    stack, size, count = np.empty(pointer.shape[0], np.int64), 1, 1
    stack[0] = s
    # what (1) expects of lines that meet w
    like_v = np.zeros(pointer.shape[0], np.int64)  # M[a, w] M[v, w] for the lines a that meet w
    across_vw = 0
    for k in range(pointer[w], pointer[w + 1]):
        if across[k] == v:
            across_vw = sign[k]
    for k in range(pointer[w], pointer[w + 1]):
        like_v[across[k]] = sign[k] * across_vw
    while size:
        size -= 1
        a = stack[size]
        # the next line a; its expected entries are those of v, or 0
        factor = like_v[a]
        if factor != 0:
            for k in range(pointer[v], pointer[v + 1]):
                expected[across[k]] = factor * sign[k]
        # its nonzeros: where they are others than expected, y is on a's side as well
        for k in range(pointer[a], pointer[a + 1]):
            y = across[k]
            if expected[y] != sign[k] and not inside[y] and y not in (v, w):
                inside[y], stack[size] = True, y
                size += 1
                count += 1
            expected[y] = 0
        # and nonzeros that are expected and missing
        if factor != 0:
            for k in range(pointer[v], pointer[v + 1]):
                y = across[k]
                if expected[y] != 0 and not inside[y] and y != w:
                    inside[y], stack[size] = True, y
                    size += 1
                    count += 1
                expected[y] = 0
    return count


def take_apart(entries: Signs, first: Ints) -> tuple[ThreeSum, list[Display]] | Ints:
    """The 3-sum whose first side has some elements, and its parts (4) with those of their sides; or elements that violate."""
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
    # (3): the sides, and the vectors a, b, c, d between them
    first_rows, first_columns = (np.isin(e, first) for e in (display.rows, display.columns))
    r1, r2, c1, c2 = (np.flatnonzero(x) for x in (first_rows, ~first_rows, first_columns, ~first_columns))
    upper, lower = display.entries[np.ix_(r1, c2)], display.entries[np.ix_(r2, c1)]
    l, k = int(np.flatnonzero(upper.any(axis=0))[0]), int(np.flatnonzero(lower.any(axis=1))[0])  # noqa: E741
    a, c = upper[:, l], lower[k]
    b, d = a[np.flatnonzero(a)[0]] * upper[np.flatnonzero(a)[0]], c[np.flatnonzero(c)[0]] * lower[:, np.flatnonzero(c)[0]]
    sides = [(display.part(r1, c1), a, c), (display.part(r2, c2), d, b)]
    # (5): both paths must give the same sign
    (sign, one), (opposite, other) = (_sign(*side) for side in sides)
    if sign != opposite:
        return np.concatenate([one, other, [] if pivot is None else [i, len(entries) + j]]).astype(np.int64)
    # (4): the two parts
    lines = np.sort(np.concatenate([r1, c1 + len(entries)]))
    corner = np.array([[0, sign]], dtype=np.int8)
    for own, x, y in sides:
        own.entries = np.block([[own.entries, x[:, None], x[:, None]], [y[None, :], corner]]).astype(np.int8)
    parts = [own for own, _, _ in sides]
    return ThreeSum(pivot, lines, int(r2[k]), int(c2[l]), sign), parts


def _pivot(entries: Signs, first_rows: NDArray[np.bool_], first_columns: NDArray[np.bool_]) -> tuple[int, int] | None:
    """(7): the nonzero between the sides with the fewest changes of entries, if one of the ranks is 0."""
    upper, lower = entries[np.ix_(first_rows, ~first_columns)], entries[np.ix_(~first_rows, first_columns)]
    if upper.any() and lower.any():
        return None
    places = np.argwhere(np.where(first_rows[:, None] != first_columns[None, :], entries, 0))
    nonzero = entries != 0
    work = (nonzero.sum(axis=1)[places[:, 0]] - 1) * (nonzero.sum(axis=0)[places[:, 1]] - 1)
    i, j = places[int(np.argmin(work))].tolist()
    return i, j


def _sign(side: Display, a: Signs, c: Signs) -> tuple[int, Ints]:
    """(5): s, and the elements of a shortest path from a row where a is not zero to a column where c is not."""
    own, m = side.entries, len(side.rows)
    above = {int(i): -1 for i in np.flatnonzero(a)}
    queue = list(above)
    # breadth first along the nonzeros, from all rows where a is not zero
    for x in queue:
        if x >= m and c[x - m]:
            # (5), on the shortest path
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


def sides_of_r12(entries: Signs) -> tuple[Ints, Ints] | None:
    """Lines of a 6 x 6 matrix on the first side of its 3-separation into six and six, and on the second; None without one."""
    for others in itertools.combinations(range(1, 12), 5):
        first = np.array([0, *others])
        second = np.setdiff1d(np.arange(12), first)
        upper = entries[np.ix_(first[first < 6], second[second >= 6] - 6)]
        lower = entries[np.ix_(second[second < 6], first[first >= 6] - 6)]
        if rank(upper) + rank(lower) == 2:  # (8)
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
    """(9), by a queue: 1 in `side` becomes the first side. What put each line there, and a line of R12 that is driven out."""
    m, n = entries.shape
    parent = np.full(m + n, -1, np.int64)
    queue = np.empty(m + n, np.int64)
    last = 0
    # what is on the first side for certain
    for x in range(m + n):
        if certain[x]:
            side[x] = 1
            queue[last] = x
            last += 1
    for place in range(m + n):
        if place == last:
            break
        # lines across whose entry at x is none of the combinations of R12's
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
