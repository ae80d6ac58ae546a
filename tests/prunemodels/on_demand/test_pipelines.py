"""Pipelines that predict while they buy raw columns, of forests and of boosted models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)
from xgboost import XGBClassifier

import prunemodels as pm
from prunemodels.errors import InvalidInputError
from prunemodels.on_demand import UNAVAILABLE, from_table
from tests.loops import looped
from tests.prunemodels.models.columns.tables import NUMBERS, WORDS, raw_table

X, y = raw_table(150)


def ratio(table: Any) -> Any:
    """A column made from two."""
    return table[["debt"]].to_numpy() / table[["score"]].to_numpy()


def random_steps(rng: np.random.Generator) -> Any:
    """Encoders, imputers and mixes of raw columns that are drawn at random; raw columns may be used twice or not at all."""
    words = [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder(), TargetEncoder(), OneHotEncoder(drop="first")]
    numbers = [
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
        KNNImputer(n_neighbors=2),
        make_pipeline(SimpleImputer(strategy="median"), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")),
        "passthrough",
    ]
    some_words = words[rng.integers(4)], rng.permutation(WORDS)[: rng.integers(1, 3)].tolist()
    some_numbers = [(numbers[rng.integers(4)], rng.permutation(NUMBERS)[: rng.integers(1, 4)].tolist()) for _ in range(2)]
    return make_column_transformer(some_words, *some_numbers, (FunctionTransformer(ratio), ["debt", "score"]), sparse_threshold=0)


def random_pipeline(seed: int) -> tuple[Pipeline, pm.CostItems]:
    """A fitted pipeline, and prices of raw columns, some of which share an item."""
    rng = np.random.default_rng(seed)
    model = RandomForestClassifier(int(rng.integers(2, 7)), max_depth=4, random_state=seed)
    pipe = make_pipeline(random_steps(rng), model).fit(X, y)
    pipe[0].named_transformers_["functiontransformer"].made_from_ = [["debt", "score"]]
    needs = [["visit"], ["form"], ["visit", "file"], ["form"], ["lab"], ["file"]]
    return pipe, pm.CostItems.from_items({"visit": 3, "form": 0.5, "file": 2, "lab": 9}, needs)


@pytest.mark.slow
@looped("seed", range(8))
def test_predictions_and_costs_are_those_of_whole_rows(seed: int) -> None:
    """On random pipelines, predictions equal the pipeline's own, and costs those of `evaluate`; no value is asked for twice."""
    pipe, items = random_pipeline(seed)
    asked: set[tuple[Any, str]] = set()

    def acquire(request: Any) -> Any:
        cells = {(row, name) for row in request.rows for name in request.features}
        assert not cells & asked
        asked.update(cells)
        return X.loc[request.rows, list(request.features)]

    result = pm.OnDemandPredictor(pipe, items, acquire).run(X.index)
    assert (result.predictions == pipe.predict(X)).all()
    assert (result.probabilities == pipe.predict_proba(X)).all()
    assert result.mean_cost == pytest.approx(pm.evaluate(pipe, X, y, costs=items).cost)


def by_hand() -> Pipeline:
    """One tree: city=Rome at the root, then the ratio of debt and score."""
    steps = make_column_transformer(
        (OneHotEncoder(), ["city"]), (FunctionTransformer(ratio), ["debt", "score"]), sparse_threshold=0
    )
    label = np.where(X["city"] == "Rome", X["debt"] / X["score"] > 1, 0)
    pipe = make_pipeline(steps, RandomForestClassifier(1, bootstrap=False, max_features=None, max_depth=2, random_state=0))
    pipe.fit(X[["city", "debt", "score"]], label)
    pipe[0].named_transformers_["functiontransformer"].made_from_ = [["debt", "score"]]
    return pipe


def test_requests_by_hand() -> None:
    """All rows are asked for the city, and those of Rome for the two columns of the ratio, which come in any form."""
    pipe, seen = by_hand(), []

    def acquire(request: Any) -> Any:
        seen.append((request.features, len(request.rows)))
        return X.loc[request.rows, list(request.features)].to_numpy(dtype=object).tolist()

    predictor = pm.OnDemandPredictor(pipe, {"city": 1, "debt": 2, "score": 3}, acquire)
    result = predictor.run(X.index)
    in_rome = int((X["city"] == "Rome").sum())
    assert predictor.features == ("city", "debt", "score")
    assert seen == [(("city",), 150), (("debt",), in_rome), (("score",), in_rome)]
    assert (result.predictions == pipe.predict(X[["city", "debt", "score"]])).all()
    assert result.cost.tolist() == np.where(X["city"] == "Rome", 6.0, 1.0).tolist()


def test_missing_values_and_values_that_cannot_be_had() -> None:
    """NaN goes through the imputer like any value. What cannot be had is lost to every column that is made from it."""
    numbers = make_column_transformer((SimpleImputer(), ["income"]), (OneHotEncoder(), ["city"]), sparse_threshold=0)
    pipe = make_pipeline(numbers, RandomForestClassifier(4, max_depth=3, random_state=0)).fit(X, y)
    price = {**dict.fromkeys(X.columns, 0), "income": 5, "city": 2}
    gaps = X[X["income"].isna()]
    assert (pm.OnDemandPredictor(pipe, price, from_table(X)).predict(gaps.index) == pipe.predict(gaps)).all()

    def no_city(request: Any) -> Any:
        return {name: UNAVAILABLE if name == "city" else X.loc[request.rows, name] for name in request.features}

    result = pm.OnDemandPredictor(pipe, price, no_city).run(X.index)
    assert result.fell_back.any()
    assert set(result.cost) <= {0.0, 5.0}


def test_values_that_are_known_from_the_start() -> None:
    """Known raw columns are not asked for: what needs both a known and an unknown one asks for the unknown one alone."""
    pipe, seen = by_hand(), []

    def acquire(request: Any) -> Any:
        seen.append(request.features)
        return X.loc[request.rows, list(request.features)]

    predictor = pm.OnDemandPredictor(pipe, 1, acquire)
    known = X[["city", "debt"]].astype(object)
    assert (predictor.predict(X.index, known=known) == pipe.predict(X[["city", "debt", "score"]])).all()
    assert seen == [("score",)]
    with pytest.raises(InvalidInputError, match="no such feature; it reads city, debt, score"):
        predictor.run(X.index, known={"onehotencoder__city_Rome": np.ones(150)})


def test_a_word_that_an_encoder_does_not_know() -> None:
    """The error says which step refuses it; of a single row the word counts as unavailable, and the same is told."""
    pipe = by_hand()
    strange = pd.DataFrame({"city": ["Paris", "Bern"], "debt": [1.0, 1.0], "score": [1.0, 1.0]})
    why = r"columntransformer\.onehotencoder.*Found unknown categories"
    with pytest.raises(pm.errors.AcquisitionFailedError, match=why):
        pm.OnDemandPredictor(pipe, 1, from_table(strange)).run(strange.index)
    (refused,) = pm.OnDemandPredictor(pipe, 1, from_table(strange)).run(strange.index[:1]).refused
    assert refused[:2] == (0, "city")
    assert re.search(why, refused.why)


@pytest.mark.slow
@looped("cap", [0, 3, 5.5, 20])
def test_no_row_of_a_pipeline_exceeds_its_cap(cap: float) -> None:
    """With a cap on what a row pays, rows stop at it, and those that it did not hold back are predicted as without."""
    pipe, items = random_pipeline(2)
    free = pm.OnDemandPredictor(pipe, items, from_table(X)).run(X.index)
    result = pm.OnDemandPredictor(pipe, items, from_table(X), max_cost=cap).run(X.index)
    assert (result.cost <= cap).all()
    assert (result.predictions[~result.capped] == free.predictions[~result.capped]).all()
    assert result.capped.any() == (cap < free.cost.max())


PRICES = {"age": 1, "city": 2, "income": 5, "job": 2, "score": 7, "debt": 3}
PEOPLE, Y = raw_table(400)
SEEN, NEW = slice(0, 300), slice(300, 400)


def pipeline(kind: str) -> Any:
    """A fitted pipeline: one-hot columns, or codes that the model splits as categories."""
    encoder: Any = OrdinalEncoder() if kind == "categories" else OneHotEncoder()
    steps = make_column_transformer((encoder, ["city", "job"]), remainder="passthrough")
    model: Any = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)
    if kind != "xgboost":
        model = HistGradientBoostingClassifier(
            max_iter=8, max_depth=3, categorical_features=[0, 1] if kind == "categories" else None
        )
    return make_pipeline(steps, model).fit(PEOPLE[SEEN], Y[SEEN])


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("kind", ["categories", "one-hot", "xgboost"])
def test_raw_columns_are_bought(kind: str, early: bool) -> None:
    """Predictions are the pipeline's; without early stopping a row pays what `evaluate` says, with it no more."""
    model, new = pipeline(kind), PEOPLE[NEW]
    seen = pm.evaluate(model, new, Y[NEW], costs=PRICES)
    assert seen.error == np.mean(model.predict(new) != Y[NEW])
    assert seen.features <= len(PRICES)
    bought = pm.OnDemandPredictor(model, PRICES, pm.on_demand.from_table(new), early_stopping=early).run(new.index)
    assert (bought.predictions == model.predict(new)).all()
    if early:
        assert bought.mean_cost < seen.cost
    else:
        assert bought.mean_cost == pytest.approx(seen.cost)
        assert np.abs(bought.probabilities - model.predict_proba(new)).max() < 1e-6


@pytest.mark.parametrize("last", ["encoder", "one step more"])
def test_entries_that_a_sparse_matrix_does_not_store_are_missing_to_xgboost(last: str) -> None:
    """One-hot columns reach XGBoost as a sparse matrix, whose zeros it takes for missing values: in training and here."""
    steps = [make_column_transformer((OneHotEncoder(), ["city", "job"]), remainder="passthrough", sparse_threshold=1)]
    model = make_pipeline(*steps, *[MaxAbsScaler()] * (last != "encoder"), XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1))
    model.fit(PEOPLE[SEEN], Y[SEEN])
    rows, new = model[:-1].transform(PEOPLE[NEW]), PEOPLE[NEW]
    assert (model[-1].predict(rows) != model[-1].predict(rows.toarray())).any()  # it matters
    assert pm.evaluate(model, new, Y[NEW], costs=PRICES).error == np.mean(model.predict(new) != Y[NEW])
    assert pm.evaluate(model[-1], rows, Y[NEW], costs=1).error == np.mean(model.predict(new) != Y[NEW])
    bought = pm.OnDemandPredictor(model, PRICES, pm.on_demand.from_table(new)).run(new.index)
    assert (bought.predictions == model.predict(new)).all()


def test_a_split_on_categories_pays_for_its_raw_column() -> None:
    """A model of one split, on categories of the city: every row pays for the city, and for nothing else."""
    y = (PEOPLE["city"] == "Oslo").to_numpy().astype(int)  # the second of three: no single split on codes tells it apart
    steps = make_column_transformer((OrdinalEncoder(), ["city", "job"]), remainder="passthrough")
    stump = HistGradientBoostingClassifier(learning_rate=1, max_iter=1, max_leaf_nodes=2, categorical_features=[0, 1])
    model = make_pipeline(steps, stump).fit(PEOPLE, y)
    seen = pm.evaluate(model, PEOPLE, y, costs=PRICES)
    assert (seen.cost, seen.features, seen.splits, seen.error) == (2, 1, 1, 0)


@pytest.mark.parametrize("wrap", ["calibrated", "threshold"])
def test_wrappers_around_a_pipeline(wrap: str) -> None:
    """What a wrapper predicts is decided by the same raw columns."""
    inner = FrozenEstimator(pipeline("one-hot"))
    outer: Any = CalibratedClassifierCV(inner) if wrap == "calibrated" else FixedThresholdClassifier(inner, threshold=0.2)
    outer.fit(PEOPLE[SEEN], Y[SEEN])
    new = PEOPLE[NEW]
    bought = pm.OnDemandPredictor(outer, PRICES, pm.on_demand.from_table(new), early_stopping=True).run(new.index)
    assert (bought.predictions == outer.predict(new)).all()
    assert bought.mean_cost < sum(PRICES.values())
