"""Turn the answers of `acquire` into numbers, and note which values could be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.real_numbers import REFUSED
from prunemodels.on_demand.request import UNAVAILABLE, Request

Cells = tuple[NDArray[Any], NDArray[np.bool_]]
"""Values (float32, or float64 for models that were trained on it), and whether each could be had; equal shapes."""


def read(answer: Any, request: Request, dtype: Any = np.float32) -> Cells:
    """Check an answer to a request and cast it, mostly to float32, as scikit-learn's trees do.

    Parameters
    ----------
    answer
        an array or nested list of shape (rows, features), or (rows,) for a single feature; a pandas table with the rows' labels
        as its index, in any order, or a Series for a single feature; a mapping, or another table, from feature names to columns,
        of which Series are looked up by their index too, and all others are in the order of the rows.
        A cell that is `UNAVAILABLE`, or masked in a ``numpy.ma`` array, could not be had; a whole column of a mapping, or the
        whole answer, may be `UNAVAILABLE` too. NaN is a measured missing value.
    dtype
        of the values.

    Returns
    -------
    tuple of arrays
        values and bool, shape (rows, features).

    Raises
    ------
    InvalidInputError
        for shapes, labels and features that were not asked for, for infinities, and for values that are not numbers.
    """
    n_rows, names = len(request.rows), request.features
    if answer is UNAVAILABLE:
        return np.zeros((n_rows, len(names)), dtype=dtype), np.zeros((n_rows, len(names)), dtype=bool)
    if isinstance(answer, pd.Series):
        answer = answer.to_frame(names[0]) if len(names) == 1 else answer
    if isinstance(answer, pd.DataFrame):
        answer = _aligned(answer, request.rows)
    if isinstance(answer, Mapping) or hasattr(answer, "columns"):
        columns = _by_name(answer, names)
    else:
        columns = _by_place(answer, n_rows, len(names))
    cells = [column(c, n_rows, name, request.rows, dtype) for c, name in zip(columns, names, strict=True)]
    return np.stack([c[0] for c in cells], axis=1), np.stack([c[1] for c in cells], axis=1)


def column(given: Any, n_rows: int, name: str, labels: Sequence[Any] | pd.Index[Any], dtype: Any = np.float32) -> Cells:
    """One feature's values, and which of them could be had.

    Raises
    ------
    InvalidInputError
        naming the feature, and the row if a single row is at fault.
    """
    if given is UNAVAILABLE:
        return np.zeros(n_rows, dtype=dtype), np.zeros(n_rows, dtype=bool)
    if isinstance(given, pd.Series):  # its labels say which value belongs to which row, whatever their order is
        given = _aligned(given.to_frame(), pd.Index(labels), f"{name!r}: ").iloc[:, 0]
    mask = np.zeros(n_rows, dtype=bool)
    raw = given if np.ma.isMaskedArray(given) else np.asarray(given)
    if raw.dtype.kind in REFUSED:
        raise InvalidInputError(f"{name!r} holds {REFUSED[raw.dtype.kind][0]} ({raw.dtype}); {REFUSED[raw.dtype.kind][1]}")
    if raw.shape != (n_rows,):
        raise InvalidInputError(f"{name!r} has shape {raw.shape} for {n_rows} rows; give one value each")
    if np.ma.isMaskedArray(raw):
        mask, raw = np.ma.getmaskarray(raw), raw.data
    if raw.dtype == object:
        mask = mask | np.array([x is UNAVAILABLE or x is np.ma.masked for x in raw], dtype=bool)
        raw = np.where(mask | pd.isna(raw), np.nan, raw)
    try:
        with np.errstate(over="ignore"):
            values = raw.astype(dtype)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name!r} is not numeric ({error}); encode it as the forest's training data was") from error
    values = np.where(mask, values.dtype.type(0), values)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise InvalidInputError(
            f"{name!r} of row {labels[int(infinite[0])]!r} is infinite as a {np.dtype(dtype)}; give a finite number, NaN for a "
            "missing value, or UNAVAILABLE"
        )
    return values, ~mask


def _aligned(table: pd.DataFrame, rows: pd.Index[Any], of: str = "") -> pd.DataFrame:
    """The table in the order of the request; it must have exactly its rows. `of` says in messages what the table is."""
    if not table.index.is_unique:
        raise InvalidInputError(f"{of}the row {table.index[table.index.duplicated()][0]!r} occurs twice; give each row once")
    for label in rows.difference(table.index, sort=False):
        raise InvalidInputError(f"{of}the row {label!r} is not in the index; give every row, with UNAVAILABLE where needed")
    for label in table.index.difference(rows, sort=False):
        raise InvalidInputError(f"{of}the row {label!r} was not asked for; give the request's rows only, as the index")
    return table.loc[rows]


def _by_name(answer: Any, names: tuple[str, ...]) -> list[Any]:
    """The columns of a mapping or table in the order of the request."""
    given = {str(name): name for name in (answer if isinstance(answer, Mapping) else answer.columns)}
    for name in names:
        if name not in given:
            raise InvalidInputError(f"the feature {name!r} was asked for and is absent; give it, or UNAVAILABLE in its place")
    for name in given:
        if name not in names:
            raise InvalidInputError(f"the feature {name!r} was not asked for; give {', '.join(map(repr, names))} alone")
    return [answer[given[name]] for name in names]


def _by_place(answer: Any, n_rows: int, n_features: int) -> list[Any]:
    """The columns of an array, or of nested lists."""
    try:
        cells = answer if np.ma.isMaskedArray(answer) else np.asarray(answer)
    except ValueError as error:
        raise InvalidInputError(f"it is ragged ({error}); give shape ({n_rows}, {n_features})") from error
    if cells.shape == (n_rows,) and n_features == 1:
        cells = cells[:, None]
    if cells.shape != (n_rows, n_features):
        raise InvalidInputError(f"it has shape {cells.shape}; give ({n_rows}, {n_features}): a row each, a feature each")
    return list(cells.T)
