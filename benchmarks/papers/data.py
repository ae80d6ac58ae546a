"""Data sets by name, in the papers' parts, whole or cut short for trials.

Beside the files in the folder that ``PRUNEMODELS_DATA`` names: those that scikit-learn ships (for tests), and ``covtype_two``,
Covertype with its largest class (2, lodgepole pine) against the rest. CEGB17 says "restricted to two classes" and not which: the
choice is ours, the usual one.

Prices that differ by feature come from a linear SVM: BP16 section 6.4, Figure 5; CEGB17's Figure 3 (a) here has them, too.

    X_f  scaled so that every feature's column has the same l2 norm                                                      (1)
    w    weights of a linear SVM on that; c_f = |w_f| rounded, in [1, 40]                                                (2)
    c    divided by its mean: the prices add up to the number of features                                                (3)

The paper does not say how |w| was scaled to [1, 40]. Here the largest weight is scaled to 40, and what rounds to 0 costs 1.
C = 1, the squared hinge and columns of mean square 1 are our choice too. With several classes |w_f| is the largest over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks.instances import SHIPPED
from benchmarks.papers.experiment import Scope, Unit, Value
from prunemodels.data_files import Dataset, load_dataset, part_sizes

TWO_CLASSES = {"covtype_two": ("covtype426k", 2)}  # name -> the data set behind it, and the class that stands against the rest
SIGNAL = 0.28  # share of signal in UCI's file of MiniBooNE, which the papers use; the file at hand has 0.5
SMALL = ("sonar", "heart_statlog", "heart_cleveland")  # data sets that the papers cross-validate


@dataclass(frozen=True, eq=False)
class Parts:
    """Training, validation and test examples: float32 features, labels as they are."""

    X_train: NDArray[np.float32]
    y_train: NDArray[Any]
    X_valid: NDArray[np.float32]
    y_valid: NDArray[Any]
    X_test: NDArray[np.float32]
    y_test: NDArray[Any]


@lru_cache(maxsize=2)
def dataset(name: str) -> Dataset:
    if name in TWO_CLASSES:
        origin, one = TWO_CLASSES[name]
        data = dataset(origin)
        return Dataset(name, data.X, (data.y == one).astype(np.int64), data.sizes)
    if name in SHIPPED:
        X, y = SHIPPED[name](return_X_y=True)
        return Dataset(name, pd.DataFrame(X).rename(columns=str), y, part_sizes(name, len(y)))
    return load_dataset(name)


@lru_cache(maxsize=2)
def parts(name: str, seed: int, rows: int | None = None, *, signal: float = SIGNAL) -> Parts:
    """The papers' three parts, shuffled with the seed; with `rows`, the first of each in proportion. MiniBooNE's examples of
    class 1 are thinned out at random until they are the share `signal` of each part.
    """
    data = dataset(name)
    X = data.X.to_numpy(dtype=np.float32)
    share = 1.0 if rows is None else min(1.0, rows / sum(data.sizes))
    places = [part[: max(1, round(share * len(part)))] for part in data.parts(seed)]
    if name == "miniboone":
        rng = np.random.default_rng(seed)
        places = [_thinned(part, data.y[part] == 1, signal, rng) for part in places]
    return Parts(*(array[rows] for rows in places for array in (X, data.y)))


def _thinned(part: NDArray[np.int64], ones: NDArray[np.bool_], signal: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some of the rows: fewer ones, so that they are the share `signal`; all rows if there are no more already."""
    most = round((~ones).sum() * signal / (1 - signal))
    kept = rng.permutation(np.flatnonzero(ones))[:most]
    return part[np.sort(np.concatenate([np.flatnonzero(~ones), kept]))]


Grid = Callable[[str, int], Iterable[tuple[str, Mapping[str, Value]]]]  # of a data set and a seed the methods with their settings


def grid_units(experiment: str, scope: Scope, grid: Grid, *, version: int = 1, **shared: Value) -> list[Unit]:
    """All units of a scope; `shared` is in every setting."""
    return [
        Unit(experiment, data, seed, method, {**shared, **setting}, scope.rows, version)
        for data, seed in scope.groups()
        for method, setting in grid(data, seed)
    ]


FOLDS = 10


@lru_cache(maxsize=2)
def fold(name: str, seed: int, k: int, rows: int | None = None) -> Parts:
    """Fold k of ten: nine to train, the tenth to test; the training part is the validation part too, there is no other."""
    data = dataset(name)
    X, y = data.X.to_numpy(dtype=np.float32), data.y
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    X, y = X[order], y[order]
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y))
    train, test = splits[k]
    seen, known = X[train], y[train]
    return Parts(seen, known, seen, known, X[test], y[test])


LARGEST = 40.0  # price of the dearest feature before (3)


def svm_prices(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """(1) to (3): shape (F,), adding up to F."""
    rows = np.asarray(X, dtype=np.float64)
    norm = np.sqrt(np.mean(rows**2, axis=0))
    scaled = rows / np.where(norm > 0, norm, 1.0)
    weights = np.abs(LinearSVC(dual=False, max_iter=10_000).fit(scaled, y).coef_).max(axis=0)
    prices = np.maximum(np.round(weights * (LARGEST / weights.max())), 1.0)
    return np.asarray(prices * (prices.size / prices.sum()))
