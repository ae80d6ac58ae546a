"""Scene15: 4,485 images of 15 scenes, described by margins of support vector machines on 184 visual descriptors (BP16 section 5).

BP16 (after Xu et al. 2012) trains 15 one-vs-rest kernel machines for each descriptor and uses their outputs: 184 x 15 = 2,760
features. The 15 of a descriptor share its price, between 0.0374 and 9.2820: computed once, it serves them all. The authors do not
publish that table in a form of its own; whoever has it writes two files: ``scene15.csv`` (or ``.csv.gz``) with a header, one row
an image, one column a feature, the column ``label`` (0 to 14) and optionally ``part`` (``train``, ``validation``, ``test``), and
``scene15_groups.csv`` with the columns ``feature,descriptor,cost``, one row a feature, the same cost for all of a descriptor.

Without ``part``, 100 images of each class train, 20 validate and the others test: 1,500 / 300 / 2,685 as in BP16. Which images
those are is not published: they are drawn with `random_state`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.published import Part, PublishedData, drawn, find_file, folder_of
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.routing import as_rows
from prunemodels.data_files import read_table, take_column, take_features

TRAINING_IMAGES, VALIDATION_IMAGES = 100, 20
"""Of each class, where the table names no part."""

PARTS = ("train", "validation", "test")

SOURCE = "write the features and the prices of the descriptors as benchmarks.data.scene15 says"


def load_scene15(folder: str | Path | None = None, *, random_state: int = 0) -> PublishedData:
    """Load the tables.

    Parameters
    ----------
    folder
        where the files are; default: ``scene15`` in `prunemodels.data_files.data_folder`.
    random_state
        seed of the split, where the table names no parts.

    Returns
    -------
    PublishedData
        of 15 classes; each descriptor is one cost item, shared by its features.

    Raises
    ------
    BrokenFileError
        for absent or damaged files, or columns that do not fit; says what was expected.
    """
    place = folder_of(folder, "scene15")
    X, y, parts, names, costs = _read(find_file(place, ("scene15.csv", "scene15.csv.gz"), SOURCE), place)
    if parts is None:
        rows = _draw(y, random_state)
        remarks: tuple[str, ...] = (
            f"100, 20 and all other images of each class, drawn with seed {random_state}: BP16 gives numbers only.",
        )
    else:
        rows, remarks = [np.flatnonzero(parts == p) for p in PARTS], ()
    train, validation, test = (Part(X[r], y[r], y[r]) for r in rows)
    return PublishedData("scene15", train, validation, test, costs, names, remarks)


_Table = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[Any] | None, tuple[str, ...], CostItems]


def _read(file: Path, folder: Path) -> _Table:
    """Features and labels from one CSV, descriptors and prices from the other."""
    groups_file = find_file(folder, ("scene15_groups.csv", "scene15_groups.csv.gz"), SOURCE)
    table, groups = read_table(file), read_table(groups_file)
    absent = [c for c in ("feature", "descriptor", "cost") if c not in groups.columns]
    if absent:
        raise BrokenFileError(f"{groups_file} has no column {absent[0]!r}; expected feature,descriptor,cost")
    names = tuple(c for c in table.columns if c not in ("label", "part"))
    groups = groups.astype({"feature": str, "descriptor": str}).set_index("feature")
    if not groups.index.is_unique or set(groups.index) != set(names):
        odd = sorted(set(groups.index) ^ set(names)) or [groups.index[groups.index.duplicated()][0]]
        raise BrokenFileError(f"{groups_file} and {file.name} do not have the same features, once each: see {odd[0]!r}")
    groups = groups.loc[list(names)]
    prices = groups.groupby("descriptor", sort=False)["cost"].agg(["min", "max"])
    uneven = prices.index[prices["min"] != prices["max"]]
    if len(uneven):
        raise BrokenFileError(f"{groups_file}: the features of descriptor {uneven[0]!r} have different costs; it has one")
    costs = CostItems.grouped(groups["descriptor"].tolist(), {str(d): float(p) for d, p in prices["min"].items()})
    y = _whole_numbers(take_column(table, "label", "scene15", str(file)), f"{file}: the column 'label'")
    parts = table["part"].to_numpy() if "part" in table.columns else None
    if parts is not None and not set(parts) == set(PARTS):
        raise BrokenFileError(
            f"{file}: the column 'part' holds {sorted(map(str, set(parts)))}; expected each of {', '.join(PARTS)}"
        )
    X = as_rows(take_features(table, list(names), str(file)), len(names), str(file))
    return X, y, parts, names, costs


def _whole_numbers(values: NDArray[Any], what: str) -> NDArray[np.int64]:
    if not np.issubdtype(values.dtype, np.number) or (values != np.round(values)).any():
        raise BrokenFileError(f"{what} holds other than whole numbers")
    return values.astype(np.int64)


def _draw(y: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Images of each class to train and validate; all others test."""
    try:
        of_class = drawn(y, TRAINING_IMAGES + VALIDATION_IMAGES + 1, np.random.default_rng(seed))[:, :-1]
    except InvalidInputError as error:
        raise InvalidInputError(f"scene15: {error}, or name each image's part in the column 'part'") from error
    train, validation = np.sort(of_class[:, :TRAINING_IMAGES].ravel()), np.sort(of_class[:, TRAINING_IMAGES:].ravel())
    return [train, validation, np.setdiff1d(np.arange(len(y)), of_class)]
