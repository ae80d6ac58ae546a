"""Matrices are read as they come: the signs, the names, the first entry that is no sign; what is no matrix is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks import check_total_unimodularity, read_polyhedron
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from solvers.programs.build import build
from tests.loops import looped

SIGNS = [[1, 0, -1, 0], [0, 1, 1, -1], [0, 0, 0, 1]]


def is_like(matrix: SignMatrix, entries: Any) -> bool:
    """Whether the entries are these, stored as promised: int8, by columns, ascending, no zeros."""
    body = matrix.entries
    assert body.format == "csc"
    assert body.dtype == np.int8
    assert body.has_sorted_indices
    assert (body.data != 0).all()
    assert matrix.nnz == np.count_nonzero(entries)
    return matrix.shape == np.shape(entries) and np.array_equal(matrix.dense(), entries)


def other_of(matrix: Any) -> Any:
    """Row, column and value of the first entry that is no sign."""
    return read_matrix(matrix).other


@looped("kind", [int, np.float32, object, Fraction, Decimal])
def test_dense(kind: Any) -> None:
    """Whatever numpy takes: lists, any kind of number, any memory order."""
    numbers = [[kind(x) if kind in (Fraction, Decimal) else x for x in row] for row in SIGNS]
    array = np.array(numbers, dtype=object if kind in (Fraction, Decimal) else kind)
    for given_as in (numbers, tuple(map(tuple, numbers)), array, np.asfortranarray(array), array[::-1][::-1]):
        matrix = read_matrix(given_as)
        assert is_like(matrix, SIGNS)
        assert matrix.other is None


@looped("kind", ["array", "matrix"])
@looped("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_sparse(layout: str, kind: str) -> None:
    """Every layout of scipy, arrays and matrices; the argument stays as it was."""
    given_as = getattr(sparse, f"{layout}_{kind}")(np.array(SIGNS, dtype=float))
    assert is_like(read_matrix(given_as), SIGNS)
    assert np.array_equal(given_as.toarray(), SIGNS)


def test_duplicates_and_stored_zeros() -> None:
    """Entries at one place add up, before it is asked whether they are signs; stored zeros are none."""
    row, column = [0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 1]
    value = [2.0, -1.0, 1.0, -1.0, -1.0, 0.0]
    for given_as in (
        sparse.coo_array((value, (row, column)), shape=(2, 2)),
        sparse.csr_array((value, (row, column)), shape=(2, 2)),
    ):
        matrix = read_matrix(given_as)
        assert is_like(matrix, [[1, 0], [-1, 0]])
        assert matrix.other is None
    # by columns, in no order, twice the place (1, 0)
    unsorted = sparse.csc_array((np.array([1, 1, 2]), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    assert other_of(unsorted) == (1, 0, 3)
    assert np.array_equal(unsorted.data, [1, 1, 2])
    swapped = sparse.csc_array((np.array([1, -1]), np.array([1, 0]), np.array([0, 2])), shape=(2, 1))
    assert is_like(read_matrix(swapped), [[-1], [1]])


def test_the_first_other_entry() -> None:
    """Column by column, the first entry that is none of -1, 0, 1, floats at their word; the matrix holds 0 at all such."""
    entries = [[1, 0, 3], [0.1, -1, 0], [2, 1, 1]]
    for given_as in (entries, np.array(entries), sparse.csr_array(np.array(entries)), np.array(entries, dtype=object)):
        matrix = read_matrix(given_as)
        assert other_of(matrix) == (1, 0, Fraction(1, 10))
        assert is_like(matrix, [[1, 0, 0], [0, -1, 0], [0, 1, 1]])
        assert other_of(matrix.transposed()) == (0, 1, Fraction(1, 10))
    assert other_of([[0, -2], [1, 0]]) == (0, 1, -2)
    assert other_of([[Fraction(1, 3)]]) == (0, 0, Fraction(1, 3))
    assert other_of([[10**30]]) == (0, 0, 10**30)
    assert other_of([[1 + 2**-52]]) == (0, 0, Fraction("1.0000000000000002"))
    # -128 is its own absolute value in eight bits
    assert other_of(np.array([[-128]], dtype=np.int8)) == (0, 0, -128)
    assert other_of(np.array([[255]], dtype=np.uint8)) == (0, 0, 255)


def test_names() -> None:
    """Given ones, or r0, r1, ... and c0, c1, ...; parts and transposes carry them."""
    matrix = read_matrix(SIGNS, rows=["a", "b", "c"])
    assert list(matrix.rows) == ["a", "b", "c"]
    assert list(matrix.columns) == ["c0", "c1", "c2", "c3"]
    assert list(matrix.columns[1:3]) == ["c1", "c2"]
    assert matrix.columns[-1] == "c3"
    with pytest.raises(IndexError):
        matrix.columns[4]
    part = matrix.part([2, 0], np.array([3, 2]))
    assert is_like(part, [[1, 0], [0, -1]])
    assert (list(part.rows), list(part.columns)) == (["c", "a"], ["c3", "c2"])
    flipped = matrix.transposed()
    assert is_like(flipped, np.transpose(SIGNS))
    assert (list(flipped.rows), list(flipped.columns)) == (["c0", "c1", "c2", "c3"], ["a", "b", "c"])
    assert repr(matrix) == "SignMatrix(3 rows, 4 columns, 6 nonzeros)"
    assert list(read_matrix(SIGNS, columns=list("wxyz")).columns) == list("wxyz")


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        ([1, 0, -1], r"shape \(3,\)"),
        (5, r"shape \(\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (sparse.coo_array(np.array([1, 0, 1])), r"shape \(3,\)"),
        ([[1, 0], [1]], "rows of one length"),
        ([["1", "0"]], "type <U1; give numbers"),
        (np.array([[1j]]), "complex"),
        (sparse.csr_array(np.array([[1j]])), "complex"),
        ([[0, 1], [np.nan, 1]], "row r1, column c0 is nan"),
        ([[0, np.inf]], "row r0, column c1 is inf"),
        ([[2, np.inf]], "row r0, column c1 is inf"),
        (sparse.csr_array([[0, -np.inf]]), "row r0, column c1 is -inf"),
        (np.array([[Fraction(1, 2), float("nan")]], dtype=object), "row r0, column c1 is nan"),
        (np.array([[Fraction(1, 2), float("inf")]], dtype=object), "row r0, column c1 is inf"),
        (np.array([[1, "1/2"]], dtype=object), "row r0, column c1 is '1/2'; give finite numbers"),
        (np.array([[0, None]], dtype=object), "row r0, column c1 is None"),
    ],
)
def test_refusals(given_as: Any, message: str) -> None:
    """What is no matrix of finite numbers is refused, and where."""
    with pytest.raises(InvalidInputError, match=message):
        read_matrix(given_as)


def test_wrong_number_of_names() -> None:
    """Names for other rows or columns than there are."""
    with pytest.raises(InvalidInputError, match="rows: 2 names for a matrix with 3 rows"):
        read_matrix(SIGNS, rows=["a", "b"])
    with pytest.raises(InvalidInputError, match="columns: 0 names for a matrix with 4 columns"):
        read_matrix(SIGNS, columns=[])
    with pytest.raises(InvalidInputError, match="rows: 0 names"):
        read_matrix(MATRICES["IP3"](two_trees(), lam=1), rows=[])


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5), elements=st.integers(-2, 2)))
def test_round_trip(entries: Any) -> None:
    """Any small matrix of integers, dense or sparse: its signs, and whether there is anything else."""
    signs = np.where(np.abs(entries) <= 1, entries, 0)
    for given_as in (entries, sparse.csr_array(entries)):
        matrix = read_matrix(given_as)
        assert is_like(matrix, signs)
        assert (matrix.other is None) == (np.abs(entries) <= 1).all()
        if matrix.other is not None:
            i, j, value = matrix.other
            assert entries[i, j] == value
            assert np.abs(entries[:, :j]).max(initial=0) <= 1


def strangers_model() -> Any:
    """Three variables and a lone one, rows of every kind."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 2, 3])
    model.lone = pyo.Var(domain=pyo.Binary)
    model.p = pyo.Param(initialize=-1, mutable=True)
    model.up = pyo.Constraint(expr=model.x[1] + model.x[2] <= model.x[3] + 7)
    model.between = pyo.Constraint(expr=(-1, model.p * model.x[2] + 3, 5))
    model.equal = pyo.Constraint(expr=2 * model.x[3] - model.x[1] == model.x[3])
    model.off = pyo.Constraint(expr=5 * model.x[1] >= 2)
    model.off.deactivate()
    return model


STRANGERS = [[1, 1, -1, 0], [0, -1, 0, 0], [-1, 0, 1, 0]]


@pytest.mark.parametrize("objective", ["none", "linear", "quadratic", "two"])
def test_a_strangers_model(objective: str) -> None:
    """Active constraints as rows, all variables as columns, in the order of declaration; whatever is minimised."""
    model = strangers_model()
    if objective != "none":
        model.o = pyo.Objective(expr=model.x[1] ** 2 if objective == "quadratic" else model.x[1])
    if objective == "two":
        model.o2 = pyo.Objective(expr=model.x[2])
    before = [c.name for c in model.component_objects()]
    matrix = read_matrix(model)
    assert is_like(matrix, STRANGERS)
    assert list(matrix.rows) == ["up", "between", "equal"]
    assert list(matrix.columns) == ["x[1]", "x[2]", "x[3]", "lone"]
    assert [c.name for c in model.component_objects()] == before
    assert list(read_matrix(model, columns=list("abcd")).columns) == list("abcd")


def test_fixed_variables_are_constants() -> None:
    """A fixed variable has no column; what it leaves behind is linear, a row of zeros perhaps."""
    model = strangers_model()
    model.x[2].fix(4)
    model.product = pyo.Constraint(expr=model.x[1] * model.x[2] <= 8)
    matrix = read_matrix(model)
    assert list(matrix.columns) == ["x[1]", "x[3]", "lone"]
    assert is_like(matrix, [[1, -1, 0], [0, 0, 0], [-1, 1, 0], [0, 0, 0]])
    # the product has become 4 x[1]
    assert other_of(matrix) == (3, 0, 4)


def test_constraints_that_are_not_linear_are_refused() -> None:
    """Named, unless they are inactive."""
    model = strangers_model()
    model.product = pyo.Constraint(expr=model.x[1] * model.x[2] <= 1)
    with pytest.raises(InvalidInputError, match="constraint product is not linear"):
        read_matrix(model)
    model.product.deactivate()
    assert is_like(read_matrix(model), STRANGERS)


def test_blocks() -> None:
    """A block is a model too; variables of the model around it come after its own."""
    model = strangers_model()
    model.b = pyo.Block()
    model.b.y = pyo.Var()
    model.b.row = pyo.Constraint(expr=model.x[2] - model.b.y <= 0)
    alone = read_matrix(model.b)
    assert is_like(alone, [[-1, 1]])
    assert list(alone.columns) == ["b.y", "x[2]"]
    assert list(read_matrix(model).rows) == ["up", "between", "equal", "b.row"]
    model.b.deactivate()
    assert is_like(read_matrix(model), STRANGERS)


def test_a_built_program_is_its_matrix() -> None:
    """What `build` makes is read for both kinds of checks as the arrays that it holds, names included."""
    program = build(two_trees(), "IP3", lam=1)
    read, arrays = read_matrix(program), read_matrix(program.program)
    assert (read.entries != arrays.entries).nnz == 0
    assert (list(read.rows), list(read.columns)) == (list(arrays.rows), list(arrays.columns))
    assert check_total_unimodularity(program).holds is True
    assert list(read_polyhedron(program).columns) == list(arrays.columns)
