"""One fitted step of a pipeline: the columns that it reads and writes, and from which of them each output column is made.

That is (1) of `prunemodels.models.columns.parts`, known for the transformers of scikit-learn, or stated by a user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError, UnsupportedModelError

Sources = list[frozenset[int]]
"""For each output column the input columns that it is made from, see (1) of `prunemodels.models.columns.parts`."""

STATEMENT = "made_from_"
"""The attribute in which a fitted transformer says itself what its columns are made from."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is known of the columns that a transformer reads and writes: how many, and the names of those that it reads.

    The path has the names of the steps that lead to it, for messages.
    """

    path: str
    count: int
    names: Sequence[str] | None
    n_out: int | None = None

    def of_step(self, name: str, count: int, names: Sequence[str] | None, n_out: int | None) -> Inputs:
        """Those of a step of the transformer."""
        return Inputs(f"{self.path}.{name}" if self.path else name, count, names, n_out)


def each_alone(columns: Iterable[int]) -> Sources:
    """Each output column is made from one input column."""
    return [frozenset([int(f)]) for f in columns]


def made_from_all(inputs: Inputs, n_out: int) -> Sources:
    """Each output column is made from all input columns."""
    return [frozenset(range(inputs.count))] * n_out


def names_out(transformer: Any) -> list[str] | None:
    """The names of the output columns, if the transformer knows them."""
    if not hasattr(transformer, "get_feature_names_out"):
        return None
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step within it has no names
        return None


def n_outputs(transformer: Any, inputs: Inputs) -> int:
    """Number of output columns."""
    if inputs.n_out is not None:
        return inputs.n_out
    names = names_out(transformer)
    if names is None:
        raise untraceable(transformer, inputs)
    return len(names)


def untraceable(transformer: Any, inputs: Inputs) -> UnsupportedModelError:
    """The error for a transformer whose columns cannot be traced."""
    example = '{"ratio": ["height", "weight"]}'
    return UnsupportedModelError(
        f"the step {inputs.path!r} is a {type(transformer).__name__}, of which it is not known what its columns are made from; "
        f"state that in an attribute of the fitted step, one entry for each column that it writes: step.{STATEMENT} = {example}"
    )


def dense(rows: Any) -> NDArray[Any]:
    """Rows of any form as an array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _repeated(counts: Iterable[int]) -> Sources:
    """Input column k becomes ``counts[k]`` output columns, one column after the other."""
    return each_alone(f for f, count in enumerate(counts) for _ in range(count))


def _one_hot(encoder: Any, _: Inputs) -> Sources:
    counts = [len(categories) for categories in encoder.categories_]
    rare = getattr(encoder, "infrequent_categories_", None)  # one column stands for all of them
    if rare is not None:
        counts = [n if r is None else n - len(r) + 1 for n, r in zip(counts, rare, strict=True)]
    if encoder.drop_idx_ is not None:
        counts = [n - (dropped is not None) for n, dropped in zip(counts, encoder.drop_idx_, strict=True)]
    return _repeated(counts)


def _kept_by(imputer: Any, inputs: Inputs) -> tuple[list[int], Sources]:
    """The columns that an imputer does not drop, and (1) of the indicators that it appends."""
    indicators = each_alone(imputer.indicator_.features_) if imputer.indicator_ is not None else []
    given = [str(name) for name in getattr(imputer, "feature_names_in_", [f"x{f}" for f in range(inputs.count)])]
    out = [str(name) for name in imputer.get_feature_names_out()]
    return [given.index(name) for name in out[: len(out) - len(indicators)]], indicators


def _filled_alone(imputer: Any, inputs: Inputs) -> Sources:
    kept, indicators = _kept_by(imputer, inputs)
    return each_alone(kept) + indicators


def _filled_from_others(imputer: Any, inputs: Inputs) -> Sources:
    kept, indicators = _kept_by(imputer, inputs)
    return made_from_all(inputs, len(kept)) + indicators


def _function(transformer: Any, inputs: Inputs) -> Sources | None:
    """A function that says that it keeps its columns, or is NumPy's function of one number, or hands named columns on."""
    function, named = transformer.func, transformer.feature_names_out
    if function is None or named == "one-to-one" or (isinstance(function, np.ufunc) and function.nin == 1):
        return each_alone(range(inputs.count))
    names, out = [] if inputs.names is None else list(inputs.names), names_out(transformer)
    if out is None or not set(out) <= set(names):
        return None
    return each_alone(names.index(name) for name in out)


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
    **dict.fromkeys(ONE_TO_ONE, lambda _, inputs: each_alone(range(inputs.count))),
    **dict.fromkeys(WEIGHTED, lambda mix, _: [frozenset(np.flatnonzero(row).tolist()) for row in dense(mix.components_)]),
    "FunctionTransformer": _function,
    "IterativeImputer": _filled_from_others,
    "KBinsDiscretizer": lambda bins, inputs: _repeated(bins.n_bins_ if "onehot" in bins.encode else [1] * inputs.count),
    "KNNImputer": _filled_from_others,
    "MissingIndicator": lambda indicator, _: each_alone(indicator.features_),
    "Normalizer": lambda norm, inputs: made_from_all(inputs, n_outputs(norm, inputs)),
    "OneHotEncoder": _one_hot,
    "PolynomialFeatures": lambda poly, _: [frozenset(np.flatnonzero(powers).tolist()) for powers in poly.powers_],
    "SimpleImputer": _filled_alone,
    "SplineTransformer": lambda spline, inputs: _repeated([spline.n_features_out_ // inputs.count] * inputs.count),
    "TargetEncoder": lambda encoder, inputs: _repeated(
        [len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1] * inputs.count
    ),
    "TfidfTransformer": lambda words, inputs: (
        each_alone(range(inputs.count)) if words.norm is None else made_from_all(inputs, inputs.count)
    ),
}
"""scikit-learn's transformers, by name, so that none is imported for the table's sake."""


def tracer_of(transformer: Any) -> Callable[[Any, Inputs], Sources | None] | None:
    """The tracer of the class of scikit-learn whose ``transform`` the transformer has."""
    for kind in type(transformer).__mro__:
        if kind.__name__ in TRACERS and kind.__module__.split(".")[0] == "sklearn":
            same = getattr(type(transformer), "transform", None) is getattr(kind, "transform", None)
            return TRACERS[kind.__name__] if same else None
    return None


def stated_sources(transformer: Any, inputs: Inputs) -> Sources:
    """What the attribute ``made_from_`` states: by the names of output columns, or one entry for each in their order."""
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
