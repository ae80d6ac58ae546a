"""A pipeline's steps as parts: what each output column is made from, and the output columns of rows that are known in part.

    sources(f)  =  the input columns that may change output column f, whatever the row                                    (1)
    output f of row i is known  where all input columns of sources(f) are known for row i                                 (2)

A chain of steps composes (1): an output column of the last step is made from all that the columns between are made from. A
transformer that mixes its columns, such as a principal component analysis, needs all of those with a weight. A column of
constants needs none. An unknown transformer of several columns is refused, unless it says (1) itself, in the attribute
``made_from_``.

A transformer is run on the rows for which it writes something that is known. Cells of these rows that are not known hold a value
that the transformer accepts; by (2) they change nothing that is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from formulations.errors import InvalidInputError, UnsupportedModelError
from prunemodels.models.columns.steps import (
    STATEMENT,
    Inputs,
    Sources,
    dense,
    each_alone,
    made_from_all,
    n_outputs,
    names_out,
    stated_sources,
    tracer_of,
    untraceable,
)

Cells = tuple[NDArray[Any], NDArray[np.bool_]]
"""Values of any type, shape (n, columns), and whether each is known; values that are not known mean nothing."""


class Part(Protocol):
    """A fitted transformer."""

    @property
    def sources(self) -> Sources:
        """(1)."""

    @property
    def stated(self) -> bool:
        """Whether (1) rests on what a user stated instead of on what the transformer computes."""

    def run(self, cells: Cells) -> Cells:
        """The output columns, as far as they are known by (2)."""

    def accepted(self, j: int) -> Any:
        """A value that the first step that reads input column j accepts."""

    def writes_sparse(self, given: bool) -> bool:
        """Whether it writes a sparse matrix, given a table or, with `given`, a sparse matrix."""


def part_of(transformer: Any, inputs: Inputs, *, table: bool, single: bool = False) -> Part:
    """Prepare a fitted transformer, which reads a pandas `table` if it does not say so itself, or a `single` line of values."""
    if is_identity(transformer):
        return _Chain([], inputs.count)
    if not hasattr(transformer, STATEMENT):
        if isinstance(transformer, Pipeline):
            return _chain(transformer, inputs, table=table, single=single)
        if isinstance(transformer, ColumnTransformer):
            return _side_by_side(transformer, inputs, table=table)
        if isinstance(transformer, FeatureUnion):
            return _union(transformer, inputs, table=table)
    sources, stated = _sources_of_one(transformer, inputs)
    fitted = getattr(transformer, "feature_names_in_", None)
    names = [str(name) for name in fitted] if fitted is not None else list(inputs.names or []) if table else None
    return _SingleStep(transformer, inputs, sources, stated, names, single)


def _sources_of_one(transformer: Any, inputs: Inputs) -> tuple[Sources, bool]:
    """(1) of a transformer that does not consist of others, and whether it was stated."""
    if hasattr(transformer, STATEMENT):
        return stated_sources(transformer, inputs), True
    if inputs.count == 1:  # whatever it computes, it has nothing else to compute it from
        return made_from_all(inputs, n_outputs(transformer, inputs)), False
    trace_one = tracer_of(transformer)
    found = None if trace_one is None else trace_one(transformer, inputs)
    if found is not None:
        return found, isinstance(transformer, FunctionTransformer)
    if isinstance(transformer, SelectorMixin):
        return each_alone(transformer.get_support(indices=True)), False
    if isinstance(transformer, ClassNamePrefixFeaturesOutMixin):
        return made_from_all(inputs, n_outputs(transformer, inputs)), False
    if isinstance(transformer, OneToOneFeatureMixin):
        return each_alone(range(inputs.count)), True
    raise untraceable(transformer, inputs)


def is_identity(transformer: Any) -> bool:
    """Whether a step hands its columns on."""
    return transformer is None or (isinstance(transformer, str) and transformer == "passthrough")


def _checked(part: Part, inputs: Inputs) -> Part:
    """The part of a step; refused if another number of columns was traced than it writes."""
    if inputs.n_out is not None and len(part.sources) != inputs.n_out:
        raise UnsupportedModelError(
            f"the step {inputs.path!r} writes {inputs.n_out} columns, and {len(part.sources)} were traced; state what each is "
            f"made from in its attribute {STATEMENT}"
        )
    return part


def _chain(pipeline: Pipeline, inputs: Inputs, *, table: bool, single: bool) -> _Chain:
    active = [(name, step) for name, step in pipeline.steps if not is_identity(step)]
    parts: list[Part] = []
    count, names = inputs.count, inputs.names
    for k, (name, step) in enumerate(active):
        n_out = inputs.n_out if k == len(active) - 1 else getattr(active[k + 1][1], "n_features_in_", None)
        known = inputs.of_step(name, count, names, n_out)
        parts.append(_checked(part_of(step, known, table=table and not k, single=single and not k), known))
        count, names = len(parts[-1].sources), names_out(step)
    return _Chain(parts, inputs.count)


def _side_by_side(transformer: ColumnTransformer, inputs: Inputs, *, table: bool) -> _SideBySide:
    names = getattr(transformer, "feature_names_in_", None)
    known = names if names is not None else inputs.names
    parts = []
    for name, step, columns in transformer.transformers_:
        out = transformer.output_indices_.get(name, slice(0, 0))
        if _is_dropped(step) or out.start == out.stop:
            continue
        places = _selected_places(columns, names, int(transformer.n_features_in_))
        own = None if known is None else [str(known[f]) for f in places]
        below = inputs.of_step(name, len(places), own, out.stop - out.start)
        part = part_of(step, below, table=table, single=bool(np.isscalar(columns)))
        parts.append((_checked(part, below), places, out))
    return _SideBySide(parts, bool(transformer.sparse_output_))


def _union(union: FeatureUnion, inputs: Inputs, *, table: bool) -> _SideBySide:
    parts, done = [], 0
    steps = [(name, step) for name, step in union.transformer_list if not _is_dropped(step)]
    for name, step in steps:
        below = inputs.of_step(name, inputs.count, inputs.names, inputs.n_out if len(steps) == 1 else None)
        part = _checked(part_of(step, below, table=table), below)
        parts.append((part, list(range(inputs.count)), slice(done, done + len(part.sources))))
        done += len(part.sources)
    return _SideBySide(parts)


def _is_dropped(transformer: Any) -> bool:
    return isinstance(transformer, str) and transformer == "drop"


def _selected_places(columns: Any, names: Sequence[str] | None, count: int) -> list[int]:
    """The places of the columns that a `ColumnTransformer` selects by names, positions, a slice or a mask."""
    table = pd.DataFrame([range(count)], columns=None if names is None else list(names))
    if isinstance(columns, slice):
        by_name = isinstance(columns.start, str) or isinstance(columns.stop, str)
        row: Any = table.loc[0, columns] if by_name else table.iloc[0, columns]
        return [int(x) for x in row]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn 1.6 warns when the remainder's columns are read
        chosen: list[Any] = [columns] if np.isscalar(columns) else list(columns)
    if chosen and all(isinstance(c, bool | np.bool_) for c in chosen):
        return [int(f) for f in np.flatnonzero(chosen)]
    place = {name: f for f, name in enumerate(table.columns)}
    return [place[c] if isinstance(c, str) else int(c) % count for c in chosen]


@dataclass(frozen=True, eq=False)
class _Chain:
    """Steps one after the other, of which the first reads `count` columns; without any, the columns are handed on."""

    steps: Sequence[Part]
    count: int

    @cached_property
    def sources(self) -> Sources:
        found = each_alone(range(self.count))
        for step in self.steps:
            found = [frozenset().union(*(found[f] for f in columns)) for columns in step.sources]
        return found

    @property
    def stated(self) -> bool:
        return any(step.stated for step in self.steps)

    def run(self, cells: Cells) -> Cells:
        for step in self.steps:
            cells = step.run(cells)
        return cells

    def accepted(self, j: int) -> Any:
        return self.steps[0].accepted(j) if self.steps else 1.0

    def writes_sparse(self, given: bool) -> bool:
        for step in self.steps:
            given = step.writes_sparse(given)
        return given


@dataclass(frozen=True, eq=False)
class _SideBySide:
    """Parts, each with the columns that it reads and those that it writes; `sparse`: whether they are joined so, if known."""

    parts: Sequence[tuple[Part, list[int], slice]]
    sparse: bool | None = None

    @cached_property
    def sources(self) -> Sources:
        found: Sources = [frozenset()] * self._width
        for part, places, out in self.parts:
            found[out] = [frozenset(places[f] for f in columns) for columns in part.sources]
        return found

    @property
    def _width(self) -> int:
        return max((out.stop for _, _, out in self.parts), default=0)

    @property
    def stated(self) -> bool:
        return any(part.stated for part, _, _ in self.parts)

    def run(self, cells: Cells) -> Cells:
        shape = len(cells[0]), self._width
        values, known = np.zeros(shape, dtype=object), np.zeros(shape, dtype=bool)
        for part, places, out in self.parts:
            values[:, out], known[:, out] = part.run((cells[0][:, places], cells[1][:, places]))
        return values, known

    def accepted(self, j: int) -> Any:
        """See `Part`; the first one that is not the usual 1."""
        values = (part.accepted(places.index(j)) for part, places, _ in self.parts if j in places)
        return next((value for value in values if value != 1.0), 1.0)

    def writes_sparse(self, given: bool) -> bool:
        return any(part.writes_sparse(given) for part, _, _ in self.parts) if self.sparse is None else self.sparse


@dataclass(frozen=True, eq=False)
class _SingleStep:
    """A transformer that does not consist of others, or whose (1) was stated; `names` are its columns', if it reads a table."""

    transformer: Any
    inputs: Inputs
    sources: Sources
    stated: bool
    names: list[str] | None
    single: bool

    @cached_property
    def _needs(self) -> NDArray[np.bool_]:
        """Which columns each output is made from, shape (F, columns)."""
        needs = np.zeros((len(self.sources), self.inputs.count), dtype=bool)
        for f, columns in enumerate(self.sources):
            needs[f, list(columns)] = True
        return needs

    def run(self, cells: Cells) -> Cells:
        values, known = cells
        out_known = ~(~known @ self._needs.T)  # no column that it needs is missing
        rows = np.flatnonzero(out_known.any(axis=1))
        out = np.zeros(out_known.shape, dtype=object)
        if rows.size and self._needs.size:
            given = self._input(self._filled(values[rows], known[rows], cells))
            try:
                with np.errstate(all="ignore"):
                    found = self.transformer.transform(given)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InvalidInputError(
                    f"the step {self.inputs.path!r} of the pipeline refuses rows ({error}); correct the value, or, if it stands "
                    "for one that is not known yet, give the step its columns one by one in a ColumnTransformer"
                ) from error
            out[rows] = dense(found)
        return out, out_known

    def _filled(self, values: NDArray[Any], known: NDArray[np.bool_], batch: Cells) -> NDArray[Any]:
        """The values, with one that the transformer accepts in each cell that is not known."""
        values = values.copy()
        for j in np.flatnonzero(~known.all(axis=0)).tolist():
            have = np.flatnonzero(batch[1][:, j])
            values[~known[:, j], j] = batch[0][have[0], j] if have.size else self.accepted(j)
        return values

    def accepted(self, j: int) -> Any:
        """A value of column j that the transformer was fitted with, or 1."""
        for attribute in ("categories_", "statistics_"):
            fitted = getattr(self.transformer, attribute, None)
            if fitted is not None:
                value = fitted[j][0] if attribute == "categories_" else fitted[j]
                return 1.0 if pd.isna(value) and attribute == "statistics_" else value
        return 1.0

    def writes_sparse(self, given: bool) -> bool:
        if given:
            return issparse(self.transformer.transform(csr_matrix((1, self.inputs.count))))
        return bool(getattr(self.transformer, "sparse_output", False)) or getattr(self.transformer, "encode", None) == "onehot"

    def _input(self, values: NDArray[Any]) -> Any:
        """The values in the form that the transformer was fitted on."""
        table = pd.DataFrame(values, columns=self.names).infer_objects()
        for j, categories in enumerate(getattr(self.transformer, "categories_", [])):
            if categories.dtype.kind in "OUS":  # missing values alone would be taken for numbers
                table.isetitem(j, table.iloc[:, j].to_numpy(dtype=object))
        if self.names is None:
            numeric = all(kind.kind in "biuf" for kind in table.dtypes)
            rows = table.to_numpy() if numeric else table.to_numpy(dtype=object)
            return rows[:, 0] if self.single else rows
        return table.iloc[:, 0] if self.single else table
