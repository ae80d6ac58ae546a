"""How often is the optimum over a polyhedron fractional? Many objectives at once.

With all vertices v known, the least c v for all objectives c is one matrix product,

    min over vertices  (c numerators_v) (D / denominator_v),        D a common denominator,                          (1)

in whole numbers. Where there are too many vertices, HiGHS solves one linear program after the other, each warm-started from the
last. The vertex that it returns is replaced by fractions and verified exactly: it must be feasible, with tight rows of full rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from proofs_checks.integrality.polyhedron import ExactPoint, Polyhedron, snapped
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.vertex import rank_of
from proofs_checks.integrality.vertices import Vertices

BLOCK = 2**22
"""Values in memory at a time."""

LARGEST_DENOMINATOR = 1000
"""A coordinate from HiGHS is replaced by the nearest fraction with at most this denominator."""


@dataclass(frozen=True, eq=False)
class ObjectiveStudy:
    """How many of k objectives, minimised over a polytope, have fractional optima.

    Parameters
    ----------
    n_objectives
        k.
    only_fractional
        objectives whose optima are all fractional: below the best integral point. None if solved one by one.
    some_fractional
        objectives with a fractional vertex among their optima; if solved one by one, those whose vertex was fractional.
    unverified
        if solved one by one: answers near which no vertex with small denominators was found; they are in neither count.
    example
        an objective and its fractional optimum, of the first kind if there is one; None where none is fractional.
    largest_loss
        the largest (best integral value - least value) / (range of the objective's values over the vertices), of all
        objectives; None where it was not known.
    method
        how the optima were found.
    """

    n_objectives: int
    only_fractional: int | None
    some_fractional: int
    unverified: int
    example: tuple[NDArray[Any], ExactPoint] | None
    largest_loss: Fraction | None
    method: str

    @property
    def share_only_fractional(self) -> float | None:
        """Share of the objectives whose optima are all fractional."""
        return None if self.only_fractional is None else self.only_fractional / max(self.n_objectives, 1)

    @property
    def share_some_fractional(self) -> float:
        """Share of the objectives with a fractional optimum."""
        return self.some_fractional / max(self.n_objectives, 1)

    def __str__(self) -> str:
        only = "" if self.only_fractional is None else f"for {self.share_only_fractional:.4%} all optima are fractional, "
        return f"{self.n_objectives:,} objectives: {only}for {self.share_some_fractional:.4%} a fractional vertex is optimal"


@checked
def optima_of_random_objectives(polyhedron: Any, objectives: Any, vertices: Vertices | None = None) -> ObjectiveStudy:
    """Which of many objectives have fractional optima?

    Parameters
    ----------
    polyhedron
        bounded; see `proofs_checks.integrality.reading.read_polyhedron`.
    objectives
        integers, shape (k, n), to be minimised; see `proofs_checks.integrality.objectives`.
    vertices
        all vertices, see `proofs_checks.integrality.vertices.vertices`: then (1) applies. None: HiGHS solves them one by one.

    Raises
    ------
    InvalidInputError
        for objectives that are not integers, sizes that do not fit, a polyhedron that is empty or unbounded.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> polyhedron = pm.checks.read_polyhedron(pm.programs.FORMULATIONS["IP1"](two_trees(), lam=1, relax=True))
    >>> objectives = pm.checks.arbitrary_objectives(len(polyhedron.columns), 1000, seed=0)
    >>> study = pm.checks.optima_of_random_objectives(polyhedron, objectives, pm.checks.vertices(polyhedron))
    >>> print(f"{study.only_fractional} of {study.n_objectives} objectives have only fractional optima")
    115 of 1000 objectives have only fractional optima
    """
    body = read_polyhedron(polyhedron)
    c = _checked(objectives, body)
    if vertices is None:
        return _one_by_one(body, c)
    if vertices.numerators.shape[1] != len(body.columns) or not len(vertices) or not vertices.bounded:
        raise InvalidInputError(f"vertices are {vertices!r}; give those of this polyhedron, bounded and not empty")
    return _all_at_once(c, vertices)


def _checked(objectives: Any, body: Polyhedron) -> NDArray[Any]:
    """The objectives as int64 or Python's integers, after checking their shape and type."""
    c = np.asarray(objectives)
    if c.ndim != 2 or c.shape[1] != len(body.columns):
        raise InvalidInputError(f"objectives have the shape {c.shape}; give (k, {len(body.columns)}), a coefficient a column")
    if c.dtype.kind not in "iuO" or (c.dtype == object and not all(isinstance(x, int) for x in c.flat)):
        raise InvalidInputError(f"objectives are {c.dtype}; clear their denominators and give integers")
    return c.astype(np.int64) if c.dtype.kind == "i" else c.astype(object)


def _all_at_once(c: NDArray[Any], found: Vertices) -> ObjectiveStudy:
    """(1), block by block."""
    only = some = 0
    example: tuple[NDArray[Any], ExactPoint] | None = None
    fractional, integral = np.flatnonzero(~found.is_integral), np.flatnonzero(found.is_integral)
    loss = Fraction(0) if integral.size else None
    for start, values in _values(c, found) if fractional.size else ():
        least = values[:, fractional].min(axis=1)
        best = values[:, integral].min(axis=1) if integral.size else None
        strict = np.ones(len(values), dtype=bool) if best is None else least < best
        optimal = strict if best is None else least <= best
        for chosen, known in ((strict, only), (optimal, some)):  # the first of the better kind
            if chosen.any() and not known and (chosen is strict or example is None):
                k = int(np.argmax(chosen))
                example = c[start + k].copy(), found[int(fractional[np.argmin(values[k, fractional])])]
        only += int(strict.sum())
        some += int(optimal.sum())
        if best is not None and strict.any():
            loss = max(loss or Fraction(0), _largest_loss(values[strict], least[strict], best[strict]))
    return ObjectiveStudy(len(c), only, some, 0, example, loss, f"all {len(found):,} vertices")


def _values(c: NDArray[Any], found: Vertices) -> Iterator[tuple[int, NDArray[Any]]]:
    """(1) for blocks of objectives: whole numbers, as float64 where all sums stay below 2^53, where that is exact."""
    common = math.lcm(*(int(d) for d in found.denominators))
    if common != 1:
        scaled = np.array(
            [[int(x) * (common // int(d)) for x in v] for v, d in zip(found.numerators, found.denominators, strict=True)],
            dtype=object,
        )
    else:
        scaled = found.numerators.astype(object)
    largest = [max((abs(int(x)) for x in (a.max(initial=0), a.min(initial=0))), default=0) for a in (c, scaled)]
    kind: Any = np.float64 if c.shape[1] * largest[0] * largest[1] < 2**53 else object
    points = scaled.T.astype(kind)
    step = max(1, BLOCK // max(points.shape[1], 1))
    for start in range(0, len(c), step):
        yield start, c[start : start + step].astype(kind) @ points


def _largest_loss(values: NDArray[Any], least: NDArray[Any], best: NDArray[Any]) -> Fraction:
    """The largest (best - least) / (largest - least), exactly: floats find the candidate."""
    spread = values.max(axis=1) - least
    k = int(np.argmax(((best - least) / spread).astype(np.float64)))
    return Fraction(int(best[k] - least[k]), int(spread[k]))


def _one_by_one(body: Polyhedron, c: NDArray[Any]) -> ObjectiveStudy:
    """Solve for each objective with HiGHS, and verify every vertex."""
    some = unverified = 0
    example: tuple[NDArray[Any], ExactPoint] | None = None
    seen = dict[bytes, ExactPoint | None]()
    solver = _loaded(body)
    for objective in c:
        x = _solved(solver, objective)
        key = (np.round(x, 9) + 0.0).tobytes()  # -0.0 is 0.0
        if key not in seen:
            seen[key] = _verified_vertex(body, x)
        point = seen[key]
        if point is None:
            unverified += 1
        elif not point.is_integral:
            some += 1
            example = example or (objective.copy(), point)
    return ObjectiveStudy(len(c), None, some, unverified, example, None, f"HiGHS, {len(seen):,} vertices verified exactly")


def _verified_vertex(body: Polyhedron, x: NDArray[np.float64]) -> ExactPoint | None:
    """The exact vertex that a solver's floats stand for; None if the fractions near them are no vertex."""
    point = body.point(snapped(x, LARGEST_DENOMINATOR))
    if body.violated(point) is not None:
        return None
    rank, _ = rank_of(body, *body.tight_places(point))
    return point if rank == len(body.columns) else None


def _loaded(body: Polyhedron) -> Any:
    """The polyhedron in HiGHS, with objective 0."""
    highspy = package("highspy")

    lower, upper, row_lower, row_upper, entry = (
        np.array([float(x) for x in a], dtype=np.float64)
        for a in (body.lower, body.upper, body.row_lower, body.row_upper, body.entry)
    )
    solver = highspy.Highs()
    solver.silent()
    solver.addVars(len(lower), lower, upper)
    start, index = body.start[:-1].astype(np.int32), body.index.astype(np.int32)
    solver.addRows(len(row_lower), row_lower, row_upper, len(entry), start, index, entry)
    solver.setOptionValue("solver", "simplex")
    solver.setOptionValue("presolve", "off")
    return solver


def _solved(solver: Any, objective: NDArray[Any]) -> NDArray[np.float64]:
    """The vertex that minimises an objective."""
    highspy = package("highspy")

    cost = objective.astype(np.float64)
    solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise InvalidInputError(
            f"HiGHS finds no optimum for an objective ({solver.modelStatusToString(status)}); the polyhedron must be bounded and "
            "not empty"
        )
    return np.array(solver.getSolution().col_value, dtype=np.float64)
