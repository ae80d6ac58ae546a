"""The input columns that each output column of a fitted transformer is made from.

    sources(f)  =  the input columns that may change output column f, whatever the row                                    (1)

A chain of steps composes (1): an output column of the last step is made from all that the columns between are made from. A
transformer that mixes its columns, such as a principal component analysis, needs all of those with a weight. A column of
constants needs none. An unknown transformer of several columns is refused, unless it says (1) itself, in the attribute
``made_from_``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from formulations.errors import UnsupportedModelError
from prunemodels.models.columns.steps import (
    STATEMENT,
    Inputs,
    Sources,
    each_alone,
    made_from_all,
    n_outputs,
    names_out,
    stated_sources,
    tracer_of,
    untraceable,
)


def sources_of(transformer: Any, inputs: Inputs) -> tuple[Sources, bool]:
    """(1), and whether it rests on what a user stated instead of on what the transformer computes."""
    if is_identity(transformer):
        return each_alone(range(inputs.count)), False
    if hasattr(transformer, STATEMENT):
        return stated_sources(transformer, inputs), True
    for kind, trace in STRUCTURES.items():
        if isinstance(transformer, kind):
            return trace(transformer, inputs)
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


def is_dropped(transformer: Any) -> bool:
    """Whether a step drops its columns."""
    return isinstance(transformer, str) and transformer == "drop"


def selected_places(columns: Any, names: Sequence[str] | None, count: int) -> list[int]:
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


def steps_of(pipeline: Pipeline, inputs: Inputs) -> list[tuple[Any, Inputs]]:
    """The transformers of a pipeline that change something, each with what is known of its columns."""
    active = [(name, step) for name, step in pipeline.steps if not is_identity(step)]
    found: list[tuple[Any, Inputs]] = []
    count, names = inputs.count, inputs.names
    for k, (name, step) in enumerate(active):
        n_out = inputs.n_out if k == len(active) - 1 else getattr(active[k + 1][1], "n_features_in_", None)
        found.append((step, inputs.of_step(name, count, names, n_out)))
        names = names_out(step)
        count = n_out if n_out is not None else len(names) if names is not None else -1
    return found


@dataclass(frozen=True, eq=False)
class TransformerPart:
    """A part of a `ColumnTransformer` or a `FeatureUnion`: it reads the columns `places` and writes the columns `out`.

    `single` says that it reads its one column as a line of values, not as a table.
    """

    transformer: Any
    inputs: Inputs
    places: list[int]
    out: slice
    single: bool = False


def blocks_of(transformer: Any, inputs: Inputs) -> list[TransformerPart]:
    """The parts of a fitted `ColumnTransformer` or `FeatureUnion` that write columns, in the order of these columns."""
    return (
        _column_blocks(transformer, inputs) if isinstance(transformer, ColumnTransformer) else _union_blocks(transformer, inputs)
    )


def _column_blocks(transformer: ColumnTransformer, inputs: Inputs) -> list[TransformerPart]:
    names = getattr(transformer, "feature_names_in_", None)
    count = int(transformer.n_features_in_)
    blocks = []
    for name, part, columns in transformer.transformers_:
        out = transformer.output_indices_.get(name, slice(0, 0))
        if is_dropped(part) or out.start == out.stop:
            continue
        places = selected_places(columns, names, count)
        known = names if names is not None else inputs.names
        own = None if known is None else [str(known[f]) for f in places]
        below = inputs.of_step(name, len(places), own, out.stop - out.start)
        blocks.append(TransformerPart(part, below, places, out, np.isscalar(columns)))
    return blocks


def _union_blocks(union: FeatureUnion, inputs: Inputs) -> list[TransformerPart]:
    blocks, done = [], 0
    parts = [(name, part) for name, part in union.transformer_list if not is_dropped(part)]
    for name, part in parts:
        below = inputs.of_step(name, inputs.count, inputs.names, inputs.n_out if len(parts) == 1 else None)
        n_out = len(sources_of(part, below)[0])
        blocks.append(TransformerPart(part, below, list(range(inputs.count)), slice(done, done + n_out)))
        done += n_out
    return blocks


def _of_blocks(transformer: Any, inputs: Inputs) -> tuple[Sources, bool]:
    """(1) of parts side by side."""
    blocks = blocks_of(transformer, inputs)
    found: Sources = [frozenset()] * max((block.out.stop for block in blocks), default=0)
    stated = False
    for block in blocks:
        local, told = sources_of(block.transformer, block.inputs)
        _check_count(local, block.inputs)
        found[block.out] = [frozenset(block.places[f] for f in columns) for columns in local]
        stated |= told
    return found, stated


def _of_pipeline(pipeline: Pipeline, inputs: Inputs) -> tuple[Sources, bool]:
    """(1) of steps one after the other."""
    found, stated = each_alone(range(inputs.count)), False
    for step, known in steps_of(pipeline, inputs):
        local, told = sources_of(step, Inputs(known.path, len(found), known.names, known.n_out))
        _check_count(local, known)
        found = [frozenset().union(*(found[f] for f in columns)) for columns in local]
        stated |= told
    return found, stated


STRUCTURES: dict[Any, Callable[[Any, Inputs], tuple[Sources, bool]]] = {
    Pipeline: _of_pipeline,
    ColumnTransformer: _of_blocks,
    FeatureUnion: _of_blocks,
}
"""Transformers that consist of transformers."""


def _check_count(found: Sources, inputs: Inputs) -> None:
    """Refuse a trace of another number of columns than there are."""
    if inputs.n_out is not None and len(found) != inputs.n_out:
        raise UnsupportedModelError(
            f"the step {inputs.path!r} writes {inputs.n_out} columns, and {len(found)} were traced; state what each is made from "
            f"in its attribute {STATEMENT}"
        )
