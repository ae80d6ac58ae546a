"""Cascades over raw columns: words, categories, truth values, dates, gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.exits import budget_cascade
from prunemodels.exits.stage_columns import on_columns
from prunemodels.exits.table_preparation import prepared

QUICK: dict[str, Any] = {"cv": 2, "doubt": "margin", "stack": False, "n_levels": 8, "random_state": 0}
PRICES = pd.DataFrame(
    {
        "feature": ["city", "plan", "member", "age", "joined"],
        "cost": [0, 3, 1, 2, 4],
        "discount_cost": [np.nan, np.nan, np.nan, 1, 3],
        "shared_group": [None, None, None, "passport", "passport"],
    }
)


def people(n: int = 160) -> tuple[pd.DataFrame, Any]:
    """Columns of every type, each but the first with gaps; the plan decides, and where it is 'basic' the age does."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Bern"], n),
            "plan": pd.Categorical(rng.choice(["basic", "gold", "none"], n)),
            "member": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "age": rng.integers(20, 80, n).astype(float),
            "joined": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="D"),
        }
    )
    y = np.where((X["plan"] == "gold") | ((X["plan"] == "basic") & (X["age"] > 50)), "pays", "leaves")
    for k, name in enumerate(X.columns[1:]):
        X.loc[X.index[k::19], name] = None
    return X, y


X, Y = people()
BOOSTED = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6, min_samples_leaf=5, early_stopping=False)
NAMED = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "plan", "member"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
    ),
    LogisticRegression(),
)
SELECTED = make_pipeline(
    make_column_transformer((OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=["number", "datetime"]))),
    LogisticRegression(),
)


class Spy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Remembers the tables that it was given."""

    seen: ClassVar[list[pd.DataFrame]] = []

    def fit(self, X: Any, y: Any) -> Spy:
        self.classes_, self.feature_names_in_ = np.unique(y), np.array(X.columns, dtype=object)
        self.seen.append(X)
        return self

    def predict_proba(self, X: Any) -> Any:
        self.seen.append(X)
        return np.full((len(X), 2), 0.5)


def check_bought(model: Any, rows: pd.DataFrame) -> None:
    """On demand a cascade predicts and pays as on full data, whatever types the supplier answers with."""
    for supplied in (rows, rows.astype(object)):
        bought = pm.OnDemandPredictor(model, acquire=pm.on_demand.from_table(supplied)).run(rows.index)
        assert np.array_equal(bought.predictions, model.predict(rows))
        assert np.allclose(bought.cost, model.prediction_cost(rows))


@pytest.mark.parametrize("estimator", [None, NAMED, SELECTED], ids=["default", "named", "selected"])
def test_a_cascade_finds_sets_of_raw_columns(estimator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It learns from words and categories, pays raw prices, survives its file, and buys raw values to the same answers."""
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (prepared(BOOSTED, "boosted"),))
    model = pm.BudgetCascadeClassifier(estimator, PRICES, budget=4, n_stages=3, **QUICK).fit(X, Y)
    assert model.score(X, Y) > 0.62
    assert model.n_features_in_ == 5
    paid = {"city": 0.0, "plan": 3.0, "member": 1.0, "age": 1.0, "joined": 3.0, "shared:passport": 1.0}
    for stop, cost in zip(model.stop_stages(X), model.prediction_cost(X), strict=True):
        assert cost == sum(paid[m] for m, has in zip(model.stages_.items.names, model.stages_.bought()[stop], strict=True) if has)
    check_bought(model, X[:40])
    pm.save_cascade(model, tmp_path / "c.skops")
    strange = X.assign(city="Paris", plan="silver")
    assert np.array_equal(pm.load_cascade(tmp_path / "c.skops").predict_proba(strange), model.predict_proba(strange))


def test_named_stages_read_the_table_as_it_is() -> None:
    """A stage is fitted and asked with the user's own columns, none of them cast."""
    Spy.seen.clear()
    model = pm.CascadeClassifier([(None, []), (Spy(), ["city", "joined"]), (Spy(), None)], PRICES, **QUICK).fit(X, Y)
    model.predict(X)
    for table in Spy.seen:
        assert (table.dtypes == X.dtypes[table.columns]).all()
    check_bought(model, X[:10])


def test_stages_are_boosters_with_categories_prepared_models_and_pipelines() -> None:
    """Categories reach HistGradientBoosting as categories; a prepared model is a stage like any other."""
    stages = [
        (pm.exits.prepared(LogisticRegression(), "linear"), ["city"]),
        (HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, early_stopping=False), ["plan", "age"]),
        (NAMED, None),
    ]
    model = pm.CascadeClassifier(stages, PRICES, budget=5, **QUICK).fit(X, Y)
    assert model.stages_.models[1].is_categorical_.tolist() == [True, False]
    assert model.score(X, Y) > 0.62
    check_bought(model, X[:40])
    assert pm.evaluate(model, X, Y).cost == pytest.approx(model.prediction_cost(X).mean())


def test_rows_of_a_file_get_the_types_of_training() -> None:
    """Objects, words and numbers that stand for the same values are predicted alike."""
    table = X.assign(code=np.where(Y == "pays", "7", "x7"))  # in a file of payers alone all codes are numbers
    model = pm.CascadeClassifier([(None, []), (pm.exits.prepared(BOOSTED, "boosted"), None)], **QUICK).fit(table, Y)
    as_read = table.astype({"plan": "object", "member": "object", "joined": "str"})
    assert np.array_equal(model.predict_proba(as_read), model.predict_proba(table))
    payers = table[Y == "pays"]
    assert np.array_equal(model.predict_proba(payers.assign(code=7)), model.predict_proba(payers))


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("plan", None),
        ("city", "city"),
        (["plan", "age", "city"], ["age", "city"]),
        ([1, 3], [1]),
        ([-2, 0], [1, 0]),
        (slice("plan", "joined"), ["age"]),
        (slice(0, 2), [0]),
        ([True, True, False, True, False], [0, 1]),
        (["plan", "joined"], None),
        (make_column_selector(dtype_include="category"), None),
        (make_column_selector(dtype_include="number"), ["age"]),
    ],
)
def test_a_column_transformer_keeps_the_columns_that_are_there(given: Any, left: Any) -> None:
    """Of the columns city and age, by name, by place, as a mask; transformers without any are dropped; selectors stay."""
    steps = make_column_transformer((StandardScaler(), given))
    found = on_columns(make_pipeline(steps, Ridge()), X, np.array([0, 3]))
    if left is None:
        assert found is None
    else:
        assert callable(given) or found[0].transformers[0][2] == left
    assert steps.transformers[0][2] is given


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": np.inf}, "the column 'age' is infinite in the row 0; clip it"),
        ({"age": 1j}, "the column 'age' holds complex numbers"),
    ],
)
def test_tables_that_are_refused(change: Any, message: str) -> None:
    """The column is named before anything is trained."""
    with pytest.raises(InvalidInputError, match=message):
        pm.BudgetCascadeClassifier(**QUICK).fit(X.assign(**change), Y)


def test_rows_that_are_refused() -> None:
    """Rows without names, and values of another type, are named; so are columns that no table has."""
    model = pm.CascadeClassifier([(None, []), (pm.exits.prepared(BOOSTED, "boosted"), None)], **QUICK).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"X is a ndarray, the cascade was trained on a table; give one with the columns"):
        model.predict(X.to_numpy())
    with pytest.raises(InvalidInputError, match=r"'age' holds 'old' in the row 0, in training it held float64"):
        model.predict(X.astype({"age": object}).assign(age="old"))
    with pytest.raises(InvalidInputError, match=r"estimator names the column 'town' in its transformer 'onehotencoder'"):
        pm.BudgetCascadeClassifier(make_pipeline(make_column_transformer((OneHotEncoder(), ["town"])), LogisticRegression())).fit(
            X, Y
        )
    twice = pd.concat([X, X[["city"]]], axis=1)
    with pytest.raises(InvalidInputError, match="X has the column 'city' more than once"):
        pm.BudgetCascadeClassifier().fit(twice, Y)


def test_models_inside_of_pipelines_get_the_seed() -> None:
    """Two fits with one random_state are the same, also where a forest stands at the end of a pipeline."""
    forest = pm.exits.prepared(RandomForestClassifier(3), "forest")
    models = [pm.CascadeClassifier([(None, []), (forest, None)], budget=5, **QUICK).fit(X, Y) for _ in range(2)]
    assert np.array_equal(*(model.stages_.output(1, X).value for model in models))
    assert forest.get_params()["model__random_state"] is None
