"""The instances of the studies: BP16's forests, grown before and saved in a folder, or small ones of scikit-learn's data."""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import joblib

import prunemodels as pm
from benchmarks.instances import middles, shipped
from benchmarks.suite.study import Lam, Setting


class Forest(NamedTuple):
    """A data set's title, the one that replaces it in a quick run, and scaled lambdas: error counts per purchase of price 1."""

    title: str
    small: str
    lambdas: tuple[float, ...]


FORESTS = {
    "miniboone": Forest("MiniBooNE", "breast_cancer", (0.05, 0.2, 0.5, 1.0)),
    "covtype426k": Forest("Covertype", "digits", (0.3, 0.8, 1.2, 1.5, 2.0)),
}


def forest_file(data: str, folder: Path) -> Path:
    """The file of a data set's forest; its name has scikit-learn's version, since another version may grow another forest."""
    return folder / f"forest-{data}-sklearn-{version('scikit-learn')}.joblib"


def instance(data: str, setting: Setting, rows: int | None = None) -> tuple[str, pm.PruningProblem]:
    """Name and problem: the forest on `data` with unit prices and the first `rows` of its cost sample, None: all.

    With ``--quick`` a small forest on scikit-learn's data.
    """
    if setting.quick:
        small = FORESTS[data].small
        problem = shipped(small, trees=10, rows=100 if rows is None else rows)
        return f"{small.replace('_', ' ')}, {problem.n_rows} rows", problem
    forest, X = joblib.load(forest_file(data, setting.folder))
    problem = pm.problem_from_forest(forest, X[:rows], costs=1)
    return f"{FORESTS[data].title}, {problem.n_rows:,} rows", problem


def lambdas(data: str, problem: pm.PruningProblem, setting: Setting) -> list[tuple[str, Lam]]:
    """Labels and lambdas; quick: where shares of the cost are paid."""
    if setting.quick:
        path = pm.pruning_path(problem, certificate=False)
        return [(f"{share} % of the cost", lam) for share, lam in zip((70, 30), middles(path, (0.7, 0.3)), strict=True)]
    return [(f"lambda' = {scaled:g}", rate(problem, scaled)) for scaled in FORESTS[data].lambdas]


def rate(problem: pm.PruningProblem, scaled: float) -> Fraction:
    """Lambda from lambda', exactly: lambda' N / (T W_t)."""
    errors = sum(Fraction(float(component.weight.sum())) for component in problem.errors.components)
    return Fraction(str(scaled)) * Fraction(float(problem.usage.total_weight)) / errors
