"""Is a matrix totally unimodular: by the fastest method that applies.

    entries        one that is none of -1, 0, 1 refutes                                                          (1)
    quick look     a small part of a large matrix may have a chordless cycle with a wrong sum                    (2)
    reductions     zero and unit lines and copies are left out, the rest falls apart into blocks                 (3)
    networks       every block is tried as a network matrix, and as the transpose of one                         (4)
    signing        in a block that is neither, a chordless cycle may have the wrong sum                          (5)
    2-sums         such a block may be the 2-sum of two smaller ones, which are decided likewise                 (6)
    shrinking      lines are left out as long as the block stays neither; the rest may have a wrong determinant  (7)
    references     exponential methods, for small blocks                                                         (8)

(1)-(7) are polynomial, (4)-(8) give certificates that are checked by `check_network_matrix`, `check_pieces` and
`check_violation`. The answer is None only where a large block is neither a network matrix nor transposed nor a 2-sum, and (5) and
(7) find no violation: by Seymour (1980), if it is totally unimodular, it is a 3-sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity.blocks import Place, find_network, verified_lift
from proofs_checks.total_unimodularity.claim import claim, entry_refutes
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import Piece, Pieces, Split, kind_of
from proofs_checks.total_unimodularity.quick_look import violation_nearby
from proofs_checks.total_unimodularity.reductions import Reductions, blocks_of, reduce_matrix
from proofs_checks.total_unimodularity.references import REFERENCES, cheapest_reference
from proofs_checks.total_unimodularity.shrinking import ATTEMPTS, Unresolved, violation_in
from proofs_checks.total_unimodularity.signing import wrong_cycle
from proofs_checks.total_unimodularity.two_sums import TwoSum, find_two_sum
from proofs_checks.verdict import Verdict

CHEAP_REFERENCE = 1e-4
"""A reference that needs at most this share of its limit is asked before the block is shrunk."""

_Found = tuple[str, NetworkMatrix | str | TwoSum | ViolatingSubmatrix | Unresolved]
"""How a block was decided, and what shows it; the name of a reference is evidence for a yes."""


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
        certificate of a yes: a `NetworkMatrix`, `Pieces`, or what a reference counted; of a no: a minimal `ViolatingSubmatrix` of
        this matrix; of None: what was tried.

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
    refuted = entry_refutes(matrix, method)
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


METHODS: dict[str, Callable[[SignMatrix], Verdict]] = {"network": by_network, **REFERENCES}
"""All methods by name."""


@dataclass(eq=False)
class _Part:
    """A submatrix: its reductions, and its blocks with what was found of each and, for a 2-sum, the index of its first part."""

    reductions: Reductions
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NetworkMatrix | str | TwoSum, int]] = field(default_factory=list)


def _fastest(matrix: SignMatrix) -> Verdict:
    """(1)-(8)."""
    refuted = entry_refutes(matrix, "entries")
    if refuted is not None:
        return refuted
    nearby = violation_nearby(matrix)
    if nearby is not None:
        return Verdict(claim(matrix), False, "signing", nearby)
    places = [(np.arange(matrix.shape[0]), np.arange(matrix.shape[1]))]
    parts: list[_Part] = []
    undecided: Verdict | None = None
    for place in places:
        here = matrix.part(*place) if parts else matrix
        part = _Part(reduce_matrix(here))
        parts.append(part)
        for rows, columns in blocks_of(here, part.reductions.rows, part.reductions.columns):
            method, found = _decide(here, (rows, columns))
            if isinstance(found, ViolatingSubmatrix):
                return Verdict(claim(matrix), False, method, _of_whole(matrix, place, found))
            if isinstance(found, Unresolved):
                undecided = Verdict(claim(matrix), None, method, found)
                continue
            part.blocks.append((rows, columns, found, len(places)))
            if isinstance(found, TwoSum):
                sides = found.parts((len(rows), len(columns)))
                places.extend((place[0][rows[r]], place[1][columns[c]]) for r, c in sides)
    return _yes(matrix, _assemble(parts)) if undecided is None else undecided


def _assemble(parts: list[_Part]) -> Pieces:
    """The certificate of the whole matrix, put together from the last part to the first."""
    done: dict[int, Pieces] = {}
    for k in reversed(range(len(parts))):
        pieces = []
        for rows, columns, found, first in parts[k].blocks:
            evidence = Split(found, (done.pop(first), done.pop(first + 1))) if isinstance(found, TwoSum) else found
            pieces.append(Piece(rows, columns, evidence))
        done[k] = Pieces(parts[k].reductions, tuple(pieces))
    return done[0]


def _yes(matrix: SignMatrix, pieces: Pieces) -> Verdict:
    """The answer yes, shown by one network if that is possible, else by the pieces."""
    network = _one_network(matrix, pieces)
    if network is not None:
        return Verdict(claim(matrix), True, kind_of(network), network)
    kinds = ", ".join(dict.fromkeys(piece.kind for piece in pieces.pieces))
    return Verdict(claim(matrix), True, f"reductions and blocks: {kinds}", pieces)


def _one_network(matrix: SignMatrix, pieces: Pieces) -> NetworkMatrix | None:
    """One network instead of the pieces, if all of them are network matrices, or all are transposes."""
    if not all(isinstance(p.evidence, NetworkMatrix) for p in pieces.pieces):
        return None
    for transposed in (False, True):
        blocks = []
        for piece in pieces.pieces:
            network = _network_of(matrix, piece, transposed=transposed)
            if network is None:
                break
            blocks.append((piece.rows, piece.columns, network))
        else:
            return verified_lift(matrix, pieces.reductions, blocks, transposed=transposed)
    return None


def _network_of(matrix: SignMatrix, piece: Piece, *, transposed: bool) -> NetworkMatrix | None:
    """The piece as a network matrix, or as the transpose of one."""
    if isinstance(piece.evidence, NetworkMatrix) and piece.evidence.transposed == transposed:
        return piece.evidence
    # `_decide` tries the transpose only where the block itself is no network matrix
    return recognise_network(matrix.part(piece.rows, piece.columns), transposed=True) if transposed else None


def _decide(matrix: SignMatrix, place: Place) -> _Found:
    """(4)-(8) for a block."""
    block = matrix.part(*place)
    for transposed in (False, True):
        network = recognise_network(block, transposed=transposed)
        if network is not None:
            return kind_of(network), network
    cycle = wrong_cycle(block)
    if cycle is not None:
        return "signing", _of_whole(matrix, place, cycle)
    two_sum = find_two_sum(block)
    if two_sum is not None:
        return "2-sum", two_sum
    rests = []
    reference, share = cheapest_reference(block)
    for attempt in range(ATTEMPTS):
        if attempt == (0 if share <= CHEAP_REFERENCE else 1):
            verdict = REFERENCES[reference](block)
            if verdict.holds is not None:
                return reference, reference if verdict else _of_whole(matrix, place, verdict.certificate)
        shrunk = violation_in(matrix, place, attempt)
        if isinstance(shrunk, ViolatingSubmatrix):
            return "shrinking", shrunk
        rests.append(shrunk)
    return "reductions, networks, signing, 2-sums, shrinking", Unresolved(block.shape, tuple(rests))


def _of_whole(matrix: SignMatrix, place: Place, found: ViolatingSubmatrix) -> ViolatingSubmatrix:
    """A block's submatrix as one of the whole matrix."""
    rows, columns = place
    return submatrix(matrix, rows[list(found.rows)].tolist(), columns[list(found.columns)].tolist())
