"""Read any matrix for the checks: dense, sparse, of a linear program or of a Pyomo model, whatever package made it.

Total unimodularity asks for entries in {-1, 0, 1} before anything else. So only the signs are kept, and the exact value of the
first other entry: that entry alone is a violating submatrix of order 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.sparse_arrays import check_sparse, without_duplicates


@dataclass(frozen=True, eq=False)
class SignMatrix:
    """A matrix with entries -1, 0 and 1, m rows and n columns."""

    entries: sparse.csc_array  # int8, shape (m, n), compressed by columns, indices in ascending order, no zeros stored
    # rows, columns: the names.
    rows: Sequence[str]
    columns: Sequence[str]
    # row, column and value of the first entry that is none of -1, 0, 1 (the matrix holds 0 there); None where all are.
    other: tuple[int, int, Fraction] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.rows), len(self.columns)

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return int(self.entries.nnz)

    def dense(self) -> NDArray[np.int8]:
        """All entries, int8, shape (m, n)."""
        full: NDArray[np.int8] = self.entries.toarray()
        return full

    def transposed(self) -> SignMatrix:
        """The transpose."""
        flipped = sparse.csc_array(self.entries.T)
        flipped.sort_indices()
        other = None if self.other is None else (self.other[1], self.other[0], self.other[2])
        return SignMatrix(flipped, self.columns, self.rows, other)

    def part(
        self, rows: Sequence[int] | NDArray[np.integer[Any]], columns: Sequence[int] | NDArray[np.integer[Any]]
    ) -> SignMatrix:
        """The submatrix of some rows and columns, in their order, with their names; its entries are -1, 0 and 1."""
        row, column = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        cut = sparse.csc_array(self.entries[:, column].tocsr()[row])
        cut.sort_indices()
        return SignMatrix(cut, [self.rows[int(i)] for i in row], [self.columns[int(j)] for j in column])

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"SignMatrix({rows:,} rows, {columns:,} columns, {self.nnz:,} nonzeros)"


@checked
def read_matrix(matrix: Any, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> SignMatrix:
    """Read a matrix of any supported kind.

    Parameters
    ----------
    matrix
        two-dimensional: anything that `numpy.asarray` takes, integers, floats or fractions; a scipy sparse array or matrix; a
        `LinearProgram`, or what `pm.programs.build` makes; a linear Pyomo model, whose rows are its active constraints. A
        `SignMatrix` is returned as it is.
    rows, columns
        names; default: those of the program or model, or r0, r1, ... and c0, c1, ...

    Raises
    ------
    InvalidInputError
        for another number of dimensions or names, an entry that is no finite number, a sparse matrix whose arrays do not fit each
        other (see `formulations.sparse_arrays`), a constraint that is not linear, or a component of the
        model that is none, such as a Disjunction.

    Examples
    --------
    >>> import prunemodels as pm
    >>> matrix = pm.checks.read_matrix([[1, 0], [-1, 1]], rows=["a", "b"], columns=["x", "y"])
    >>> matrix
    SignMatrix(2 rows, 2 columns, 3 nonzeros)
    """
    if isinstance(matrix, SignMatrix):
        check_sparse(matrix.entries, duplicates=False)
        return matrix
    program = arrays_of(matrix)
    if program is not None:
        body, row_names, column_names = program.matrix, program.rows, program.columns
    elif hasattr(matrix, "component_data_objects"):
        body, row_names, column_names = _of_model(matrix)
    else:
        return _named(matrix, rows, columns)
    return _named(body, row_names if rows is None else rows, column_names if columns is None else columns)


def arrays_of(source: Any) -> Any:
    """A `LinearProgram` itself, or the one that a program has as its ``program``; None for anything else."""
    for program in (source, getattr(source, "program", None)):
        if hasattr(program, "row_lower") and hasattr(program, "matrix"):
            return program
    return None


def _named(matrix: Any, rows: Sequence[str] | None, columns: Sequence[str] | None) -> SignMatrix:
    """Signs and names of arrays."""
    if sparse.issparse(matrix):
        check_sparse(matrix)
    else:
        try:
            matrix = np.asarray(matrix)
        except ValueError as error:
            raise InvalidInputError(f"matrix: {error}; give rows of one length") from None
    if matrix.ndim != 2:
        raise InvalidInputError(f"matrix has the shape {matrix.shape}; give two dimensions, rows and columns")
    if matrix.dtype.kind not in "biufO":
        raise InvalidInputError(f"matrix has entries of type {matrix.dtype}; give numbers")
    m, n = matrix.shape
    return of_entries(*_triplets(matrix), line_names((m, n), rows, columns))


def of_entries(
    row: NDArray[Any], column: NDArray[Any], value: NDArray[Any], names: tuple[Sequence[str], Sequence[str]]
) -> SignMatrix:
    """The matrix of some nonzeros, column by column, each place once, under the names of its rows and columns."""
    other = _first_other(row, column, value, names[0], names[1])
    sign = (value == 1).astype(np.int8) - (value == -1).astype(np.int8)
    kept = sign != 0
    body = sparse.csc_array((sign[kept], (row[kept], column[kept])), shape=(len(names[0]), len(names[1])), dtype=np.int8)
    body.sort_indices()
    return SignMatrix(body, names[0], names[1], other)


def line_names(
    shape: tuple[int, int], rows: Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[Sequence[str], Sequence[str]]:
    """The names of rows and columns, r0, r1, ... and c0, c1, ... where none are given."""
    row_names = _Numbered("r", shape[0]) if rows is None else rows
    column_names = _Numbered("c", shape[1]) if columns is None else columns
    for kind, names, length in (("rows", row_names, shape[0]), ("columns", column_names, shape[1])):
        if len(names) != length:
            raise InvalidInputError(f"{kind}: {len(names)} names for a matrix with {length} {kind}")
    return row_names, column_names


def check_components(model: Any) -> None:
    """Refuse a Pyomo model that says more than rows and bounds: with active components that Pyomo's own writers do not know."""
    pyo, known = package("pyomo.environ"), package("pyomo.repn.util")
    port, external = package("pyomo.network").Port, package("pyomo.core.base").ExternalFunction
    valid = {pyo.Block, pyo.Constraint, pyo.Var, pyo.Param, pyo.Expression, pyo.Set, pyo.RangeSet, port, external}
    _, others = known.categorize_valid_components(model, active=True, valid=valid, targets={pyo.Suffix, pyo.Objective})
    for kind, components in others.items():
        raise InvalidInputError(
            f"the model has the {kind.__name__} {components[0].name}, which says more than rows and bounds; turn it into "
            "linear constraints (pyomo.environ.TransformationFactory, for example 'gdp.bigm'), or deactivate it"
        )
    for variable in model.component_data_objects(pyo.Var, active=True):
        if not (variable.fixed or variable.is_continuous() or variable.is_integer()):
            raise InvalidInputError(
                f"{variable.name} has the domain {variable.domain}, neither an interval nor all integers in one, which rows and "
                "bounds do not say; use binary variables"
            )


def linear_terms(constraint: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The variables of a Pyomo constraint with their coefficients, and its constant."""
    from pyomo.repn import generate_standard_repn

    terms = generate_standard_repn(constraint.body, quadratic=False)
    if not terms.is_linear():
        raise InvalidInputError(f"the constraint {constraint.name} is not linear; deactivate it, or give a linear model")
    return list(zip(terms.linear_vars, terms.linear_coefs, strict=True)), terms.constant


def _triplets(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows, columns and values of the nonzeros, duplicates added up, column by column."""
    if sparse.issparse(matrix):
        body: Any = sparse.csc_array(without_duplicates(matrix))
        # a new array, because scipy keeps what it once found of the order, and does not see changes
        body = sparse.csc_array((body.data, body.indices, body.indptr), shape=body.shape)
        if not body.has_canonical_format:
            body = body.copy()
            body.sum_duplicates()  # sorts
        column = np.repeat(np.arange(body.shape[1], dtype=body.indices.dtype), np.diff(body.indptr))
        return body.indices, column, body.data
    # not nonzero(matrix.T): among objects that would pass over None
    column, row = np.nonzero(matrix.T != 0)
    return row, column, matrix[row, column]


def _first_other(
    row: NDArray[Any], column: NDArray[Any], value: NDArray[Any], rows: Sequence[str], columns: Sequence[str]
) -> tuple[int, int, Fraction] | None:
    """The first entry that is not -1, 0 or 1."""
    wrong = np.flatnonzero((value != 0) & (value != 1) & (value != -1))
    first = None
    # of floats, the first that is not finite and the first other; of objects all of them, since anything may be among them
    for k in wrong if value.dtype.kind == "O" else [*wrong[~np.isfinite(value[wrong])][:1], *wrong[:1]]:
        i, j = int(row[k]), int(column[k])
        entry = value[k].item() if isinstance(value[k], np.generic) else value[k]
        try:
            if isinstance(entry, str):
                raise TypeError
            exact = Fraction(repr(entry)) if isinstance(entry, float) else Fraction(entry)  # 0.1 is 1/10
        except (TypeError, ValueError, OverflowError):
            raise InvalidInputError(
                f"matrix: the entry in row {rows[i]}, column {columns[j]} is {entry!r}; give finite numbers"
            ) from None
        first = first or (i, j, exact)
    return first


def _of_model(model: Any) -> tuple[sparse.csc_array, list[str], list[str]]:
    """Active constraints and variables of any linear Pyomo model, in the order in which it declares them.

    A fixed variable is a constant and has no column; a variable that no constraint holds has a column of zeros. Objectives are
    not looked at.
    """
    pyo = package("pyomo.environ")
    check_components(model)
    variables = [v for v in model.component_data_objects(pyo.Var, active=True) if not v.fixed]
    place = {id(v): k for k, v in enumerate(variables)}
    names, row, column, value = [], [], [], []
    for i, constraint in enumerate(model.component_data_objects(pyo.Constraint, active=True)):
        names.append(constraint.name)
        for variable, coefficient in linear_terms(constraint)[0]:
            if id(variable) not in place:
                # a block's constraint may hold variables of the model around it
                place[id(variable)] = len(variables)
                variables.append(variable)
            row.append(i)
            column.append(place[id(variable)])
            value.append(float(coefficient))
    body = sparse.coo_array((value, (np.array(row, dtype=np.int64), column)), shape=(len(names), len(variables)))
    return sparse.csc_array(body), names, [v.name for v in variables]


@dataclass(frozen=True)
class _Numbered(Sequence[str]):
    """The default names r0, r1, ..."""

    letter: str
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, k: Any) -> Any:
        places = range(self.length)[k]
        return f"{self.letter}{places}" if isinstance(places, int) else [f"{self.letter}{i}" for i in places]
