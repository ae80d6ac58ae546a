"""Verify a decomposition: every step is recomputed, from the entries of the matrix and the numbers in the certificate alone.

No code is shared with what makes decompositions. Each step is a theorem about matrices of -1, 0 and 1:

    reductions   A zero line, a unit line or a copy, of a line that is still there or its negative, may be left out.       (1)
    blocks       No nonzero joins two blocks.                                                                             (2)
    2-sum        See `two_sum_parts`.                                                                                (3)
    pivot        Rows e, c; b, D become -e, e c; e b, D - e b c with e = 1 or -1. All subdeterminants of the one are,
                 but for signs, subdeterminants of the other, if all entries of the result are -1, 0, 1.                    (4)
    3-sum        See `three_sum_parts`.                                                                              (5)
    networks     `proofs_checks.matrices.network_matrix.check_network_matrix`, in linear time.                            (6)
    R10          All 251 square submatrices of a matrix with 5 rows and columns have determinant -1, 0 or 1.              (7)

Line x is left out in step t(x); lines that remain have t = infinity. In step t, the matrix has the lines y with t(y) > t. So with
each line's nonzeros in descending order of t, what a line has in step t is a prefix of its list, and the conditions (1) are
comparisons of such prefixes. (1) to (3) and (6) are linear in the nonzeros apart from sorting; (4) and (5) are linear in the
entries of the block, zeros included.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.compiled import njit
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import determinant
from proofs_checks.total_unimodularity.pieces import (
    COPY,
    R10,
    UNIT,
    ZERO,
    Pieces,
    Reductions,
    Split,
    ThreeSum,
    TwoSum,
    claim,
)
from proofs_checks.verdict import Verdict

METHOD = "every step of the decomposition recomputed"

Ints = NDArray[np.int64]


@checked
def check_pieces(matrix: Any, pieces: Pieces) -> Verdict:
    """Does this decomposition show that the matrix is totally unimodular?

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.
    pieces
        the certificate, from any source.

    Returns
    -------
    Verdict
        certificate: the pieces, or the first thing that is wrong with them. A no refutes the certificate, not the claim.

    Examples
    --------
    >>> import prunemodels as pm
    >>> r10 = [[1, -1, 0, 0, -1], [-1, 1, -1, 0, 0], [0, -1, 1, -1, 0], [0, 0, -1, 1, -1], [-1, 0, 0, -1, 1]]
    >>> decided = pm.checks.check_total_unimodularity(r10)
    >>> bool(pm.checks.check_pieces(r10, decided.certificate))
    True
    """
    given = read_matrix(matrix)
    wrong: str | None = None
    open_parts = [(given, pieces, "")]
    while open_parts and wrong is None:
        part, evidence, where = open_parts.pop()
        found = _looked_into(part, evidence)
        if isinstance(found, str):
            wrong = where + found
        else:
            open_parts += [(inner, inner_pieces, f"{where}{name}: ") for inner, inner_pieces, name in found]
    return Verdict(f"{claim(given)}, by its pieces", wrong is None, METHOD, pieces if wrong is None else wrong)


def _looked_into(matrix: SignMatrix, pieces: Pieces) -> str | list[tuple[SignMatrix, Pieces, str]]:
    """The first thing that is wrong; or the parts of the blocks that are sums, with their evidence and names."""
    if matrix.other is not None:
        i, j, value = matrix.other
        return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} is {value}, none of -1, 0, 1"
    # form: every line is left out once, or in one block
    m, n = matrix.shape
    steps = pieces.reductions
    if not all(len(a) == len(steps) for a in (steps.kind, steps.partner, steps.sign)):
        return "the reductions' arrays differ in length"
    covered = np.concatenate([steps.line, *(p.rows for p in pieces.pieces), *(p.columns + m for p in pieces.pieces)])
    if not np.array_equal(np.sort(covered), np.arange(m + n)):
        return "the lines left out and those of the blocks are not all rows and columns, each once"
    if np.any((steps.partner >= m + n) | ((steps.partner < 0) & (steps.kind != ZERO))):
        return "a step names a line that the matrix does not have"
    # (1), (2)
    bad = _bad_step(matrix, steps)
    if bad >= 0:
        what = {ZERO: "zero", UNIT: "a unit line", COPY: "a copy"}.get(int(steps.kind[bad]), "of any known kind")
        return f"step {bad}: {_name(matrix, int(steps.line[bad]))} is not {what} as the step says"
    astray = _between_blocks(matrix, pieces)
    if astray is not None:
        return astray
    parts: list[tuple[SignMatrix, Pieces, str]] = []
    for k, piece in enumerate(pieces.pieces):  # (3)-(7)
        block = matrix.part(piece.rows, piece.columns)
        evidence: Any = piece.evidence  # from any source
        wrong: Any = None
        if isinstance(evidence, NetworkMatrix):
            verdict = check_network_matrix(block, evidence)
            wrong = None if verdict else verdict.certificate
        elif isinstance(evidence, R10):
            wrong = _wrong_with_r10(block)
        elif isinstance(evidence, Split):
            how = evidence.sum
            sides = two_sum_parts(block, how) if isinstance(how, TwoSum) else three_sum_parts(block, how)
            if isinstance(sides, str):
                wrong = sides
            else:
                names = (f"first part of block {k}", f"second part of block {k}")
                parts += zip(sides, evidence.parts, names, strict=True)
        else:
            wrong = f"{evidence!r} is no evidence: give a tree with paths, R10, or a sum"
        if wrong is not None:
            return f"block {k}: {wrong}"
    return parts


def _name(matrix: SignMatrix, line: int) -> str:
    m = matrix.shape[0]
    return f"row {matrix.rows[line]}" if line < m else f"column {matrix.columns[line - m]}"


def _places(matrix: SignMatrix) -> tuple[Ints, Ints, NDArray[np.int8]]:
    """Row, column and sign of every nonzero."""
    body = matrix.entries
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(body.indptr))
    return body.indices.astype(np.int64), column, body.data


def _bad_step(matrix: SignMatrix, steps: Reductions) -> int:
    """(1): the first step whose condition fails, or -1."""
    m, n = matrix.shape
    row, column, sign = _places(matrix)
    owner, across = np.concatenate([row, column + m]), np.concatenate([column + m, row])
    time = np.full(m + n, len(steps), dtype=np.int64)
    time[steps.line] = np.arange(len(steps))
    order = np.lexsort((across, -time[across], owner))
    pointer = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=m + n))])
    entry = np.concatenate([sign, sign])[order]
    bad: int = _first_bad_step(steps.kind, steps.line, steps.partner, steps.sign, pointer, across[order], entry, time)
    return bad


def _between_blocks(matrix: SignMatrix, pieces: Pieces) -> str | None:
    """(2): the first nonzero between two blocks, as a message."""
    m, n = matrix.shape
    block = np.full(m + n, -1, dtype=np.int64)
    for k, piece in enumerate(pieces.pieces):
        block[piece.rows] = block[piece.columns + m] = k
    row, column, _ = _places(matrix)
    astray = np.flatnonzero((block[row] >= 0) & (block[column + m] >= 0) & (block[row] != block[column + m]))
    if not astray.size:
        return None
    i, j = int(row[astray[0]]), int(column[astray[0]])
    return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} joins two blocks"


def _wrong_with_r10(matrix: SignMatrix) -> str | None:
    """(7)."""
    if matrix.shape != (5, 5):
        return f"{matrix.shape[0]} rows and {matrix.shape[1]} columns, R10 has 5 and 5"
    entries = matrix.dense().tolist()
    for order in range(1, 6):
        for rows in itertools.combinations(range(5), order):
            for columns in itertools.combinations(range(5), order):
                if determinant([[entries[i][j] for j in columns] for i in rows]) not in (-1, 0, 1):
                    return f"rows {rows} and columns {columns} have a determinant other than -1, 0, 1"
    return None


def two_sum_parts(matrix: SignMatrix, split: TwoSum) -> list[SignMatrix] | str:
    """The first side of a 2-sum with w, and the second with v; or what is wrong with it, in time linear in the nonzeros.

    v of the first side and w of the second are a row and a column, or a column and a row, and meet in a nonzero. The nonzeros
    between the sides must be those of lines a like v on the first side which meet w, and of lines y like w on the second which
    meet v, and M[a, y] = M[a, w] M[v, w] M[v, y].
    """
    m, n = matrix.shape
    v, w = split.v, split.w
    inside = _inside(split.first, m + n)
    if inside is None:
        return "the lines of the first side are not different lines of the matrix"
    if not (0 <= v < m + n and 0 <= w < m + n and inside[v] and 2 <= inside.sum() <= m + n - 2):
        return "the sides do not have two lines each, the first of them v"
    # nonzeros as entries M[a, y]: a is a line like v, y one like w
    row, column, sign = _places(matrix)
    if v < m:
        a, y = row, column + m
    else:
        a, y = column + m, row
    message = "v and w do not meet, or the matrix has not rank 1 between the sides: see "
    # v and w meet, across the sides
    meets_w, meets_v = np.zeros(m + n, np.int64), np.zeros(m + n, np.int64)
    meets_w[a[y == w]] = sign[y == w]
    meets_v[y[a == v]] = sign[a == v]
    if meets_v[w] == 0 or inside[w] or (v < m) == (w < m):
        return message + _name(matrix, v)
    # every nonzero between the sides is the product that it should be
    meets_w[~inside] = meets_v[inside] = 0
    between = inside[a] != inside[y]
    wrong = between & (sign != meets_w[a] * meets_v[w] * meets_v[y])
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        return message + _name(matrix, int(a[k] if inside[a[k]] else y[k]))
    # and no such product is missing
    count = np.bincount(a[between], minlength=m + n)
    short = np.flatnonzero((meets_w != 0) & (count != np.count_nonzero(meets_v)))
    if short.size:
        return message + _name(matrix, int(short[0]))
    parts = []
    for lines, guest in ((inside, w), (~inside, v)):
        lines[guest] = True
        parts.append(matrix.part(np.flatnonzero(lines[:m]), np.flatnonzero(lines[m:])))
    return parts


def three_sum_parts(matrix: SignMatrix, split: ThreeSum) -> list[SignMatrix] | str:
    """Both parts of a 3-sum, or what is wrong with it.

    With the lines of the first side before those of the second, the matrix, after the pivot (4) if there is one, must be

        [ A   a b' ]      a, b, c, d not zero.  Then it is totally unimodular     [ A  a  a ]       [ B  d  d ]
        [ d c'  B  ]      if both of these are (Schrijver 1986, section 19.4):    [ c' 0  s ]  and  [ b' 0  s ],  s = 1 or -1.
    """
    m, n = matrix.shape
    inside = _inside(split.first, m + n)
    if inside is None:
        return "the lines of the first side are not different lines of the matrix"
    if not (0 <= split.row < m and 0 <= split.column < n and not inside[split.row] and not inside[m + split.column]):
        return "the row and the column of the certificate are not on the second side"
    if split.sign not in (-1, 1):
        return f"the sign is {split.sign}, neither 1 nor -1"
    entries = _after_pivot(matrix, split.pivot)
    if isinstance(entries, str):
        return entries
    # the parts between the sides have rank 1
    rows, columns = inside[:m], inside[m:]
    upper, lower = entries[rows][:, ~columns], entries[~rows][:, columns]
    a, c = entries[rows, split.column], entries[split.row, columns]
    # b and d from any row, or column, where a, or c, is not zero
    b = upper[np.argmax(a != 0)] * a[np.argmax(a != 0)] if a.any() else np.zeros(upper.shape[1], np.int64)
    d = lower[:, np.argmax(c != 0)] * c[np.argmax(c != 0)] if c.any() else np.zeros(lower.shape[0], np.int64)
    for what, part, product in (("columns", upper, np.outer(a, b)), ("rows", lower, np.outer(d, c))):
        if not part.any() or not np.array_equal(part, product):
            return f"the {what} of the second side are not multiples of the one that the certificate names, between the sides"
    # the matrices of both parts
    parts = []
    for own, column, row in ((inside, a, c), (~inside, d, b)):
        part = np.zeros((len(column) + 1, len(row) + 2), dtype=np.int64)
        part[:-1, :-2] = entries[own[:m]][:, own[m:]]
        part[:-1, -2] = part[:-1, -1] = column
        part[-1, :-2], part[-1, -1] = row, split.sign
        parts.append(read_matrix(part))
    return parts


def _inside(first: Any, total: int) -> NDArray[np.bool_] | None:
    """Which lines are on the first side; None where these are not different lines, in ascending order."""
    inside = np.zeros(total, np.bool_)
    if not np.array_equal(first, np.unique(first)) or (first.size and not 0 <= int(first[0]) <= int(first[-1]) < total):
        return None
    inside[first] = True
    return inside


def _after_pivot(matrix: SignMatrix, pivot: tuple[int, int] | None) -> NDArray[np.int64] | str:
    """(4), or what is wrong with the pivot."""
    entries = matrix.dense().astype(np.int64)
    if pivot is None:
        return entries
    i, j = pivot
    if not (0 <= i < len(entries) and 0 <= j < entries.shape[1]) or not entries[i, j]:
        return f"the pivot {pivot} is no nonzero"
    e = entries[i, j]
    row, column = entries[i].copy(), entries[:, j].copy()
    entries -= e * np.outer(column, row)
    entries[i], entries[:, j] = e * row, e * column
    entries[i, j] = -e
    return f"the pivot {pivot} makes an entry other than -1, 0, 1" if np.abs(entries).max() > 1 else entries


@njit(cache=True)
def _first_bad_step(kind, line, partner, sign, pointer, across, entry, time):  # type: ignore[no-untyped-def]
    """Check step by step; each line's nonzeros descend in time."""
    for t in range(line.shape[0]):
        x, z = line[t], partner[t]
        # what is left of line x at time t: its nonzeros in lines that go later
        a, size = pointer[x], 0
        while a + size < pointer[x + 1] and time[across[a + size]] > t:
            size += 1
        if kind[t] == ZERO:
            good = size == 0
        elif kind[t] == UNIT:
            good = size == 1 and across[a] == z and entry[a] == sign[t]
        elif kind[t] == COPY:
            # the partner goes later, and what is left of it is the same up to the sign, and no longer
            b = pointer[z]
            good = time[z] > t and pointer[z + 1] - b >= size
            for k in range(size if good else 0):
                good = good and across[a + k] == across[b + k] and entry[a + k] == sign[t] * entry[b + k]
            good = good and (b + size == pointer[z + 1] or time[across[b + size]] <= t)
        else:
            good = False
        if not good:
            return t
    return -1
