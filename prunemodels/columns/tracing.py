"""The input columns that each output column of a fitted transformer is made from.

    sources(f)  =  the input columns that may change output column f, whatever the row                                    (1)

A chain of steps composes (1): an output column of the last step is made from all that the columns between are made from. A
transformer that mixes its columns, such as a principal component analysis, needs all of those with a weight. A column of
constants needs none. An unknown transformer of several columns is refused, unless it says (1) itself, in the attribute
``made_from_``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline

from formulations.errors import InvalidInputError, UnsupportedModelError

Sources = list[frozenset[int]]
"""(1) for each output column."""

STATEMENT = "made_from_"
"""The attribute in which a fitted transformer says (1) itself."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is known of the columns that a transformer reads and writes.

    Parameters
    ----------
    path
        names of the steps that lead to the transformer, for messages.
    count
        number of its input columns.
    names
        their names, or None.
    n_out
        number of its output columns, or None.
    """

    path: str
    count: int
    names: Sequence[str] | None
    n_out: int | None = None

    def of_step(self, name: str, count: int, names: Sequence[str] | None, n_out: int | None) -> Inputs:
        """Those of a step of the transformer."""
        return Inputs(f"{self.path}.{name}" if self.path else name, count, names, n_out)


def sources_of(transformer: Any, inputs: Inputs) -> tuple[Sources, bool]:
    """(1), and whether it rests on what a user stated instead of on what the transformer computes.

    Raises
    ------
    UnsupportedModelError
        for a transformer that cannot be traced, with the way to state what each of its columns is made from.
    InvalidInputError
        for a statement that does not fit the columns.
    """
    if is_identity(transformer):
        return _each(range(inputs.count)), False
    if hasattr(transformer, STATEMENT):
        return stated_sources(transformer, inputs), True
    for kind, trace in STRUCTURES.items():
        if isinstance(transformer, kind):
            return trace(transformer, inputs)
    if inputs.count == 1:  # whatever it computes, it has nothing else to compute it from
        return _all(inputs, n_outputs(transformer, inputs)), False
    trace_one = _tracer_of(transformer)
    found = None if trace_one is None else trace_one(transformer, inputs)
    if found is not None:
        return found, type(transformer).__name__ == "FunctionTransformer"
    if isinstance(transformer, SelectorMixin):
        return _each(transformer.get_support(indices=True)), False
    if isinstance(transformer, ClassNamePrefixFeaturesOutMixin):
        return _all(inputs, n_outputs(transformer, inputs)), False
    if isinstance(transformer, OneToOneFeatureMixin):
        return _each(range(inputs.count)), True
    raise _untraceable(transformer, inputs)


def is_identity(transformer: Any) -> bool:
    """Whether a step hands its columns on."""
    return transformer is None or (isinstance(transformer, str) and transformer == "passthrough")


def is_dropped(transformer: Any) -> bool:
    """Whether a step drops its columns."""
    return isinstance(transformer, str) and transformer == "drop"


def dense(rows: Any) -> NDArray[Any]:
    """Rows of any form as an array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def names_out(transformer: Any) -> list[str] | None:
    """The names of the output columns, if the transformer knows them."""
    if not hasattr(transformer, "get_feature_names_out"):
        return None
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step within it has no names
        return None


def n_outputs(transformer: Any, inputs: Inputs) -> int:
    """Number of output columns.

    Raises
    ------
    UnsupportedModelError
        if neither the step behind the transformer nor its own names tell.
    """
    if inputs.n_out is not None:
        return inputs.n_out
    names = names_out(transformer)
    if names is None:
        raise _untraceable(transformer, inputs)
    return len(names)


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
class Block:
    """A part of a `ColumnTransformer` or a `FeatureUnion`: it reads the columns `places` and writes the columns `out`.

    `single` says that it reads its one column as a line of values, not as a table.
    """

    transformer: Any
    inputs: Inputs
    places: list[int]
    out: slice
    single: bool = False


def blocks_of(transformer: Any, inputs: Inputs) -> list[Block]:
    """The parts of a fitted `ColumnTransformer` or `FeatureUnion` that write columns, in the order of these columns."""
    return (
        _column_blocks(transformer, inputs) if isinstance(transformer, ColumnTransformer) else _union_blocks(transformer, inputs)
    )


def _column_blocks(transformer: ColumnTransformer, inputs: Inputs) -> list[Block]:
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
        blocks.append(Block(part, below, places, out, np.isscalar(columns)))
    return blocks


def _union_blocks(union: FeatureUnion, inputs: Inputs) -> list[Block]:
    blocks, done = [], 0
    parts = [(name, part) for name, part in union.transformer_list if not is_dropped(part)]
    for name, part in parts:
        below = inputs.of_step(name, inputs.count, inputs.names, inputs.n_out if len(parts) == 1 else None)
        n_out = len(sources_of(part, below)[0])
        blocks.append(Block(part, below, list(range(inputs.count)), slice(done, done + n_out)))
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
    found, stated = _each(range(inputs.count)), False
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


def stated_sources(transformer: Any, inputs: Inputs) -> Sources:
    """(1) as the attribute ``made_from_`` states it: by the names of output columns, or one entry for each in their order.

    Raises
    ------
    InvalidInputError
        for columns that the transformer does not read or write.
    """
    stated, out = getattr(transformer, STATEMENT), names_out(transformer)
    if isinstance(stated, Mapping):
        by_name = {str(name): columns for name, columns in stated.items()}
        if out is not None and set(by_name) != set(out):
            wrong = sorted(set(by_name) ^ set(out))[0]
            what = "misses" if wrong in out else "names"
            known = ", ".join(out[:6])
            raise InvalidInputError(f"{inputs.path}: {STATEMENT} {what} the column {wrong!r}; the step writes {known}")
        entries = [by_name[name] for name in (out or by_name)]
    else:
        entries = list(stated)
    if inputs.n_out is not None and len(entries) != inputs.n_out:
        raise InvalidInputError(
            f"{inputs.path}: {STATEMENT} has {len(entries)} entries, the step writes {inputs.n_out} columns; give one for each"
        )
    return [frozenset(_stated_places(entry, inputs)) for entry in entries]


def _stated_places(entry: Any, inputs: Inputs) -> Iterable[int]:
    """The places of the input columns that one entry names, by name or position."""
    names = [] if inputs.names is None else [str(name) for name in inputs.names]
    for column in [entry] if isinstance(entry, str | int | np.integer) else entry:
        if isinstance(column, str) and column in names:
            yield names.index(column)
        elif not isinstance(column, str) and 0 <= int(column) < inputs.count:
            yield int(column)
        else:
            reads = ", ".join(names[:6]) or f"the columns 0 to {inputs.count - 1}"
            raise InvalidInputError(f"{inputs.path}: {STATEMENT} names {column!r}; the step reads {reads}")


def _check_count(found: Sources, inputs: Inputs) -> None:
    """Refuse a trace of another number of columns than there are."""
    if inputs.n_out is not None and len(found) != inputs.n_out:
        raise UnsupportedModelError(
            f"the step {inputs.path!r} writes {inputs.n_out} columns, and {len(found)} were traced; state what each is made from "
            f"in its attribute {STATEMENT}"
        )


def _untraceable(transformer: Any, inputs: Inputs) -> UnsupportedModelError:
    """The error for a transformer whose columns cannot be traced."""
    example = '{"ratio": ["height", "weight"]}'
    return UnsupportedModelError(
        f"the step {inputs.path!r} is a {type(transformer).__name__}, of which it is not known what its columns are made from; "
        f"state that in an attribute of the fitted step, one entry for each column that it writes: step.{STATEMENT} = {example}"
    )


def _each(columns: Iterable[int]) -> Sources:
    """Each output column is made from one input column."""
    return [frozenset([int(f)]) for f in columns]


def _all(inputs: Inputs, n_out: int) -> Sources:
    """Each output column is made from all input columns."""
    return [frozenset(range(inputs.count))] * n_out


def _one_to_one(_: Any, inputs: Inputs) -> Sources:
    return _each(range(inputs.count))


def _mixed(transformer: Any, inputs: Inputs) -> Sources:
    return _all(inputs, n_outputs(transformer, inputs))


def _repeated(counts: Iterable[int]) -> Sources:
    """Input column k becomes ``counts[k]`` output columns, one column after the other."""
    return _each(f for f, count in enumerate(counts) for _ in range(count))


def _one_hot(encoder: Any, _: Inputs) -> Sources:
    counts = [len(categories) for categories in encoder.categories_]
    rare = getattr(encoder, "infrequent_categories_", None)  # one column stands for all of them
    if rare is not None:
        counts = [n if r is None else n - len(r) + 1 for n, r in zip(counts, rare, strict=True)]
    if encoder.drop_idx_ is not None:
        counts = [n - (dropped is not None) for n, dropped in zip(counts, encoder.drop_idx_, strict=True)]
    return _repeated(counts)


def _target_encoder(encoder: Any, inputs: Inputs) -> Sources:
    return _repeated([len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1] * inputs.count)


def _bins(discretizer: Any, inputs: Inputs) -> Sources:
    return _repeated(discretizer.n_bins_ if discretizer.encode.startswith("onehot") else [1] * inputs.count)


def _splines(transformer: Any, inputs: Inputs) -> Sources:
    return _repeated([transformer.n_features_out_ // inputs.count] * inputs.count)


def _powers(transformer: Any, _: Inputs) -> Sources:
    return [frozenset(np.flatnonzero(powers).tolist()) for powers in transformer.powers_]


def _kept_by(imputer: Any, inputs: Inputs) -> tuple[list[int], Sources]:
    """The columns that an imputer does not drop, and (1) of the indicators that it appends."""
    indicators = _each(imputer.indicator_.features_) if imputer.indicator_ is not None else []
    given = [str(name) for name in getattr(imputer, "feature_names_in_", [f"x{f}" for f in range(inputs.count)])]
    out = [str(name) for name in imputer.get_feature_names_out()]
    return [given.index(name) for name in out[: len(out) - len(indicators)]], indicators


def _filled_alone(imputer: Any, inputs: Inputs) -> Sources:
    kept, indicators = _kept_by(imputer, inputs)
    return _each(kept) + indicators


def _filled_from_others(imputer: Any, inputs: Inputs) -> Sources:
    kept, indicators = _kept_by(imputer, inputs)
    return _all(inputs, len(kept)) + indicators


def _missing(indicator: Any, _: Inputs) -> Sources:
    return _each(indicator.features_)


def _weighted(transformer: Any, _: Inputs) -> Sources:
    weights = transformer.components_
    return [frozenset(np.flatnonzero(row).tolist()) for row in dense(weights)]


def _tf_idf(transformer: Any, inputs: Inputs) -> Sources:
    return _each(range(inputs.count)) if transformer.norm is None else _all(inputs, inputs.count)


def _function(transformer: Any, inputs: Inputs) -> Sources | None:
    """A function that says that it keeps its columns, or is NumPy's function of one number, or hands named columns on."""
    function, named = transformer.func, transformer.feature_names_out
    if function is None or named == "one-to-one" or (isinstance(function, np.ufunc) and function.nin == 1):
        return _each(range(inputs.count))
    names, out = [] if inputs.names is None else list(inputs.names), names_out(transformer)
    if out is None or not set(out) <= set(names):
        return None
    return _each(names.index(name) for name in out)


ONE_TO_ONE = (
    "Binarizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OrdinalEncoder",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
)

WEIGHTED = ("PCA", "IncrementalPCA", "TruncatedSVD", "GaussianRandomProjection", "SparseRandomProjection")

TRACERS: dict[str, Callable[[Any, Inputs], Sources | None]] = {
    **dict.fromkeys(ONE_TO_ONE, _one_to_one),
    **dict.fromkeys(WEIGHTED, _weighted),
    "FunctionTransformer": _function,
    "IterativeImputer": _filled_from_others,
    "KBinsDiscretizer": _bins,
    "KNNImputer": _filled_from_others,
    "MissingIndicator": _missing,
    "Normalizer": _mixed,
    "OneHotEncoder": _one_hot,
    "PolynomialFeatures": _powers,
    "SimpleImputer": _filled_alone,
    "SplineTransformer": _splines,
    "TargetEncoder": _target_encoder,
    "TfidfTransformer": _tf_idf,
}
"""scikit-learn's transformers, by name, so that none is imported for the table's sake."""


def _tracer_of(transformer: Any) -> Callable[[Any, Inputs], Sources | None] | None:
    """The tracer of the class of scikit-learn whose ``transform`` the transformer has."""
    for kind in type(transformer).__mro__:
        if kind.__name__ in TRACERS and kind.__module__.split(".")[0] == "sklearn":
            same = getattr(type(transformer), "transform", None) is getattr(kind, "transform", None)
            return TRACERS[kind.__name__] if same else None
    return None
