"""Turn the answers of `acquire` into numbers, and note which values came, and which of them could be had."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import REFUSED
from prunemodels.models.user_columns import Codes, UserColumns
from prunemodels.on_demand.request import UNAVAILABLE, Request

Cells = tuple[NDArray[Any], NDArray[np.bool_]]
"""Values, and whether each could be had; equal shapes.

The values are float32, float64 for models that were trained on it, or objects for raw columns of a pipeline.
"""

ROW_KEY = "row"
"""The key of a record under which its row's label stands if the request's rows have no name of their own."""

logger = logging.getLogger("prunemodels.on_demand")


@dataclass(frozen=True, eq=False)
class Answer:
    """What came for a request of n rows and F features; all arrays have the shape (n, F)."""

    values: NDArray[Any]  # float32 or float64; 0 where nothing could be had
    had: NDArray[np.bool_]  # the value could be had
    came: NDArray[np.bool_]  # the answer says something about the cell, a value or that it cannot be had
    # why the model cannot take a value that came, by the places of its row and feature; the cell does not count as had.
    wrong: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def refusing(self, wrong: Mapping[tuple[int, int], str], request: Request) -> Answer:
        """The answer without some more values that the model cannot take."""
        if not wrong:
            return self
        values, had = self.values.copy(), self.had.copy()
        for f in sorted({f for _, f in wrong}):
            rows = sorted(i for i, g in wrong if g == f)
            if len(rows) > 1 and len(rows) == (self.had[:, f] & ~pd.isna(self.values[:, f])).sum():
                raise InvalidInputError(refusal(request.features[f], request.rows[rows[0]], wrong[rows[0], f]))
            values[rows, f], had[rows, f] = 0, False
        return replace(self, values=values, had=had, wrong={**self.wrong, **wrong})


class Refused(NamedTuple):
    """A value that a supplier delivered and the model cannot take; it counts as one that cannot be had."""

    row: Any
    feature: str
    why: str


def refusal(name: str, row: Any, why: str) -> str:
    """What is told of a value that the model cannot take."""
    row = row.item() if isinstance(row, np.generic) else row
    return f"{name!r} of row {row!r} {why}; give a value as in training, NaN for a missing one, or UNAVAILABLE"


def read(answer: Any, request: Request, dtype: Any = np.float32, columns: UserColumns | None = None) -> Answer:
    """Check an answer to a request and cast it, mostly to float32, as scikit-learn's trees do.

    Parameters
    ----------
    answer
        an array or nested list of shape (rows, features), or (rows,) for a single feature; a pandas table with the rows' labels
        as its index, in any order, or a Series for a single feature; a mapping, or another table, from feature names to columns,
        of which Series are looked up by their index too, and all others are in the order of the rows; or a list of records,
        mappings from feature names to values, see Notes.
        A cell that is `UNAVAILABLE`, or masked in a ``numpy.ma`` array, could not be had; a whole column of a mapping, or the
        whole answer, may be `UNAVAILABLE` too. NaN and None are a measured missing value.
    dtype
        of the values.
    columns
        how values become numbers where the model names categories; None: they are numbers.

    Returns
    -------
    Answer
        rows and features that a table, a mapping, a Series or labelled records leave out have not come.

    Raises
    ------
    InvalidInputError
        for shapes, and labels of rows that were not asked for, and if none of several values of a feature is a finite number.

    Notes
    -----
    A single value that is no finite number is in `Answer.wrong`; the others are kept.
    Columns that were not asked for are dropped, and a message at level INFO of the logger ``prunemodels.on_demand`` names them.
    For a request of one row, a single record will do. Records name their rows under the key ``request.rows.name``, or under
    ``"row"`` if the rows have no name; then they come in any order. If no record has the key, there must be one record for each
    row, in the order of the rows.
    """
    n_rows, names = len(request.rows), request.features
    shape = n_rows, len(names)
    if answer is UNAVAILABLE:
        return Answer(np.zeros(shape, dtype=dtype), np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool))
    if isinstance(answer, Mapping) and n_rows == 1 and any(pd.api.types.is_scalar(answer.get(name, ())) for name in names):
        answer = [answer]
    if isinstance(answer, (list, tuple)) and all(isinstance(record, Mapping) for record in answer):
        answer = _columns_of_records(answer, request)
    if isinstance(answer, pd.Series):
        answer = answer.to_frame(names[0]) if len(names) == 1 else answer
    if isinstance(answer, pd.DataFrame):
        given = {str(name): answer[name] for name in answer.columns}
        _present(answer.index, request.rows)
    elif isinstance(answer, Mapping) or hasattr(answer, "columns"):
        given = {str(name): answer[name] for name in (answer if isinstance(answer, Mapping) else answer.columns)}
    else:
        given = dict(zip(names, _by_place(answer, *shape, object if columns is not None else dtype), strict=True))
    _note_dropped(given, request)
    parts = []
    for name, f in zip(names, request.columns.tolist(), strict=True):
        code = partial(columns.column, f) if columns is not None and columns.judges(f, given.get(name)) else None
        parts.append(_column_that_came(given, name, request.rows, dtype, code))
    values, had, came, wrong = zip(*parts, strict=True)
    told = {(i, f): why for f, of_column in enumerate(wrong) for i, why in of_column.items()}
    return Answer(np.stack(values, axis=1), np.stack(had, axis=1), np.stack(came, axis=1)).refusing(told, request)


def _column_that_came(
    columns: Mapping[str, Any], name: str, rows: pd.Index[Any], dtype: Any, code: Code | None
) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[int, str]]:
    """Values of one feature, whether they could be had, whether they came, and why not; a Series' labels say which rows came."""
    given = columns.get(name)
    came = _present(given.index, rows, f"{name!r}: ") if isinstance(given, pd.Series) else np.full(len(rows), name in columns)
    values, had = np.zeros(len(rows), dtype=dtype), np.zeros(len(rows), dtype=bool)
    wrong: dict[int, str] = {}
    if came.any():
        values[came], had[came], why = _cells(given, int(came.sum()), name, rows[came], dtype, code)
        wrong = {int(np.flatnonzero(came)[i]): told for i, told in why.items()}
    return values, had, came, wrong


def _columns_of_records(records: Sequence[Mapping[Any, Any]], request: Request) -> dict[str, Any]:
    """Mappings from feature names to values, one for each row that came, as Series by name; an absent key did not come."""
    key = ROW_KEY if request.rows.name is None else request.rows.name
    labelled = sum(key in record for record in records)
    if labelled not in (0, len(records)):
        raise InvalidInputError(
            f"{labelled} of {len(records)} records have the key {key!r}, which names their row; give it in all"
        )
    if records and not labelled and len(records) != len(request.rows):
        raise InvalidInputError(
            f"there are {len(records)} records for {len(request.rows)} rows; give one for each, or the rows' labels under {key!r}"
        )
    index = request.rows
    if labelled or not records:
        labels = [record[key] for record in records]
        for label in labels:
            if not isinstance(label, Hashable):
                raise InvalidInputError(f"a record has {label!r} under {key!r}; give the label of its row")
        index = pd.Index(labels, dtype=object, tupleize_cols=False)
        _present(index, request.rows)
    columns = {}
    for name in {str(name) for record in records for name in record} - ({str(key)} if labelled else set()):
        at = [i for i, record in enumerate(records) if name in record]
        values = np.fromiter((records[i][name] for i in at), dtype=object, count=len(at))
        columns[name] = pd.Series(values, index=index[at])
    return columns


def _note_dropped(given: Iterable[str], request: Request) -> None:
    extra = [name for name in given if name not in request.features]
    if extra:
        logger.info("%s: dropped what was not asked for: %s", request, ", ".join(map(repr, sorted(extra))))


Code = Callable[[Any], Codes]
"""Turns the categories of a column into numbers."""


def _cells(
    given: Any, n_rows: int, name: str, labels: pd.Index[Any], dtype: Any, code: Code | None
) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
    """One feature's values, which of them could be had, and what is wrong about single cells."""
    if given is UNAVAILABLE:
        return np.zeros(n_rows, dtype=dtype), np.zeros(n_rows, dtype=bool), {}
    if isinstance(given, pd.Series):  # its labels say which value belongs to which row, whatever their order is
        given = given.iloc[given.index.get_indexer(labels)]
    mask = np.zeros(n_rows, dtype=bool)
    any_type = np.dtype(dtype) == object or code is not None  # raw columns of a pipeline, whose steps judge them, or categories
    if any_type and getattr(given, "dtype", None) is not None and given.dtype.kind in "mM":  # NumPy would count nanoseconds
        given = pd.Series(given).astype(object)
    raw = given if np.ma.isMaskedArray(given) else np.asarray(given, dtype=object if any_type else None)
    if raw.dtype.kind in REFUSED:
        raise InvalidInputError(f"{name!r} holds {REFUSED[raw.dtype.kind][0]} ({raw.dtype}); {REFUSED[raw.dtype.kind][1]}")
    if raw.shape != (n_rows,):
        raise InvalidInputError(f"{name!r} has shape {raw.shape} for {n_rows} rows; give one value each")
    if np.ma.isMaskedArray(raw):
        mask, raw = np.ma.getmaskarray(raw), raw.data
    if raw.dtype == object:
        mask = mask | np.array([x is UNAVAILABLE or x is np.ma.masked for x in raw], dtype=bool)
        raw = np.where(mask | pd.isna(raw), np.nan, raw)
    if np.dtype(dtype) == object:
        return raw.astype(object), ~mask, {}
    if code is not None:
        codes, unknown = code(given if isinstance(given, pd.Series) and not mask.any() else raw)
        return np.where(mask, 0, codes).astype(dtype), ~mask, {i: f"is {raw[i]!r}; {why}" for i, why in unknown.items()}
    wrong: dict[int, str] = {}
    try:
        with np.errstate(over="ignore"):
            values = raw.astype(dtype)
    except (TypeError, ValueError):
        values, wrong = _one_by_one(raw, mask, dtype)
    values = np.where(mask, values.dtype.type(0), values)
    wrong |= {i: f"is infinite as a {np.dtype(dtype)}" for i in np.flatnonzero(np.isinf(values)).tolist()}
    return values, ~mask, wrong


def _one_by_one(raw: NDArray[Any], mask: NDArray[np.bool_], dtype: Any) -> tuple[NDArray[Any], dict[int, str]]:
    """The cells that are numbers, and what is wrong about the others."""
    values, wrong = np.zeros(raw.size, dtype=dtype), dict[int, str]()
    for i in np.flatnonzero(~mask).tolist():
        try:
            values[i] = raw[i]
        except (TypeError, ValueError):
            shown = raw[i].item() if isinstance(raw[i], np.generic) else raw[i]
            wrong[i] = f"is {shown!r}, which is no number"
    return values, wrong


def _present(index: pd.Index[Any], rows: pd.Index[Any], of: str = "") -> NDArray[np.bool_]:
    """Which of the rows are in the index; it must have no other labels. `of` says in messages what has the index."""
    if not index.is_unique:
        raise InvalidInputError(f"{of}the row {index[index.duplicated()][0]!r} occurs twice; give each row once")
    present = np.asarray(rows.isin(index))
    if len(index) and not present.any():
        ours, theirs = rows.tolist()[0], index.tolist()[0]
        raise InvalidInputError(f"{of}the row {ours!r} is not in the index, which begins with {theirs!r}; give the rows' labels")
    for label in index.difference(rows, sort=False):
        raise InvalidInputError(f"{of}the row {label!r} was not asked for; give the request's rows only, as the index")
    return present


def _by_place(answer: Any, n_rows: int, n_features: int, dtype: Any) -> list[Any]:
    """The columns of an array, or of nested lists."""
    try:
        # a list of words and numbers would become words
        cells = answer if np.ma.isMaskedArray(answer) else np.asarray(answer, dtype=object if np.dtype(dtype) == object else None)
    except ValueError as error:
        raise InvalidInputError(f"it is ragged ({error}); give shape ({n_rows}, {n_features})") from error
    if cells.shape == (n_rows,) and n_features == 1:
        cells = cells[:, None]
    if cells.shape != (n_rows, n_features):
        raise InvalidInputError(f"it has shape {cells.shape}; give ({n_rows}, {n_features}): a row each, a feature each")
    return list(cells.T)


def absent(request: Request, given: Answer) -> str:
    """Names the rows and features that did not come, the first few of each."""
    rows = request.rows[np.flatnonzero(~given.came.all(axis=1))].tolist()
    features = [request.features[f] for f in np.flatnonzero(~given.came.all(axis=0))]
    return (
        f"{_first(features)} did not come for {len(rows)} row{'s' * (len(rows) != 1)}, {_first(rows)}; what came is kept: "
        'error.walk.run() asks for the rest; or set ask_again=, or absent="unavailable"'
    )


def _first(names: list[Any]) -> str:
    return ", ".join(map(repr, names[:5])) + " ..." * (len(names) > 5)
