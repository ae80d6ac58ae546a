"""The data sets of the frontier: parts, prices, and the mean costs of a prediction at which methods are compared.

Budgets are listed here, so that the tables can be made again without the data; they rise, and the last one buys everything.
Large sets have the papers' parts (`prunemodels.data_files.SPLITS`), shuffled with the seed; of Covertype's test part only the
first `TEST_ROWS` rows are used, as many as MiniBooNE has. Small sets are split 50 / 20 / 30 %, classes in proportion. Medical
sets have Turney's prices in dollars, with the discounts for tests that share a blood sample; elsewhere a feature costs 1.

`HARD` has the data sets of hard budgets (`benchmarks.frontier.hard`), whose budgets are numbers of features. Cubes have 600 and
200 rows to learn from, as AFABench has them, or 12,000 and 4,000, and 10,000 test rows. California's prices are cut at their
quartiles, and 80 / 10 / 10 % of the rows are the parts, as SEFA (Norcliffe and others 2025) has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.data.cube import draw
from benchmarks.data.medical import PRICES, load_medical
from benchmarks.data.packaged import packaged_file
from benchmarks.frontier.problem import Memory, Part, Problem, Task
from benchmarks.papers.data import dataset
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.data_files import Dataset, find_dataset
from prunemodels.models.costs import items_from_table

TEST_ROWS = 23_000
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)  # budgets of small sets, as shares of the price of all features

FULL_PRICES = {
    "heart_cleveland": 323.97,
    "heart_statlog": 323.97,
    "hepatitis": 42.98,
    "pima": 44.29,
    "bupa": 30.54,
    "ann_thyroid": 69.81,
    "breast_cancer": 30.0,
    "wine": 13.0,
    "diabetes": 10.0,
    "digits": 64.0,
    "satimage": 36.0,
    "waveform40": 40.0,
}
"""Prices of all features of small sets: dollars with discounts, or the number of features."""

_COVERTYPE = (2.0, 3.0, 4.5, 6.5, 9.0, 12.0, 16.0, 20.0)

HARD = {
    "cube": tuple(map(float, range(1, 11))),
    "cube20000": tuple(map(float, range(1, 11))),
    "digits_hard": (1.0, 2.0, 5.0, 10.0, 20.0),
    "california": tuple(map(float, range(1, 9))),
}
"""Largest numbers of features of a row."""

_LARGE = {
    "miniboone": (2.0, 3.0, 5.0, 8.0, 10.0, 12.0, 16.0, 20.0, 25.0, 50.0),
    "covtype_two": (*_COVERTYPE, 54.0),
    "covtype426k": (*_COVERTYPE, 54.0),
}


def budgets_of(name: str) -> tuple[float, ...]:
    if name in _LARGE or name in HARD:
        return _LARGE.get(name) or HARD[name]
    if name in FULL_PRICES:
        return tuple(float(f"{share * FULL_PRICES[name]:.6g}") for share in SHARES)
    raise InvalidInputError(f"{name!r} has no budgets; give one of {', '.join((*FULL_PRICES, *_LARGE, *HARD))}")


@dataclass(frozen=True)
class Source:
    """Where a data set comes from: a file in the folder of data sets; None: it is part of scikit-learn."""

    task: Task
    file: str | None
    load: Callable[[], Dataset]
    costs: Callable[[Dataset], CostItems]
    is_small: bool


def _unit(data: Dataset) -> CostItems:
    return CostItems.plain([1] * data.X.shape[1], list(data.X.columns))


def _california() -> Dataset:
    """The quartile of the median house value in a district."""
    table = pd.read_csv(packaged_file("california_housing"))
    value = table.pop("MedHouseVal")
    cuts = np.sort(value)[[len(value) * k // 4 for k in (1, 2, 3)]]
    sizes = len(table) * 8 // 10, len(table) // 10, len(table) // 10
    return Dataset("california", table, np.digitize(value, cuts, right=True), sizes)


def _cube(name: str, *sizes: int) -> Source:
    """A pool of rows, of which each seed takes others."""
    parts = sizes[0], sizes[1], 10_000
    return Source("classification", None, lambda: Dataset(name, *draw(5 * sum(parts)), parts), _unit, False)


def _big(name: str, file: str) -> Source:
    return Source("classification", file, partial(dataset, name), _unit, False)


def _small(name: str, *, file: str | None = None, task: Task = "classification") -> Source:
    turney = lambda data: items_from_table(load_medical(name).costs, list(data.X.columns))  # noqa: E731
    return Source(task, file, partial(dataset, name), turney if name in PRICES else _unit, True)


SOURCES: dict[str, Source] = {
    **{name: _small(name, file=name) for name in PRICES},
    **{name: _small(name) for name in ("breast_cancer", "wine")},
    "diabetes": _small("diabetes", task="regression"),
    "miniboone": _big("miniboone", "miniboone"),
    "covtype_two": _big("covtype_two", "covtype426k"),
    "digits": _small("digits"),
    "satimage": _small("satimage", file="satimage"),
    "waveform40": _small("waveform40", file="waveform40"),
    "covtype426k": _big("covtype426k", "covtype426k"),
    "cube": _cube("cube", 600, 200),
    "cube20000": _cube("cube20000", 12_000, 4_000),
    "digits_hard": Source("classification", None, partial(dataset, "digits"), _unit, True),
    "california": Source("classification", None, _california, _unit, False),
}
"""Data sets by name, in the order in which they are run and shown."""


def source(name: str) -> Source:
    if name not in SOURCES:
        raise InvalidInputError(f"there is no data set {name!r}; give one of {', '.join(SOURCES)}")
    return SOURCES[name]


def check_present(name: str) -> None:
    """Raise a `BrokenFileError` that says how to get the data set if its file is absent."""
    file = source(name).file
    if file is not None:
        find_dataset(file)
    elif name == "california":
        packaged_file("california_housing")


@lru_cache(maxsize=2)
def load_problem(name: str, seed: int, folder: Path | None = None) -> Problem:
    """A data set in the split of a seed; `folder` keeps what its methods share."""
    origin = source(name)
    data = origin.load()
    X, y, task = data.X.to_numpy(np.float32), data.y, origin.task
    classes, codes = np.unique(y, return_inverse=True)
    labels = codes.astype(np.int64) if task == "classification" else np.asarray(y, dtype=np.float64)
    if origin.is_small:
        train, valid, test = stratified(labels, seed, task)
    else:
        train, valid, test = data.parts(seed)
        test = test[:TEST_ROWS]
    parts = tuple(Part(X[rows], labels[rows]) for rows in (train, valid, test))
    memory = Memory(None if folder is None else folder / name)
    kinds = len(classes) if task == "classification" else 0
    return Problem(name, seed, task, kinds, parts[0], parts[1], parts[2], origin.costs(data), budgets_of(name), memory)


def stratified(labels: np.ndarray, seed: int, task: Task) -> list[np.ndarray]:
    """The rows of three parts, 50 / 20 / 30 %, with classes in proportion."""
    rows = np.arange(len(labels))

    def halves(some: np.ndarray, share: float) -> list[np.ndarray]:
        by = labels[some] if task == "classification" else None
        return list(train_test_split(some, test_size=share, stratify=by, random_state=seed))

    rest, test = halves(rows, 0.3)
    train, valid = halves(rest, 2 / 7)
    return [train, valid, test]
