"""All vertices of a small polyhedron, exactly; and whether they are integral.

The polyhedron  {x : a x <= b, e x = f}  is the slice x_0 = 1 of the cone

    { (x_0, x) :   b x_0 - a x >= 0,   e x - f x_0 = 0,   x_0 >= 0 },                                              (1)

whose extreme rays are its vertices (x_0 > 0, over x_0) and its unbounded directions (x_0 = 0).

A polyhedron with vertices is integral (the convex hull of its integral points) if and only if all its vertices are
(Schrijver 1986, section 16.3); then every linear program over it that has an optimum has an integral one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from proofs_checks.integrality.double_description import extreme_rays
from proofs_checks.integrality.polyhedron import ExactArray, ExactPoint, Polyhedron, common_denominator
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.matrices.violation import Number
from proofs_checks.params import DEFAULTS
from proofs_checks.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Vertices:
    """The k vertices of a polyhedron, and its unbounded directions.

    Parameters
    ----------
    polyhedron
        the polyhedron itself.
    numerators
        int64 or Python's integers, shape (k, n).
    denominators
        shape (k,): vertex i is ``numerators[i] / denominators[i]``, in lowest terms.
    directions
        integers, shape (d, n): the extreme rays of the recession cone; none where the polyhedron is bounded.
    most_rays
        the largest number of rays at any step, to compare with the limit.
    """

    polyhedron: Polyhedron
    numerators: NDArray[Any]
    denominators: NDArray[Any]
    directions: NDArray[Any]
    most_rays: int

    def __len__(self) -> int:
        return len(self.denominators)

    def __getitem__(self, k: int) -> ExactPoint:
        return ExactPoint(self.polyhedron.columns, self.numerators[k].astype(object), int(self.denominators[k]))

    def __iter__(self) -> Iterator[ExactPoint]:
        return (self[k] for k in range(len(self)))

    @property
    def is_integral(self) -> NDArray[np.bool_]:
        """Which vertices are integral, shape (k,)."""
        integral: NDArray[np.bool_] = (self.denominators == 1).astype(bool)
        return integral

    @property
    def bounded(self) -> bool:
        """Whether the polyhedron is a polytope."""
        return not len(self.directions)

    def __repr__(self) -> str:
        fractional = len(self) - int(self.is_integral.sum())
        return f"Vertices({len(self):,}, {fractional:,} of them fractional)"


@checked
def vertices(polyhedron: Any, *, most_rays: Count = DEFAULTS.most_rays) -> Vertices:
    """Enumerate all vertices, by double description in integers.

    The time grows with the square to cube of the number of rays: half a second for 9,000, ten seconds for 48,000 (measured).

    Parameters
    ----------
    polyhedron
        see `proofs_checks.integrality.reading.read_polyhedron`.
    most_rays
        largest number of rays at any step, and so of vertices.

    Raises
    ------
    InvalidInputError
        for a polyhedron with more, and for one that contains a line: it has no vertices.

    Examples
    --------
    >>> import prunemodels as pm
    >>> square = pm.checks.read_polyhedron([[1, 1]], row_upper=1, upper=1)
    >>> pm.checks.vertices(square)
    Vertices(3, 0 of them fractional)
    """
    body = read_polyhedron(polyhedron)
    entries = (len(body.rows) + len(body.columns)) * (len(body.columns) + 1)
    if entries > DEFAULTS.most_dense_entries:
        raise InvalidInputError(
            f"{len(body.rows):,} rows and {len(body.columns):,} columns have {entries:,} entries with the bounds, zeros "
            f"included; vertices are listed up to {DEFAULTS.most_dense_entries:,}"
        )
    equations, inequalities = _homogeneous(body)
    cone = extreme_rays(equations, inequalities, most_rays)
    is_vertex = cone.rays[:, 0] > 0
    if is_vertex.any() and len(cone.lines):
        line = {str(body.columns[j]): int(x) for j, x in enumerate(cone.lines[0][1:]) if x}
        raise InvalidInputError(f"the polyhedron contains a line, along {line}, so it has no vertices; give the variables bounds")
    if not is_vertex.any():  # the polyhedron is empty, so directions mean nothing
        no_rows = np.zeros((0, len(body.columns)), dtype=np.int64)
        return Vertices(body, no_rows, np.zeros(0, dtype=np.int64), no_rows, cone.most_rays)
    found, directions = cone.rays[is_vertex], cone.rays[~is_vertex]
    return Vertices(body, found[:, 1:], found[:, 0], directions[:, 1:], cone.most_rays)


def _homogeneous(body: Polyhedron) -> tuple[NDArray[Any], NDArray[Any]]:
    """(1): equations and inequalities as integers, x_0 first; x_0 >= 0 is the first inequality."""
    n = len(body.columns)
    equations, inequalities = [], [_integers([1] + [0] * n)]
    rows: list[tuple[dict[int, Number], Any, Any]] = [
        (body.row(k), body.row_lower[k], body.row_upper[k]) for k in range(len(body.rows))
    ]
    rows += [({j: 1}, body.lower[j], body.upper[j]) for j in range(n)]
    for entries, lower, upper in rows:
        dense: list[Number] = [0] * n
        for j, x in entries.items():
            dense[j] = x
        if lower == upper:
            equations.append(_integers([-lower, *dense]))
            continue
        if lower != -np.inf:
            inequalities.append(_integers([-lower, *dense]))
        if upper != np.inf:
            inequalities.append(_integers([upper, *(-x for x in dense)]))
    return _rows(equations, n + 1), _rows(inequalities, n + 1)


def _integers(row: Sequence[Number]) -> list[int]:
    """A row times its common denominator."""
    scale = common_denominator(row)
    return [int(x * scale) for x in row]


def _rows(rows: list[list[int]], width: int) -> NDArray[Any]:
    """int64 where all entries fit, else Python's integers."""
    array: ExactArray = np.array(rows, dtype=object).reshape(len(rows), width)
    largest = max((abs(x) for row in rows for x in row), default=0)
    return array.astype(np.int64) if largest < 2**31 else array


@dataclass(frozen=True, eq=False)
class VertexCount:
    """How many vertices there are, and how many of them are fractional."""

    # n_vertices, n_fractional: all, and those with a coordinate that is not whole.
    n_vertices: int
    n_fractional: int
    # a fractional vertex, one with the fewest coordinates that are not whole; None where there is none.
    example: ExactPoint | None
    denominators: Mapping[int, int]  # number of vertices by least common denominator
    n_directions: int  # extreme rays of the recession cone: 0 where the polyhedron is bounded

    def __str__(self) -> str:
        if not self.n_vertices:
            return "the polyhedron is empty"
        if self.example is None:
            return f"{self.n_vertices:,} vertices, all integral"
        return f"{self.n_vertices:,} vertices, {self.n_fractional:,} of them fractional, such as {self.example}"


@checked
def check_integral_vertices(polyhedron: Any, *, most_rays: Count = DEFAULTS.most_rays) -> Verdict:
    """Are all vertices of the polyhedron integral?

    Parameters
    ----------
    polyhedron
        see `proofs_checks.integrality.reading.read_polyhedron`; or its `Vertices`, where they are known.
    most_rays
        see `proofs_checks.integrality.vertices.vertices`.

    Returns
    -------
    Verdict
        certificate: `VertexCount`. An empty polyhedron is integral.

    Raises
    ------
    InvalidInputError
        if there are too many rays, or if the polyhedron contains a line and so has no vertex.

    Examples
    --------
    >>> import prunemodels as pm
    >>> model = pm.programs.FORMULATIONS["IP3"](pm.datasets.two_trees(), lam=1, relax=True)
    >>> print(pm.checks.check_integral_vertices(pm.checks.read_polyhedron(model)).certificate)
    38 vertices, all integral
    """
    found = polyhedron if isinstance(polyhedron, Vertices) else vertices(polyhedron, most_rays=most_rays)
    rows, columns = found.polyhedron.shape
    fractional = np.flatnonzero(~found.is_integral)
    example = min((found[int(k)] for k in fractional), key=lambda point: len(point.fractional), default=None)
    denominators = dict(sorted(Counter(int(d) for d in found.denominators).items()))
    count = VertexCount(len(found), len(fractional), example, denominators, len(found.directions))
    claim = f"all vertices of the polyhedron of {rows:,} rows and {columns:,} columns are integral"
    return Verdict(claim, example is None, "double description in integers, every vertex", count)
