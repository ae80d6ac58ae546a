"""Objectives to try a polyhedron with, any integers and those that data can produce; and how often their optima are fractional.

Drawing **data** instead of coefficients: every tree's error sample is W rows over its leaves and classes, cells drawn at random
(a bootstrap of its own, so that trees may differ); e_h counts those outside the majority class of the rows below h. Items have
prices c_m >= 0, cost rows weights omega_i > 0, and lambda > 0. With T trees and N = sum of omega_i, (OBJ) of
`formulations.instance.problem` in whole numbers is, at lambda = mu N / (T W q) for integers mu, q > 0,

    T W q (OBJ)  =  sum_h q e_h z_h  +  sum mu c_m omega_i w_{m,i}  +  sum_{m paid once} mu N c_m w_{m,all}             (1)

and in terms of splits, z_h = y_parent(h) - y_h turns q e_h z_h into -q (e_h - e_left - e_right) y_h and a constant.   (2)

With all vertices v known, the least c v for all objectives c is one matrix product, in whole numbers:

    min over vertices  (c numerators_v) (D / denominator_v),        D a common denominator                              (3)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Natural, Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import n_examples
from proofs_checks.integrality.polyhedron import ExactPoint, Polyhedron
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.vertices import Vertices
from proofs_checks.integrality.vertices import vertices as all_vertices
from proofs_checks.verdict import DEFAULTS

_NAME = re.compile(r"(?P<kind>z|y|w|w_t)\[(?P<key>[^\]]+)\]")


@dataclass(frozen=True, eq=False)
class DrawnData:
    """k instances on the same trees and cost rows."""

    problem: PruningProblem  # whose trees and routes they have
    errors: NDArray[np.int64]  # int64, shape (k, n): e_h
    sample_size: NDArray[np.int64]  # int64, shape (k,): W, the same for all trees
    prices: NDArray[np.int64]  # int64, shape (k, M): c_m; 0 for items that are free in `problem`, which have no columns
    weights: NDArray[np.int64]  # int64, shape (k, N): omega_i > 0
    # rate, divisor: int64, shape (k,): mu and q.
    rate: NDArray[np.int64]
    divisor: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sample_size)

    def unit(self, k: int) -> int:
        """T W q: the k-th objective is (OBJ) times this, up to a constant where the program is in y."""
        return self.problem.ensemble.n_trees * int(self.sample_size[k]) * int(self.divisor[k])

    def lam(self, k: int) -> Fraction:
        """Lambda of the k-th instance."""
        return Fraction(int(self.rate[k]) * int(self.weights[k].sum()), self.unit(k))

    def instance(self, k: int) -> PruningProblem:
        """The k-th instance itself."""
        old = self.problem
        w_t = np.full(old.ensemble.n_trees, float(self.sample_size[k]))
        errors = NodeErrors((ErrorComponent(self.errors[k].astype(np.float64), w_t, source="drawn"),))
        prices = tuple(Fraction(int(c)) for c in self.prices[k])
        omega = np.zeros(n_examples(old.X))
        omega[old.usage.rows] = self.weights[k]
        return PruningProblem.build(old.ensemble, errors, old.X, replace(old.costs, prices=prices), sample_weight=omega)

    def objectives(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """(1), or (2), for a program with these columns: int64, shape (k, len(columns)).

        Parameters
        ----------
        columns
            names as the formulations give them, without merged purchases: z[h], y[h], w[m,i], w[m,all], and w_t[u,m,i], which
            is in no objective.
        """
        found = np.zeros((len(self), len(columns)), dtype=np.int64)
        for j, name in enumerate(columns):
            parts = _NAME.fullmatch(name)
            if parts is None:
                raise InvalidInputError(f"the column {name!r} is none of z[h], y[h], w[m,i], w[m,all], w_t[u,m,i]")
            if parts["kind"] != "w_t":
                found[:, j] = self._coefficient(parts["kind"], parts["key"].split(","))
        return found

    def _coefficient(self, kind: str, key: list[str]) -> NDArray[np.int64]:
        """One column of (1) or (2)."""
        ensemble = self.problem.ensemble
        if kind == "z":
            return self.divisor * self.errors[:, int(key[0])]
        if kind == "y":
            h = int(key[0])
            return -self.divisor * (self.errors[:, h] - self.errors[:, ensemble.left[h]] - self.errors[:, ensemble.right[h]])
        price = self.rate * self.prices[:, int(key[0])]
        users = self.weights.sum(axis=1) if key[1] == "all" else self.weights[:, int(key[1])]
        return price * users


@checked
def arbitrary_objectives(n_columns: Natural, count: Natural, *, seed: Seed) -> NDArray[np.int64]:
    """Coefficients from -20 to 20, independently: int64, shape (count, n_columns).

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.checks.arbitrary_objectives(3, 2, seed=0)
    array([[ 14,   6,   0],
           [ -9,  -8, -19]])
    """
    return np.random.default_rng(seed).integers(-20, 21, (count, n_columns))


@checked
def draw_data(problem: PruningProblem, count: Natural, *, seed: Seed) -> DrawnData:
    """Instances with errors of two classes, prices, weights and lambda that data can produce; see the module.

    W is between 4 and twice the usage arcs, or 60 where these are few: with few errors for many purchases nothing is worth
    buying, and all objectives have the same optimum. Prices are between 0 and 9, mu and q between 1 and 9.

    Parameters
    ----------
    problem
        the trees, what features need, and the cost rows.
    count
        how many.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> polyhedron = pm.checks.read_polyhedron(pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True))
    >>> pm.checks.draw_data(problem, 100, seed=0).objectives(polyhedron.columns).shape
    (100, 19)
    """
    rng = np.random.default_rng(seed)
    size = rng.integers(4, max(60, 2 * problem.n_usage_arcs) + 1, count)
    priced = np.array([c > 0 for c in problem.costs.prices], dtype=np.int64)
    trees = [problem.ensemble.only_tree(t) for t in range(problem.ensemble.n_trees)]
    return DrawnData(
        problem,
        errors=np.hstack([_errors_of_tree(tree, size, rng) for tree in trees]),
        sample_size=size,
        prices=rng.integers(0, 10, (count, problem.costs.n_items)) * priced,
        weights=rng.integers(1, 4, (count, problem.usage.n_rows)),
        rate=rng.integers(1, 10, count),
        divisor=rng.integers(1, 10, count),
    )


def majority_errors(ensemble: Ensemble, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """e_h from class counts at the leaves: rows below h outside their majority class; int64, shape (k, n) from (k, n, C).

    What stands at splits is replaced by the sum over their leaves.
    """
    total = counts.copy()
    for h in reversed(range(ensemble.n_nodes)):  # children stand behind their parents
        if ensemble.left[h] >= 0:
            total[:, h] = total[:, ensemble.left[h]] + total[:, ensemble.right[h]]
    errors: NDArray[np.int64] = total.sum(axis=2) - total.max(axis=2)
    return errors


def _errors_of_tree(tree: Ensemble, size: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """W rows over the cells (leaf, class) of a tree, for each draw; most cells get few rows, as in fully grown trees."""
    leaves = np.flatnonzero(tree.left < 0)
    cells = rng.dirichlet(np.full(len(leaves) * 2, 0.3), len(size))
    counts = np.zeros((len(size), tree.n_nodes, 2), dtype=np.int64)
    counts[:, leaves] = rng.multinomial(size, cells).reshape(len(size), len(leaves), 2)
    return majority_errors(tree, counts)


@dataclass(frozen=True, eq=False)
class ObjectiveStudy:
    """How many of k objectives, minimised over a polytope, have fractional optima."""

    n_objectives: int  # k
    only_fractional: int  # objectives whose optima are all fractional: below the best integral point
    some_fractional: int  # objectives with a fractional vertex among their optima
    # an objective and its fractional optimum, of the first kind if there is one; None where none is fractional.
    example: tuple[NDArray[Any], ExactPoint] | None

    def __str__(self) -> str:
        return (
            f"{self.n_objectives:,} objectives: the optima of {self.only_fractional:,} are all fractional, "
            f"a fractional vertex is optimal for {self.some_fractional:,}"
        )


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
        all vertices, where they are known; see `proofs_checks.integrality.vertices.vertices`.

    Raises
    ------
    InvalidInputError
        for objectives that are not integers, sizes that do not fit, a polyhedron that is empty, unbounded, or too large.

    Examples
    --------
    >>> import prunemodels as pm
    >>> polyhedron = pm.checks.read_polyhedron(pm.programs.FORMULATIONS["IP1"](pm.datasets.two_trees(), lam=1, relax=True))
    >>> objectives = pm.checks.arbitrary_objectives(len(polyhedron.columns), 1000, seed=0)
    >>> study = pm.checks.optima_of_random_objectives(polyhedron, objectives)
    >>> print(f"{study.only_fractional} of {study.n_objectives} objectives have only fractional optima")
    115 of 1000 objectives have only fractional optima
    """
    body = read_polyhedron(polyhedron)
    c, found = _checked(objectives, body), all_vertices(body) if vertices is None else vertices
    if found.numerators.shape[1] != len(body.columns) or not len(found) or not found.bounded:
        raise InvalidInputError(f"vertices are {found!r}; give a polyhedron that is bounded and not empty, and its own")
    only = some = 0
    example: tuple[NDArray[Any], ExactPoint] | None = None
    fractional, integral = np.flatnonzero(~found.is_integral), np.flatnonzero(found.is_integral)
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
    return ObjectiveStudy(len(c), only, some, example)


def _checked(objectives: Any, body: Polyhedron) -> NDArray[Any]:
    """The objectives as int64 or Python's integers, after checking their shape and type."""
    c = np.asarray(objectives)
    if c.ndim != 2 or c.shape[1] != len(body.columns):
        raise InvalidInputError(f"objectives have the shape {c.shape}; give (k, {len(body.columns)}), a coefficient a column")
    if c.dtype.kind not in "iuO" or (c.dtype == object and not all(isinstance(x, int) for x in c.flat)):
        raise InvalidInputError(f"objectives are {c.dtype}; clear their denominators and give integers")
    return c.astype(np.int64) if c.dtype.kind == "i" else c.astype(object)


def _values(c: NDArray[Any], found: Vertices) -> Iterator[tuple[int, NDArray[Any]]]:
    """(3) for blocks of objectives: whole numbers, as float64 where all sums stay below 2^53, where that is exact."""
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
    step = max(1, DEFAULTS.values_in_memory // max(points.shape[1], 1))
    for start in range(0, len(c), step):
        yield start, c[start : start + step].astype(kind) @ points
