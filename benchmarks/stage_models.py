"""What the stages of a default cascade are fitted with, and how long a fit takes.

    python -m benchmarks.stage_models [--data NAME ...]

For each table, on at most 12,000 training rows, and its k most important columns (by permutation, in quick trees of all columns):
held-out log loss of the boosted trees of a cascade, full and quick, without a ridge of their leaves and with it.

    python -m benchmarks.stage_models --fits [--data NAME ...]

CPU seconds of a default cascade, and in fits of one HistGradientBoosting of all columns, the mean of a fit before and one after;
one thread. Of pendigits and letters half of the rows are trained on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

import prunemodels as pm
from benchmarks.data.packaged import OF_KEEL, packaged_file
from benchmarks.frontier.data import load_problem
from benchmarks.frontier.problem import Part
from benchmarks.measuring import command_line, markdown
from prunemodels.stages.params import PARAMS
from prunemodels.stages.table_preparation import stage_models

TABLES = ("miniboone", "covtype426k", "waveform40", "satimage", "ann_thyroid")
OF_FITS = ("wine", "heart_statlog", "breast_cancer", "digits", *TABLES[2:], *OF_KEEL, *TABLES[:2])
MOST_ROWS = 12_000
SETS = (1, 3, 5, 8, 12, 20)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--data", nargs="+", metavar="NAME")
    parser.add_argument("--fits", action="store_true")
    given = parser.parse_args()
    given.data = given.data or (OF_FITS if given.fits else TABLES)
    with threadpool_limits(1):
        print(fits(given) if given.fits else losses(given))


def rows_of(name: str) -> tuple[Part, Part]:
    """Training rows, and others."""
    if name in OF_KEEL:
        table = pd.read_csv(packaged_file(name), comment="@", header=None, skipinitialspace=True).sample(frac=1, random_state=0)
        parts = table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]
        train, test = (Part(part.iloc[:, :-1].to_numpy(np.float64), part.iloc[:, -1].to_numpy()) for part in parts)
        return train, test
    problem = load_problem(name, 0)
    return Part(problem.train.X[:MOST_ROWS], problem.train.y[:MOST_ROWS]), problem.test


def losses(given: argparse.Namespace) -> str:
    """The table without `--fits`."""
    head = ("table", "columns", "full", "with ridge", "quick", "with ridge")
    return markdown(head, (line for name in given.data for line in _losses(name)))


def _losses(name: str) -> Iterator[tuple[Any, ...]]:
    train, test = rows_of(name)
    kinds = stage_models(len(train.y), classifier=True, numeric=True)
    quick, full = kinds[0], kinds[-1]
    by_all = clone(quick).fit(*train)
    importance = permutation_importance(by_all, test.X[:2000], test.y[:2000], n_repeats=1, random_state=0, scoring="neg_log_loss")
    order = np.argsort(-importance.importances_mean, kind="stable")
    for k in sorted({*SETS, order.size} & {*range(order.size + 1)}):
        found = (
            _loss(clone(model).set_params(l2_regularization=ridge, random_state=0), train, test, order[:k])
            for model in (full, quick)
            for ridge in (0.0, PARAMS.leaf_ridge)
        )
        yield (name, k, *(f"{loss:.4f}" for loss in found))


def _loss(model: Any, train: Part, test: Part, columns: NDArray[np.int64]) -> float:
    model.fit(train.X[:, columns], train.y)
    return float(log_loss(test.y, model.predict_proba(test.X[:, columns])))


def fits(given: argparse.Namespace) -> str:
    """The table with `--fits`."""
    lines = []
    for name in given.data:
        train, _ = rows_of(name)
        before = _seconds(HistGradientBoostingClassifier(random_state=0), train)
        cascade = _seconds(pm.BudgetCascadeClassifier(random_state=0), train)
        one = (before + _seconds(HistGradientBoostingClassifier(random_state=0), train)) / 2
        lines.append((name, f"{len(train.y):,} x {train.X.shape[1]}", f"{one:.2f}", f"{cascade:.1f}", f"{cascade / one:.0f}"))
    return markdown(("table", "rows", "one HistGradientBoosting, CPU s", "default cascade, CPU s", "ratio"), lines)


def _seconds(model: Any, train: Part) -> float:
    start = time.process_time()
    model.fit(*train)
    return time.process_time() - start


if __name__ == "__main__":
    main()
