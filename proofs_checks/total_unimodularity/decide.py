"""Is a matrix totally unimodular: the answer, for every matrix, with a certificate.

    entries        one that is none of -1, 0, 1 refutes                                                          (1)
    quick look     a small part of a large matrix may have a chordless cycle with a wrong sum                    (2)
    reductions     zero and unit lines and copies are left out, the rest falls apart into blocks                 (3)
    networks       every block is tried as a network matrix, and as the transpose of one                         (4)
    signing        in a block that is neither, a chordless cycle may have the wrong sum                          (5)
    decomposition  such a block is R10, or a 2-sum or 3-sum of smaller ones, or refuted                          (6)

All of it is polynomial (Seymour 1980; Truemper 1990). The certificates are checked by `check_network_matrix`, `check_pieces` and
`check_violation`. (1)-(4) are sparse; (5) takes O(lines * nonzeros); (6) writes a block's zeros out, so it is for blocks with at
most 10^8 entries, zeros included (`CheckParams.largest_block`): beyond that, and only there, the answer can be None.

`check_violation` asks whether a submatrix is what it says: these entries, this determinant, and no smaller one violates. A square
submatrix of order k violates total unimodularity if its determinant is none of -1, 0, 1. Every proper square submatrix misses a
row. So it is minimal if and only if

    it is totally unimodular without any one of its rows.                                                        (7)

Where every line has just two nonzeros and they form one cycle, (7) is plain: what is left is a forest. Otherwise (7) is asked of
`check_total_unimodularity`, row by row, whose answers come with their own certificates.

By its definition total unimodularity is a matter of all minors, order by order, each from the minors of the order below.

With rows R, columns c_0 < ... < c_(k-1) and r the last row of R, Laplace's expansion along r reads

    det A[R, C] = sum over t of (-1)^(k-1+t) a_(r, c_t) det A[R - r, C - c_t]                                          (8)

All minors of lower order are -1, 0 or 1 by then, so a sum has at most k terms of size 1: int8 holds it exactly. The first order
with another determinant has no violating submatrix below it: what is found is minimal, and 2 or -2 (Gomory; Schrijver 1986,
section 19.3).

Subsets are numbered in colexicographic order: {c_0 < c_1 < ...} is number  C(c_0, 1) + C(c_1, 2) + ...  (9). The k-subsets
with the last element r are then consecutive, from C(r, k) on, in the order of the (k-1)-subsets of {0, ..., r-1}; so (8) adds
one stretch of a table to another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from formulations.arguments import checked
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import Place, ViolatingSubmatrix, determinant, of_whole, submatrix
from proofs_checks.total_unimodularity.decomposition import decompose, minimal_violation
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import Piece, Pieces, claim, kind_of
from proofs_checks.total_unimodularity.reductions import blocks_of, find_network, reduce_matrix
from proofs_checks.total_unimodularity.ternary import violation_nearby, wrong_cycle
from proofs_checks.verdict import DEFAULTS, Verdict


def minor_steps(m: int, n: int) -> int:
    """The sum over k of k C(m, k) C(n, k), which is m C(m + n - 1, m); orders beyond 32 are not counted, it is 10^19 by then."""
    small, large = sorted((m, n))
    small = min(small, 32)
    return small * math.comb(small + large - 1, small) if small else 0


def search_minors(entries: NDArray[np.int8]) -> tuple[Place | None, str]:
    """A minimal violating submatrix, or how many determinants there are: order by order until one is none of -1, 0, 1."""
    m, n = entries.shape
    if m < n:
        # the stretches are rows: let them be the longer side
        place, certificate = search_minors(np.ascontiguousarray(entries.T))
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
    """The k-subset with a number, (9)."""
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
    """All minors of order k by (8); numbers of the columns and rows of the first other than -1, 0, 1, or (-1, -1).

    below[C, R] holds those of order k - 1; minors, which may have no rows, takes those of order k.
    """
    m, n = entries.shape
    stored = minors.shape[0] > 0
    scratch = np.empty(0 if stored else binomial[m - 1, k - 1], dtype=np.int8)
    chosen = np.arange(k)
    without = np.empty(k, dtype=np.int64)
    for number in range(binomial[n, k]):
        # numbers of the columns without each one, by (9)
        for t in range(k):
            without[t] = 0
            for u in range(k):
                if u != t:
                    without[t] += binomial[chosen[u], u + (u < t)]
        # all rows R with the last row r at once, by (8)
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


@checked
def check_total_unimodularity(matrix: Any, *, method: str | None = None) -> Verdict:
    """Is every square subdeterminant of the matrix -1, 0 or 1?

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.
    method
        a name in `METHODS`; None decides with the fastest that applies, and names it.

    Returns
    -------
    Verdict
        certificate of a yes: a `NetworkMatrix`, `Pieces`, or how many determinants there are; of a no: a minimal
        `ViolatingSubmatrix` of this matrix; of None: why. With `method=None` that is only so for blocks with
        more than 10^8 entries, zeros included.

    Raises
    ------
    InvalidInputError
        for another method, or what is no matrix.

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.checks.check_total_unimodularity([[1, 1, 0], [0, 1, 1]]).holds
    True
    >>> print(pm.checks.check_total_unimodularity([[1, 1], [-1, 1]]).certificate)
        c0  c1
    r0   1   1
    r1  -1   1
    determinant 2
    """
    if method is not None and method not in METHODS:
        raise InvalidInputError(f"method is {method!r}; choose one of {', '.join(METHODS)}, or None for the fastest that applies")
    given = read_matrix(matrix)
    return _fastest(given) if method is None else METHODS[method](given)


def by_network(matrix: SignMatrix) -> Verdict:
    """Is the matrix a network matrix, or the transpose of one?

    If it is neither, that does not refute total unimodularity; a chordless cycle with wrong signs does, and is looked for.
    """
    method = "network matrix"
    refuted = _entry_refutes(matrix, method)
    if refuted is not None:
        return refuted
    for transposed in (False, True):
        network = find_network(matrix, transposed=transposed)
        if network is not None:
            return Verdict(claim(matrix), True, kind_of(network), network)
    violating = wrong_cycle(matrix)
    if violating is not None:
        return Verdict(claim(matrix), False, "signing", violating)
    neither = "neither a network matrix nor the transpose of one, which does not refute the claim"
    return Verdict(claim(matrix), None, method, neither)


def by_subdeterminants(matrix: SignMatrix) -> Verdict:
    """The definition itself: all square subdeterminants, for small matrices; undecided where they are too many."""
    method = "all square subdeterminants"
    refuted = _entry_refutes(matrix, method)
    if refuted is not None:
        return refuted
    work = minor_steps(*matrix.shape)
    if work > DEFAULTS.most_determinant_steps:
        return Verdict(claim(matrix), None, method, too_large(matrix.shape, work, DEFAULTS.most_determinant_steps))
    place, count = search_minors(matrix.dense())
    if place is None:
        return Verdict(claim(matrix), True, method, count)
    return Verdict(claim(matrix), False, method, submatrix(matrix, *place))


def too_large(shape: tuple[int, int], work: int, limit: int) -> str:
    """Why a method did not begin: the elementary steps that it may need, and those that it is allowed."""
    steps = f"{work:,}" if work < 10**15 else f"more than 10^{int((work.bit_length() - 1) * math.log10(2))}"
    return f"{shape[0]:,} x {shape[1]:,} entries may take {steps} steps, the limit is {limit:,}"


def _entry_refutes(matrix: SignMatrix, method: str) -> Verdict | None:
    """The answer where one entry is none of -1, 0, 1: a violating submatrix of order 1."""
    if matrix.other is None:
        return None
    row, column, _ = matrix.other
    return Verdict(claim(matrix), False, method, submatrix(matrix, [row], [column]))


METHODS: dict[str, Callable[[SignMatrix], Verdict]] = {"network": by_network, "subdeterminants": by_subdeterminants}
"""All methods by name."""


def _fastest(matrix: SignMatrix) -> Verdict:
    """(1)-(6)."""
    # (1), (2)
    refuted = _entry_refutes(matrix, "entries")
    if refuted is not None:
        return refuted
    nearby = violation_nearby(matrix)
    if nearby is not None:
        return Verdict(claim(matrix), False, "signing", nearby)
    # (3) to (5), block by block; what is neither a network nor has a wrong cycle is hard
    reductions = reduce_matrix(matrix)
    pieces: list[Piece] = []
    hard = []
    for rows, columns in blocks_of(matrix, reductions.rows, reductions.columns):
        block = matrix.part(rows, columns)
        network = recognise_network(block) or recognise_network(block, transposed=True)
        if network is not None:
            pieces.append(Piece(rows, columns, network))
        else:
            cycle = wrong_cycle(block)
            if cycle is not None:
                return Verdict(claim(matrix), False, "signing", of_whole(matrix, rows, columns, cycle))
            hard.append((rows, columns, block))
    # (6), small blocks first: a small one may refute the whole
    undecided: Verdict | None = None
    for rows, columns, block in sorted(hard, key=lambda each: each[2].nnz):
        m, n = block.shape
        if m * n > DEFAULTS.largest_block:
            undecided = Verdict(claim(matrix), None, "decomposition", too_large((m, n), m * n, DEFAULTS.largest_block))
            continue
        found = decompose(block)
        if not isinstance(found, Pieces):
            return Verdict(
                claim(matrix), False, "decomposition", of_whole(matrix, rows, columns, minimal_violation(block, found))
            )
        pieces.append(Piece(rows, columns, found.pieces[0].evidence))
    return _yes(matrix, Pieces(reductions, tuple(pieces))) if undecided is None else undecided


def _yes(matrix: SignMatrix, pieces: Pieces) -> Verdict:
    """The answer yes, shown by one network if all pieces are network matrices, or all are transposes, else by the pieces."""
    if all(isinstance(piece.evidence, NetworkMatrix) for piece in pieces.pieces):
        for transposed in (False, True):
            network = find_network(matrix, transposed=transposed, known=pieces)
            if network is not None:
                return Verdict(claim(matrix), True, kind_of(network), network)
    kinds = ", ".join(dict.fromkeys(piece.kind for piece in pieces.pieces))
    return Verdict(claim(matrix), True, f"reductions and blocks: {kinds}", pieces)


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
    """(7), in words."""
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
