"""Which examples of a cost sample a limit is about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import in_order_of
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import n_examples
from formulations.instance.usage import Usage


def first_alike(problem: PruningProblem, members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places among the members of one example for each way through the forest, ascending."""
    ensemble, routing = problem.ensemble, problem.usage.routing
    ends = np.empty((ensemble.n_trees, problem.usage.n_rows), dtype=np.int64)
    for h in np.flatnonzero(~ensemble.is_split).tolist():
        ends[ensemble.tree_of[h], routing.order[ensemble.tree_of[h], routing.start[h] : routing.stop[h]]] = h
    _, first = np.unique(ends[:, members], axis=1, return_index=True)
    return np.sort(first)


def members_of(usage: Usage, limit: Limit, name: str) -> NDArray[np.int64]:
    """Places of a limit's examples among those of positive weight."""
    if limit.rows is None:
        return np.arange(usage.n_rows)
    n = n_examples(usage.X)
    place = np.full(n, -1, dtype=np.int64)
    place[usage.rows] = np.arange(usage.n_rows)
    rows = _column(usage, limit.rows, name) if isinstance(limit.rows, str) else limit.rows
    if getattr(rows, "dtype", None) == np.bool_:
        rows = in_order_of(usage.X, rows, f"{name}: the mask")
    mine = place[_row_numbers(rows, n, name)]
    mine = mine[mine >= 0]
    if mine.size == 0:
        raise InvalidInputError(f"{name} has no row of positive weight: it has no mean; leave it out")
    return mine


def _column(usage: Usage, name: str, limit: str) -> NDArray[np.bool_]:
    """A column of the cost sample as a mask."""
    X: Any = usage.X
    columns = list(X.columns) if hasattr(X, "columns") else list(usage.ensemble.column_names)
    if name not in columns:
        raise InvalidInputError(f"{limit}: the cost sample has no column {name!r}; give a bool mask, or numbers of rows")
    column = X[name] if hasattr(X, "columns") else X[:, [columns.index(name)]]
    values = np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
    if not np.isin(values, (0, 1)).all():
        raise InvalidInputError(f"{limit}: the column {name!r} is no mask, it holds more than 0 and 1; give a bool mask")
    return values.astype(bool)


def _row_numbers(rows: object, n: int, name: str) -> NDArray[np.int64]:
    """Numbers of rows, from a mask or from numbers."""
    given = np.asarray(rows)
    if given.ndim != 1:
        raise InvalidInputError(f"{name}: rows has shape {given.shape}; give a bool mask of {n} rows, or row numbers")
    if given.dtype == np.bool_:
        if given.size != n:
            raise InvalidInputError(f"{name}: the mask has {given.size} entries, the cost sample {n} rows; give one for each")
        return np.flatnonzero(given)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise InvalidInputError(f"{name}: rows is {given.dtype}; give a bool mask of {n} rows, or row numbers")
    numbers = given.astype(np.int64)
    bad = numbers[(numbers < 0) | (numbers >= n)]
    if bad.size:
        raise InvalidInputError(f"{name}: there is no row {bad[0]} in a cost sample of {n} rows; give numbers from 0 to {n - 1}")
    values, times = np.unique(numbers, return_counts=True)
    if (times > 1).any():
        raise InvalidInputError(f"{name}: row {values[times > 1][0]} occurs twice; name each row once")
    return values
