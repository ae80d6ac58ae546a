"""Data with the split, the prices and the labels that a paper used; the publishers' files lie in `data_folder` / NAME.

How well scores rank documents is told by the measure of BRF15, and of those who compare with it. The documents of a query are
sorted by decreasing score, and the first five are looked at. BRF15 section 3 (also BP16 and CEGB17, after Kusner et al. 2014)
counts how many relevant documents come before the first that is not:

    p(q)  =  1                 if all of the first five documents are relevant                                             (1)
             (j - 1) / 5       else, j the place of the first document among them that is not
    AP@5  =  mean of p(q) over the queries                                                                                 (2)

It is not the average precision of information retrieval: relevant documents after the first unrelated one count for nothing. What
the papers leave open: here a query of fewer than five documents scores 1 if all of them are relevant, and (j - 1) / 5 otherwise,
(1) to the letter, and documents of equal score stay in the order in which they are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.data_files import data_folder


@dataclass(frozen=True, eq=False)
class Part:
    """The examples that train, validate or test."""

    X: NDArray[np.float32]  # shape (N, F)
    y: NDArray[np.int64]  # what the paper predicts, shape (N,); two classes as 0 and 1
    raw: NDArray[np.int64]  # the labels as published, shape (N,): graded relevance, one of ten classes
    query: NDArray[np.int64] | None = None  # which query each document belongs to, shape (N,), for ranking; else None

    def __post_init__(self) -> None:
        lengths = {len(self.X), len(self.y), len(self.raw), len(self.X if self.query is None else self.query)}
        if len(lengths) != 1 or not len(self.X):
            raise InvalidInputError(
                f"a part has {sorted(lengths)} examples, labels and queries; give one of each, and at least one"
            )

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.int64] | slice) -> Part:
        return Part(self.X[rows], self.y[rows], self.raw[rows], None if self.query is None else self.query[rows])


@dataclass(frozen=True, eq=False)
class PublishedData:
    """A data set as a paper used it, with the prices of its features."""

    train: Part
    validation: Part
    test: Part
    costs: CostItems

    def __post_init__(self) -> None:
        widths = {part.X.shape[1] for part in self.parts}
        if widths != {self.costs.n_features}:
            raise InvalidInputError(f"there are prices for {self.costs.n_features} features, parts have {sorted(widths)}")

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        return self.train, self.validation, self.test


def first_rows(data: PublishedData, rows: int | None) -> PublishedData:
    """The first rows of each part, in proportion, where `rows` limits them all together."""
    total = sum(map(len, data.parts))
    if rows is None or rows >= total:
        return data
    return PublishedData(*(part.take(slice(0, max(1, len(part) * rows // total))) for part in data.parts), data.costs)


def find_file(folder: str, names: tuple[str, ...], source: str) -> Path:
    """The first of the files that exists in `data_folder` / FOLDER; an absent one is refused with where the data come from."""
    place = data_folder() / folder
    for name in names:
        if (place / name).is_file():
            return place / name
    raise BrokenFileError(f"there is no file {' or '.join(names)} in the folder {place}; {source}")


def split_rows(n: int, sizes: tuple[int, int, int]) -> tuple[slice, slice, slice]:
    """Consecutive parts of the sizes given; where there are fewer rows, in proportion. No part may be empty."""
    total = sum(sizes)
    first, second, last = sizes if n >= total else (n * sizes[0] // total, n * sizes[1] // total, n)
    slices = slice(0, first), slice(first, first + second), slice(first + second, min(first + second + last, n))
    if any(s.stop <= s.start for s in slices):
        raise InvalidInputError(f"{n} examples are too few for parts in the proportion {sizes}; give more")
    return slices


DEPTH = 5  # so many documents at the head of a query are looked at


def average_precision_at_5(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> float:
    """(2), between 0 and 1: y is 1 for relevant documents and 0 for others, greater scores come first; rows in any order."""
    return float(precisions_at_5(y, scores, query).mean())


def precisions_at_5(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> NDArray[np.float64]:
    """(1) for every query, in the order of ``numpy.unique(query)``."""
    query_of = np.unique(np.asarray(query), return_inverse=True)[1]
    order = np.lexsort((-np.asarray(scores, dtype=np.float64), query_of))  # stable
    starts = np.flatnonzero(np.diff(query_of[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))  # 0 is the head of the query
    # j - 1, or DEPTH: the document at the head has one of 0 and DEPTH, so a query's least place is never over DEPTH
    first_unrelated = np.minimum.reduceat(np.where(np.asarray(y, dtype=bool)[order], DEPTH, place), starts)
    return first_unrelated / DEPTH
