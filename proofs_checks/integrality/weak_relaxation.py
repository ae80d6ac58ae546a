"""A relaxation that is below the optimum of its integer program, shown by one point.

    x in the relaxation  and  cost x < optimum    =>    the relaxation has no integral optimum                        (1)

The point may come from any solver, in floats: it is replaced by fractions with small denominators, and these are verified
exactly, row by row. Nothing is assumed of the solver, not even that its point is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.programs.linear_program import LinearProgram
from proofs_checks.integrality.polyhedron import ExactPoint, Face, Polyhedron, exact_array, exact_number, snapped
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.matrices.violation import Number
from proofs_checks.verdict import Verdict

METHOD = "one point, verified in fractions"

DENOMINATORS = (16, 256, 4096, 10**6)
"""Largest denominators to try, one after the other, until the point fulfils all rows."""


@dataclass(frozen=True, eq=False)
class WeakRelaxation:
    """(1) in numbers."""

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
    return Verdict(claim, holds, METHOD, certificate)


def _feasible_fractions(body: Polyhedron, point: Any) -> tuple[ExactPoint, Face | None]:
    """The point as given if it is feasible, else one near it with small denominators; if neither is, what the first violates."""
    given = body.point(point)
    first = body.violated(given)
    if first is None:
        return given, None
    floats = np.array([x / given.denominator for x in given.numerators], dtype=np.float64)
    for largest in DENOMINATORS:
        near = body.point(snapped(floats, largest))
        if body.violated(near) is None:
            return near, None
    return given, first


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
