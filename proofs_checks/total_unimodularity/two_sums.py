"""2-sums: a matrix that is put together of two smaller ones (Seymour 1980; Schrijver 1986, sections 19.4 and 20.3).

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
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity.pieces import TwoSum
from proofs_checks.total_unimodularity.reductions import lines_of


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
        factor = like_v[a]
        if factor != 0:
            for k in range(pointer[v], pointer[v + 1]):
                expected[across[k]] = factor * sign[k]
        for k in range(pointer[a], pointer[a + 1]):
            y = across[k]
            if expected[y] != sign[k] and not inside[y] and y not in (v, w):
                inside[y], stack[size] = True, y
                size += 1
                count += 1
            expected[y] = 0
        if factor != 0:
            for k in range(pointer[v], pointer[v + 1]):
                y = across[k]
                if expected[y] != 0 and not inside[y] and y != w:
                    inside[y], stack[size] = True, y
                    size += 1
                    count += 1
                expected[y] = 0
    return count
