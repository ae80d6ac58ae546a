"""A minimal violating submatrix, from the minor that refutes total unimodularity.

The minor gives a square submatrix whose determinant is even and not 0 (`ternary.even_submatrix`). `ternary.shrunk_even` makes it
smaller by linear algebra alone. In what is left,

    with few rows, the first failure of Camion's criterion is minimal                                                     (1)
    a chordless cycle with a wrong sum is minimal                                                                         (2)
    otherwise rows are left out one by one, and the rest is decomposed; if it is refuted, begin again with what refutes it.
    If no row can be left out, the submatrix is minimal.                                                                  (3)

If the minor could not be followed back to the whole matrix, it is looked for by leaving out lines of that.               (4)
"""

from __future__ import annotations

import numpy as np

from formulations.errors import SolverFailedError
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity.camion import least_violation
from proofs_checks.total_unimodularity.decomposition import FEW_ROWS, Refuted, decompose, minor_by_elimination
from proofs_checks.total_unimodularity.signing import wrong_cycle
from proofs_checks.total_unimodularity.ternary import Ints, even_submatrix, shrunk_even


def minimal_violation(matrix: SignMatrix, refuted: Refuted) -> ViolatingSubmatrix:
    """A minimal violating submatrix of a matrix that `decompose` refuted."""
    rows, columns = _square(matrix, refuted)
    while True:
        part = matrix.part(rows, columns)
        if len(rows) <= FEW_ROWS:
            place = least_violation(part.dense())
            assert place is not None
            return submatrix(matrix, rows[list(place[0])].tolist(), columns[list(place[1])].tolist())
        cycle = wrong_cycle(part)
        if cycle is not None:
            return submatrix(matrix, rows[list(cycle.rows)].tolist(), columns[list(cycle.columns)].tolist())
        smaller = _without_a_row(part)
        if smaller is None:
            return submatrix(matrix, rows.tolist(), columns.tolist())
        rows, columns = rows[smaller[0]], columns[smaller[1]]


def _square(matrix: SignMatrix, refuted: Refuted) -> tuple[Ints, Ints]:
    """A square submatrix with an even determinant other than 0, all of whose lines have even sums."""
    entries = matrix.dense()
    found = None if refuted.minor is None else even_submatrix(entries, refuted.minor)
    if found is None:
        found = even_submatrix(entries, minor_by_elimination(entries))  # (4)
    if found is None:
        raise SolverFailedError(f"{matrix!r} is refuted by a minor that it does not have; please report the matrix")
    return shrunk_even(entries, *found)


def _without_a_row(part: SignMatrix) -> tuple[Ints, Ints] | None:
    """(3): a smaller one."""
    m, n = part.shape
    for i in range(m):
        rows = np.delete(np.arange(m), i)
        rest = part.part(rows, np.arange(n))
        found = decompose(rest)
        if isinstance(found, Refuted):
            smaller = _square(rest, found)
            return rows[smaller[0]], smaller[1]
    return None
