"""Polyhedra in exact numbers.

    row_lower <= A x <= row_upper,      lower <= x <= upper                                                        (1)

and points x = numerators / denominator in them. Whole numbers are kept as `int`, ten times faster, and the rest as fractions, so
nothing is rounded; a float counts as the shortest decimal that denotes it, so 0.1 is 1/10. A x of a point is one pass over the
nonzeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import fraction
from formulations.programs.linear_program import Named
from proofs_checks.matrices.sign_matrix import SignMatrix, line_names, of_entries
from proofs_checks.matrices.violation import Number

ExactArray = NDArray[np.object_]
"""An array of integers and fractions; bounds may be -inf and inf as well."""


def exact_number(value: Any, what: str) -> Number:
    """The integer or fraction that a number stands for; `what` appears in the error."""
    return simple(fraction(value, what))


def simple(number: Number) -> Number:
    """An int where the number is whole."""
    return int(number) if number.denominator == 1 else number


def exact_array(values: Any, what: str, *, infinite: bool = False) -> ExactArray:
    """Numbers of any kind as integers and fractions, in their shape; if `infinite`, -inf and inf too, as bounds that are none."""
    try:  # integers beyond 64 bits, fractions and decimals stay what they are
        array = np.asarray(values)
        given = array if array.dtype.kind in "biufO" else np.asarray(values, dtype=object)
    except ValueError as error:
        raise InvalidInputError(f"{what}: {error}; give rows of one length") from None
    if given.dtype.kind in "biu":
        integers: ExactArray = given.astype(np.int64 if given.dtype.kind == "b" else given.dtype).astype(object)
        return integers
    flat = given.ravel()
    if given.dtype.kind == "f":  # few distinct numbers, as a rule
        distinct, first, place = np.unique(flat, return_index=True, return_inverse=True)
    else:
        distinct, first, place = flat, np.arange(flat.size), np.arange(flat.size)
    table = np.empty(len(distinct), dtype=object)
    for k, value in enumerate(distinct.tolist()):
        if infinite and isinstance(value, float) and math.isinf(value):
            table[k] = value
        else:
            table[k] = exact_number(value, f"{what}[{first[k]}]" if given.ndim else what)
    return table[place].reshape(given.shape)


def common_denominator(numbers: Iterable[Number]) -> int:
    """The least integer that makes all of them whole."""
    return math.lcm(*(x.denominator for x in numbers))


def snapped(values: NDArray[np.float64], largest_denominator: int) -> ExactArray:
    """The fractions with small denominators next to floats: what a solver's point probably means, to be verified exactly."""
    distinct, place = np.unique(np.round(values, 12), return_inverse=True)
    table = np.empty(len(distinct), dtype=object)
    for k, value in enumerate(distinct.tolist()):
        table[k] = simple(Fraction(value).limit_denominator(largest_denominator))
    found: ExactArray = table[place]
    return found


Sense = Literal["=", ">=", "<="]


@dataclass(frozen=True, eq=False)
class ExactPoint(Mapping[str, Number]):
    """A point with a common denominator; a mapping from names to integers and fractions."""

    columns: Sequence[str]  # the n names
    numerators: ExactArray  # integers, shape (n,)
    denominator: int  # > 0

    def value(self, j: int) -> Number:
        """The j-th coordinate."""
        return simple(Fraction(self.numerators[j], self.denominator))

    @property
    def fractional(self) -> NDArray[np.intp]:
        """The coordinates that are not whole."""
        return np.flatnonzero(self.numerators % self.denominator != 0)

    @property
    def is_integral(self) -> bool:
        """Whether all coordinates are whole."""
        return not self.fractional.size

    def __getitem__(self, name: str) -> Number:
        for j, column in enumerate(self.columns):
            if column == name:
                return self.value(j)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        """The coordinates that are not 0."""
        return ", ".join(f"{self.columns[j]} = {self.value(j)}" for j in np.flatnonzero(self.numerators != 0).tolist()) or "0"


@dataclass(frozen=True)
class Face:
    """One inequality of (1), of a row or a variable's bound, that a point fulfils with equality or violates."""

    name: str  # of the row, or of the variable whose bound it is
    is_bound: bool  # whether it is a variable's bound
    place: int  # index of the row or column
    # sense, bound: ``A x sense bound``.
    sense: Sense
    bound: Number
    value: Number  # of the row or variable at the point

    def __str__(self) -> str:
        what = self.name if self.is_bound else f"row {self.name}"
        if self.value == self.bound:
            return f"{what} {self.sense} {self.bound}"
        return f"{what} is {self.value}, it must be {self.sense} {self.bound}"


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """(1): r rows and n columns; made by `proofs_checks.integrality.reading.read_polyhedron`."""

    # start, index, entry: A by rows: row k has the entries ``entry[start[k]:start[k + 1]]`` in the columns `index`.
    start: NDArray[np.int64]
    index: NDArray[np.int64]
    entry: ExactArray
    # row_lower, row_upper: shape (r,); -inf and inf where there is none.
    row_lower: ExactArray
    row_upper: ExactArray
    # lower, upper: shape (n,).
    lower: ExactArray
    upper: ExactArray
    # rows, columns: the names.
    rows: Sequence[str]
    columns: Sequence[str]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.rows), len(self.columns)

    def row(self, k: int) -> dict[int, Number]:
        """The entries of a row by column, zeros left out."""
        part = slice(self.start[k], self.start[k + 1])
        return dict(zip(self.index[part].tolist(), self.entry[part].tolist(), strict=True))

    def matrix(self, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> SignMatrix:
        """A as the checks of matrices take it, under its own names or others."""
        names = [[str(name) for name in given or own] for given, own in ((rows, self.rows), (columns, self.columns))]
        row = np.repeat(np.arange(len(self.rows)), np.diff(self.start))
        order = np.lexsort((row, self.index))
        nonzero = order[self.entry[order] != 0]
        return of_entries(row[nonzero], self.index[nonzero], self.entry[nonzero], line_names(self.shape, *names))

    def point(self, values: Any) -> ExactPoint:
        """A point of as many coordinates, inside or not: a sequence, or a mapping that has every column's name."""
        if isinstance(values, Mapping):
            if isinstance(values, Named):  # all at once: looking up a single name is a search
                named = dict(zip(values, values.amounts.tolist(), strict=True))
            elif isinstance(values, ExactPoint):
                named = {name: values.value(j) for j, name in enumerate(values)}
            else:
                named = dict(values)
            missing = next((name for name in self.columns if name not in named), None)
            if missing is not None:
                raise InvalidInputError(f"point has no value for {missing}; give all {len(self.columns)} columns")
            values = [named[name] for name in self.columns]
        array = exact_array(values, "point")
        if array.shape != (len(self.columns),):
            raise InvalidInputError(f"point has the shape {array.shape}; the polyhedron has {len(self.columns)} columns")
        denominator = common_denominator(array)
        scaled = np.array([int(x * denominator) for x in array], dtype=object)
        return ExactPoint(self.columns, scaled, denominator)

    def row_values(self, point: ExactPoint) -> ExactArray:
        """A x times the point's denominator, shape (r,)."""
        product = self.entry * point.numerators[self.index]
        total = np.full(len(self.rows), 0, dtype=object)
        filled = np.flatnonzero(self.start[1:] > self.start[:-1])
        if filled.size:
            total[filled] = np.add.reduceat(product, self.start[filled])
        return total

    def violated(self, point: ExactPoint) -> Face | None:
        """The first side that the point lies beyond, variables' bounds after rows; None for a point inside."""
        for is_bound, value, lower, upper in self._sides(point):
            below, above = value < _times(lower, point), value > _times(upper, point)
            beyond = np.flatnonzero(below | above)
            if beyond.size:
                k = int(beyond[0])
                return self._face(is_bound, k, ">=" if below[k] else "<=", point, value)
        return None

    def tight(self, point: ExactPoint) -> list[Face]:
        """The sides that the point lies on, rows first; two sides that coincide are one, an equation."""
        found = []
        for is_bound, value, lower, upper in self._sides(point):
            below, above = value == _times(lower, point), value == _times(upper, point)
            for k in np.flatnonzero(below | above).tolist():
                sense: Sense = "=" if below[k] and above[k] else ">=" if below[k] else "<="
                found.append(self._face(is_bound, k, sense, point, value))
        return found

    def tight_places(self, point: ExactPoint) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """As `tight`, without names: the indices of the tight rows, and of the variables that are at a bound."""
        rows, columns = (
            np.flatnonzero((value == _times(lower, point)) | (value == _times(upper, point)))
            for _, value, lower, upper in self._sides(point)
        )
        return rows, columns

    def _sides(self, point: ExactPoint) -> tuple[tuple[bool, ExactArray, ExactArray, ExactArray], ...]:
        """Values, times the denominator, and bounds: of the rows, of the variables."""
        return (
            (False, self.row_values(point), self.row_lower, self.row_upper),
            (True, point.numerators, self.lower, self.upper),
        )

    def _face(self, is_bound: bool, k: int, sense: Sense, point: ExactPoint, value: ExactArray) -> Face:
        names = self.columns if is_bound else self.rows
        lower, upper = (self.lower, self.upper) if is_bound else (self.row_lower, self.row_upper)
        bound = upper[k] if sense == "<=" else lower[k]
        return Face(str(names[k]), is_bound, k, sense, bound, simple(Fraction(value[k]) / point.denominator))

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Polyhedron({rows:,} rows, {columns:,} columns, {len(self.entry):,} nonzeros)"


def _times(bound: ExactArray, point: ExactPoint) -> ExactArray:
    """Bounds in units of 1 / denominator."""
    return bound if point.denominator == 1 else bound * point.denominator
