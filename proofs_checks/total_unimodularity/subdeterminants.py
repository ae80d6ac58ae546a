"""Total unimodularity by its definition: all minors, order by order, each from the minors of the order below.

With rows R, columns c_0 < ... < c_(k-1) and r the last row of R, Laplace's expansion along r reads

    det A[R, C] = sum over t of (-1)^(k-1+t) a_(r, c_t) det A[R - r, C - c_t]                                          (1)

All minors of lower order are -1, 0 or 1 by then, so a sum has at most k terms of size 1: int8 holds it exactly. The first order
with another determinant has no violating submatrix below it: what is found is minimal, and 2 or -2 (Gomory; Schrijver 1986,
section 19.3).

Subsets are numbered in colexicographic order: {c_0 < c_1 < ...} is number  C(c_0, 1) + C(c_1, 2) + ...  (2). The k-subsets
with the last element r are then consecutive, from C(r, k) on, in the order of the (k-1)-subsets of {0, ..., r-1}; so (1) adds
one stretch of a table to another.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.violation import Place


def steps(m: int, n: int) -> int:
    """The sum over k of k C(m, k) C(n, k), which is m C(m + n - 1, m); orders beyond 32 are not counted, it is 10^19 by then."""
    small, large = sorted((m, n))
    small = min(small, 32)
    return small * math.comb(small + large - 1, small) if small else 0


def search(entries: NDArray[np.int8]) -> tuple[Place | None, str]:
    """A minimal violating submatrix, or how many determinants there are: order by order until one is none of -1, 0, 1."""
    m, n = entries.shape
    if m < n:
        # the stretches are rows: let them be the longer side
        place, certificate = search(np.ascontiguousarray(entries.T))
        return (None if place is None else (place[1], place[0])), certificate
    binomial = np.array([[math.comb(a, k) for k in range(n + 2)] for a in range(m + 1)], dtype=np.int64)
    below = np.ones((1, 1), dtype=np.int8)
    for k in range(1, n + 1):
        stored = math.comb(n, k) if k < n else 0
        minors = np.empty((stored, math.comb(m, k)), dtype=np.int8)
        column, row = _minors(entries, k, binomial, below, minors)
        if column >= 0:
            return (_subset(row, k), _subset(column, k)), ""
        below = minors
    return None, f"all {math.comb(m + n, n) - 1:,} square submatrices have determinant -1, 0 or 1"


def _subset(number: int, k: int) -> tuple[int, ...]:
    """The k-subset with a number, (2)."""
    found = []
    for size in range(k, 0, -1):
        last = size - 1
        while math.comb(last + 1, size) <= number:
            last += 1
        number -= math.comb(last, size)
        found.append(last)
    return tuple(reversed(found))


@njit(cache=True)
def _minors(entries, k, binomial, below, minors):  # type: ignore[no-untyped-def]
    """All minors of order k by (1); numbers of the columns and rows of the first other than -1, 0, 1, or (-1, -1).

    below[C, R] holds those of order k - 1; minors, which may have no rows, takes those of order k.
    """
    m, n = entries.shape
    stored = minors.shape[0] > 0
    scratch = np.empty(0 if stored else binomial[m - 1, k - 1], dtype=np.int8)
    chosen = np.arange(k)
    without = np.empty(k, dtype=np.int64)
    for number in range(binomial[n, k]):
        # numbers of the columns without each one, by (2)
        for t in range(k):
            without[t] = 0
            for u in range(k):
                if u != t:
                    without[t] += binomial[chosen[u], u + (u < t)]
        # all rows R with the last row r at once, by (1)
        for r in range(k - 1, m):
            begin, length = binomial[r, k], binomial[r, k - 1]
            total = minors[number, begin : begin + length] if stored else scratch[:length]
            total[:] = 0
            for t in range(k):
                entry = entries[r, chosen[t]]
                if entry != 0:
                    _add(total, below[without[t], :length], (entry > 0) == ((k - 1 + t) % 2 == 0))
            wrong = _first_other(total)
            if wrong >= 0:
                return number, begin + wrong
        # the next subset in colexicographic order
        u = 0
        while u + 1 < k and chosen[u] + 1 == chosen[u + 1]:
            chosen[u] = u
            u += 1
        chosen[u] += 1
    return -1, -1


@njit(cache=True)
def _add(total, stretch, plus):  # type: ignore[no-untyped-def]
    """Add, or subtract, a stretch of minors."""
    if plus:
        for q in range(total.shape[0]):
            total[q] += stretch[q]
    else:
        for q in range(total.shape[0]):
            total[q] -= stretch[q]


@njit(cache=True)
def _first_other(total):  # type: ignore[no-untyped-def]
    """Place of the first that is none of -1, 0, 1, or -1; one pass without branches where there is none."""
    largest = np.int8(0)
    for q in range(total.shape[0]):
        largest = max(largest, abs(total[q]))
    if largest > 1:
        for q in range(total.shape[0]):
            if abs(total[q]) > 1:
                return q
    return -1
