"""Cascades over raw columns, and the columns as stages see them: words, categories, truth values, dates, gaps."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
import skops.io as skops_io
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.cascades import budget_cascade
from prunemodels.cascades.cascade_files import TRUSTED_IN_CASCADES
from prunemodels.stages.set_stages import on_columns
from prunemodels.stages.table_preparation import TableColumns, prepared

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


def check_bought(model: Any, rows: pd.DataFrame) -> None:
    """On demand a cascade predicts and pays as on full data, whatever types the supplier answers with."""
    for supplied in (rows, rows.astype(object)):
        bought = pm.OnDemandPredictor(model, acquire=pm.on_demand.from_table(supplied)).run(rows.index)
        assert np.array_equal(bought.predictions, model.predict(rows))
        assert np.allclose(bought.cost, model.prediction_cost(rows))


@pytest.mark.slow_cases("default", "selected")
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
    seen: list[pd.DataFrame] = []
    look = make_pipeline(FunctionTransformer(lambda table: seen.append(table) or table), SELECTED)
    model = pm.CascadeClassifier([(None, []), (look, ["city", "joined"]), (look, None)], PRICES, **QUICK).fit(X, Y)
    model.predict(X)
    assert {len(table.columns) for table in seen} == {2, 5}
    for table in seen:
        assert (table.dtypes == X.dtypes[table.columns]).all()
    check_bought(model, X[:10])


def test_stages_are_boosters_with_categories_prepared_models_and_pipelines() -> None:
    """Categories reach HistGradientBoosting as categories; a prepared model is a stage like any other."""
    stages = [
        (pm.cascades.prepared(LogisticRegression(), "linear"), ["city"]),
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
    model = pm.CascadeClassifier([(None, []), (pm.cascades.prepared(BOOSTED, "boosted"), None)], **QUICK).fit(table, Y)
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


def test_models_inside_of_pipelines_get_the_seed() -> None:
    """Two fits with one random_state are the same, also where a forest stands at the end of a pipeline."""
    forest = pm.cascades.prepared(RandomForestClassifier(3), "forest")
    models = [pm.CascadeClassifier([(None, []), (forest, None)], budget=5, **QUICK).fit(X, Y) for _ in range(2)]
    assert np.array_equal(*(model.stages_.output(1, X).value for model in models))
    assert forest.get_params()["model__random_state"] is None


CLASSIFIERS = {
    "boosted": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "linear": LogisticRegression(),
    "forest": RandomForestClassifier(5, random_state=0),
}
REGRESSORS = {
    "boosted": HistGradientBoostingRegressor(max_iter=5, random_state=0),
    "linear": Ridge(),
    "forest": RandomForestRegressor(5, random_state=0),
}


def mixed(n: int = 120) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """A table with a column of every kind, each with gaps, and labels that the words decide."""
    rng = np.random.default_rng(0)
    word = rng.choice(["red", "green", "blue"], n)
    day = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    X = pd.DataFrame(
        {
            "word": word,
            "category": pd.Categorical(rng.choice(["x", "y"], n)),
            "truth": rng.random(n) < 0.5,
            "maybe": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "whole": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "number": rng.normal(size=n),
            "object": np.array(rng.integers(0, 9, n), dtype=object),
            "day": day,
            "zoned": day.tz_localize("Europe/Rome"),
            "iso": day.strftime("%Y-%m-%d").astype(object),
            "mixed": np.array([1, "one", True, 2.5] * (n // 4), dtype=object),
        }
    )
    for k, name in enumerate(X.columns.drop("truth")):
        X.loc[k::17, name] = None
    return X, (word == "red").astype(int)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_each_kind_learns_from_every_column_and_any_subset(kind: Any) -> None:
    """Fitted on any columns, classifiers and regressors predict rows with gaps and unseen levels, and learn what words decide."""
    X, y = mixed()
    strange = X.assign(word="violet", category=pd.Categorical(["z"] * len(X)), mixed=None)
    for model in (CLASSIFIERS[kind], REGRESSORS[kind]):
        whole = prepared(clone(model), kind).fit(X, y)
        assert np.isfinite(whole.predict(strange)).all()
        for columns in (["word"], ["day", "number"], ["maybe", "word", "object"]):
            part = clone(prepared(model, kind)).fit(X[columns], y)
            assert part.feature_names_in_.tolist() == columns
            if "word" in columns:
                assert ((part.predict(X[columns]) > 0.5) == y).mean() > 0.9
        saved = skops_io.dumps(whole)
        assert set(skops_io.get_untrusted_types(data=saved)) <= set(TRUSTED_IN_CASCADES)
        for again in (pickle.loads(pickle.dumps(whole)), skops_io.loads(saved, trusted=TRUSTED_IN_CASCADES)):
            assert np.array_equal(again.predict(strange), whole.predict(strange))


def test_a_column_is_prepared_without_looking_at_others() -> None:
    """A column of the prepared table is the same, whatever other columns there are."""
    X, _ = mixed()
    whole = TableColumns().fit(X)
    for name in X:
        pd.testing.assert_frame_equal(TableColumns().fit_transform(X[[name]]), whole.transform(X)[[name]])
    kinds = dict(zip(X.columns, whole.kinds_, strict=True))
    assert kinds == {
        "word": "category", "category": "category", "truth": "category", "maybe": "category", "whole": "number",
        "number": "number", "object": "number", "day": "date", "zoned": "date", "iso": "date", "mixed": "category",
    }  # fmt: skip


def test_levels_dates_and_gaps_by_hand() -> None:
    """Places by frequency; rare and unseen levels share one; a date is days since 1970; what is missing stays missing."""
    seen = ["b"] * 7 + ["a"] * 9 + ["c", "d"] + [None]
    X = pd.DataFrame({"w": seen, "d": [datetime.date(1970, 1, 3)] * 18 + [None], "n": pd.array([1] * 18 + [None], dtype="Int64")})
    table = TableColumns().fit(X)
    out = table.transform(pd.DataFrame({"w": ["a", "b", "c", "new", None], "d": "1970-01-02T12:00", "n": [1, 2, None, 3, "4"]}))
    assert out["w"].cat.codes.tolist() == [0, 1, 2, 2, -1]
    assert out["d"].tolist() == [1.5] * 5
    assert out["n"].fillna(-1).tolist() == [1, 2, -1, 3, 4]
    frequent = TableColumns().fit(X[["w"]].iloc[:16])  # no rare level: an unseen one is missing
    assert frequent.transform(pd.DataFrame({"w": ["new"]}))["w"].isna().all()
    assert TableColumns(most_levels=2).fit(X[["w"]]).levels_ == [["a"]]


def test_levels_are_what_is_written() -> None:
    """A level that a file gives as a number is that of the same word, with or without a decimal point."""
    table = TableColumns().fit(pd.DataFrame({"code": ["7", "8", "x"] * 5}))
    for given in (["7", "8"], [7, 8], [7.0, 8.0], pd.Categorical([7, 8])):
        assert table.transform(pd.DataFrame({"code": given}))["code"].cat.codes.tolist() == [0, 1]


def test_many_levels_fit_the_histograms() -> None:
    """A column of a thousand frequent levels is one of as many levels as the boosted model has bins."""
    X = pd.DataFrame({"id": np.repeat([f"i{k}" for k in range(1000)], 5)})
    model = prepared(HistGradientBoostingClassifier(max_iter=1, max_bins=32), "boosted").fit(X, np.arange(5000) % 2)
    assert len(model[0].levels_[0]) == 31


DOORS: dict[str, Any] = {
    "pandas": lambda table: table,
    "arrow-backed": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "nullable": lambda table: table.convert_dtypes(),
    "polars": lambda table: pytest.importorskip("polars").from_pandas(table),
    "pyarrow": lambda table: pyarrow.Table.from_pandas(table, preserve_index=False),
}
"""A table of pandas with the types of another library."""


GAPS = X.assign(none=np.nan, one=[5.0] + [np.nan] * (len(X) - 1), count=np.arange(len(X)) % 7)
GAPS = GAPS.assign(never=pd.NaT, same="word", empty=pd.Series([None] * len(X), dtype="str"))
"""Columns without any value, with one value, and of one word, too."""


@pytest.mark.parametrize("names", [["member", "age", "none", "one", "count"], [*GAPS.columns]])
def test_a_table_of_any_library_is_that_of_pandas(names: list[str]) -> None:
    """Whatever types the training rows had, rows of all types get the classes that pandas' rows get."""
    table, tree = GAPS[names], prepared(DecisionTreeClassifier(max_depth=3), "forest")
    y = np.where((table["age"] > 50) ^ (table["count"] > 3), "pays", "leaves")
    stages = [(tree, names[:2]), (tree, None)]
    fitted = {name: pm.CascadeClassifier(stages, costs=1, **QUICK).fit(door(table), y) for name, door in DOORS.items()}
    truth = fitted["pandas"].predict(table)
    assert (truth == y).mean() > 0.7
    for trained, cascade in fitted.items():
        for seen, door in DOORS.items():
            assert np.array_equal(cascade.predict(door(table)), truth), (trained, seen)


@pytest.mark.parametrize("names", [["age", "none", "one"], ["age", "none", "one", "never", "same", "empty"]])
def test_nothing_is_learned_from_columns_without_values(names: list[str]) -> None:
    """Boosting refuses them by an error about windows; a value in later rows changes nothing."""
    table = GAPS[names]
    model = BOOSTED if len(names) == 3 else prepared(BOOSTED, "boosted")
    cascade = pm.CascadeClassifier([(model, None), (model, ["age"])], costs=1, **QUICK).fit(table, Y)
    assert np.array_equal(cascade.predict(table.assign(none=7.0)), cascade.predict(table))


def test_rows_for_columns_of_numbers_may_have_words_for_gaps() -> None:
    """A question mark where training had numbers is a gap, in a cascade's table and in a prepared model; other words are not."""
    rows = X[["age", "city"]].astype({"age": object})
    rows.iloc[0, 0], gap = "?", X[["age", "city"]].copy()
    gap.iloc[0, 0] = np.nan
    model = prepared(BOOSTED, "boosted").fit(X[["age", "city"]], Y)
    cascade = pm.CascadeClassifier([(prepared(BOOSTED, "boosted"), ["age"])], costs=1, **QUICK).fit(X[["age", "city"]], Y)
    for fitted in (model, cascade):
        assert np.array_equal(fitted.predict(rows), fitted.predict(gap))
        with pytest.raises(pm.errors.InvalidInputError, match="'age' holds 'old' in the row 0, in training it held"):
            fitted.predict(rows.replace("?", "old"))
