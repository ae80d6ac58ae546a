"""Read a polyhedron from a `LinearProgram`, from any linear Pyomo model, or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.sparse_arrays import without_duplicates
from proofs_checks.integrality.polyhedron import ExactArray, Polyhedron, exact_array, exact_number
from proofs_checks.matrices.sign_matrix import arrays_of, check_components, line_names, linear_terms


@checked
def read_polyhedron(
    source: Any,
    row_lower: Any = -np.inf,
    row_upper: Any = np.inf,
    lower: Any = 0,
    upper: Any = np.inf,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> Polyhedron:
    """The polyhedron  row_lower <= A x <= row_upper,  lower <= x <= upper  in exact numbers.

    Parameters
    ----------
    source
        a `LinearProgram`, or what `pm.programs.build` makes, whose integrality is dropped: its relaxation; a linear Pyomo model,
        likewise, with its active constraints and its variables' bounds; or A, two-dimensional: anything that `numpy.asarray`
        takes, or a scipy sparse array or matrix. A `Polyhedron` is returned as it is. The other parameters apply to arrays only.
    row_lower, row_upper
        a number for all rows or one for each: equal for equations, infinite where there is no bound.
    lower, upper
        of the variables, likewise; default 0 and no upper bound. Pass ``lower=-np.inf`` for free variables.
    rows, columns
        names; default r0, r1, ... and c0, c1, ...

    Raises
    ------
    InvalidInputError
        for sizes that do not fit each other, entries that are no finite numbers, and models that are not linear, or have
        other components than constraints, such as a Disjunction.

    Examples
    --------
    >>> import prunemodels as pm
    >>> square = pm.checks.read_polyhedron([[1, 1]], row_upper=1, upper=1)  # x + y <= 1, both between 0 and 1
    >>> square
    Polyhedron(1 rows, 2 columns, 2 nonzeros)
    """
    if isinstance(source, Polyhedron):
        return source
    program = arrays_of(source)
    if program is not None:
        sides = program.row_lower, program.row_upper, program.lower, program.upper
        return _of_arrays(program.matrix, *sides, program.rows, program.columns)
    if hasattr(source, "component_data_objects"):
        return _of_model(source)
    return _of_arrays(source, row_lower, row_upper, lower, upper, rows, columns)


def _of_arrays(
    matrix: Any,
    row_lower: Any,
    row_upper: Any,
    lower: Any,
    upper: Any,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> Polyhedron:
    """Arrays and names, checked."""
    (m, n), start, index, entry = _by_rows(matrix)
    names = line_names((m, n), rows, columns)
    return Polyhedron(
        start=start,
        index=index,
        entry=entry,
        row_lower=_bounds(row_lower, m, "row_lower"),
        row_upper=_bounds(row_upper, m, "row_upper"),
        lower=_bounds(lower, n, "lower"),
        upper=_bounds(upper, n, "upper"),
        rows=list(names[0]) if rows is None else rows,
        columns=list(names[1]) if columns is None else columns,
    )


def _by_rows(matrix: Any) -> tuple[tuple[int, int], NDArray[np.int64], NDArray[np.int64], ExactArray]:
    """Shape, starts, columns and exact entries, row by row, zeros left out."""
    if sparse.issparse(matrix):
        body: Any = sparse.csr_array(without_duplicates(matrix), copy=True)
        body.sort_indices()
        body.eliminate_zeros()
        return body.shape, body.indptr.astype(np.int64), body.indices.astype(np.int64), exact_array(body.data, "matrix")
    dense = exact_array(matrix, "matrix")
    if dense.ndim != 2:
        raise InvalidInputError(f"matrix has the shape {dense.shape}; give two dimensions, rows and columns")
    row, column = np.nonzero(dense)
    start = np.searchsorted(row, np.arange(dense.shape[0] + 1)).astype(np.int64)
    return (dense.shape[0], dense.shape[1]), start, column.astype(np.int64), dense[row, column]


def _bounds(given: Any, length: int, what: str) -> ExactArray:
    """Exact bounds, one for each row or column."""
    bound = exact_array(given, what, infinite=True)
    if bound.ndim and bound.shape != (length,):
        raise InvalidInputError(f"{what} has the shape {bound.shape}; give one number, or {length}")
    return np.broadcast_to(bound, (length,)).copy()


def _of_model(model: Any) -> Polyhedron:
    """Rows and columns of any linear Pyomo model, in the order in which it declares them; fixed variables have equal bounds."""
    pyo = package("pyomo.environ")
    check_components(model)

    variables = list(model.component_data_objects(pyo.Var))
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    place = {id(v): j for j, v in enumerate(variables)}
    # rows: entries, and sides less the constant
    start, index, entry = [0], [], []
    sides: list[list[Any]] = [[], []]
    for row in constraints:
        coefficients, constant = _linear(row, place)
        index += sorted(coefficients)
        entry += [coefficients[j] for j in sorted(coefficients)]
        start.append(len(index))
        for side, bound, none in zip(sides, (row.lb, row.ub), (-np.inf, np.inf), strict=True):
            side.append(none if _absent(bound) else exact_number(bound, f"the bound of {row.name}") - constant)
    # columns: bounds
    box = np.array([_box(v, pyo) for v in variables], dtype=object).reshape(-1, 2)
    return Polyhedron(
        start=np.array(start, dtype=np.int64),
        index=np.array(index, dtype=np.int64),
        entry=np.array(entry, dtype=object),
        row_lower=np.array(sides[0], dtype=object),
        row_upper=np.array(sides[1], dtype=object),
        lower=box[:, 0],
        upper=box[:, 1],
        rows=[row.name for row in constraints],
        columns=[v.name for v in variables],
    )


def _linear(row: Any, place: dict[int, int]) -> tuple[dict[int, Any], Any]:
    """The coefficients of a constraint's body by column, and its constant."""
    terms, constant = linear_terms(row)
    found: dict[int, Any] = {}
    for variable, coefficient in terms:
        if id(variable) not in place:
            raise InvalidInputError(f"the constraint {row.name} is about {variable.name}, which is no variable of the model")
        if coefficient:
            found[place[id(variable)]] = exact_number(coefficient, f"the coefficient of {variable.name} in {row.name}")
    return found, exact_number(constant, f"the constant in {row.name}")


def _box(variable: Any, pyo: Any) -> tuple[Any, Any]:
    """Both bounds of a variable; its value twice where it is fixed."""
    if variable.fixed:
        value = exact_number(pyo.value(variable), f"the fixed value of {variable.name}")
        return value, value
    name = f"the bound of {variable.name}"
    return (
        -np.inf if _absent(variable.lb) else exact_number(variable.lb, name),
        np.inf if _absent(variable.ub) else exact_number(variable.ub, name),
    )


def _absent(bound: Any) -> bool:
    """Whether a side has no bound."""
    return bound is None or abs(bound) == np.inf
