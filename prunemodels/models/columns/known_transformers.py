"""The transformers of scikit-learn that are known, and (1) of `prunemodels.models.columns.tracing` for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from prunemodels.models.columns.step_columns import Inputs, Sources, dense, each_alone, made_from_all, n_outputs, names_out


def _one_to_one(_: Any, inputs: Inputs) -> Sources:
    return each_alone(range(inputs.count))


def _mixed(transformer: Any, inputs: Inputs) -> Sources:
    return made_from_all(inputs, n_outputs(transformer, inputs))


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


def _missing(indicator: Any, _: Inputs) -> Sources:
    return each_alone(indicator.features_)


def _weighted(transformer: Any, _: Inputs) -> Sources:
    weights = transformer.components_
    return [frozenset(np.flatnonzero(row).tolist()) for row in dense(weights)]


def _tf_idf(transformer: Any, inputs: Inputs) -> Sources:
    return each_alone(range(inputs.count)) if transformer.norm is None else made_from_all(inputs, inputs.count)


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


def tracer_of(transformer: Any) -> Callable[[Any, Inputs], Sources | None] | None:
    """The tracer of the class of scikit-learn whose ``transform`` the transformer has."""
    for kind in type(transformer).__mro__:
        if kind.__name__ in TRACERS and kind.__module__.split(".")[0] == "sklearn":
            same = getattr(type(transformer), "transform", None) is getattr(kind, "transform", None)
            return TRACERS[kind.__name__] if same else None
    return None
