"""Polyhedra are read exactly, from wherever, and points are judged exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.models import FORMULATIONS
from formulations.programs.linear_program import Block, Named, Names
from formulations.programs.matrix import MATRICES
from proofs_checks.integrality.polyhedron import Polyhedron, exact_array, exact_number
from proofs_checks.integrality.reading import read_polyhedron
from tests.instances import random_problem
from tests.loops import looped

INFINITY = float("inf")


def described(body: Polyhedron) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows and columns by name: entries, bounds."""
    rows = {
        str(name): ({str(body.columns[j]): x for j, x in body.row(k).items()}, body.row_lower[k], body.row_upper[k])
        for k, name in enumerate(body.rows)
    }
    columns = {str(name): (body.lower[j], body.upper[j]) for j, name in enumerate(body.columns)}
    return rows, columns


@pytest.mark.parametrize("name", ["IP0", "IP1", "IP3", "closure", "LP1"])
@looped("seed", [None, 1, 4, 7])
def test_program_and_pyomo_model_are_the_same_polyhedron(name: str, seed: int | None) -> None:
    """A formulation as arrays and as a Pyomo model, integer or relaxed, has the same rows, columns and bounds."""
    problem = two_trees() if seed is None else random_problem(seed)
    number = {"IP0": {}, "LP1": {"budget": 0.7}}.get(name, {"lam": 1})
    program = described(read_polyhedron(MATRICES[name](problem, relax=True, **number)))
    integer = described(read_polyhedron(MATRICES[name](problem, **number)))
    model = described(read_polyhedron(FORMULATIONS[name](problem, relax=True, **number)))
    assert program == integer
    assert program[1] == model[1]
    for row, (entries, lower, upper) in program[0].items():
        if name == "LP1" and row == "budget":  # Pyomo writes the sum out, in floats of its own
            assert model[0][row][0] == pytest.approx({k: float(x) for k, x in entries.items()})
        elif entries:
            assert model[0][row] == (entries, lower, upper), row


def test_any_linear_model_is_read() -> None:
    """Ranged rows, equations, constants in the body, nested blocks, fixed and free variables; what is deactivated is left out."""
    m: Any = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], bounds=(-1, None))
    m.free = pyo.Var()
    m.fixed = pyo.Var(domain=pyo.NonNegativeReals)
    m.fixed.fix(2.5)
    m.ranged = pyo.Constraint(expr=(-1, m.x[1] + 0.1 * m.x[2] + 3, 4))
    m.b = pyo.Block()
    m.b.equal = pyo.Constraint(expr=2 * m.x[2] == m.free + 1)
    m.with_fixed = pyo.Constraint(expr=m.x[1] + 2 * m.fixed >= 1)
    m.off = pyo.Constraint(expr=m.free <= 0)
    m.off.deactivate()
    rows, columns = described(read_polyhedron(m))
    assert rows == {
        "ranged": ({"x[1]": 1, "x[2]": Fraction(1, 10)}, -4, 1),
        "b.equal": ({"x[2]": 2, "free": -1}, 1, 1),
        "with_fixed": ({"x[1]": 1}, -4, INFINITY),
    }
    assert columns == {
        "x[1]": (-1, INFINITY),
        "x[2]": (-1, INFINITY),
        "free": (-INFINITY, INFINITY),
        "fixed": (Fraction(5, 2), Fraction(5, 2)),
    }


def test_models_that_are_no_polyhedra_are_refused() -> None:
    """A nonlinear row, and a row about another model's variable, are named; a model without variables is one point."""
    m: Any = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.curved = pyo.Constraint(expr=m.x**2 <= 1)
    with pytest.raises(InvalidInputError, match="curved is not linear"):
        read_polyhedron(m)
    other: Any = pyo.ConcreteModel()
    other.row = pyo.Constraint(expr=m.x >= 0)
    with pytest.raises(InvalidInputError, match="row is about x, which is no variable of the model"):
        read_polyhedron(other)
    assert read_polyhedron(pyo.ConcreteModel()).shape == (0, 0)


def test_arrays_of_anybody() -> None:
    """Dense, sparse with repeated and stored zeros, fractions: one polyhedron; columns are >= 0 unless told otherwise."""
    dense = [[1, 0, Fraction(1, 2)], [0, 0, 0]]
    loose = sparse.coo_array(([0.25, 0.25, 1.0, 0.0], ([0, 0, 0, 1], [2, 2, 0, 1])), shape=(2, 3))
    first = described(read_polyhedron(dense, row_upper=[0.1, 5]))
    assert first == described(read_polyhedron(loose, row_upper=[Decimal("0.1"), 5]))
    repeated = sparse.csr_array((np.array([0.25, 1.0, 0.25]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    assert first == described(read_polyhedron(repeated, row_upper=[0.1, 5]))
    assert repeated.nnz == 3  # left as it was
    assert first[0]["r0"] == ({"c0": 1, "c2": Fraction(1, 2)}, -INFINITY, Fraction(1, 10))
    assert first[1]["c1"] == (0, INFINITY)
    named = read_polyhedron(np.eye(1), 2, 3, -np.inf, 7, rows=["a"], columns=["x"])
    assert described(named) == ({"a": ({"x": 1}, 2, 3)}, {"x": (-INFINITY, 7)})
    assert read_polyhedron(named) is named
    assert repr(named) == "Polyhedron(1 rows, 1 columns, 1 nonzeros)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": [1, 2]}, "shape \\(2,\\); give two dimensions"),
        ({"source": [[1, 2], [3]]}, "matrix: .*; give rows of one length"),
        ({"source": [[1, np.nan]]}, "matrix\\[1\\] is nan"),
        ({"source": [[1, np.inf]]}, "matrix\\[1\\] is inf"),
        ({"source": [["a"]]}, "matrix\\[0\\] is 'a'"),
        ({"source": [[1]], "rows": ["a", "b"]}, "rows: 2 names for a matrix with 1 rows"),
        ({"source": [[1]], "columns": []}, "columns: 0 names for a matrix with 1 columns"),
        ({"source": [[1]], "row_upper": [1, 2]}, "row_upper has the shape \\(2,\\); give one number, or 1"),
        ({"source": [[1]], "upper": np.nan}, "upper is nan"),
    ],
)
def test_what_is_no_polyhedron_is_refused(arguments: dict[str, Any], message: str) -> None:
    """Sizes that do not fit and entries that are no numbers are named."""
    with pytest.raises(InvalidInputError, match=message):
        read_polyhedron(**arguments)


def test_numbers_are_taken_at_their_word() -> None:
    """0.1 is a tenth, whole numbers are int, integers beyond 64 bits survive; infinities are bounds only."""
    assert exact_number(0.1, "x") == Fraction(1, 10)
    assert exact_number(np.float32(0.5), "x") == Fraction(1, 2)
    assert type(exact_number(np.int64(3), "x")) is int
    assert type(exact_number(2.0, "x")) is int
    assert exact_array([10**30, 1], "x").tolist() == [10**30, 1]
    assert exact_array(np.array([True, False]), "x").tolist() == [1, 0]
    assert exact_array(np.array([[0.1, 2.0], [0.1, -0.0]]), "x").tolist() == [[Fraction(1, 10), 2], [Fraction(1, 10), 0]]
    assert exact_array([-np.inf, 0.5], "x", infinite=True).tolist() == [-INFINITY, Fraction(1, 2)]
    with pytest.raises(InvalidInputError, match="x is 'one'"):
        exact_number("one", "x")
    with pytest.raises(InvalidInputError, match=r"x\[2\] is nan"):
        exact_array(np.array([0.5, 0.5, np.nan]), "x")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_of_a_point_are_those_of_fractions(data: st.DataObject) -> None:
    """A x by one pass over the nonzeros equals the sums of products in fractions, empty rows included."""
    m, n = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 4))
    numbers = st.fractions(-3, 3, max_denominator=4) | st.just(Fraction(0))
    matrix = [[data.draw(numbers) for _ in range(n)] for _ in range(m)]
    x = [data.draw(numbers) for _ in range(n)]
    body = read_polyhedron(np.array(matrix, dtype=object).reshape(m, n), lower=-np.inf)
    point = body.point(x)
    expected = [sum((a * b for a, b in zip(row, x, strict=True)), Fraction(0)) for row in matrix]
    assert [Fraction(value) / point.denominator for value in body.row_values(point)] == expected
    assert list(point.values()) == x
    assert point.fractional.tolist() == [j for j in range(n) if x[j].denominator > 1]


def test_points_by_name_and_in_order() -> None:
    """A point is a sequence, a mapping in any order, a solver's named amounts, or another polyhedron's point."""
    body = read_polyhedron(np.eye(2), columns=["x[0]", "x[1]"])
    expected = {"x[0]": Fraction(1, 2), "x[1]": 3}
    turned = read_polyhedron(np.eye(2), columns=["x[1]", "x[0]"]).point([3, 0.5])
    amounts = Named(Names((Block("x", (np.arange(2, dtype=np.int32),)),)), np.array([0.5, 3.0]))
    for given_ in ([0.5, 3], (Fraction(1, 2), 3), {"x[1]": 3, "x[0]": 0.5, "y": 9}, turned, amounts):
        point = body.point(given_)
        assert dict(point) == expected
        assert point["x[1]"] == 3
        assert (point.denominator, len(point), point.is_integral) == (2, 2, False)
    assert str(point) == "x[0] = 1/2, x[1] = 3"
    assert str(body.point([0, 0])) == "0"
    assert body.point([4, 0]).is_integral
    with pytest.raises(KeyError):
        _ = point["z"]
    with pytest.raises(InvalidInputError, match=r"no value for x\[1\]; give all 2 columns"):
        body.point({"x[0]": 1})
    with pytest.raises(InvalidInputError, match=r"shape \(3,\); the polyhedron has 2 columns"):
        body.point([1, 2, 3])
    with pytest.raises(InvalidInputError, match=r"point\[1\] is nan"):
        body.point([1, np.nan])


def test_the_first_violated_side_is_named() -> None:
    """Rows before bounds, with the value and the bound that it breaks; on the bound nothing is violated."""
    body = read_polyhedron([[1, 1], [1, -1]], [1, -np.inf], [3, 0], 0, 2, rows=["sum", "order"], columns=["x", "y"])
    assert body.violated(body.point([0.5, 0.5])) is None
    assert body.violated(body.point([1, 2])) is None
    assert str(body.violated(body.point([Fraction(1, 3), Fraction(1, 3)]))) == "row sum is 2/3, it must be >= 1"
    assert str(body.violated(body.point([2, 2]))) == "row sum is 4, it must be <= 3"
    assert str(body.violated(body.point([1, 0.5]))) == "row order is 1/2, it must be <= 0"
    assert str(body.violated(body.point([-0.5, 2]))) == "x is -1/2, it must be >= 0"
    assert str(body.violated(body.point([0, 2.5]))) == "y is 5/2, it must be <= 2"


def test_tight_sides_say_which_side() -> None:
    """Tight below, tight above, and an equation; rows first; fractions compare exactly."""
    body = read_polyhedron(
        [[1, 1], [1, -1], [0.1, 0.2]], [1, -1, -np.inf], [1, 5, 0.15], [0, 0.5], 1, rows=["sum", "order", "tenths"]
    )
    assert [str(f) for f in body.tight(body.point([0.5, 0.5]))] == ["row sum = 1", "row tenths <= 3/20", "c1 >= 1/2"]
    assert [str(f) for f in body.tight(body.point([0, 1]))] == ["row sum = 1", "row order >= -1", "c0 >= 0", "c1 <= 1"]
    face = body.tight(body.point([0, 1]))[2]
    assert (face.name, face.is_bound, face.place, face.sense, face.bound, face.value) == ("c0", True, 0, ">=", 0, 0)
