"""Total unimodularity by Eulerian submatrices (Camion 1963, 1965; Schrijver 1986, theorem 19.3).

A submatrix is **Eulerian** if every row and every column of it has an even sum. A matrix of -1, 0 and 1 is totally unimodular
if and only if every square Eulerian submatrix has an entry sum that is divisible by 4. Here the same is asked of every Eulerian
submatrix, square or not. A totally unimodular matrix fulfils that too: by Ghouila-Houri, the rows fall into two parts with
equal column sums, so with equal entry sums x, and x is even since whole rows add up to it.                                (1)

For rows R, let E be the columns whose sum over R is even. Eulerian are just the A[R, C] with C in E and

    sum over c in C of A[R, c] = 0  modulo 2,                                                                              (2)

and the entry sum is divisible by 4 if and only if an even number of columns in C have a sum of 2 modulo 4 over R. Write this as
one more bit below A[R, c] mod 2. The condition says that columns which add up to zero in (2) do so with that bit. This is
linear, so Gaussian elimination decides it for all C at once: each R takes one pass over the columns.                      (3)

The first R that fails, as bit masks ascend, has no proper subset that does. The column at which it fails is a sum, modulo 2, of
independent columns before it; with these it is a C of which no proper part fulfils (2). By (1), A[R, C] is not totally
unimodular. So it has a square Eulerian submatrix with entry sum 2 modulo 4, whose rows fail: they are R; its columns are a part
of C that fulfils (2): they are C. The same goes for any part of A[R, C] that is not totally unimodular: it is all of it.
Hence A[R, C] is square and minimal.                                                                                       (4)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from proofs_checks.matrices.violation import Place


def least_violation(entries: NDArray[np.int8]) -> Place | None:
    """Rows and columns of a minimal violating submatrix, for few rows: 2^m passes over the columns, as bit masks of rows."""
    m = entries.shape[0]
    bit = np.int64(1) << np.arange(m, dtype=np.int64)
    support = bit @ (entries != 0)
    mask, column = _first_failure(m, support, bit @ (entries < 0))
    if not mask:
        return None
    rows = tuple(i for i in range(m) if mask >> i & 1)
    even = [c for c in range(column) if (int(support[c]) & mask).bit_count() % 2 == 0]
    return rows, _circuit([int(support[c]) & mask for c in even], int(support[column]) & mask, even, column)


def _circuit(vectors: list[int], last: int, names: list[int], name: int) -> tuple[int, ...]:
    """The independent ones among bit vectors that add up to the last, and the last itself."""
    basis: dict[int, tuple[int, int]] = {}
    for place, vector in enumerate([*vectors, last]):
        members = 1 << place
        while vector and vector.bit_length() in basis:
            with_top, used = basis[vector.bit_length()]
            vector, members = vector ^ with_top, members ^ used
        if vector:
            basis[vector.bit_length()] = vector, members
    return (*(c for place, c in enumerate(names) if members >> place & 1), name)


@njit(cache=True)
def _first_failure(m, support, negative):  # type: ignore[no-untyped-def]
    """(3): the first mask of rows that fails and the column at which it does, or (0, 0)."""
    top = np.int64(1) << m
    # number of bits of every mask
    ones = np.zeros(top, dtype=np.uint8)
    for mask in range(1, top):
        ones[mask] = ones[mask >> 1] + (mask & 1)
    basis = np.empty(m + 1, dtype=np.int64)
    for mask in range(1, top):
        rank = 0
        for c in range(support.shape[0]):
            vector = support[c] & mask
            size = np.int64(ones[vector])
            if size % 2 == 1:
                continue
            # the column's sum is size - 2 * (its negative entries); the bit is the lowest, so that no basis vector begins with it
            vector = vector << 1 | (size // 2 + ones[negative[c] & mask]) & 1
            for k in range(rank):
                vector = min(vector, vector ^ basis[k])
            if vector > 1:
                basis[rank] = vector
                rank += 1
            elif vector == 1:
                return mask, c
    return np.int64(0), 0
