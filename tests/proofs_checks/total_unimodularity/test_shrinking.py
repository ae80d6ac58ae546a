"""A violation that no sign gives away is found by leaving lines out, and what is harmless is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity import check_total_unimodularity, find_network
from proofs_checks.total_unimodularity.blocks import hard_blocks
from proofs_checks.total_unimodularity.shrinking import least_hard_part, violation_in
from proofs_checks.total_unimodularity.subdeterminants import by_subdeterminants
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.composed_matrices import with_column
from tests.proofs_checks.total_unimodularity.proven import proven


@pytest.mark.parametrize("seed", range(6))
def test_a_violation_that_no_sign_gives_away_is_found_by_shrinking(seed: int) -> None:
    """One more column in a large network matrix, with signs that pass: a minimal violating submatrix of a few lines is found."""
    matrix = with_column(seed)
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "shrinking"
    assert proven(matrix, verdict) is False
    assert matrix.shape[1] - 1 in verdict.certificate.columns


@pytest.mark.parametrize("column", [2, 7, 10, 11])
def test_the_least_part_that_is_not_easy_is_easy_without_any_line(column: int) -> None:
    """Shrunk from 60 rows, in terms of the whole matrix: without any one line, the part is totally unimodular."""
    matrix = with_column(column)
    read = read_matrix(matrix)
    everything = (np.arange(matrix.shape[0]), np.arange(matrix.shape[1]))
    for seed in range(4):
        rows, columns = least_hard_part(read, *everything, seed)
        assert find_network(read.part(rows, columns)) is None
        for k in range(len(rows)):
            assert next(hard_blocks(read, np.delete(rows, k), columns), None) is None
            assert by_subdeterminants(read.part(np.delete(rows, k), columns)).holds is True
        for k in range(len(columns)):
            assert next(hard_blocks(read, rows, np.delete(columns, k)), None) is None
            assert by_subdeterminants(read.part(rows, np.delete(columns, k))).holds is True


def test_what_shrinks_to_r10_is_no_violation() -> None:
    """R10 is not easy, and is without any of its lines: its determinant says that it is totally unimodular."""
    whole = (np.arange(5), np.arange(5))
    assert violation_in(read_matrix(families.r10()), whole, 0) == (5, 5)
