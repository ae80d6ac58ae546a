"""A user's pipeline on some of a table's columns: a ColumnTransformer at its beginning keeps the columns that are there.

A ColumnTransformer names the columns that each of its transformers reads. A stage of a cascade reads a subset of all columns, so

    columns of a transformer  =  those that it names, and the stage reads                                                 (1)

A transformer without columns by (1) is left out. Selectors, such as `make_column_selector`, choose among the stage's columns
themselves, and stay as they are. If nothing is left, the stage reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from formulations.errors import InvalidInputError

INNER = ("estimator", "regressor")
"""Where estimators such as CalibratedClassifierCV and TransformedTargetRegressor have the one that reads the rows."""


def check_named_columns(estimator: Any, names: Sequence[Any] | None, what: str) -> None:
    """Refuse a ColumnTransformer that names columns that the table does not have.

    Parameters
    ----------
    names
        of the table's columns; None: it has none.
    what
        what messages call the estimator.

    Raises
    ------
    InvalidInputError
        naming transformer and column.
    """
    known = set() if names is None else set(names)
    for transformer in _first_transformers(estimator):
        for name, _, columns in transformer.transformers:
            given = [columns] if isinstance(columns, str) else [] if callable(columns) or isinstance(columns, slice) else columns
            absent = [c for c in given if isinstance(c, str) and c not in known]
            if absent:
                there = "has no names of columns" if names is None else f"has the columns {[str(n) for n in names][:8]} ..."
                raise InvalidInputError(f"{what} names the column {absent[0]!r} in its transformer {name!r}; the table {there}")


def on_columns(estimator: Any, X: Any, columns: NDArray[np.int64]) -> Any:
    """A clone of an estimator for some columns of a table, by (1); None if nothing is left for it to read.

    Parameters
    ----------
    X
        rows with all columns.
    columns
        int64, ascending: the places of those that the stage reads.
    """
    found = clone(estimator)
    for transformer in _first_transformers(found):
        left = []
        for name, inner, given in transformer.transformers:
            own = given if callable(given) else _those_of(given, X, columns)
            seen = own(X.iloc[:, columns]) if callable(own) else own
            if isinstance(seen, (str, int)) or len(seen):
                left.append((name, inner, own))
        if not left and transformer.remainder == "drop":
            return None
        transformer.set_params(transformers=left)
    return found


def _first_transformers(estimator: Any) -> Iterator[ColumnTransformer]:
    """The ColumnTransformers that read the rows of the table itself."""
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        yield from _first_transformers(steps[0]) if steps else ()
    elif isinstance(estimator, ColumnTransformer):
        yield estimator
    else:
        for name in INNER:
            inner = getattr(estimator, name, None)
            if hasattr(inner, "fit"):
                yield from _first_transformers(inner)


def _those_of(given: Any, X: Any, columns: NDArray[np.int64]) -> Any:
    """The columns that a transformer names and the stage reads, in the transformer's form; places count within the stage."""
    if isinstance(given, (str, int, np.integer)):
        place = X.columns.get_loc(given) if isinstance(given, str) else int(given) % X.shape[1]
        at = np.flatnonzero(columns == place)
        return [] if not at.size else given if isinstance(given, str) else int(at[0])
    if isinstance(given, slice):
        labels = isinstance(given.start, str) or isinstance(given.stop, str)
        given = (
            X.columns[X.columns.slice_indexer(given.start, given.stop, given.step)].tolist()
            if labels
            else np.arange(X.shape[1])[given]
        )
    given = list(given)
    if given and all(isinstance(c, (bool, np.bool_)) for c in given):
        given = np.flatnonzero(given).tolist()
    if given and isinstance(given[0], str):
        there = set(X.columns[columns]) if isinstance(X, pd.DataFrame) else set()
        return [c for c in given if c in there]
    place_of = {int(f): k for k, f in enumerate(columns)}
    return [place_of[c] for c in (int(c) % X.shape[1] for c in given) if c in place_of]
