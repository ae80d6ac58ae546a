"""Any matrix as the checks read it: dense, sparse, of a linear program, or of a Pyomo model; of another package as well.

Total unimodularity asks for entries in {-1, 0, 1} before anything else. So what is kept is the pattern of signs, and the first
entry that is not among them, exactly: it is a violating submatrix of order 1 by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class SignMatrix:
    """A matrix with entries -1, 0 and 1, m rows and n columns.

    Parameters
    ----------
    entries
        int8, shape (m, n), compressed by columns, indices in ascending order, no zeros stored.
    rows, columns
        the names.
    other
        row, column and value of the first entry that is none of -1, 0, 1 (the matrix holds 0 there); None where all are.
    """

    entries: sparse.csc_array
    rows: Sequence[str]
    columns: Sequence[str]
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
        """Rows for columns."""
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


def read_matrix(matrix: Any, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> SignMatrix:
    """Take a matrix as it comes.

    Parameters
    ----------
    matrix
        two-dimensional: anything that `numpy.asarray` takes, integers, floats or fractions; a scipy sparse array or matrix; a
        `LinearProgram`; a linear Pyomo model, whose rows are its active constraints. A `SignMatrix` is returned as it is.
    rows, columns
        names; default: those of the program or model, or r0, r1, ... and c0, c1, ...

    Raises
    ------
    InvalidInputError
        for another number of dimensions or names, or an entry that is no finite number.
    """
    if isinstance(matrix, SignMatrix):
        return matrix
    if hasattr(matrix, "row_lower") and hasattr(matrix, "matrix"):
        return _named(matrix.matrix, rows or matrix.rows, columns or matrix.columns)
    if hasattr(matrix, "component_data_objects"):
        body, row_names, column_names = _of_model(matrix)
        return _named(body, rows or row_names, columns or column_names)
    return _named(matrix, rows, columns)


def _named(matrix: Any, rows: Sequence[str] | None, columns: Sequence[str] | None) -> SignMatrix:
    """Signs and names of arrays."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
        if matrix.ndim != 2:
            raise InvalidInputError(f"matrix has the shape {matrix.shape}; give two dimensions, rows and columns")
    m, n = matrix.shape
    names = []
    for kind, letter, given, length in (("rows", "r", rows, m), ("columns", "c", columns, n)):
        names.append(_Numbered(letter, length) if given is None else given)
        if len(names[-1]) != length:
            raise InvalidInputError(f"{kind}: {len(names[-1])} names for a matrix with {length} {kind}")
    triplets = _triplets(matrix)
    other = _first_other(*triplets, names[0], names[1])
    row, column, value = triplets
    sign = np.where(np.abs(value) == 1, value, 0).astype(np.int8)
    kept = sign != 0
    body = sparse.csc_array((sign[kept], (row[kept], column[kept])), shape=(m, n), dtype=np.int8)
    body.sort_indices()
    return SignMatrix(body, names[0], names[1], other)


def _triplets(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows, columns and values of the nonzeros, duplicates added up, column by column."""
    if sparse.issparse(matrix):
        body: Any = sparse.csc_array(matrix)  # type: ignore[call-overload]
        if not body.has_canonical_format:
            body = body.copy()
            body.sum_duplicates()
        column = np.repeat(np.arange(body.shape[1], dtype=body.indices.dtype), np.diff(body.indptr))
        return body.indices, column, body.data
    if matrix.dtype.kind not in "biufO":
        raise InvalidInputError(f"matrix has entries of type {matrix.dtype}; give numbers")
    column, row = np.nonzero(matrix.T)
    value = matrix[row, column]
    return row, column, value.astype(np.int8) if matrix.dtype.kind == "b" else value


def _first_other(
    row: NDArray[Any], column: NDArray[Any], value: NDArray[Any], rows: Sequence[str], columns: Sequence[str]
) -> tuple[int, int, Fraction] | None:
    """The first entry that is not -1, 0 or 1."""
    wrong = np.flatnonzero((value != 0) & (value != 1) & (value != -1))
    if value.dtype.kind == "O":
        finite = wrong
    else:
        bad = wrong[~np.isfinite(value[wrong])]
        if bad.size:
            i, j = int(row[bad[0]]), int(column[bad[0]])
            raise InvalidInputError(f"matrix: the entry in row {rows[i]}, column {columns[j]} is {value[bad[0]]}")
        finite = wrong
    if not finite.size:
        return None
    i, j, entry = int(row[finite[0]]), int(column[finite[0]]), value[finite[0]]
    try:
        exact = Fraction(entry.item() if isinstance(entry, np.generic) else entry)
    except (TypeError, ValueError):
        raise InvalidInputError(f"matrix: the entry in row {rows[i]}, column {columns[j]} is {entry!r}, no number") from None
    return i, j, exact


def _of_model(model: Any) -> tuple[sparse.csc_array, list[str], list[str]]:
    """Rows and columns of any linear Pyomo model, in the order in which it declares them."""
    import pyomo.environ as pyo
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    variables = list(model.component_data_objects(pyo.Var))
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    options = {"mixed_form": True, "column_order": variables, "row_order": constraints}
    if not list(model.component_data_objects(pyo.Objective, active=True)):
        model = _with_objective(model, pyo)
    compiled = LinearStandardFormCompiler().write(model, **options)
    place = {id(v): k for k, v in enumerate(variables)}
    body = sparse.coo_array(compiled.A)
    column = np.array([place[id(v)] for v in compiled.columns], dtype=np.int64)
    at = (body.row, column[body.col] if body.nnz else body.col)
    whole: Any = sparse.coo_array((body.data, at), shape=(body.shape[0], len(variables)))
    return sparse.csc_array(whole), [r.constraint.name for r in compiled.rows], [v.name for v in variables]


def _with_objective(model: Any, pyo: Any) -> Any:
    """The compiler wants an objective: give a copy one."""
    copy = model.clone()
    copy.add_component(pyo.unique_component_name(copy, "objective"), pyo.Objective(expr=0))
    return copy


@dataclass(frozen=True)
class _Numbered(Sequence[str]):
    """r0, r1, ...: names of what has none."""

    letter: str
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, k: Any) -> Any:
        places = range(self.length)[k]
        return f"{self.letter}{places}" if isinstance(places, int) else [f"{self.letter}{i}" for i in places]
