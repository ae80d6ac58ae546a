"""Scene15: 4,485 images of 15 scenes, described by margins of support vector machines on 184 visual descriptors (BP16 section 5).

BP16 (after Xu et al. 2012) trains 15 one-vs-rest kernel machines for each descriptor and uses their outputs: 184 x 15 = 2,760
features. The 15 of a descriptor share its price, between 0.0374 and 9.2820: computed once, it serves them all. The authors do not
publish that table in a form of its own; whoever has it writes two files into the folder ``scene15``: ``scene15.csv`` (or
``.csv.gz``) with a header, one row an image, one column a feature, and the column ``label`` (0 to 14); and
``scene15_groups.csv`` with the columns ``feature,descriptor,cost``, one row a feature, the same cost for all of a descriptor.

100 images of each class train, 20 validate and the others test: 1,500 / 300 / 2,685 as in BP16. Which images those are is not
published: they are drawn with `random_state`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.data.published import Part, PublishedData, find_file
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.routing import as_rows
from prunemodels.data_files import read_table, take_column, take_features

TRAINING_IMAGES, VALIDATION_IMAGES = 100, 20  # of each class
SOURCE = "write the features and the prices of the descriptors as benchmarks.data.scene15 says"


def load_scene15(random_state: int = 0) -> PublishedData:
    """Load both tables; each descriptor is one cost item, shared by its features."""
    file, groups_file = (find_file("scene15", (f"{n}.csv", f"{n}.csv.gz"), SOURCE) for n in ("scene15", "scene15_groups"))
    table = read_table(file)
    names = [c for c in table.columns if c != "label"]
    costs = _costs(read_table(groups_file), names, str(groups_file))
    y = take_column(table, "label", "scene15", str(file))
    if not np.issubdtype(y.dtype, np.number) or (y != np.round(y)).any():
        raise BrokenFileError(f"{file}: the column 'label' holds other than whole numbers")
    X, y = as_rows(take_features(table, names, str(file)), len(names), str(file)), y.astype(np.int64)
    train, validation, test = (Part(X[r], y[r], y[r]) for r in _drawn(y, np.random.default_rng(random_state)))
    return PublishedData(train, validation, test, costs)


def _costs(groups: pd.DataFrame, names: list[str], file: str) -> CostItems:
    """Descriptors and prices, in the order of the features."""
    absent = [c for c in ("feature", "descriptor", "cost") if c not in groups.columns]
    if absent:
        raise BrokenFileError(f"{file} has no column {absent[0]!r}; expected feature,descriptor,cost")
    groups = groups.astype({"feature": str, "descriptor": str}).set_index("feature")
    if not groups.index.is_unique or set(groups.index) != set(names):
        odd = sorted(set(groups.index) ^ set(names)) or [groups.index[groups.index.duplicated()][0]]
        raise BrokenFileError(
            f"{file} and {Path(file).stem.split('_')[0]} do not have the same features, once each: see {odd[0]!r}"
        )
    prices = groups.loc[names].groupby("descriptor", sort=False)["cost"].agg(["min", "max"])
    uneven = prices.index[prices["min"] != prices["max"]]
    if len(uneven):
        raise BrokenFileError(f"{file}: the features of descriptor {uneven[0]!r} have different costs; it has one")
    return CostItems.grouped(groups.loc[names, "descriptor"].tolist(), {str(d): float(p) for d, p in prices["min"].items()})


def _drawn(y: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """Rows of each class to train and validate, without replacement; all others test."""
    of_class, most = [], TRAINING_IMAGES + VALIDATION_IMAGES
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        if len(members) <= most:
            raise InvalidInputError(f"scene15: class {label} has {len(members)} examples, {most + 1} are needed; give more")
        of_class.append(rng.permutation(members)[:most])
    drawn = np.array(of_class)
    train, validation = (np.sort(some.ravel()) for some in np.split(drawn, [TRAINING_IMAGES], axis=1))
    return train, validation, np.setdiff1d(np.arange(len(y)), drawn)
