"""Is a point a vertex: feasible, with tight rows and bounds of full rank?

    x is a vertex of {x : A x <= b}   if and only if   A x <= b and rank {a_i : a_i x = b_i} = n                  (1)

(Schrijver 1986, section 8.5). A tight bound is a row e_j, so it fixes column j, and only the other columns are eliminated, by
Gauss-Jordan elimination in fractions on sparse rows.

    rank A < n     if and only if     A d = 0 for some d that is not 0                                              (2)

so a rank below n has a certificate of n numbers, as full rank has one of n pivots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from proofs_checks.integrality.polyhedron import ExactPoint, Face, Polyhedron, simple
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.matrices.violation import Number
from proofs_checks.verdict import Verdict

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

    @property
    def feasible(self) -> bool:
        """Whether all rows and bounds are fulfilled."""
        return self.violated is None

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
        one number for each column, in order or by name; a float counts as the decimal that it is written as.

    Returns
    -------
    Verdict
        certificate: `VertexCertificate`.

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
    """
    body = read_polyhedron(polyhedron)
    certificate = vertex_certificate(body, body.point(point))
    holds = certificate.feasible and certificate.rank == certificate.dimension
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
