"""Is a polyhedron integral? For small ones, by looking at all vertices.

A polyhedron with vertices is integral (the convex hull of its integral points) if and only if all its vertices are
(Schrijver 1986, section 16.3); then every linear program over it that has an optimum has an integral one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.arguments import Count, checked
from proofs_checks.integrality.polyhedron import ExactPoint
from proofs_checks.integrality.vertices import LIMIT, Vertices, vertices
from proofs_checks.verdict import Verdict


@dataclass(frozen=True, eq=False)
class VertexCount:
    """How many vertices there are, and how many of them are fractional.

    Parameters
    ----------
    n_vertices, n_fractional
        all, and those with a coordinate that is not whole.
    example
        a fractional vertex, one with the fewest coordinates that are not whole; None where there is none.
    denominators
        number of vertices by least common denominator.
    n_directions
        extreme rays of the recession cone: 0 where the polyhedron is bounded.
    """

    n_vertices: int
    n_fractional: int
    example: ExactPoint | None
    denominators: Mapping[int, int]
    n_directions: int

    def __str__(self) -> str:
        if not self.n_vertices:
            return "the polyhedron is empty"
        if self.example is None:
            return f"{self.n_vertices:,} vertices, all integral"
        return f"{self.n_vertices:,} vertices, {self.n_fractional:,} of them fractional, such as {self.example}"


@checked
def check_integral_vertices(polyhedron: Any, *, limit: Count = LIMIT) -> Verdict:
    """Are all vertices of the polyhedron integral?

    Parameters
    ----------
    polyhedron
        see `proofs_checks.integrality.reading.read_polyhedron`; or its `Vertices`, where they are known.
    limit
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
    >>> from formulations.instance.papers import two_trees
    >>> model = pm.programs.FORMULATIONS["IP3"](two_trees(), lam=1, relax=True)
    >>> print(pm.checks.check_integral_vertices(pm.checks.read_polyhedron(model)).certificate)
    38 vertices, all integral
    """
    found = polyhedron if isinstance(polyhedron, Vertices) else vertices(polyhedron, limit=limit)
    rows, columns = found.polyhedron.shape
    fractional = np.flatnonzero(~found.is_integral)
    example = min((found[int(k)] for k in fractional), key=lambda point: len(point.fractional), default=None)
    denominators = dict(sorted(Counter(int(d) for d in found.denominators).items()))
    count = VertexCount(len(found), len(fractional), example, denominators, len(found.directions))
    claim = f"all vertices of the polyhedron of {rows:,} rows and {columns:,} columns are integral"
    return Verdict(claim, example is None, "double description in integers, every vertex", count)
