"""Is a submatrix what it says: these entries of the matrix, this determinant, and no smaller submatrix violates?

A square submatrix of order k violates total unimodularity if its determinant is none of -1, 0, 1. Every proper square submatrix
misses a row. So it is minimal if and only if

    it is totally unimodular without any one of its rows.                                                        (1)

Where every line has just two nonzeros and they form one cycle, (1) is plain: what is left is a forest. Otherwise (1) is asked of
`check_total_unimodularity`, row by row, whose answers come with their own certificates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from formulations.arguments import checked
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, determinant
from proofs_checks.total_unimodularity.decide import check_total_unimodularity
from proofs_checks.verdict import Verdict

METHOD = "entries compared, determinant recomputed exactly"


@checked
def check_violation(matrix: Any, violating: ViolatingSubmatrix) -> Verdict:
    """Does this submatrix refute that the matrix is totally unimodular?

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.
    violating
        the certificate, from any source.

    Returns
    -------
    Verdict
        certificate: whether the submatrix is minimal, in words, or the first thing that is wrong with it.

    Examples
    --------
    >>> import prunemodels as pm
    >>> matrix = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> found = pm.checks.check_total_unimodularity(matrix).certificate
    >>> pm.checks.check_violation(matrix, found).holds
    True
    """
    given = read_matrix(matrix)
    order = len(violating.rows)
    claim = f"the {order} x {order} submatrix has a determinant other than -1, 0 and 1, so the matrix is not totally unimodular"
    wrong = _wrong_with(given, violating)
    if wrong is not None:
        return Verdict(claim, False, METHOD, wrong)
    return Verdict(claim, True, METHOD, f"determinant {violating.determinant}, {_minimality(violating)}")


def _wrong_with(matrix: SignMatrix, violating: ViolatingSubmatrix) -> str | None:
    """The first thing that is wrong."""
    rows, columns, entries = violating.rows, violating.columns, violating.entries
    for what, lines, length in (("rows", rows, matrix.shape[0]), ("columns", columns, matrix.shape[1])):
        if len(set(lines)) != len(lines) or not all(0 <= k < length for k in lines):
            return f"{what} {lines}: not different {what} of the matrix, which has 0 to {length - 1}"
    if not len(rows) == len(columns) == len(entries) or any(len(line) != len(columns) for line in entries):
        return f"{len(rows)} rows and {len(columns)} columns, {len(entries)} rows of entries: not square"
    dense = matrix.part(rows, columns).dense()
    for a, i in enumerate(rows):
        for b, j in enumerate(columns):
            value = matrix.other[2] if matrix.other is not None and matrix.other[:2] == (i, j) else int(dense[a, b])
            if entries[a][b] != value:
                return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} is {value}, not {entries[a][b]}"
    names = (tuple(matrix.rows[i] for i in rows), tuple(matrix.columns[j] for j in columns))
    if names != (tuple(violating.row_names), tuple(violating.column_names)):
        return "the names are not those of the matrix"
    value = determinant(entries)
    if value != violating.determinant:
        return f"the determinant is {value}, not {violating.determinant}"
    return f"the determinant is {value}" if value in (-1, 0, 1) else None


def _minimality(violating: ViolatingSubmatrix) -> str:
    """(1), in words."""
    if violating.order == 1 or _is_cycle(violating):
        return "minimal"
    unknown = False
    for k in range(violating.order):
        rest = check_total_unimodularity([line for i, line in enumerate(violating.entries) if i != k])
        if rest.holds is False:
            return f"not minimal: a submatrix without row {violating.row_names[k]} violates as well"
        unknown = unknown or rest.holds is None
    return "not known to be minimal" if unknown else "minimal"


def _is_cycle(violating: ViolatingSubmatrix) -> bool:
    """Whether the nonzeros form one cycle: two in each line, all lines connected."""
    nonzero = np.array([[x != 0 for x in line] for line in violating.entries])
    if (nonzero.sum(axis=0) != 2).any() or (nonzero.sum(axis=1) != 2).any():
        return False
    graph = np.block([[np.zeros_like(nonzero), nonzero], [nonzero.T, np.zeros_like(nonzero)]])
    return bool(connected_components(graph, directed=False)[0] == 1)
