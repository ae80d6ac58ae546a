"""Total unimodularity by signings of rows (Ghouila-Houri 1962; Schrijver 1986, theorem 19.3).

A is totally unimodular if and only if every subset R of its rows has a **signing**, s_i = 1 or -1 for i in R, with

    sum over i in R of s_i a_ij  in {-1, 0, 1}     for every column j.                                                 (1)

The search for a signing decides row after row and gives up where a column's sum has become too large for the remaining rows.
Subsets are tried as bit masks in ascending order, so all proper subsets of the first R without a signing have one.

From R to a square submatrix. All A[S, :] with S a proper subset of R are totally unimodular, by the theorem; A[R, :] is not. So
every violating submatrix of A[R, :] has all the rows of R, hence order |R|, and is minimal. Delete columns while R still has no
signing. What is left, A[R, C], is not totally unimodular; it holds a violating submatrix A[R, C'] of order |R|; there the proper
subsets of R have signings, so R has none; as nothing was left to delete, C' = C and |C| = |R|.                            (2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.violation import Place

LIMIT = 10**10
"""Largest number of elementary steps: 18 rows and columns, or 10 rows and 169,000 columns."""


@dataclass(frozen=True)
class AllSigned:
    """The evidence for a yes."""

    lines: str  # "rows", or "columns" where the transpose was examined
    subsets: int  # how many subsets of them have a signing: all but the empty one
    signing: tuple[int, ...]  # the signing of all of them

    def __str__(self) -> str:
        signs = "".join("+" if s > 0 else "-" for s in self.signing)
        return f"each of {self.subsets:,} subsets of the {self.lines} has a signing; that of all of them is {signs or 'empty'}"


def steps(m: int, n: int) -> int:
    """Every row is out, + or -; counted up to 80 rows, where it is 10^38."""
    return int(3 ** min(m, 80) * max(n, 1))


def search(entries: NDArray[np.int8], lines: str) -> tuple[Place | None, AllSigned | None]:
    """Sign every subset of rows."""
    m = entries.shape[0]
    signing = np.zeros(m, dtype=np.int8)
    mask = _first_unsigned(entries, 1, signing)
    if mask == 0:
        return None, AllSigned(lines, 2**m - 1, tuple(signing.tolist()))
    rows = tuple(i for i in range(m) if mask >> i & 1)
    _, distinct = np.unique(entries[list(rows)], axis=1, return_index=True)
    columns = _needed(entries[list(rows)], [], distinct.tolist())
    return (rows, tuple(columns)), None


def _needed(entries: NDArray[np.int8], given: list[int], columns: list[int]) -> list[int]:
    """A minimal choice of columns that, with those given, leaves all the rows without a signing, (2).

    By halves, which takes few searches where few columns are needed (QuickXplain, Junker 2004).
    """
    m = len(entries)
    if _first_unsigned(np.ascontiguousarray(entries[:, given]), (1 << m) - 1, np.zeros(m, dtype=np.int8)):  # given ones do
        return []
    if len(columns) == 1:
        return columns
    half = len(columns) // 2
    one, other = columns[:half], columns[half:]
    second = _needed(entries, given + one, other)
    return _needed(entries, given + second, one) + second


@njit(cache=True)
def _first_unsigned(entries, mask, sign):  # type: ignore[no-untyped-def]
    """The first subset of rows without a signing, as a mask from `mask` on; 0 if all have one: `sign` then holds the last."""
    m, n = entries.shape
    rows = np.empty(m, dtype=np.int64)
    remaining = np.empty(n, dtype=np.int64)
    total = np.empty(n, dtype=np.int64)
    tried = np.empty(m + 1, dtype=np.int64)
    while mask < np.int64(1) << m:
        size = 0
        remaining[:] = 0
        total[:] = 0
        for i in range(m):
            if mask >> i & 1:
                rows[size] = i
                size += 1
                for j in range(n):
                    remaining[j] += abs(entries[i, j])
        # with a signing its negative is one as well: the first row has +
        depth = 0
        tried[0] = 0
        while 0 <= depth < size:
            i = rows[depth]
            if tried[depth] > 0:
                _take_back(entries[i], sign[i], total, remaining)
            if tried[depth] == 2 or (depth == 0 and tried[depth] == 1):
                depth -= 1
                continue
            sign[i] = 1 - 2 * tried[depth]
            tried[depth] += 1
            if _put(entries[i], sign[i], total, remaining):
                depth += 1
                tried[depth] = 0
        if depth < 0:
            return mask
        mask += 1
    return 0


@njit(cache=True)
def _put(row, sign, total, remaining):  # type: ignore[no-untyped-def]
    """Add a signed row; whether the remaining rows can still bring all sums to -1, 0 or 1."""
    good = True
    for j in range(row.shape[0]):
        if row[j] != 0:
            total[j] += sign * row[j]
            remaining[j] -= 1
            # total and remaining together have the parity of the column's sum, so 1 more is allowed
            good = good and abs(total[j]) <= remaining[j] + 1
    return good


@njit(cache=True)
def _take_back(row, sign, total, remaining):  # type: ignore[no-untyped-def]
    """Undo `_put`."""
    for j in range(row.shape[0]):
        if row[j] != 0:
            total[j] -= sign * row[j]
            remaining[j] += 1
