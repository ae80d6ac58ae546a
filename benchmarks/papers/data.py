"""Data sets by name, in the papers' parts, whole or cut short for trials.

Beside the files in the folder that ``PRUNEMODELS_DATA`` names: those that scikit-learn ships (for tests), and ``covtype_two``,
Covertype with its largest class (2, lodgepole pine) against the rest. CEGB17 says "restricted to two classes" and not which: the
choice is ours, the usual one. CIFAR-10 is read from the publisher's files, if they are in that folder: the seed draws the
training and the validation images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import load_cifar10
from benchmarks.instances import SHIPPED
from benchmarks.papers.experiment import Scope, Unit
from prunemodels.data_files import Dataset, data_folder, load_dataset, part_sizes

TWO_CLASSES = {"covtype_two": ("covtype426k", 2)}
"""Name -> the data set behind it, and the class that stands against the rest."""

SIGNAL = 0.28
"""Share of signal in UCI's file of MiniBooNE, which the papers use; the file at hand has 0.5."""

SMALL = ("sonar", "heart_statlog", "heart_cleveland")
"""Data sets that the papers cross-validate."""


CIFAR10 = "cifar10"
"""In NWS15's and BRF15's Table 1."""

PUBLISHED = (CIFAR10, "yahoo", "yahoo_challenge", "scene15", "hepmass_1000", "hepmass_not1000")
"""Data sets that the publishers alone give out."""

LOADING = "loading"
"""The only unit of an absent data set; it fails with a message that says where the files belong."""


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
    """A data set whole."""
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
    """The papers' three parts, shuffled with the seed; with `rows`, the first of each in proportion.

    MiniBooNE's examples of class 1 are thinned out at random until they are the share `signal` of each part.
    """
    if name == CIFAR10:
        return _cifar10_parts(seed, rows)
    data = dataset(name)
    X = data.X.to_numpy(dtype=np.float32)
    share = 1.0 if rows is None else min(1.0, rows / sum(data.sizes))
    places = [part[: max(1, round(share * len(part)))] for part in data.parts(seed)]
    if name == "miniboone":
        rng = np.random.default_rng(seed)
        places = [_thinned(part, data.y[part] == 1, signal, rng) for part in places]
    train, valid, test = places
    return Parts(X[train], data.y[train], X[valid], data.y[valid], X[test], data.y[test])


def _thinned(part: NDArray[np.int64], ones: NDArray[np.bool_], signal: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some of the rows: fewer ones, so that they are the share `signal`; all rows if there are no more already."""
    most = round((~ones).sum() * signal / (1 - signal))
    kept = rng.permutation(np.flatnonzero(ones))[:most]
    return part[np.sort(np.concatenate([np.flatnonzero(~ones), kept]))]


def _cifar10_parts(seed: int, rows: int | None) -> Parts:
    """CIFAR-10 in BRF15's parts, two classes."""
    whole = load_cifar10(random_state=seed).parts
    share = 1.0 if rows is None else min(1.0, rows / sum(map(len, whole)))
    train, valid, test = (part.take(slice(0, max(1, round(share * len(part))))) for part in whole)
    return Parts(train.X, train.y, valid.X, valid.y, test.X, test.y)


def without_absent(experiment: str, scope: Scope) -> tuple[Scope, list[Unit]]:
    """The scope without the data sets whose publishers' files are absent, and for each of those the unit that says so."""
    # both variants of HEPMASS share a folder
    absent = [name for name in scope.data if name in PUBLISHED and not (data_folder() / name.split("_")[0]).is_dir()]
    others = replace(scope, data=tuple(name for name in scope.data if name not in absent))
    return others, [Unit(experiment, name, 0, LOADING, {}, scope.rows) for name in absent]


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
