"""Pipelines whose last step is a model of trees: the raw columns that a user pays for, and the features that the trees test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.pipeline import Pipeline

from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from prunemodels.models.columns.parts import Cells, Part, is_identity, part_of
from prunemodels.models.columns.steps import STATEMENT, Inputs, dense, names_out


@dataclass(frozen=True, eq=False)
class TracedColumns:
    """How F features are made from R raw columns."""

    steps: tuple[tuple[str, Any], ...]  # the fitted transformers by name, in their order
    names: tuple[str, ...]  # the raw columns' names, shape (R,)
    named: bool  # whether the steps were fitted on a table with these names
    sources: tuple[tuple[int, ...], ...]  # for each feature the raw columns that it is made from, ascending
    feature_names: tuple[str, ...] | None  # the features' names, or None
    stated: bool  # whether `sources` rests on what a user stated
    read: Callable[[Any], Any] | None = None  # what the model does with its columns before its trees test them; None: nothing
    # int64, shape (F,): the column of the last step that each feature is, or is made from; None: they are the same.
    column_of: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, object]:
        """The fields alone, so that a file does not depend on what was computed before."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def before(self, read: Callable[[Any], Any], column_of: NDArray[np.int64]) -> TracedColumns:
        """The same for a model that makes its features by `read` from the columns of the last step."""
        sources = tuple(self.sources[column] for column in column_of)
        return replace(self, sources=sources, read=read, column_of=column_of)

    @property
    def inputs(self) -> Inputs:
        """What is known of the raw columns and the features."""
        n_columns = len(self.sources) if self.column_of is None else int(self.column_of.max()) + 1
        return Inputs("", len(self.names), self.names if self.named else None, n_columns)

    def features(self, X: Any, name: str = "X") -> Any:
        """The features of rows of raw columns, as the last step returns them; `name` is what messages call X."""
        rows = X
        for step, transformer in self.steps:
            try:
                rows = transformer.transform(rows)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InvalidInputError(f"{name}: the step {step!r} of the pipeline refuses the rows: {error}") from error
        return rows if self.read is None else self.read(rows)

    def features_known(self, values: NDArray[Any], known: NDArray[np.bool_]) -> Cells:
        """The features of rows of which some raw columns are known, as float32, and whether each is known.

        The values are of any type; they and `known` have the shape (n, R).
        """
        found, done = self._part.run((values, known))
        features = np.where(done, found, 0)
        try:
            with np.errstate(over="ignore"):
                if self.read is None:
                    numbers = features.astype(np.float64).astype(np.float32)
                else:  # a model may take what is not stored for missing
                    numbers = self.read(csr_matrix(features.astype(np.float64)) if self._sparse else features).astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"the pipeline's last step writes what is no number ({error})") from error
        infinite = np.argwhere(np.isinf(numbers))
        if infinite.size:
            raise InvalidInputError(f"the pipeline's column {infinite[0][1]} is infinite as a float32; clip it, or make it NaN")
        return numbers, done if self.column_of is None else done[:, self.column_of]

    @cached_property
    def _sparse(self) -> bool:
        """Whether the last step writes a sparse matrix."""
        return self._part.writes_sparse(given=False)

    @cached_property
    def _part(self) -> Part:
        return part_of(Pipeline(list(self.steps)), self.inputs, table=self.named)

    def accepted(self) -> list[Any]:
        """A value of each raw column that the first step that reads it accepts."""
        return [self._part.accepted(j) for j in range(len(self.names))]

    def check(self, X: Any) -> None:
        """Try on 64 rows whether a feature changes with raw columns that it is not made from, if users stated the sources."""
        if not self.stated:
            return
        table = X.to_pandas() if hasattr(X, "to_pandas") else X
        some = table.iloc[:64] if hasattr(table, "iloc") else np.asarray(table)[:64]
        before = dense(self.features(some))
        for j, raw in enumerate(self.names):
            changed = _differ(before, dense(self.features(_rolled(some, j))))
            wrong = [f for f in np.flatnonzero(changed).tolist() if j not in self.sources[f]]
            if wrong:
                place = wrong[0] if self.column_of is None else int(self.column_of[wrong[0]])
                feature = f"column {place}" if self.feature_names is None else repr(self.feature_names[place])
                raise InvalidInputError(
                    f"the pipeline's {feature} changes with the raw column {raw!r}, from which it is not said to be made; "
                    f"correct the attribute {STATEMENT} of the step that makes it, or its feature_names_out"
                )


def trace_pipeline(model: Any) -> TracedColumns | None:
    """Trace the features of a pipeline's model back to raw columns; None for a model that reads raw columns itself."""
    steps: list[tuple[str, Any]] = []
    while isinstance(model, Pipeline):
        steps += [(name, step) for name, step in model.steps[:-1] if not is_identity(step)]
        model = model.steps[-1][1]
    if not steps:
        return None
    given = getattr(steps[0][1], "feature_names_in_", None)
    count, n_out = getattr(steps[0][1], "n_features_in_", None), getattr(model, "n_features_in_", None)
    if n_out is None:
        raise NotFittedForestError(f"the {type(model).__name__} of the pipeline is not fitted: call fit(X, y) first")
    if count is None:
        raise UnsupportedModelError(
            f"the step {steps[0][0]!r}, a {type(steps[0][1]).__name__}, does not say how many columns it was fitted on; "
            "let it set n_features_in_, and feature_names_in_ for a table"
        )
    names = tuple(f"x{f}" for f in range(count)) if given is None else tuple(str(name) for name in given)
    known = Inputs("", int(count), None if given is None else names, int(n_out))
    part = part_of(Pipeline(steps), known, table=given is not None)  # a pipeline that is never run by itself
    if len(part.sources) != n_out:
        raise UnsupportedModelError(f"the pipeline's steps write {len(part.sources)} columns, its model was trained on {n_out}")
    ascending = tuple(tuple(sorted(columns)) for columns in part.sources)
    return TracedColumns(tuple(steps), names, given is not None, ascending, _feature_names(steps, model, int(n_out)), part.stated)


def _feature_names(steps: Sequence[tuple[str, Any]], model: Any, n_out: int) -> tuple[str, ...] | None:
    """The names that the model was trained with, or that the steps give their columns."""
    trained = getattr(model, "feature_names_in_", None)
    if trained is not None:
        return tuple(str(name) for name in trained)
    names = names_out(Pipeline(list(steps)))
    return tuple(names) if names is not None and len(names) == n_out else None


def _rolled(X: Any, j: int) -> Any:
    """The rows with the values of column j moved by one row."""
    rows = X.copy()
    if isinstance(rows, pd.DataFrame):
        rows.isetitem(j, rows.iloc[np.roll(np.arange(len(rows)), 1), j].array)
    else:
        rows[:, j] = np.roll(rows[:, j], 1)
    return rows


def _differ(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Which columns differ in some row; missing values are equal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = (a == b) | (pd.isna(a) & pd.isna(b))
    return np.asarray(~same.all(axis=0))
