"""Which raw columns a column is made from, and steps that run on a part of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (IterativeImputer can be imported after it alone)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from prunemodels.models.columns import TracedColumns, trace_pipeline
from tests.prunemodels.models.columns.tables import NUMBERS, WORDS, raw_table

X, y = raw_table()


def fitted(steps: Any, table: Any = X, target: Any = y) -> Pipeline:
    """A pipeline of the steps and a small forest."""
    return make_pipeline(steps, RandomForestClassifier(2, max_depth=2, random_state=0)).fit(table, target)


def trace(pipeline: Pipeline) -> TracedColumns:
    """How the pipeline's features are made, which has steps."""
    traced = trace_pipeline(pipeline)
    assert traced is not None
    return traced


def sources(steps: Any, table: Any = X) -> list[str]:
    """For each column that the steps make the first letters of the raw columns that it is traced to."""
    traced = trace(fitted(steps, table))
    return ["".join(traced.names[c][0] for c in columns) for columns in traced.sources]


def changed_by(pipeline: Pipeline, table: pd.DataFrame) -> list[set[int]]:
    """For each feature the raw columns that change it in some row if their values are exchanged between rows: a lower bound."""

    def features(rows: pd.DataFrame) -> Any:
        for _, step in pipeline.steps[:-1]:
            rows = step.transform(rows)
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=float)

    before = features(table)
    found: list[set[int]] = [set() for _ in range(before.shape[1])]
    for j in range(table.shape[1]):
        for shift in (1, 7, 31):
            other = table.copy()
            other.isetitem(j, table.iloc[np.roll(np.arange(len(table)), shift), j].array)
            differs = ~((before == features(other)) | (np.isnan(before) & np.isnan(features(other)))).all(axis=0)
            for f in np.flatnonzero(differs):
                found[f].add(j)
    return found


def columns(*parts: Any, **options: Any) -> ColumnTransformer:
    return make_column_transformer(*parts, **options)


STEPS = {
    "scaler and one-hot": columns((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS)),
    "rare categories": columns((OneHotEncoder(min_frequency=20, drop="first"), WORDS)),
    "one column of two": columns((OneHotEncoder(drop="if_binary"), ["city"]), remainder="drop"),
    "selector and remainder": columns((OneHotEncoder(), make_column_selector(dtype_exclude=float)), remainder=SimpleImputer()),
    "positions and passthrough": columns((OrdinalEncoder(), [1, 3]), ("passthrough", slice(4, 6)), (StandardScaler(), [-6])),
    "mask": columns((StandardScaler(), np.array([True, False, True, False, False, True]))),
    "slice of names": columns((KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), slice("score", "debt"))),
    "ordinal bins": columns((KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf"), ["age", "debt"])),
    "imputers": columns(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS), (Binarizer(threshold=4), ["debt"])
    ),
    "neighbours": columns((KNNImputer(add_indicator=True), NUMBERS)),
    "regressions": columns((IterativeImputer(max_iter=2, tol=10), NUMBERS)),
    "splines": columns((SplineTransformer(4, include_bias=False), ["age", "score"])),
    "powers": columns((PolynomialFeatures(2), ["score", "debt"]), (PowerTransformer(), ["age"])),
    "quantiles": columns((QuantileTransformer(n_quantiles=10), ["age", "debt"])),
    "targets": columns((TargetEncoder(), WORDS), ("passthrough", ["age"])),
    "norms": columns((Normalizer(), ["age", "score"])),
    "mixes": columns((PCA(2), ["age", "score", "debt"]), (TruncatedSVD(1), ["score", "debt"]), (FastICA(2), ["age", "debt"])),
    "selection": make_pipeline(columns((SimpleImputer(), NUMBERS)), SelectKBest(k=2), VarianceThreshold()),
    "union": FeatureUnion([("a", columns((StandardScaler(), ["age"]))), ("b", columns((MissingIndicator(), ["income"])))]),
    "nested": make_pipeline(
        columns((make_pipeline(SimpleImputer(), FeatureUnion([("as is", "passthrough"), ("mix", PCA(1))])), ["age", "income"])),
        "passthrough",
        columns((StandardScaler(), [0]), remainder="passthrough"),
    ),
    "tables between": columns(
        (OneHotEncoder(sparse_output=False), ["city"]), remainder="drop", verbose_feature_names_out=False
    ).set_output(transform="pandas"),
    "functions": columns((FunctionTransformer(np.log1p), ["age", "score"]), (FunctionTransformer(), ["debt"])),
    "any transformer of one column": columns((FunctionTransformer(lambda a: np.hstack([a, a * a])), ["age"])),
}


EXACT = {"scaler and one-hot", "rare categories", "selector and remainder", "positions and passthrough", "mask", "slice of names"}
EXACT |= {"imputers", "splines", "powers", "quantiles", "mixes", "selection", "nested", "union"}


@pytest.mark.parametrize("name", STEPS)
def test_a_column_changes_only_with_the_columns_that_it_is_traced_to(name: str) -> None:
    """Exchanging a raw column's values between rows changes no feature that is not traced to it; where promised, each that is.
    The cells that the exact transformers ignore are not paid for.
    """
    pipeline = fitted(STEPS[name])
    traced = trace(pipeline)
    assert len(traced.sources) == pipeline[-1].n_features_in_
    seen = changed_by(pipeline, X)
    assert any(seen)
    for f, found in enumerate(seen):
        assert found <= set(traced.sources[f]), f
        assert name not in EXACT or found == set(traced.sources[f]), f


def test_columns_by_hand() -> None:
    """One-hot columns lead to their column, an indicator to the one whose gaps it marks, a constant of powers to none."""
    steps = columns(
        (SimpleImputer(add_indicator=True), ["age", "income"]),
        (OneHotEncoder(drop="first"), ["city"]),
        (PCA(1), ["score", "debt"]),
    )
    assert sources(steps) == ["a", "i", "i", "c", "c", "sd"]
    assert sources(columns((PolynomialFeatures(2), ["score", "debt"]))) == ["", "s", "d", "s", "sd", "d"]
    assert sources(columns((KNNImputer(), ["age", "income"]), (TargetEncoder(), ["city"]))) == ["ai", "ai", "c"]


def test_a_target_of_three_classes_makes_three_columns_of_each_category() -> None:
    """The target encoder writes one column for each class, all classes of the first column first."""
    three = np.arange(len(X)) % 3
    traced = trace(fitted(columns((TargetEncoder(), WORDS)), X, three))
    assert traced.sources == ((1,), (1,), (1,), (3,), (3,), (3,))


RATIO = FunctionTransformer(lambda t: t[["debt"]].to_numpy() / t[["score"]].to_numpy())


class Half(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of a user's own; `mix` makes it break its promise that each column is made from itself."""

    def __init__(self, mix: bool = False) -> None:
        self.mix = mix

    def fit(self, X: pd.DataFrame, y: Any = None) -> Half:
        self.n_features_in_, self.feature_names_in_ = X.shape[1], np.array(X.columns, dtype=object)
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        half = X.to_numpy() / 2
        return half + half[:, ::-1] if self.mix else half


def test_an_unknown_step_is_refused_by_name_with_the_remedy() -> None:
    """The message names the step within its pipeline and what to state; the statement then is what counts."""
    pipeline = fitted(columns((RATIO, ["debt", "score"]), ("passthrough", ["age"])))
    with pytest.raises(UnsupportedModelError, match=r"step 'columntransformer\.functiontransformer' is a Func.*made_from_"):
        trace_pipeline(pipeline)
    step = pipeline[0].named_transformers_["functiontransformer"]
    for statement in ({"ratio": ["debt", "score"]}, [["debt", "score"]], [[0, 1]]):
        step.made_from_ = statement
        traced = trace(pipeline)
        assert traced.sources == ((4, 5), (0,))
        traced.check(X)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ({"ratio": ["debt", "age"]}, r"made_from_ names 'age'; the step reads debt, score"),
        ([[0, 2]], r"made_from_ names 2"),
        ({"ratio": ["debt"], "other": ["score"]}, r"made_from_ has 2 entries, the step writes 1 columns"),
    ],
)
def test_a_statement_about_other_columns_is_refused(statement: Any, message: str) -> None:
    """A statement names columns that the step reads, once for each that it writes."""
    pipeline = fitted(columns((RATIO, ["debt", "score"])))
    pipeline[0].named_transformers_["functiontransformer"].made_from_ = statement
    with pytest.raises(InvalidInputError, match=message):
        trace_pipeline(pipeline)


def test_a_foreign_transformer_is_believed_and_checked() -> None:
    """scikit-learn's mark of one-to-one columns is a statement: it is taken, and tried on rows."""
    honest, mixing = (trace(fitted(columns((Half(mix), ["age", "debt"])))) for mix in (False, True))
    assert honest.sources == mixing.sources == ((0,), (5,))
    honest.check(X)
    with pytest.raises(InvalidInputError, match="'half__debt' changes with the raw column 'age'"):
        mixing.check(X)


def test_a_pipeline_that_does_not_say_what_it_was_fitted_on() -> None:
    """The first step must count its columns, since nothing else knows how many there are; what is not fitted is named."""
    with pytest.raises(NotFittedForestError, match="RandomForestClassifier of the pipeline is not fitted"):
        trace_pipeline(make_pipeline(StandardScaler(), RandomForestClassifier()))
    step = FunctionTransformer(np.abs)
    pipeline = make_pipeline(step, RandomForestClassifier(2, max_depth=2)).fit(X[["age", "debt"]], y)
    del step.n_features_in_
    with pytest.raises(UnsupportedModelError, match="does not say how many columns it was fitted on"):
        trace_pipeline(pipeline)


def cells() -> Any:
    """The raw table as values of any type."""
    return X.to_numpy(dtype=object)


@pytest.mark.parametrize("name", [name for name in STEPS if name != "any transformer of one column"])
def test_what_is_known_is_as_on_the_whole_table(name: str) -> None:
    """A feature is known where its raw columns are, and then it has the value that the pipeline computes from whole rows."""
    pipeline = fitted(STEPS[name])
    traced = trace(pipeline)
    whole = np.asarray(traced.features(X).toarray() if hasattr(traced.features(X), "toarray") else traced.features(X))
    rng = np.random.default_rng(3)
    for share in (0.0, 0.3, 0.8, 1.0):
        known = rng.random(X.shape) < share
        found, done = traced.features_known(np.where(known, cells(), None), known)
        for f, columns in enumerate(traced.sources):
            assert (done[:, f] == known[:, list(columns)].all(axis=1)).all()
        np.testing.assert_allclose(found[done], whole.astype(np.float32)[done], rtol=1e-6)


def test_a_single_row_of_which_one_column_is_known() -> None:
    """No other row is there to lend a value: an encoder is given one of its categories, and refuses nothing."""
    pipeline = fitted(make_column_transformer((OneHotEncoder(), WORDS), (StandardScaler(), ["age", "debt"])))
    traced = trace(pipeline)
    known = np.zeros((1, 6), dtype=bool)
    known[0, [3, 5]] = True  # job and debt
    found, done = traced.features_known(np.where(known, cells()[:1], None), known)
    assert done[0].tolist() == [False] * 3 + [True] * 4 + [False, True]
    assert found[0, 3:7].sum() == 1


def test_a_step_runs_only_on_rows_for_which_it_writes_something() -> None:
    """A function that would fail on a gap is not called before all that it reads is known."""
    calls = []

    def ratio(table: Any) -> Any:
        calls.append(len(table))
        return (table["debt"] / table["score"]).to_frame()

    pipeline = fitted(make_column_transformer((FunctionTransformer(ratio), ["debt", "score"])))
    pipeline[0].named_transformers_["functiontransformer"].made_from_ = [["debt", "score"]]
    traced = trace(pipeline)
    known = np.ones((3, 6), dtype=bool)
    known[0, 4] = known[2, 5] = False
    calls.clear()
    found, done = traced.features_known(np.where(known, cells()[:3], None), known)
    assert calls == [1]
    assert done.ravel().tolist() == [False, True, False]
    assert found[1, 0] == np.float32(X["debt"][1] / X["score"][1])


def test_a_value_that_a_step_refuses() -> None:
    traced = trace(fitted(make_column_transformer((OneHotEncoder(), WORDS))))
    rows = cells()[:2]
    rows[1, 1] = "Paris"
    with pytest.raises(InvalidInputError, match=r"'columntransformer\.onehotencoder' of the pipeline refuses rows \(Found"):
        traced.features_known(rows, np.ones((2, 6), dtype=bool))
    with pytest.raises(InvalidInputError, match=r"X: the step 'columntransformer' of the pipeline refuses the rows: Found"):
        traced.features(X.assign(city="Paris"))


def test_infinite_features_are_refused() -> None:
    """scikit-learn's trees refuse them too."""
    pipeline = fitted(make_pipeline(make_column_transformer((RATIO, ["debt", "score"]))))
    pipeline[0][0].named_transformers_["functiontransformer"].made_from_ = [["debt", "score"]]
    traced = trace(pipeline)
    rows = cells()[:1]
    rows[0, 4] = 0.0
    with pytest.raises(InvalidInputError, match="column 0 is infinite"):
        traced.features_known(rows, np.ones((1, 6), dtype=bool))


def test_a_step_of_steps_that_states_its_sources_is_run_whole() -> None:
    """Nothing is known of the function inside; the statement of the whole is enough, on whole rows and on parts of them."""
    pipeline = fitted(columns((RATIO, ["debt", "score"]), ("passthrough", ["age"])))
    pipeline[0].made_from_ = [["debt", "score"], ["age"]]
    traced = trace(pipeline)
    assert (traced.sources, traced.stated) == (((4, 5), (0,)), True)
    known = np.ones((2, 6), dtype=bool)
    known[1, 4] = False
    found, done = traced.features_known(np.where(known, cells()[:2], None), known)
    assert done.tolist() == [[True, True], [False, True]]
    assert found[0, 0] == np.float32(X["debt"][0] / X["score"][0])
