"""Parts of a cost sample, each read by its worker.

A source is a function without arguments that returns rows, or rows and weights. It is sent to its worker, so it must be one that
can be pickled, such as a dataclass of this module. The cost sample is the rows of all sources, one source after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.extras import package

RowSource = Callable[[], Any]
"""Returns rows of shape (N, n_features), or a pair of rows and their weights, shape (N,)."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows that are sent to the worker; weights None: 1 each."""

    X: NDArray[Any]
    weights: NDArray[np.float64] | None = None

    def __call__(self) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """The rows and weights as they are."""
        return self.X, self.weights


@dataclass(frozen=True)
class ParquetRows:
    """Row groups of a Parquet file that the worker can open.

    Parameters
    ----------
    file
        its path, as the worker sees it.
    groups
        numbers of the row groups.
    features
        the columns, in the forest's order.
    weight
        the column of the weights; None: 1 each.
    """

    file: str
    groups: tuple[int, ...]
    features: tuple[str, ...]
    weight: str | None = None

    def __call__(self) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
        """Read group by group into one float32 array.

        Raises
        ------
        BrokenFileError
            where the file cannot be read, or lacks a column.
        """
        pa, parquet = package("pyarrow"), package("pyarrow.parquet")
        columns = [*self.features, *([] if self.weight is None else [self.weight])]
        try:
            with parquet.ParquetFile(self.file) as file:
                sizes = [file.metadata.row_group(g).num_rows for g in self.groups]
                X = np.empty((sum(sizes), len(self.features)), dtype=np.float32)
                weights = np.ones(len(X))
                first = 0
                for group, size in zip(self.groups, sizes, strict=True):
                    table = file.read_row_group(group, columns=columns)
                    for k, name in enumerate(self.features):
                        X[first : first + size, k] = table.column(name).to_numpy()
                    if self.weight is not None:
                        weights[first : first + size] = table.column(self.weight).to_numpy()
                    first += size
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise BrokenFileError(f"{self.file}: row groups {self.groups} cannot be read ({error})") from error
        return X, None if self.weight is None else weights


@checked
def array_parts(X: NDArray[Any], n_parts: int, sample_weight: NDArray[np.float64] | None = None) -> list[ArrayRows]:
    """An array, divided into `n_parts` parts of about equal size.

    Raises
    ------
    InvalidInputError
        for fewer rows than parts.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> [len(part.X) for part in pm.cluster.array_parts(np.zeros((10, 2)), 3)]
    [3, 3, 4]
    """
    if not 1 <= n_parts <= len(X):
        raise InvalidInputError(f"n_parts is {n_parts}; {len(X)} rows can be divided among 1 to {len(X)} workers")
    ends = np.linspace(0, len(X), n_parts + 1).astype(np.int64).tolist()
    return [ArrayRows(X[a:b], None if sample_weight is None else sample_weight[a:b]) for a, b in pairwise(ends)]


@checked
def parquet_parts(file: str | Path, n_parts: int, features: Sequence[str], sample_weight: str | None = None) -> list[ParquetRows]:
    """A Parquet file's row groups, divided into `n_parts` parts of about as many rows; only the file's footer is read here.

    Columns go by name: those of `features` in the forest's order, and `sample_weight`.

    Raises
    ------
    BrokenFileError
        where the file cannot be read.
    InvalidInputError
        for fewer row groups than parts, and for a column that the file does not have.

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/rows.parquet"
    ...     X_valid.to_parquet(file, row_group_size=50)
    ...     [part.groups for part in pm.cluster.parquet_parts(file, 2, list(X_valid.columns))]
    ...
    [(0,), (1, 2)]
    """
    pa, parquet = package("pyarrow"), package("pyarrow.parquet")
    try:
        with parquet.ParquetFile(file) as opened:
            sizes = [opened.metadata.row_group(g).num_rows for g in range(opened.num_row_groups)]
            known = set(opened.schema_arrow.names)
    except (OSError, pa.ArrowException) as error:
        raise BrokenFileError(f"{file} cannot be read as Parquet ({error})") from error
    missing = [name for name in [*features, *([] if sample_weight is None else [sample_weight])] if name not in known]
    if missing:
        raise InvalidInputError(f"{file} has no column {missing[0]!r}; name the columns in the forest's order")
    if not 1 <= n_parts <= len(sizes):
        raise InvalidInputError(
            f"n_parts is {n_parts}; {file} has {len(sizes)} row groups, and a worker reads whole ones: write smaller ones"
        )
    # A row group that a part's border falls into goes to the nearer side; every part gets at least one group.
    ends = np.cumsum(sizes)
    cuts = [0]
    for k in range(1, n_parts):
        nearest = int(np.argmin(np.abs(ends - ends[-1] * k / n_parts))) + 1
        cuts.append(min(max(nearest, cuts[-1] + 1), len(sizes) - n_parts + k))
    cuts.append(len(sizes))
    return [ParquetRows(str(file), tuple(range(a, b)), tuple(features), sample_weight) for a, b in pairwise(cuts)]
