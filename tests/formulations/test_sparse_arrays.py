"""The structure of sparse matrices that users give, at every door that takes one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.errors import InvalidInputError
from formulations.instance.routing import as_rows
from formulations.sparse_arrays import check_sparse, without_duplicates
from proofs_checks import check_total_unimodularity, read_matrix, read_polyhedron


@pytest.mark.parametrize(
    ("array", "place", "number", "message"),
    [
        ("indices", 1, 99, "entry 1 has the index number 99, which is not among 0 to 1"),
        ("indices", 1, -5, "entry 1 has the index number -5"),
        ("indptr", 1, 10**6, "pointer 2 is 3; they must ascend"),
        ("indptr", 2, 10**6, "pointer 2 is 1000000; they must ascend from 0 to at most the number of entries, 3"),
        ("indptr", 0, 1, "pointer 0 is 1"),
    ],
)
def test_what_points_outside_is_refused_at_every_door(array: str, place: int, number: int, message: str) -> None:
    """Of a matrix that was changed where scipy does not see it the first wrong number is named: by checks, polyhedra, tables."""
    doors = (check_sparse, read_matrix, read_polyhedron, lambda m: as_rows(m, 2), lambda m: pm.tables.ChunkedTable(m))
    for door in doors:
        matrix = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]]))
        getattr(matrix, array)[place] = number
        with pytest.raises(InvalidInputError, match=message):
            door(matrix)


@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_sound_matrices_pass_in_every_format(layout: str) -> None:
    """Also without any entry, and with rows and columns that are empty."""
    for entries in (np.eye(4), np.zeros((2, 4)), np.array([[0, 0, 1, 0], [0, 0, 0, 0]])):
        check_sparse(getattr(sparse, f"{layout}_array")(entries), duplicates=False)
    check_sparse(np.eye(2))


def test_two_entries_at_one_place() -> None:
    """They add up for a user, who built them so; in files they are refused, and the place is named in every format."""
    twice = sparse.coo_array(([1, 1, 1], ([0, 1, 1], [0, 2, 2])), shape=(2, 3))
    by_column = sparse.csc_array((np.ones(3), np.array([0, 1, 1]), np.array([0, 1, 1, 3])), shape=(2, 3))
    by_row = sparse.csr_array((np.ones(3), np.array([0, 2, 2]), np.array([0, 1, 3])), shape=(2, 3))
    for matrix in (twice, by_column, by_row):
        check_sparse(matrix)
        with pytest.raises(InvalidInputError, match="two entries in row 1, column 2"):
            check_sparse(matrix, duplicates=False)


def test_shapes_beyond_the_memory() -> None:
    """A matrix with one entry in a quadrillion rows is refused before anything of that length is made."""
    matrix = sparse.coo_array(([1], ([0], [0])), shape=(10**15, 2))
    with pytest.raises(InvalidInputError, match="64 PB of memory"):
        read_matrix(matrix)
    with pytest.raises(InvalidInputError, match="as an array; give fewer rows at a time"):
        as_rows(sparse.coo_array(([1.0], ([0], [0])), shape=(10**7, 10**7)), 10**7)


@pytest.mark.parametrize(
    ("entries", "dtype", "total"),
    [
        ([255, 2], np.uint8, 257),
        ([127, 127, 3], np.int8, 257),
        ([2**62, 2**62, 1], np.int64, None),
        ([2**63, 2**63 - 1], np.uint64, 2**64 - 1),
        ([2.0**24, 1, -(2.0**24)], np.float32, 1),
        ([2.0**53, 1], np.float64, None),
        ([0.25, 0.75], np.float64, 1),
        ([True, True], np.bool_, True),
    ],
)
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_entries_at_one_place_are_summed_exactly(layout: str, entries: list[float], dtype: Any, total: int | None) -> None:
    """Scipy adds up in the type of the entries: of bytes, 255 + 2 was 1, and a checker said 'holds'."""
    other, places = np.zeros(len(entries), dtype=np.int32), np.array([0, len(entries)])
    parts: Any = (other, other) if layout == "coo" else None
    held = np.array(entries, dtype=dtype)
    make = getattr(sparse, f"{layout}_array")
    matrix = make((held, parts), shape=(1, 1)) if layout == "coo" else make((held, other, places), shape=(1, 1))
    if total is None:
        with pytest.raises(InvalidInputError, match=r"several entries in row 0, column 0, and \w+64 does not hold their sum"):
            without_duplicates(matrix)
        return
    summed = without_duplicates(matrix)
    assert summed.format == layout
    assert summed.toarray().tolist() == [[total]]
    assert matrix.nnz == len(entries)
    assert check_total_unimodularity(matrix).holds is (total in (0, 1))
    assert read_polyhedron(matrix).entry.tolist() == [total]


def test_estimators_and_problems_count_sums() -> None:
    """A table whose entries are split in two gives the model and the rows of the sums; scikit-learn's fit did not end."""
    X, y = load_iris(return_X_y=True)
    X = np.round(4 * X) / 4  # sums of quarters are exact
    X[:, 1] = 0
    whole = sparse.csr_array(X.astype(np.float32))
    order = np.repeat(np.arange(whole.nnz), 2)
    split = whole.data[order] * np.tile(np.array([5, -4], dtype=np.float32), whole.nnz)
    double = sparse.csr_array((split, whole.indices[order], 2 * whole.indptr), shape=whole.shape)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    fitted = [pm.BudgetPrunedForestClassifier(forest, costs=1.0, random_state=0).fit(table, y) for table in (whole, double)]
    np.testing.assert_array_equal(*[model.predict_proba(X) for model in fitted])
    np.testing.assert_array_equal(*[fitted[0].predict_proba(table) for table in (whole, double)])
    np.testing.assert_array_equal(as_rows(double, 4, "X"), whole.toarray())
