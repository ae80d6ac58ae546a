"""A violation in a small part of a large matrix is found before the whole is looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.programs.matrix import MATRICES
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity import check_total_unimodularity, decide, signing
from proofs_checks.total_unimodularity.signing import violation_nearby
from proofs_checks.total_unimodularity.violation_check import check_violation
from tests.instances import random_problem
from tests.loops import looped
from tests.proofs_checks.total_unimodularity import matrix_families as families


@pytest.fixture
def at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are looked at as well."""
    monkeypatch.setattr(signing, "LARGE_MATRIX", 0)


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
@looped(("name", "make"), families.YES)
def test_nothing_is_found_in_totally_unimodular_matrices(name: str, make: Callable[[], NDArray[np.int8]]) -> None:
    """No family that is totally unimodular has a wrong cycle in any part."""
    assert violation_nearby(read_matrix(make())) is None


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
