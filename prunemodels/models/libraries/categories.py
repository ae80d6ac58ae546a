"""Categorical splits: one column of zeros and ones for each set of categories that some split tests.

A categorical split sends a row left or right by the category of a column, which the library numbers 0, 1, 2, ... It becomes

    0 <= 1/2  where the row goes left,    1 > 1/2  where it goes right,                                                    (1)

a comparison with a column that is made from the category, missing and unknown ones included. So each split stays one split,
routing is exact, and a pruned model keeps the library's own split. Such a column costs what the category's column costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError

MOST_CATEGORIES = 2**24
"""Codes from here on are no categories in any library."""


@dataclass(frozen=True)
class CategorySet:
    """The test of a categorical split.

    Parameters
    ----------
    feature
        the column of the category.
    listed, listed_left
        categories that go to one side, and whether that is the left one. Other known categories go to the other side.
    known
        the categories that the model knows; None: all numbers. Others go where missing values go.
    missing_left
        whether these go left.
    """

    feature: int
    listed: frozenset[int]
    listed_left: bool
    known: frozenset[int] | None
    missing_left: bool

    def right(self, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows go right, for their numbers of categories; NaN is missing."""
        found, place = np.unique(np.where(np.isnan(codes), np.inf, codes), return_inverse=True)
        return np.array([not self._left(code) for code in found.tolist()], dtype=bool)[place]

    def _left(self, code: float) -> bool:
        if code == np.inf:
            return self.missing_left
        number = int(code) if -1 < code < MOST_CATEGORIES else -1
        if number in self.listed:
            return self.listed_left
        return not self.listed_left if self.known is None or number in self.known else self.missing_left


class Codes(Protocol):
    """Turns a user's table into numbers as the library does: categories into their codes."""

    def __call__(self, X: Any, n_columns: int, name: str) -> Any:
        """A table of numbers; NaN for missing values, and for unknown categories that the library takes for missing."""
        ...


@dataclass(frozen=True)
class TableCodes:
    """Codes of columns that hold categories in a pandas table; other tables hold codes already.

    Parameters
    ----------
    categories
        for each column of categories the model's categories in their order.
    refuses
        whether the library refuses categories that the model does not know.
    """

    categories: Mapping[int, Sequence[Any]]
    refuses: bool

    def __call__(self, X: Any, n_columns: int, name: str) -> Any:
        """See `Codes`."""
        if not hasattr(X, "iloc") or X.shape[1] != n_columns:
            return X
        columns = {f: X.iloc[:, f] for f in range(n_columns)}
        coded = {f: self._codes(f, c, name) if f in self.categories else c.to_numpy(np.float64) for f, c in columns.items()}
        return np.column_stack([coded[f] for f in range(n_columns)])

    def _codes(self, f: int, column: pd.Series[Any], name: str) -> NDArray[np.float64]:
        if pd.api.types.is_numeric_dtype(column.dtype):
            return column.to_numpy(np.float64)
        missing = column.isna().to_numpy()
        place = pd.Index(self.categories[f]).get_indexer(pd.Index(np.asarray(column)))
        codes: NDArray[np.float64] = place.astype(np.float64)
        unknown = (codes < 0) & ~missing
        if self.refuses and unknown.any():
            raise InvalidInputError(
                f"{name} has {column.iloc[int(np.flatnonzero(unknown)[0])]!r} in the column {column.name!r}; the model knows "
                f"{', '.join(map(repr, self.categories[f][:8]))}"
            )
        codes[codes < 0] = np.nan
        return codes
