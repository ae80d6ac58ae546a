"""Violating submatrices are checked entry by entry, and for being minimal."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.total_unimodularity import violation_check
from proofs_checks.total_unimodularity.subdeterminants import by_subdeterminants
from proofs_checks.total_unimodularity.violation_check import check_violation
from proofs_checks.verdict import Verdict
from tests.proofs_checks.total_unimodularity import matrix_families as families


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
            by_subdeterminants(read.part(np.delete(np.arange(k), i), np.delete(np.arange(k), j))).holds is True
            for i in range(k)
            for j in range(k)
        )
        assert str(check_violation(matrix, found).certificate).endswith(", minimal") is truth
        minimal[truth] += 1


def test_minimality_that_nothing_decides_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the general methods answer None, the submatrix violates all the same."""
    monkeypatch.setattr(violation_check, "check_total_unimodularity", lambda matrix: Verdict("", None, ""))
    matrix = np.array([[1, 1, 1], [1, -1, 0], [1, 0, -1]])
    verdict = check_violation(matrix, submatrix(read_matrix(matrix), range(3), range(3)))
    assert str(verdict.certificate) == "determinant 3, not known to be minimal"
