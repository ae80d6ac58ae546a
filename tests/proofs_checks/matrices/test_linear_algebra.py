"""Determinants and ranks are exact; violating submatrices are what they say."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.errors import InvalidInputError
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import determinant, submatrix
from tests.proofs_checks.total_unimodularity.matrix_families import odd_cycle

INTEGERS = st.one_of(st.integers(-2, 2), st.integers(-(10**20), 10**20))
NUMBERS = st.one_of(INTEGERS, st.fractions(-2, 2, max_denominator=9))


def matrices(numbers: Any, *, square: bool) -> Any:
    """Lists of rows, up to 4 x 4, many of them singular."""

    def of_shape(shape: tuple[int, int]) -> Any:
        m, n = shape[0], shape[0] if square else shape[1]
        full = st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=m, max_size=m)
        return st.one_of(full, full.map(lambda rows: [*rows[:-1], rows[0]] if m > 1 else rows))

    return st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(of_shape)


def leibniz(entries: list[list[Any]]) -> Any:
    """The determinant as a sum over permutations."""
    n = len(entries)
    total = 0
    for order in itertools.permutations(range(n)):
        inversions = sum(order[a] > order[b] for a, b in itertools.combinations(range(n), 2))
        total += (-1) ** inversions * math.prod(entries[i][order[i]] for i in range(n))
    return total


@settings(max_examples=80, deadline=None)
@given(matrices(NUMBERS, square=True))
def test_determinants(entries: list[list[Any]]) -> None:
    """The sum over permutations, for integers of any size and fractions, mixed."""
    before = [list(row) for row in entries]
    assert determinant(entries) == leibniz(entries)
    assert entries == before


def test_by_hand() -> None:
    """Order 0, an exchange of rows, a zero column before the pivot, a type that stays integer."""
    assert determinant([]) == 1
    assert determinant([[0, 1], [1, 0]]) == -1
    assert determinant([[0, 2, 1], [0, 1, 5], [3, 0, 0]]) == 27
    assert isinstance(determinant([[4, 2], [2, 4]]), int)
    assert determinant([[Fraction(1, 2), 1], [1, 4]]) == 1
    assert [determinant(odd_cycle(k).tolist()) for k in range(2, 8)] == [0, 2, 0, 2, 0, 2]


def test_numbers_of_numpy_do_not_overflow() -> None:
    """Python's integers take over: 10^36 does not fit 64 bits."""
    entries: Any = np.array([[10**18, 1], [0, 10**18]])
    assert determinant(entries) == 10**36


def test_what_has_no_determinant_is_refused() -> None:
    """Another number of rows than columns, rows of several lengths, floating-point numbers."""
    with pytest.raises(InvalidInputError, match="2 rows and 3 columns"):
        determinant([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(InvalidInputError, match="2 rows and 1 columns"):
        determinant([[1], [2]])
    with pytest.raises(TypeError):
        determinant([[0.5]])  # type: ignore[list-item]


def test_a_submatrix_with_its_determinant() -> None:
    """Rows and columns in ascending order, whatever order they come in; the table has the names and the determinant."""
    matrix = read_matrix([[1, 1, 0], [0, 0, 1], [-1, 1, 0]], rows=["up", "mid", "low"], columns=["a", "bb", "c"])
    found = submatrix(matrix, [2, 0], np.array([1, 0]))  # type: ignore[arg-type]
    assert (found.rows, found.columns, found.order) == ((0, 2), (0, 1), 2)
    assert found.entries == ((1, 1), (-1, 1))
    assert found.determinant == 2
    assert (found.row_names, found.column_names) == (("up", "low"), ("a", "bb"))
    assert str(found) == "\n".join(["      a  bb", "up    1   1", "low  -1   1", "determinant 2"])
    assert submatrix(matrix, [0], [2]).determinant == 0


def test_an_entry_that_is_no_sign_is_a_submatrix_alone() -> None:
    """The matrix keeps it aside: alone it is given exactly; among others it would be missing, so that is refused."""
    matrix = read_matrix([[1, 0.5], [1, 1]])
    alone = submatrix(matrix, [0], [1])
    assert (alone.entries, alone.determinant) == (((Fraction(1, 2),),), Fraction(1, 2))
    assert str(alone).endswith("determinant 1/2")
    with pytest.raises(InvalidInputError, match="the entry in row 0, column 1 is 1/2, which violates alone"):
        submatrix(matrix, [0, 1], [0, 1])
    assert submatrix(matrix, [1], [1]).determinant == 1
    assert submatrix(matrix, [0], [0]).determinant == 1


def test_a_submatrix_that_is_not_square_is_refused() -> None:
    """As many rows as columns."""
    with pytest.raises(InvalidInputError, match="1 rows and 2 columns"):
        submatrix(read_matrix(np.eye(2)), [0], [0, 1])
