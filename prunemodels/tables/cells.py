"""One column of one chunk, in the form that the forest needs.

A chunk is an Arrow table or batch, a pandas table, or an array without names. NaN and empty cells are missing values in
features; in labels and weights they are refused. Error messages count the rows of the whole table from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.shown import row_of
from prunemodels.data_files import first_word, shown
from prunemodels.written_numbers import without_missing_words


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of the table `source`, after its `first` rows: an Arrow table or batch, or a pandas table."""

    rows: Any
    source: str
    first: int

    def place(self, i: int) -> str:
        """Where row i of the chunk is, for error messages."""
        return row_of(self.source, self.first + i)

    def features(self, names: Sequence[str], used: NDArray[np.int64]) -> NDArray[np.float32]:
        """The named columns in the order of `names`. Only those at the places `used` are read; the others are 0."""
        rows = np.zeros((self.rows.shape[0], len(names)), dtype=np.float32)
        for j in used.tolist():
            numbers = self.numbers(names[j])
            infinite = np.flatnonzero(np.isinf(numbers))
            if infinite.size:
                raise InvalidInputError(
                    f"{self.place(infinite[0])}: the column {names[j]!r} is infinite as a float32; scikit-learn refuses to "
                    "route it: clip it or use NaN"
                )
            rows[:, j] = numbers
        return rows

    def numbers(self, name: str, kind: type[np.float32] | type[np.float64] = np.float32) -> NDArray[Any]:
        """One column as floats, NaN where a cell is empty."""
        column = self._column(name)
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            return _arrow_numbers(column, name, self.source, kind)
        if getattr(column.dtype, "kind", "O") in "mMc":  # pandas would turn times into nanoseconds, and drop imaginary parts
            raise InvalidInputError(_no_numbers(self.source, name, column.dtype))
        column = without_missing_words(column)
        try:
            with np.errstate(over="ignore"):
                return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))
        except (TypeError, ValueError) as error:
            i = first_word(column) or 0
            raise InvalidInputError(
                f"{self.place(i)}: the column {name!r} holds {column.iloc[i]!r}, not a number; encode it as the training data was"
            ) from error

    def values(self, name: str) -> NDArray[Any]:
        """One column with its values unchanged; no cell may be empty."""
        column = self._column(name)
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = pd.Series(column.to_pandas())
        empty = np.flatnonzero(column.isna())
        if empty.size:
            raise InvalidInputError(f"{self.place(empty[0])}: no value of {name!r}; fill it or drop the row")
        return np.asarray(column.to_numpy())

    def _column(self, name: str) -> Any:
        """The column of that name: an Arrow array or a pandas column."""
        names = column_names(self.rows)
        check_present([name], names, self.source)
        k = names.index(name)
        return self.rows.iloc[:, k] if hasattr(self.rows, "iloc") else self.rows.column(k)


def column_names(rows: Any) -> list[str]:
    """The columns of a pandas or Arrow table."""
    return [str(c) for c in (rows.columns if hasattr(rows, "iloc") else rows.schema.names)]


def check_present(wanted: Sequence[str], names: Sequence[str], source: str) -> None:
    """Check that each wanted column exists exactly once."""
    have = set(names)
    absent = [n for n in wanted if n not in have]
    if absent:
        others = "" if len(absent) == 1 else f" ({len(absent)} are missing)"
        raise InvalidInputError(f"{source} has no column {absent[0]!r}{others}; it has {shown(names)}")
    if len(have) < len(names):
        twice = next((n for n in wanted if list(names).count(n) > 1), None)
        if twice is not None:
            raise InvalidInputError(f"{source} has the column {twice!r} more than once; rename one of them")


def _arrow_numbers(column: Any, name: str, source: str, kind: type[np.float32] | type[np.float64]) -> NDArray[Any]:
    """An Arrow column as floats, with the same result as in pandas."""
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numeric = pa.types.is_integer(held) or pa.types.is_floating(held) or pa.types.is_decimal(held)
    if not (numeric or pa.types.is_boolean(held) or pa.types.is_null(held)):
        kind_of = f"categories of {held}" if held is not column.type else held
        raise InvalidInputError(_no_numbers(source, name, kind_of))
    if held is not column.type:
        column = pc.cast(column, held)
    target = pa.float32() if kind is np.float32 else pa.float64()
    return np.asarray(pc.cast(column, target, safe=False).to_numpy(zero_copy_only=False), dtype=kind)


def _no_numbers(source: str, name: str, held: object) -> str:
    return f"{source}: the column {name!r} holds {held}, not numbers; encode it as the training data was"
