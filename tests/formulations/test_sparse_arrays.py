"""The structure of sparse matrices that users give, at every door that takes one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import prunemodels as pm
from formulations.errors import InvalidInputError
from formulations.instance.routing import as_rows
from formulations.sparse_arrays import check_sparse
from proofs_checks import check_row_operations, read_matrix, read_polyhedron

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def damaged(kind: str) -> sparse.csr_array:
    """A sound 2 x 2 matrix of which one array was changed afterwards, which scipy does not see."""
    matrix = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]]))
    if kind == "index":
        matrix.indices[1] = 99
    elif kind == "negative index":
        matrix.indices[1] = -5
    elif kind == "pointer":
        matrix.indptr[1] = 10**6
    elif kind == "last pointer":
        matrix.indptr[2] = 10**6
    else:
        matrix.indptr[0] = 1
    return matrix


DAMAGES = {
    "index": "entry 1 has the index number 99, which is not among 0 to 1",
    "negative index": "entry 1 has the index number -5",
    "pointer": "pointer 2 is 3; they must ascend",
    "last pointer": "pointer 2 is 1000000; they must ascend from 0 to at most the number of entries, 3",
    "first pointer": "pointer 0 is 1",
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_what_points_outside_is_refused_at_every_door(kind: str) -> None:
    """Matrices for checks, polyhedra and tables of examples: the message names the first number that is wrong."""
    for door in (
        check_sparse,
        read_matrix,
        read_polyhedron,
        lambda m: as_rows(m, 2),
        lambda m: check_row_operations(m, np.eye(2)),
        lambda m: pm.tables.ChunkedTable(m),
    ):
        with pytest.raises(InvalidInputError, match=DAMAGES[kind]):
            door(damaged(kind))


@pytest.mark.parametrize("layout", FORMATS)
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
