"""Is a polyhedron integral, and is it for total unimodularity; with all vertices as a cross-check.

    totally unimodular, with whole sides of rows and bounds of variables (Hoffman and Kruskal 1956)                       (1)

This suffices for integral vertices and is not necessary. Conversely, where a matrix is not totally unimodular, some whole sides b
give { x >= 0 : A x <= b } a fractional vertex x. With V, a violating submatrix of order k, all other variables being 0 and the k
variables of V being

    v + w,    v a column of the inverse of V that is not whole, w whole and large enough,                                 (2)

V's rows have the whole sides V (v + w), and all other rows any whole sides that are large enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError, SolverFailedError
from proofs_checks.integrality.polyhedron import ExactPoint, Polyhedron
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.vertices import check_integral_vertices
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, determinant
from proofs_checks.params import DEFAULTS
from proofs_checks.total_unimodularity.decide import check_total_unimodularity
from proofs_checks.verdict import Verdict


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
        method: total unimodularity where (1) holds, or that no general reason is known. certificate: `Reasons`.

    Raises
    ------
    SolverFailedError
        if a vertex is fractional in spite of (1): a fault of this package.

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
    """Whole right-hand sides b for which { x >= 0 : A x <= b } has a fractional vertex, by (2).

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
