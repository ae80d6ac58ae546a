"""Data with the split, the prices and the labels that a paper used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.data_files import data_folder


@dataclass(frozen=True, eq=False)
class Part:
    """The examples that train, validate or test.

    Parameters
    ----------
    X
        float32, shape (N, F).
    y
        what the paper predicts, shape (N,); two classes as 0 and 1.
    raw
        the labels as published, shape (N,): graded relevance, one of ten classes ...
    query
        which query each document belongs to, shape (N,), for ranking; else None.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    raw: NDArray[np.int64]
    query: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.X), len(self.y), len(self.raw), len(self.X if self.query is None else self.query)}
        if len(lengths) != 1 or not len(self.X):
            raise InvalidInputError(
                f"a part has {sorted(lengths)} examples, labels and queries; give one of each, and at least one"
            )

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.int64] | slice) -> Part:
        """The part of some of its rows."""
        return Part(self.X[rows], self.y[rows], self.raw[rows], None if self.query is None else self.query[rows])


@dataclass(frozen=True, eq=False)
class PublishedData:
    """A data set as a paper used it.

    Parameters
    ----------
    name
        of the data set.
    train, validation, test
        the three parts.
    costs
        prices of the features, for ``costs=``.
    feature_names
        one a column of X.
    remarks
        what the paper leaves open and was decided here, one sentence each.
    """

    name: str
    train: Part
    validation: Part
    test: Part
    costs: CostItems
    feature_names: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        widths = {self.train.X.shape[1], self.validation.X.shape[1], self.test.X.shape[1], len(self.feature_names)}
        if widths != {self.costs.n_features}:
            raise InvalidInputError(
                f"{self.name}: prices for {self.costs.n_features} features, parts and names have {sorted(widths)}"
            )

    def __repr__(self) -> str:
        sizes = f"{len(self.train):,}/{len(self.validation):,}/{len(self.test):,}"
        return (
            f"PublishedData({self.name}, {sizes} examples, {len(self.feature_names)} features, {self.costs.n_items} cost items)"
        )


def folder_of(folder: str | Path | None, name: str) -> Path:
    """The folder given, or the one of that name in `data_folder`."""
    return data_folder() / name if folder is None else Path(folder)


def find_file(folder: Path, names: tuple[str, ...], source: str) -> Path:
    """The first of the files that exists.

    Raises
    ------
    BrokenFileError
        if none does; says where the data come from.
    """
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise BrokenFileError(f"there is no file {' or '.join(names)} in the folder {folder}; {source}")


def split_rows(n: int, sizes: tuple[int, int, int]) -> tuple[slice, slice, slice]:
    """Consecutive parts of the sizes given; where there are fewer rows, in proportion.

    Raises
    ------
    InvalidInputError
        if a part would be empty.
    """
    total = sum(sizes)
    first, second, last = sizes if n >= total else (n * sizes[0] // total, n * sizes[1] // total, n)
    slices = slice(0, first), slice(first, first + second), slice(first + second, min(first + second + last, n))
    if any(s.stop <= s.start for s in slices):
        raise InvalidInputError(f"{n} examples are too few for parts in the proportion {sizes}; give more")
    return slices


def drawn(labels: NDArray[Any], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """So many rows of each class, drawn without replacement, as shape (classes, count)."""
    rows = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) < count:
            raise InvalidInputError(f"class {label} has {len(members)} examples, {count} are to be drawn; give more")
        rows.append(rng.permutation(members)[:count])
    return np.array(rows)
