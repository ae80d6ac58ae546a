"""BP16's Algorithm 1, and Dantzig-Wolfe decomposition."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.measuring import warm_up
from benchmarks.suite.study import Figure, Found, Lam, Row, Setting, alternate, instance, lambdas
from prunemodels.data_files import load_dataset
from solvers import dantzig_wolfe, min_cut, price_sharing, primal_dual
from solvers.column_generation import BUNDLE, PLAIN

LIMIT = 120.0  # seconds that Algorithm 1 has at most
COMMON = 1e-3  # relative gap to which Algorithm 1 and price sharing are both run
AFTER = (100, 300)  # iterations after which gaps of Algorithm 1 are told

RULES: dict[str, dict[str, Any]] = {
    "primal_dual": {},
    "Algorithm 1 as in BP16": {"start": "zeros", "averaging": 1.0, "step_size": 1.0},
}
"""Our defaults, and the paper's algorithm: from zeros along the plain subgradient. Both take Polyak's step; BP16 names none."""


def measure_primal_dual(setting: Setting) -> Found:
    """Rows: price sharing against Algorithm 1, both to the gap `COMMON`. Figures: gaps by iterations."""
    name, problem = instance("miniboone", setting)
    warm_up()
    rows: list[Row] = []
    figures: list[Figure] = []
    for label, lam in lambdas("miniboone", problem, setting):
        where = f"{name}, {label}"
        works: dict[str, Any] = {
            "price_sharing": partial(price_sharing, problem, lam, gap=COMMON),
            "primal_dual": partial(primal_dual, problem, lam, gap=COMMON, time_limit=LIMIT),
        }
        found = alternate(works, repeats=setting.repeats, limit=setting.limit)
        if max(answer.relative_gap for answer in found.answer.values()) <= COMMON:
            rows.append(found.row(f"{where}, to a gap of {COMMON:g}", "price_sharing", "primal_dual"))
        for rule, options in RULES.items():
            gaps = primal_dual(problem, lam, gap=0, iterations=max(AFTER), **options).history["gap"]
            figures += [Figure(where, f"relative gap of {rule} after {k} iterations", float(gaps[:k][-1])) for k in AFTER]
    return rows, figures


GAP, SECONDS = 1e-6, 200.0  # relative gap to which Dantzig-Wolfe decompositions are run, and within how many seconds
SCHEMES = {"textbook": PLAIN, "bundle": BUNDLE}  # both price tree by tree as shortest paths, through OR-Tools


class Forest(NamedTuple):
    """A fully grown forest: data set, trees, lambda' in error counts per purchase."""

    data: str
    trees: int
    rate: Fraction

    def problem(self) -> tuple[pm.PruningProblem, Lam]:
        """The instance with its lambda: 90 % of the rows grow the forest and are the cost sample, every feature costs 1."""
        if self.data == "iris":
            X, y = load_iris(return_X_y=True)
        else:
            data = load_dataset(self.data)
            X, y = np.asarray(data.X, dtype=np.float32), data.y
        rows = np.random.default_rng(0).permutation(len(y))[: int(0.9 * len(y))]
        forest = RandomForestClassifier(self.trees, criterion="entropy", max_features=None, random_state=0)
        problem = pm.problem_from_forest(forest.fit(X[rows], y[rows]), X[rows], costs=1)
        # N = W_t, since each tree's bootstrap sample has as many rows as the cost sample
        return problem, self.rate / self.trees


IRIS = Forest("iris", 5, Fraction(1))

DECOMPOSED = (
    Forest("sonar", 90, Fraction(1)),
    Forest("ann_thyroid", 40, Fraction(1, 5)),
    Forest("pima", 90, Fraction(1)),
    Forest("heart_statlog", 90, Fraction(2)),
)


def measure_dantzig_wolfe(setting: Setting) -> Found:
    """Rows: the bundle master against the textbook's, and against min_cut. Figures: rounds and columns of both, gaps."""
    rows: list[Row] = []
    figures: list[Figure] = []
    warm, lam = IRIS.problem()
    for scheme in SCHEMES.values():
        dantzig_wolfe(warm, lam, gap=GAP, scheme=scheme, pricing="shortest paths")
    for forest in (IRIS,) if setting.quick else DECOMPOSED:
        problem, lam = forest.problem()
        where = f"{forest.data}, {forest.trees} trees, lambda' = {float(forest.rate):g}"
        figures.append(Figure(where, "usage arcs", problem.n_usage_arcs))
        works: dict[str, Any] = {"min_cut": partial(min_cut, problem, lam)}
        for name, scheme in SCHEMES.items():
            options: dict[str, Any] = {"gap": GAP, "scheme": scheme, "pricing": "shortest paths", "time_limit": SECONDS}
            works[f"dantzig_wolfe, {name}"] = partial(dantzig_wolfe, problem, lam, **options)
        found = alternate(works, repeats=setting.repeats, limit=setting.limit / 6)
        optimum = found.answer["min_cut"].value
        for engine in works:
            answer = found.answer[engine]
            if answer.bound > optimum * (1 + 1e-12) or answer.value < optimum * (1 - 1e-12):
                raise pm.errors.SolverFailedError(f"{where}: {engine} claims more than min_cut; one of them is wrong")
            figures += [
                Figure(where, f"{what} of {engine}", answer.stats[what]) for what in ("rounds", "columns") if what in answer.stats
            ]
            figures.append(Figure(where, f"relative gap of {engine}", answer.relative_gap))
        closed = [name for name in works if found.answer[name].relative_gap <= GAP]
        pairs = (("dantzig_wolfe, bundle", "dantzig_wolfe, textbook"), ("min_cut", "dantzig_wolfe, bundle"))
        rows += [found.row(where, a, b) for a, b in pairs if a in closed and b in closed]
    return rows, figures
