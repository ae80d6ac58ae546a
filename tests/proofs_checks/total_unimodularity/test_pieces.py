"""Certificates of the front door that were tampered with are rejected, and what is wrong is named."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity import R10, Piece, Pieces, check_pieces, check_total_unimodularity
from proofs_checks.total_unimodularity.pieces import COPY, UNIT, ZERO, Reductions
from proofs_checks.total_unimodularity.reductions import reduce_matrix
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.composed_matrices import signed_fano
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix


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
        (
            (dataclasses.replace(first, rows=second.rows), dataclasses.replace(second, rows=first.rows), *rest),
            "joins two blocks",
        ),
    ):
        verdict = check_pieces(matrix, Pieces(pieces.reductions, tampered))
        assert verdict.holds is False, message
        assert message in str(verdict.certificate)


def test_pieces_of_another_matrix_are_rejected() -> None:
    """Each entry of the matrix counts: with any one changed, some step or block fails."""
    matrix, pieces = _pieces()
    for i, j in np.argwhere(matrix):
        changed = matrix.copy()
        changed[i, j] = 0
        assert check_pieces(changed, pieces).holds is False
    rng = np.random.default_rng(0)
    for _ in range(100):
        i, j = rng.integers(matrix.shape)
        changed = matrix.copy()
        changed[i, j] = (matrix[i, j] + 2) % 3 - 1
        assert check_pieces(changed, pieces).holds is False
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
