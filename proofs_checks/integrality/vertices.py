"""All vertices of a small polyhedron, exactly; and whether they are integral.

The polyhedron  {x : a x <= b, e x = f}  is the slice x_0 = 1 of the cone

    { (x_0, x) :   b x_0 - a x >= 0,   e x - f x_0 = 0,   x_0 >= 0 },                                              (1)

whose extreme rays are its vertices (x_0 > 0, over x_0) and its unbounded directions (x_0 = 0).

A polyhedron with vertices is integral (the convex hull of its integral points) if and only if all its vertices are
(Schrijver 1986, section 16.3); then every linear program over it that has an optimum has an integral one.

Another reason to be integral, with all vertices as a cross-check:

    totally unimodular, with whole sides of rows and bounds of variables (Hoffman and Kruskal 1956)                       (2)

This suffices for integral vertices and is not necessary. Conversely, where a matrix is not totally unimodular, some whole sides b
give { x >= 0 : A x <= b } a fractional vertex x. With V, a violating submatrix of order k, all other variables being 0 and the k
variables of V being

    v + w,    v a column of the inverse of V that is not whole, w whole and large enough,                                 (3)

V's rows have the whole sides V (v + w), and all other rows any whole sides that are large enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError, SolverFailedError
from proofs_checks.integrality.double_description import extreme_rays
from proofs_checks.integrality.polyhedron import ExactArray, ExactPoint, Polyhedron, common_denominator
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import Number, ViolatingSubmatrix, determinant
from proofs_checks.total_unimodularity.decide import check_total_unimodularity
from proofs_checks.verdict import DEFAULTS, Verdict


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


@dataclass(frozen=True, eq=False)
class Reasons:
    """What was found."""

    vertices: Any  # of all vertices: a `VertexCount`, or why they were not listed
    matrix: (
        Verdict | None
    )  # whether the matrix is totally unimodular; None where a side is not whole, so that it would be no reason

    def __str__(self) -> str:
        return str(self.vertices) if self.matrix is None else f"{self.vertices}\n{_in_words(self.matrix)}"


def _in_words(verdict: Verdict) -> str:
    """The answer in a sentence, and a matrix that shows it below the sentence."""
    answer = {True: "yes", False: "no", None: "undecided"}[verdict.holds]
    evidence = str(verdict.certificate)
    if "\n" in evidence:
        return f"{verdict.claim}: {answer}, by {verdict.method}:\n\n{evidence}\n"
    return f"{verdict.claim}: {answer} ({verdict.method}; {evidence})"


@checked
def check_integrality(polyhedron: Any, *, most_rays: Count = DEFAULTS.most_rays) -> Verdict:
    """Are all vertices of the polyhedron integral, and for which reason?

    Parameters
    ----------
    polyhedron
        see `proofs_checks.integrality.reading.read_polyhedron`.
    most_rays
        see `proofs_checks.integrality.vertices.vertices`. Beyond it the vertices are not listed, and only a reason shows a yes.

    Returns
    -------
    Verdict
        method: total unimodularity where (2) holds, or that no general reason is known. certificate: `Reasons`.

    Raises
    ------
    SolverFailedError
        if a vertex is fractional in spite of (2): a fault of this package.

    Examples
    --------
    >>> import prunemodels as pm
    >>> triangle = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> bool(pm.checks.check_integrality(pm.checks.read_polyhedron(triangle, row_upper=1)))
    False
    >>> pm.checks.check_integrality(pm.checks.read_polyhedron(triangle[:2], row_upper=1)).method
    'the matrix with 2 rows and 3 columns is totally unimodular'
    """
    body = read_polyhedron(polyhedron)
    claim = f"all vertices of the polyhedron of {body.shape[0]:,} rows and {body.shape[1]:,} columns are integral"
    answer: bool | None = None
    listed: Any
    try:
        verdict = check_integral_vertices(body, most_rays=most_rays)
        answer, listed = verdict.holds, verdict.certificate
    except InvalidInputError as error:
        listed = f"the vertices were not listed: {error}"
    sides = (*body.row_lower, *body.row_upper, *body.lower, *body.upper)
    whole = all(isinstance(x, int) or not math.isfinite(x) for x in sides)
    reason = check_total_unimodularity(body.matrix()) if whole else None
    if reason and answer is False:
        raise SolverFailedError(f"a vertex is fractional although {reason.claim}; please report the polyhedron")
    if reason:
        answer, method = True, reason.claim
    else:
        words = {True: "every vertex; no general reason is known", False: "every vertex", None: "no reason, too many vertices"}
        method = words[answer]
    return Verdict(claim, answer, method, Reasons(listed, reason))


@checked
def fractional_vertex(matrix: Any, violating: ViolatingSubmatrix) -> tuple[Polyhedron, ExactPoint]:
    """Whole right-hand sides b for which { x >= 0 : A x <= b } has a fractional vertex, by (3).

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`: A, with entries -1, 0 and 1.
    violating
        a submatrix of it with a determinant other than -1, 0 and 1.

    Returns
    -------
    tuple
        the polyhedron, and the vertex.

    Examples
    --------
    >>> import prunemodels as pm
    >>> odd = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> violating = pm.checks.check_total_unimodularity(odd).certificate
    >>> polyhedron, vertex = pm.checks.fractional_vertex(odd, violating)
    >>> dict(vertex)
    {'c0': Fraction(1, 2), 'c1': Fraction(1, 2), 'c2': Fraction(1, 2)}
    """
    given = read_matrix(matrix)
    entries, order = violating.entries, violating.order
    if given.other is not None or violating.determinant in (-1, 0, 1):
        raise InvalidInputError("give a matrix of -1, 0 and 1, and a submatrix whose determinant is none of these")
    v: list[Fraction] = []
    for row in range(order):  # Cramer's rule for column `row` of the inverse
        v = []
        for j in range(order):
            minor = [[x for c, x in enumerate(line) if c != j] for i, line in enumerate(entries) if i != row]
            v.append(Fraction((-1) ** (row + j) * determinant(minor)) / violating.determinant)
        if any(x.denominator > 1 for x in v):
            break
    x = np.full(given.shape[1], Fraction(0), dtype=object)
    x[list(violating.columns)] = [y - min(0, math.floor(y)) for y in v]
    product = given.dense().astype(object) @ x
    sides = [math.ceil(y) for y in product]
    polyhedron = read_polyhedron(given.dense(), row_upper=sides, rows=list(given.rows), columns=list(given.columns))
    return polyhedron, polyhedron.point(x.tolist())
