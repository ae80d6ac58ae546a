"""One point of a polyhedron, exactly: is it a vertex, and does it show that a relaxation is weak?

    x is a vertex of {x : A x <= b}   if and only if   A x <= b and rank {a_i : a_i x = b_i} = n                  (1)

(Schrijver 1986, section 8.5). A tight bound is a row e_j, so it fixes column j, and only the other columns are eliminated, by
Gauss-Jordan elimination in fractions on sparse rows.

    rank A < n     if and only if     A d = 0 for some d that is not 0                                              (2)

so a rank below n has a certificate of n numbers, as full rank has one of n pivots.

    x in the relaxation  and  cost x < optimum    =>    the relaxation has no integral optimum                      (3)

The point may come from any solver, in floats: it is replaced by fractions with small denominators, and these are verified
exactly, row by row. Nothing is assumed of the solver, not even that its point is optimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.programs.linear_program import LinearProgram, Named
from proofs_checks.integrality.polyhedron import ExactPoint, Face, Polyhedron, exact_array, exact_number, simple, snapped
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.matrices.violation import Number
from proofs_checks.verdict import DEFAULTS, Verdict

METHOD = "rank of the tight rows, exact"


@dataclass(frozen=True, eq=False)
class VertexCertificate:
    """The quantities of (1) at a point."""

    point: ExactPoint  # in exact numbers
    violated: Face | None  # the first row or bound that the point does not fulfil; None where it is feasible
    tight: tuple[Face, ...]  # the rows and bounds that hold with equality, rows first
    # rank, dimension: rank of the tight rows and bounds, and n.
    rank: int
    dimension: int
    # by name, where the rank is below n: from a feasible point one can move both ways along it and stay inside.
    direction: dict[str, Number] | None
    near: ExactPoint | None = None  # a vertex in fractions that the floats of a point which is none are next to

    @property
    def feasible(self) -> bool:
        """Whether all rows and bounds are fulfilled."""
        return self.violated is None

    @property
    def is_vertex(self) -> bool:
        """(1)."""
        return self.feasible and self.rank == self.dimension

    @property
    def is_integral(self) -> bool:
        """Whether all coordinates are whole."""
        return self.point.is_integral

    @property
    def fractional(self) -> tuple[str, Number] | None:
        """The first coordinate that is not whole, with its name."""
        places = self.point.fractional
        return (str(self.point.columns[places[0]]), self.point.value(int(places[0]))) if places.size else None

    def __str__(self) -> str:
        if self.near is not None:
            j = next(j for j, name in enumerate(self.near.columns) if self.near.value(j) != self.point.value(j))
            name, x = self.near.columns[j], self.near.value(j)
            told = f"{name} = {float(self.point.value(j))!r} stands for {x}"
            return f"floats next to a vertex, where {told}; give Fractions, such as those of `.near`"
        if self.violated is not None:
            return f"infeasible: {self.violated}"
        kind = "integral" if self.fractional is None else "fractional, {} = {}".format(*self.fractional)
        return f"{len(self.tight)} tight rows and bounds of rank {self.rank}, {self.dimension} variables; {kind}"


def check_vertex(polyhedron: Any, point: Any) -> Verdict:
    """Is the point a vertex of the polyhedron?

    Parameters
    ----------
    polyhedron
        see `proofs_checks.integrality.reading.read_polyhedron`.
    point
        one number for each column, in order or by name; a float counts as the decimal that it is written as, which is no third:
        give ``Fraction(1, 3)``.

    Returns
    -------
    Verdict
        certificate: `VertexCertificate`. None where floats are no vertex, but fractions within 1e-6 of them are: its ``near``,
        which can be given in their place.

    Raises
    ------
    InvalidInputError
        for a point of another size, and wherever `read_polyhedron` raises it.

    Examples
    --------
    >>> import prunemodels as pm
    >>> square = pm.checks.read_polyhedron([[1, 1]], row_upper=1, upper=1)  # x + y <= 1, both between 0 and 1
    >>> pm.checks.check_vertex(square, {"c0": 1, "c1": 0}).holds
    True
    >>> pm.checks.check_vertex(square, {"c0": 0.5, "c1": 0.5}).holds
    False
    >>> thirds = pm.checks.read_polyhedron([[1, 2], [2, 1]], row_upper=1)
    >>> verdict = pm.checks.check_vertex(thirds, [1 / 3, 1 / 3])
    >>> print(verdict.holds, verdict.certificate.near, sep=": ")
    None: c0 = 1/3, c1 = 1/3
    >>> pm.checks.check_vertex(thirds, verdict.certificate.near).holds
    True
    """
    body = read_polyhedron(polyhedron)
    certificate = vertex_certificate(body, body.point(point))
    holds: bool | None = certificate.is_vertex
    if not holds and _has_floats(point):
        near = next((p for p in _nearby(body, certificate.point, 1e-6) if vertex_certificate(body, p).is_vertex), None)
        if near is not None:
            holds, certificate = None, replace(certificate, near=near)
    rows, columns = body.shape
    return Verdict(
        f"the point is a vertex of the polyhedron of {rows:,} rows and {columns:,} columns", holds, METHOD, certificate
    )


def vertex_certificate(polyhedron: Polyhedron, point: ExactPoint) -> VertexCertificate:
    """(1) for a point: what is violated, what is tight, and of which rank."""
    tight = tuple(polyhedron.tight(point))
    rank, direction = rank_of(polyhedron, *polyhedron.tight_places(point))
    named = None if direction is None else {str(polyhedron.columns[j]): x for j, x in sorted(direction.items())}
    return VertexCertificate(point, polyhedron.violated(point), tight, rank, len(polyhedron.columns), named)


def rank_of(polyhedron: Polyhedron, rows: Iterable[int], columns: Iterable[int]) -> tuple[int, dict[int, Number] | None]:
    """The rank of some rows and of the bounds of some variables, and a direction along all of them where it is below n."""
    fixed = {int(j) for j in columns}
    rest = ({j: x for j, x in polyhedron.row(int(k)).items() if j not in fixed} for k in rows)
    rank, direction = rank_and_kernel(rest, (j for j in range(len(polyhedron.columns)) if j not in fixed))
    return rank + len(fixed), direction


SparseRow = dict[int, Number]


def rank_and_kernel(rows: Iterable[Mapping[int, Number]], columns: Iterable[int]) -> tuple[int, SparseRow | None]:
    """The rank of sparse rows, and d of (2) by column; None where there is none. `columns` are all, with entries or without."""
    pivots: dict[int, SparseRow] = {}
    for given in rows:
        row = {j: simple(x) for j, x in given.items() if x}
        for j in [j for j in row if j in pivots]:
            _subtract(row, row[j], pivots[j])
        if not row:
            continue
        pivot = min(row, key=lambda j: (abs(row[j]) != 1, j))
        unit = row[pivot]
        row = {j: simple(Fraction(x) / unit) for j, x in row.items()}
        for other in pivots.values():  # no pivot's column stands in another pivot's row
            if pivot in other:
                _subtract(other, other[pivot], row)
        pivots[pivot] = row
    free = next((j for j in columns if j not in pivots), None)
    if free is None:
        return len(pivots), None
    return len(pivots), {free: 1, **{j: -row[free] for j, row in pivots.items() if free in row}}


def _subtract(row: SparseRow, factor: Number, other: SparseRow) -> None:
    """SparseRow less a multiple of another, in place."""
    for j, x in other.items():
        entry = simple(row.get(j, 0) - factor * x)
        if entry:
            row[j] = entry
        else:
            row.pop(j, None)


WEAK_METHOD = "one point, verified in fractions"


@dataclass(frozen=True, eq=False)
class WeakRelaxation:
    """(3) in numbers."""

    value: Fraction  # cost x + offset at the point, exactly: at least the relaxation's optimum
    optimum: Fraction  # of the integer program, as it was given
    allowance: Fraction  # how far the rounding of the program's costs may move the optimum; the gap must be larger
    point: ExactPoint  # the point, in fractions
    n_fractional: int  # how many coordinates are not whole
    most_fractional: dict[str, Number]  # the farthest of them from whole numbers, at most five, by name
    violated: Face | None  # a row or bound that the point does not fulfil; None where it is feasible

    @property
    def gap(self) -> Fraction:
        """The optimum less the value."""
        return self.optimum - self.value

    @property
    def denominator(self) -> int:
        """The point's common denominator."""
        return self.point.denominator

    def __str__(self) -> str:
        if self.violated is not None:
            return f"the point is not in the relaxation: {self.violated}"
        names = ", ".join(f"{name} = {x}" for name, x in self.most_fractional.items()) or "none"
        return (
            f"value {float(self.value):.9g} against {float(self.optimum):.9g}, gap {float(self.gap):.3g} "
            f"(rounding of the costs: {float(self.allowance):.1g}); "
            f"{self.n_fractional:,} of {len(self.point):,} coordinates fractional, {names}"
        )


@checked
def check_weak_relaxation(
    program: LinearProgram, point: Any, proven_optimum: Fraction | float, *, allowance: Fraction | float | None = None
) -> Verdict:
    """Does the point show that the relaxation's optimum is strictly below that of the integer program?

    Parameters
    ----------
    program
        a minimisation; its integrality is dropped.
    point
        of the relaxation, best an optimal vertex: floats or exact numbers, one for each column, in order or by name.
    proven_optimum
        of the integer program, or a proven lower bound of it, in the units of ``cost x + offset``.
    allowance
        the gap must exceed it. Default: what rounding the program's costs to float64, three operations each, can change in
        any point's value, ``2^-50 (|offset| + sum |cost_j| max(|lower_j|, |upper_j|))``.

    Returns
    -------
    Verdict
        certificate: `WeakRelaxation`. None where no fractions near the point are feasible, or the gap is within the
        allowance; False where the value is not below, or the point is integral.

    Raises
    ------
    InvalidInputError
        for a point of another size, numbers that are not finite, an allowance below 0, and an integral point below the "proven
        optimum", which is then no lower bound.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> optimum = pm.solve(problem, lam=0.01).bound
    >>> relaxation = pm.programs.solve_relaxation(problem, 0.01, formulation="IP1")
    >>> pm.checks.check_weak_relaxation(relaxation.program, relaxation.point, optimum).holds
    True
    """
    body = read_polyhedron(program)
    exact, violated = _feasible_fractions(body, point)
    cost = exact_array(program.cost, "cost")
    offset = Fraction(exact_number(program.offset, "offset"))
    value = Fraction(sum(cost * exact.numerators, Fraction(0))) / exact.denominator + offset
    optimum = Fraction(exact_number(proven_optimum, "proven_optimum"))
    slack = _rounding(program) if allowance is None else Fraction(exact_number(allowance, "allowance"))
    if slack < 0:
        raise InvalidInputError(f"allowance is {allowance!r}, negative; give a number >= 0")
    certificate = WeakRelaxation(value, optimum, slack, exact, len(exact.fractional), _most_fractional(exact), violated)
    below, integral = value + slack < optimum, exact.is_integral
    if below and integral and violated is None:
        raise InvalidInputError(
            f"proven_optimum is {float(optimum)!r}, but the point is integral and has the value {float(value)!r}: that is no "
            "lower bound of the integer program; pass the bound of a solver that proves it"
        )
    holds: bool | None = below
    if violated is not None or (not below and value < optimum and not integral):
        holds = None
    rows, columns = body.shape
    claim = f"the point shows the relaxation of {rows:,} rows and {columns:,} columns to be below the integer optimum"
    return Verdict(claim, holds, WEAK_METHOD, certificate)


def _has_floats(point: Any) -> bool:
    """Whether a number of the point is a float, which stands for a decimal of at most 17 digits."""
    if isinstance(point, ExactPoint):
        return False
    values = point.amounts if isinstance(point, Named) else [*point.values()] if isinstance(point, Mapping) else point
    return any(isinstance(x, float | np.floating) for x in np.asarray(values, dtype=object).ravel())


def _nearby(body: Polyhedron, given: ExactPoint, farthest: float) -> Iterator[ExactPoint]:
    """Points with small denominators, and no coordinate farther from the given than that."""
    floats = np.array([x / given.denominator for x in given.numerators], dtype=np.float64)
    for largest in DEFAULTS.denominators:
        fractions = snapped(floats, largest)
        if (np.abs(fractions.astype(np.float64) - floats) <= farthest).all():
            yield body.point(fractions)


def _feasible_fractions(body: Polyhedron, point: Any) -> tuple[ExactPoint, Face | None]:
    """The point as given if it is feasible, else one near it with small denominators; if neither is, what the first violates."""
    given = body.point(point)
    first = body.violated(given)
    if first is None:
        return given, None
    near = next((p for p in _nearby(body, given, np.inf) if body.violated(p) is None), None)
    return (given, first) if near is None else (near, None)


def _rounding(program: LinearProgram) -> Fraction:
    """An upper bound of what rounding the costs can change; columns without a cost add nothing, even without bounds."""
    widest = np.maximum(np.abs(program.lower), np.abs(program.upper))
    size = np.abs(program.cost)
    priced = size > 0
    total = float(size[priced] @ widest[priced]) + abs(program.offset)
    if not np.isfinite(total):
        raise InvalidInputError("the program has a priced column without bounds; pass allowance= for the rounding of its costs")
    return Fraction(total) / 2**50


def _most_fractional(point: ExactPoint) -> dict[str, Number]:
    """At most five coordinates, by distance from whole numbers, then by place."""
    d = point.denominator
    places = sorted(point.fractional.tolist(), key=lambda j: (-min(point.numerators[j] % d, -point.numerators[j] % d), j))
    return {str(point.columns[j]): point.value(j) for j in places[:5]}
