"""Seeded instances for the benchmarks, and the lambdas at which they are solved."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from benchmarks.data.medical import PRICES, load_prices
from benchmarks.measuring import apart
from prunemodels.data_files import load_dataset

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the unpruned cost; for each a lambda is chosen at which the optimum costs about that."""

SHIPPED = {name: getattr(datasets, f"load_{name}") for name in ("iris", "wine", "breast_cancer", "digits", "diabetes")}
"""Data that scikit-learn ships."""

REAL = {"sonar": None, "heart_statlog": None} | {
    name: PRICES[name] for name in ("heart_cleveland", "hepatitis", "bupa", "pima", "ann_thyroid")
}
"""Data in the folder PRUNEMODELS_DATA, and the file of their prices there; None: every feature costs 1."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem with the name and the group under which it is reported."""

    name: str
    group: str
    problem: pm.PruningProblem


def lam_at_share(path: pm.PruningPath, share: float) -> Fraction:
    """A lambda at which the optimum costs at most a share of what it costs at lambda = 0.

    It is the middle between two breakpoints, so that the same pruning is optimal in a neighbourhood of lambda. Where the path
    jumps from above the share to a pruning that costs nothing, the last interval between breakpoints is taken.
    """
    first = 0 if path.ties == "smallest" else 1  # the row that is optimal between the first two breakpoints
    cost = path.cost[first : first + len(path.breakpoints) - 1]
    cheap = np.flatnonzero(cost <= share * path.cost[0])
    k = int(cheap[0]) if cheap.size else len(cost) - 1
    return (path.breakpoints[k] + path.breakpoints[k + 1]) / 2


def middles(path: pm.PruningPath, shares: Sequence[float] = SHARES) -> list[Fraction]:
    """`lam_at_share` of each share; empty for a path of one breakpoint."""
    return [] if len(path) < 2 else [lam_at_share(path, share) for share in shares]


BESIDE = (Fraction(1, 10_000), Fraction(1, 1_000), Fraction(1, 100), Fraction(1, 20))
"""How far below and above an edge's breakpoint lambda is, relative to it."""


def hard_lambdas(path: pm.PruningPath, edges: int, others: int) -> list[tuple[str, Fraction]]:
    """Names and lambdas: beside the longest edges of the hull, then others over the range of breakpoints."""
    dropped = -np.diff(np.asarray(path.cost))
    lams = [
        (
            f"edge of {100 * dropped[k] / float(path.cost[0]):.1f} %, {100 * sign * float(beside):+g} %",
            path.breakpoints[k + 1] * (1 + sign * beside),
        )
        for k in np.argsort(-dropped, kind="stable")[:edges]
        for beside in BESIDE
        for sign in (-1, 1)
    ]
    least, most = float(path.breakpoints[1]), float(path.breakpoints[-1])
    spread = np.geomspace(least, most, others + 2)[1:-1]
    return lams + [(f"lambda {lam:.3g}", Fraction(f"{lam:.6g}")) for lam in spread.tolist()]


def grown(
    X: Any, y: NDArray[Any], *, trees: int, rows: int, depth: int | None = None, costs: Any = 1, regression: bool = False
) -> pm.PruningProblem:
    """Grow a forest on the first half of shuffled examples; the cost sample is the next `rows` of them."""
    order = np.random.default_rng(0).permutation(len(y))
    half = len(y) // 2
    kind = RandomForestRegressor if regression else RandomForestClassifier
    forest = kind(trees, max_depth=depth, random_state=0)
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).rename(columns=str)
    forest.fit(table.iloc[order[:half]], y[order[:half]])
    return pm.problem_from_forest(forest, table.iloc[order[half : half + rows]], costs=costs)


def random_instances(*, quick: bool = False) -> Iterator[Instance]:
    """Forests on random data: trees, depths and cost rows, with equal and with real-valued prices."""
    sizes = [(t, depth, rows) for t in (1, 2, 5, 10) for depth in (3, 8) for rows in (30, 200)]
    for t, depth, rows in [(1, 3, 20), (3, 4, 30)] if quick else sizes:
        seed = 100 * t + 10 * depth + rows
        X, y = datasets.make_classification(600, 12, n_informative=6, n_redundant=3, flip_y=0.1, random_state=seed)
        real = np.random.default_rng(seed).lognormal(size=12).round(2).clip(0.01)
        for prices, costs in (("equal", 1), ("real", real)):
            problem = grown(X, y, trees=t, rows=rows, depth=depth, costs=costs)
            yield Instance(f"random, T = {t}, depth {depth}, {rows} rows, {prices} prices", "random", problem)


def shipped_instances(*, quick: bool = False) -> Iterator[Instance]:
    """Forests of 5 and 15 trees on data that scikit-learn ships, at most 80 cost rows, equal prices."""
    for name in ("iris",) if quick else SHIPPED:
        for trees in (3,) if quick else (5, 15):
            yield Instance(f"{name}, T = {trees}", "scikit-learn's", shipped(name, trees=trees, rows=30 if quick else 80))


def shipped(name: str, *, trees: int, rows: int) -> pm.PruningProblem:
    X, y = SHIPPED[name](return_X_y=True)
    return grown(X, y, trees=trees, rows=rows, regression=name == "diabetes")


def real_instances(*, quick: bool = False) -> Iterator[Instance]:
    """Forests of 10 trees on UCI data, at most 100 cost rows, with real prices if there are any."""
    for name in ("sonar",) if quick else REAL:
        data, file = load_dataset(name), REAL[name]
        costs = 1 if file is None else load_prices(file)
        problem = grown(data.X, data.y, trees=2 if quick else 10, rows=20 if quick else 100, costs=costs)
        yield Instance(f"{name}, {'equal' if file is None else 'real'} prices", "UCI", problem)


def train(name: str, seed: int, file: Path) -> None:
    """Grow BP16's forest, of entropy trees that try all features, and save it with the rows of the cost sample."""
    data = load_dataset(name)
    X, (rows, cost, _) = np.asarray(data.X, dtype=np.float32), data.parts(seed)
    forest = RandomForestClassifier(40, criterion="entropy", max_features=None, n_jobs=-1, random_state=seed)
    joblib.dump((forest.fit(X[rows], data.y[rows]), X[cost]), file)


def bp16(name: str) -> tuple[RandomForestClassifier, NDArray[np.float32]]:
    """BP16's forest and the rows of its cost sample; grown in another process, so that training takes no memory of this one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.joblib"
        apart(train, name, 0, file)
        return joblib.load(file)  # type: ignore[no-any-return]
