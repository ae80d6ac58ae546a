"""Pieces of a decision: reductions, blocks, 2-sums, violating submatrices, and a quick look."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import pytest

from formulations.programs.matrix import MATRICES
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.total_unimodularity import (
    METHODS,
    R10,
    Piece,
    Pieces,
    Split,
    TwoSum,
    check_pieces,
    check_total_unimodularity,
    decide,
    ternary,
)
from proofs_checks.total_unimodularity.decide import check_violation
from proofs_checks.total_unimodularity.pieces import COPY, UNIT, ZERO, Reductions
from proofs_checks.total_unimodularity.pieces_check import two_sum_parts
from proofs_checks.total_unimodularity.reductions import blocks_of, reduce_matrix
from proofs_checks.total_unimodularity.sums import find_two_sum, parts_of
from proofs_checks.total_unimodularity.ternary import violation_nearby
from proofs_checks.verdict import CheckParams, Verdict
from tests.instances import random_problem
from tests.loops import looped
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix, full_network, proven, signed_fano, two_sum


def _pieces() -> tuple[Matrix, Pieces]:
    blocks = [families.cycles_of_k5(), families.cycles_of_k5().T, families.r10()]
    matrix = families.mixed(families.block_diagonal(*blocks), 4, steps=30, largest=100, pivots=False, transpose=False)
    verdict = check_total_unimodularity(matrix)
    assert isinstance(verdict.certificate, Pieces)
    assert {int(k) for k in verdict.certificate.reductions.kind} == {ZERO, UNIT, COPY}
    return matrix, verdict.certificate


def test_pieces_are_printed_by_kind() -> None:
    """How many lines went, how many blocks there are of each kind."""
    matrix, pieces = _pieces()
    assert check_pieces(matrix, pieces).holds is True
    text = str(pieces)
    assert text.startswith(f"{len(pieces.reductions)} lines left out, blocks: ")
    assert "1 x network matrix" in text
    assert "1 x transposed network matrix" in text
    assert repr(pieces) == text
    assert "left)" not in text
    assert repr(pieces.reductions).startswith(f"Reductions({len(pieces.reductions)} lines left out, ")


def _step(pieces: Pieces, kind: int) -> int:
    return int(np.flatnonzero(pieces.reductions.kind == kind)[0])


def _with_steps(pieces: Pieces, **arrays: Any) -> Pieces:
    return dataclasses.replace(pieces, reductions=dataclasses.replace(pieces.reductions, **arrays))


def _changed(pieces: Pieces, name: str, k: int, value: int) -> Pieces:
    array = getattr(pieces.reductions, name).copy()
    array[k] = value
    return _with_steps(pieces, **{name: array})


@pytest.mark.slow
def test_tampered_reductions_are_rejected() -> None:
    """A step of another kind, sign, partner or line, steps in another order, arrays of different lengths: each is named."""
    matrix, pieces = _pieces()
    steps = pieces.reductions
    zero, unit, copy = (_step(pieces, kind) for kind in (ZERO, UNIT, COPY))
    m = len(matrix)
    wrong = [
        (_changed(pieces, "kind", zero, UNIT), "a step names a line"),
        (_changed(pieces, "kind", unit, ZERO), f"step {unit}"),
        (_changed(pieces, "kind", unit, COPY), f"step {unit}"),
        (_changed(pieces, "kind", copy, UNIT), f"step {copy}"),
        (_changed(pieces, "kind", copy, 7), "not of any known kind as the step says"),
        (_changed(pieces, "sign", unit, -steps.sign[unit]), "is not a unit line as the step says"),
        (_changed(pieces, "sign", copy, -steps.sign[copy]), "is not a copy as the step says"),
        (_changed(pieces, "sign", copy, 0), f"step {copy}"),
        (_changed(pieces, "partner", copy, steps.line[copy]), f"step {copy}"),
        (_changed(pieces, "partner", copy, (steps.partner[copy] + m) % (m + matrix.shape[1])), f"step {copy}"),
        (_changed(pieces, "partner", unit, (steps.partner[unit] + 1) % (m + matrix.shape[1])), f"step {unit}"),
        (_changed(pieces, "partner", unit, -1), "a step names a line"),
        (_changed(pieces, "partner", unit, 10**6), "a step names a line"),
        (_changed(pieces, "line", copy, steps.line[unit]), "each once"),
        (_with_steps(pieces, kind=steps.kind[:-1]), "differ in length"),
        (_with_steps(pieces, line=steps.line[:-1], kind=steps.kind[:-1], partner=steps.partner[:-1], sign=steps.sign[:-1]),
         "each once"),
        (_with_steps(pieces, kind=steps.kind[::-1], line=steps.line[::-1], partner=steps.partner[::-1], sign=steps.sign[::-1]),
         "as the step says"),
    ]  # fmt: skip
    for tampered, message in wrong:
        verdict = check_pieces(matrix, tampered)
        assert verdict.holds is False, message
        assert message in str(verdict.certificate)


def test_a_copy_is_compared_with_its_own_line_only() -> None:
    """Row 2 is no copy of row 0, though it is of row 0 followed by what row 1 has left in that step."""
    matrix = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0]])
    line, kind, partner = [5, 2, 0, 1, 4, 3], [UNIT, COPY, UNIT, UNIT, ZERO, ZERO], [1, 0, 3, 4, -1, -1]
    none = np.zeros(0, dtype=np.int64)
    sign = np.array([1, 1, 1, 1, 0, 0], dtype=np.int8)
    steps = Reductions(np.array(kind, dtype=np.int8), np.array(line), np.array(partner), sign, none, none)
    assert check_pieces(matrix, Pieces(steps, ())).certificate == "step 1: row r2 is not a copy as the step says"


def test_tampered_blocks_are_rejected() -> None:
    """Evidence of another block, of another matrix, a word instead, rows that are missing or in two blocks."""
    matrix, pieces = _pieces()
    first, second, *rest = pieces.pieces
    for tampered, message in (
        ((dataclasses.replace(first, evidence=second.evidence), second, *rest), "block 0: "),
        ((dataclasses.replace(first, evidence="belief"), second, *rest), "block 0: 'belief' is no evidence"),
        ((first, second), "each once"),
        ((first, dataclasses.replace(second, rows=first.rows), *rest), "each once"),
        ((first, dataclasses.replace(second, rows=first.rows), dataclasses.replace(first, rows=second.rows), *rest), "each once"),
        ((dataclasses.replace(first, rows=second.rows), dataclasses.replace(second, rows=first.rows), *rest), "joins two blocks"),
    ):
        verdict = check_pieces(matrix, Pieces(pieces.reductions, tampered))
        assert verdict.holds is False, message
        assert message in str(verdict.certificate)


@pytest.mark.slow
def test_pieces_of_another_matrix_are_rejected() -> None:
    """Each entry of the matrix counts: with any one changed, some step or block fails, within nested 3-sums too."""
    nested = families.nested(30, 4, leaves=6)
    for matrix, pieces in (_pieces(), (nested, check_total_unimodularity(nested).certificate)):
        for seed in range(60):
            assert check_pieces(families.one_entry_changed(matrix, seed), pieces).holds is False
    other = matrix.astype(float)
    other[0, 0] = 0.5
    assert "1/2, none of -1, 0, 1" in str(check_pieces(other, pieces).certificate)


def test_a_block_that_is_not_r10_is_rejected() -> None:
    """F7 has not 5 rows and 5 columns; R10 with a flipped sign has a submatrix with determinant 2 or -2."""
    for matrix, message in (
        (signed_fano(), "block 0: 3 rows and 4 columns, R10 has 5 and 5"),
        (families.one_sign_flipped(families.r10(), 0), "block 0: rows (0, 4) and columns (0, 4) have a determinant other than"),
    ):
        steps = reduce_matrix(read_matrix(matrix))
        piece = Piece(np.arange(len(matrix)), np.arange(matrix.shape[1]), R10())
        assert str(check_pieces(matrix, Pieces(steps, (piece,))).certificate).startswith(message)


@pytest.mark.parametrize("size", [8, 100])
def test_2_sums_are_taken_apart(size: int) -> None:
    """R10, a network matrix, a transposed one and R12 in a row of 2-sums, shuffled: a checked yes at any size."""
    rng = np.random.default_rng(size)
    network, other = full_network(size, size, size), full_network(size, size, size + 1)
    matrix = two_sum(families.r10(), two_sum(network, two_sum(other.T[:, ::-1], families.r12())))
    matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    for each in (matrix, matrix.T):
        verdict = check_total_unimodularity(each)
        assert isinstance(verdict.certificate, Pieces)
        assert "2-sum" in verdict.method
        assert proven(each, verdict) is True


@pytest.mark.parametrize("seed", range(6))
def test_a_violation_in_a_part_of_a_2_sum_is_one_of_the_whole(seed: int) -> None:
    """F7, an odd cycle, or R10 with a flipped sign beyond a network matrix: refuted, with the rows and columns of the whole."""
    rng = np.random.default_rng(seed)
    bad = (signed_fano(), families.odd_cycle(7), families.one_sign_flipped(families.r10(), seed))[seed % 3]
    matrix = two_sum(bad, two_sum(families.r10(), full_network(60, 60, seed)))
    matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    assert proven(matrix, check_total_unimodularity(matrix)) is False


def _has_two_sum(matrix: Matrix) -> bool:
    """By trying all sides: two lines each, rank 1 in all between them."""
    m, n = matrix.shape
    for sides in range(1, 2 ** (m + n) - 1):
        first = np.array([sides >> k & 1 for k in range(m + n)], dtype=bool)
        if not 2 <= first.sum() <= m + n - 2:
            continue
        rows, columns = first[:m], first[m:]
        ranks = [np.linalg.matrix_rank(part) if part.size else 0
                 for part in (matrix[np.ix_(rows, ~columns)], matrix[np.ix_(~rows, columns)])]  # fmt: skip
        if sum(ranks) == 1:
            return True
    return False


@pytest.mark.slow
def test_2_sums_are_found_where_there_are_any() -> None:
    """In small connected matrices, by all ways to part the lines; what is found passes the check, and so do its parts' sizes."""
    rng = np.random.default_rng(5)
    answers: Counter[bool] = Counter()
    while min(answers[True], answers[False]) < 30:
        matrix = families.random_signs(int(rng.integers(2, 6)), int(rng.integers(2, 5)), float(rng.uniform(0.3, 1)), rng)
        read = read_matrix(matrix)
        if len(blocks_of(read, np.arange(matrix.shape[0]), np.arange(matrix.shape[1]))) > 1:
            continue
        split = find_two_sum(read)
        assert (split is not None) is _has_two_sum(matrix), matrix.tolist()
        answers[split is not None] += 1
        if split is not None:
            assert isinstance(two_sum_parts(read, split), list)
            assert sum(len(rows) + len(columns) for rows, columns in parts_of(split, read.shape)) == sum(matrix.shape) + 2


@pytest.mark.slow
def test_wrong_2_sums_are_rejected() -> None:
    """Every other choice of the first side, of v and of w, is rejected unless it has rank 1 between the sides."""
    matrix = two_sum(
        np.array([[1, 1, 1], [1, 0, 1], [0, 1, -1]], dtype=np.int8), np.array([[1, -1, 1], [1, 1, 0]], dtype=np.int8)
    )
    read = read_matrix(matrix)
    m, n = matrix.shape
    accepted = 0
    for sides in range(2 ** (m + n)):
        first = np.array([k for k in range(m + n) if sides >> k & 1], dtype=np.int64)
        inside = np.isin(np.arange(m + n), first)
        upper, lower = matrix[np.ix_(inside[:m], ~inside[m:])], matrix[np.ix_(~inside[:m], inside[m:])]
        rank = sum(np.linalg.matrix_rank(part) if part.size else 0 for part in (upper, lower))
        for v in range(m + n):
            w = int(np.random.default_rng(sides + v).integers(m + n))
            row, column = min(v, w), max(v, w) - m
            fits = 2 <= len(first) <= m + n - 2 and inside[v] and not inside[w] and row < m <= column + m and rank == 1
            fits = bool(fits and matrix[row, column])
            assert isinstance(two_sum_parts(read, TwoSum(first, v, w)), list) is fits
            accepted += fits
    assert accepted >= 3
    apart = read_matrix(families.block_diagonal(families.r10(), families.r10()))
    blocks = np.array([0, 1, 2, 3, 4, 10, 11, 12, 13, 14])
    assert "row r0" in str(two_sum_parts(apart, TwoSum(blocks, 0, 15)))
    honest = find_two_sum(read)
    assert honest is not None
    twice = np.sort(np.append(honest.first, honest.first[0]))
    for change in (
        {"first": honest.first[::-1]},
        {"first": twice},
        {"first": honest.first - 5},
        {"v": -1},
        {"w": m + n},
        {"first": honest.first + 9},
    ):
        assert isinstance(two_sum_parts(read, dataclasses.replace(honest, **change)), str)


def test_tampered_2_sums_are_rejected() -> None:
    """Sides that are none, parts exchanged, evidence within a part that fails: named with the part where it is."""
    matrix = two_sum(families.r10(), two_sum(families.r12(), families.r10_of_ones()))
    verdict = check_total_unimodularity(matrix)
    pieces = verdict.certificate
    assert isinstance(pieces, Pieces)
    (piece,) = pieces.pieces
    split = piece.evidence
    assert isinstance(split, Split)
    first, second = split.parts
    inner = max((first, second), key=lambda part: len(part.pieces))
    belief = dataclasses.replace(inner, pieces=tuple(dataclasses.replace(p, evidence="belief") for p in inner.pieces))
    for evidence, message in (
        (dataclasses.replace(split, parts=(second, first)), "part of block 0: "),
        (
            dataclasses.replace(split, sum=dataclasses.replace(split.sum, first=split.sum.first[:-1])),
            "block 0: v and w do not meet, or",
        ),
        (dataclasses.replace(split, parts=tuple(belief if p is inner else p for p in split.parts)), "'belief' is no evidence"),
    ):
        tampered = Pieces(pieces.reductions, (dataclasses.replace(piece, evidence=evidence),))
        answer = check_pieces(matrix, tampered)
        assert answer.holds is False
        assert message in str(answer.certificate)
        assert not message.startswith("block") or str(answer.certificate).startswith(message)


def test_a_violating_submatrix_is_checked_entry_by_entry() -> None:
    """Entries, determinant, names, indices and shape: each lie is named."""
    matrix = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
    read = read_matrix(matrix)
    honest = submatrix(read, [0, 1, 2], [0, 1, 2])
    assert str(check_violation(matrix, honest).certificate) == "determinant 2, minimal"
    lines = honest.entries
    for change, message in (
        ({"entries": ((1, 1, 0), (0, 1, -1), (1, 0, 1))}, "the entry in row r1, column c2 is 1, not -1"),
        ({"determinant": -2}, "the determinant is 2, not -2"),
        ({"row_names": ("r0", "r1", "r3")}, "the names"),
        ({"column_names": ("c0", "c1", "x")}, "the names"),
        ({"rows": (0, 1, 3)}, "the entry in row r3, column c0 is 0, not 1"),
        ({"rows": (0, 1, 1)}, "rows (0, 1, 1): not different"),
        ({"columns": (0, 1, 3)}, "columns (0, 1, 3): not different columns of the matrix, which has 0 to 2"),
        ({"rows": (0, 1, -1)}, "not different rows"),
        ({"rows": (0, 1)}, "not square"),
        ({"entries": lines[:2]}, "not square"),
        ({"entries": (lines[0], lines[1], lines[2][:2])}, "not square"),
    ):
        verdict = check_violation(matrix, dataclasses.replace(honest, **change))
        assert verdict.holds is False
        assert message in str(verdict.certificate)
    harmless = submatrix(read, [0, 3], [0, 2])
    assert str(check_violation(matrix, harmless).certificate) == "the determinant is 1"


def test_a_violation_that_is_not_minimal_is_said_to_be_so() -> None:
    """An odd cycle beside a unit block violates with order 4, the cycle alone with order 3."""
    matrix = families.block_diagonal(families.odd_cycle(3), np.array([[1]], dtype=np.int8))
    verdict = check_violation(matrix, submatrix(read_matrix(matrix), range(4), range(4)))
    assert verdict.holds is True
    assert str(verdict.certificate) == "determinant 2, not minimal: a submatrix without row r3 violates as well"
    cycles = families.block_diagonal(families.odd_cycle(3), families.odd_cycle(5))
    verdict = check_violation(cycles, submatrix(read_matrix(cycles), range(8), range(8)))
    assert "determinant 4, not minimal" in str(verdict.certificate)


@pytest.mark.slow
def test_minimality_agrees_with_the_definition() -> None:
    """Of random square matrices that violate, just those are minimal all of whose proper square submatrices are harmless."""
    rng = np.random.default_rng(1)
    minimal = Counter()
    while min(minimal[True], minimal[False]) < 15:
        k = int(rng.integers(2, 6))
        matrix = families.random_signs(k, k, 0.6, rng)
        read = read_matrix(matrix)
        found = submatrix(read, range(k), range(k))
        if found.determinant in (-1, 0, 1):
            continue
        truth = all(
            METHODS["subdeterminants"](read.part(np.delete(np.arange(k), i), np.delete(np.arange(k), j))).holds is True
            for i in range(k)
            for j in range(k)
        )
        assert str(check_violation(matrix, found).certificate).endswith(", minimal") is truth
        minimal[truth] += 1


def test_minimality_that_nothing_decides_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the general methods answer None, the submatrix violates all the same."""
    monkeypatch.setattr(decide, "check_total_unimodularity", lambda matrix: Verdict("", None, ""))
    matrix = np.array([[1, 1, 1], [1, -1, 0], [1, 0, -1]])
    verdict = check_violation(matrix, submatrix(read_matrix(matrix), range(3), range(3)))
    assert str(verdict.certificate) == "determinant 3, not known to be minimal"


@pytest.fixture
def at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are looked at as well."""
    monkeypatch.setattr(ternary, "DEFAULTS", CheckParams(large_matrix=0))


@pytest.mark.usefixtures("at_any_size")
@looped("seed", range(10))
def test_what_is_found_is_a_minimal_violation_of_the_whole(seed: int) -> None:
    """IP1 of random instances: wherever something is found, it is a checked submatrix of the whole; somewhere it is."""
    matrix = read_matrix(MATRICES["IP1"](random_problem(seed + 40), lam=1))
    found = violation_nearby(matrix)
    if found is not None:
        verdict = check_violation(matrix, found)
        assert verdict, str(verdict)
        assert str(verdict.certificate).endswith(", minimal")
    assert check_total_unimodularity(matrix).holds is (found is None)  # these are small enough to be seen whole


@pytest.mark.usefixtures("at_any_size")
def test_it_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circle with determinant 2 among 300 unrelated rows is found without any reduction of the whole."""
    matrix = np.zeros((303, 303), dtype=int)
    matrix[:300, :300] = np.eye(300)
    matrix[300:, 300:] = families.odd_cycle(3)

    def never(*_: object) -> None:
        raise AssertionError("the whole was looked at")

    monkeypatch.setattr(decide, "reduce_matrix", never)
    verdict = check_total_unimodularity(matrix)
    assert verdict.holds is False
    assert verdict.certificate.rows == (300, 301, 302)
