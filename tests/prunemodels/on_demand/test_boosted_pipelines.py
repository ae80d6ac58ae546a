"""Pipelines that end with boosted models: both kinds of made columns, those of the steps and those of categories, meet here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder
from xgboost import XGBClassifier

import prunemodels as pm

PRICES = {"region": 3, "job": 2, "age": 1, "income": 5}


def people(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """Words, numbers and missing values; two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "region": rng.choice(list("abcdef"), n),
            "job": rng.choice(list("xyz"), n),
            "age": rng.integers(20, 70, n),
            "income": rng.normal(size=n),
        }
    )
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    score = 1.5 * X["region"].isin(["a", "d"]) + X["income"].fillna(0) + (X["job"] == "y") + rng.normal(0, 0.5, n)
    return X, (score > 1).to_numpy().astype(int)


X, Y = people()
SEEN, NEW = slice(0, 300), slice(300, 400)


def pipeline(kind: str) -> Any:
    """A fitted pipeline: one-hot columns, or codes that the model splits as categories."""
    encoder: Any = OrdinalEncoder() if kind == "categories" else OneHotEncoder()
    steps = make_column_transformer((encoder, ["region", "job"]), remainder="passthrough")
    model: Any = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)
    if kind != "xgboost":
        model = HistGradientBoostingClassifier(
            max_iter=8, max_depth=3, categorical_features=[0, 1] if kind == "categories" else None
        )
    return make_pipeline(steps, model).fit(X[SEEN], Y[SEEN])


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("kind", ["categories", "one-hot", "xgboost"])
def test_raw_columns_are_bought(kind: str, early: bool) -> None:
    """Predictions are the pipeline's; without early stopping a row pays what `evaluate` says, with it no more."""
    model, new = pipeline(kind), X[NEW]
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
    steps = [make_column_transformer((OneHotEncoder(), ["region", "job"]), remainder="passthrough", sparse_threshold=1)]
    model = make_pipeline(*steps, *[MaxAbsScaler()] * (last != "encoder"), XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1))
    model.fit(X[SEEN], Y[SEEN])
    rows, new = model[:-1].transform(X[NEW]), X[NEW]
    assert (model[-1].predict(rows) != model[-1].predict(rows.toarray())).any()  # it matters
    assert pm.evaluate(model, new, Y[NEW], costs=PRICES).error == np.mean(model.predict(new) != Y[NEW])
    assert pm.evaluate(model[-1], rows, Y[NEW], costs=1).error == np.mean(model.predict(new) != Y[NEW])
    bought = pm.OnDemandPredictor(model, PRICES, pm.on_demand.from_table(new)).run(new.index)
    assert (bought.predictions == model.predict(new)).all()


def test_a_split_on_categories_pays_for_its_raw_column() -> None:
    """A model of one split, on categories of the region: every row pays for the region, and for nothing else."""
    y = X["region"].isin(["b", "e"]).to_numpy().astype(int)
    steps = make_column_transformer((OrdinalEncoder(), ["region", "job"]), remainder="passthrough")
    stump = HistGradientBoostingClassifier(learning_rate=1, max_iter=1, max_leaf_nodes=2, categorical_features=[0, 1])
    model = make_pipeline(steps, stump).fit(X, y)
    seen = pm.evaluate(model, X, y, costs=PRICES)
    assert (seen.cost, seen.features, seen.splits, seen.error) == (3, 1, 1, 0)


@pytest.mark.parametrize("wrap", ["calibrated", "threshold"])
def test_wrappers_around_a_pipeline(wrap: str) -> None:
    """What a wrapper predicts is decided by the same raw columns."""
    inner = FrozenEstimator(pipeline("one-hot"))
    outer: Any = CalibratedClassifierCV(inner) if wrap == "calibrated" else FixedThresholdClassifier(inner, threshold=0.2)
    outer.fit(X[SEEN], Y[SEEN])
    new = X[NEW]
    bought = pm.OnDemandPredictor(outer, PRICES, pm.on_demand.from_table(new), early_stopping=True).run(new.index)
    assert (bought.predictions == outer.predict(new)).all()
    assert bought.mean_cost < sum(PRICES.values())
