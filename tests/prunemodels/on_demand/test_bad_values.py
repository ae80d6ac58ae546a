"""One bad value among many rows is named and counts as unavailable; all other rows get their predictions."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prunemodels as pm
from prunemodels.on_demand import UNAVAILABLE, from_table

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"age": rng.integers(20, 70, 120).astype(float), "job": rng.choice(["a", "b", "c"], 120), "debt": rng.exponential(2, 120)},
    index=[f"r{i}" for i in range(120)],
)
TABLE.loc[TABLE.index[::9], "debt"] = np.nan
ILL = ((TABLE["age"] > 40) ^ (TABLE["job"] == "a") ^ (TABLE["debt"] > 2)).to_numpy()
NUMBERS = TABLE[["age", "debt"]]


def a_forest() -> tuple[Any, pd.DataFrame]:
    return RandomForestClassifier(5, random_state=0).fit(NUMBERS, ILL), NUMBERS


def a_pipeline() -> tuple[Any, pd.DataFrame]:
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "debt"]), (OneHotEncoder(), ["job"])
    )
    return make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(TABLE, ILL), TABLE


def a_cascade() -> tuple[Any, pd.DataFrame]:
    return a_cascade_of(TABLE, ILL), TABLE


def a_cascade_of(table: pd.DataFrame, label: Any) -> Any:
    model = pm.exits.prepared(RandomForestClassifier(5, random_state=0), "forest")
    stages = [(None, []), (model, ["age"]), (model, None)]
    return pm.CascadeClassifier(stages, 1, lam=0, cv=2, n_levels=3, stack=False, random_state=0).fit(table, label)


def a_cascade_of_numbers() -> tuple[Any, pd.DataFrame]:
    return a_cascade_of(NUMBERS, NUMBERS["age"] > 40), NUMBERS


def spoiled(table: pd.DataFrame, row: str, column: str, value: Any) -> pd.DataFrame:
    found = table.astype(object)
    found.loc[row, column] = value
    return found


MODELS = [a_forest, a_pipeline, a_cascade, a_cascade_of_numbers]


@pytest.mark.parametrize("value", ["n/a", np.inf, -np.inf])
@pytest.mark.parametrize("model", MODELS)
def test_one_bad_value_ends_no_other_row(model: Any, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Its row is predicted as if the value could not be had, and named; all others are predicted as on full data."""
    fitted, table = model()
    costs = None if model in (a_cascade, a_cascade_of_numbers) else 1
    good = pm.OnDemandPredictor(fitted, costs, from_table(table)).run(table.index)
    place = next(i for i, bought in enumerate(good.bought) if "age" in bought)
    bad = table.index[place]
    with caplog.at_level(logging.WARNING, logger="prunemodels.on_demand"):
        result = pm.OnDemandPredictor(fitted, costs, from_table(spoiled(table, bad, "age", value))).run(table.index)
    absent = spoiled(table, bad, "age", UNAVAILABLE)
    without = pm.OnDemandPredictor(fitted, costs, from_table(absent)).run(table.index)
    others = table.index != bad
    assert (result.predictions[others] == good.predictions[others]).all()
    assert result.predictions[place] == without.predictions[place]
    assert result.fell_back.tolist() == (~others).tolist()
    ((row, feature, why),) = result.refused
    assert (row, feature) == (bad, "age")
    assert str(value) in why or "infinite" in why
    assert "1 value refused" in repr(result)
    assert repr(bad) in caplog.text


@pytest.mark.parametrize("model", [a_forest, a_pipeline, a_cascade])
def test_a_bad_value_is_asked_for_again(model: Any) -> None:
    """With `ask_again` the value is asked for once more, for its row alone, and nothing is refused if it then is a good one."""
    fitted, table = model()
    asked: list[list[str]] = []

    def at_first_bad(request: Any) -> Any:
        asked.append(request.rows.tolist())
        source = spoiled(table, "r7", "age", "n/a") if request.attempt == 1 else table
        return source.loc[request.rows, list(request.features)]

    costs = None if model is a_cascade else 1
    result = pm.OnDemandPredictor(fitted, costs, at_first_bad, ask_again=1).run(table.index)
    assert result.refused == ()
    assert ["r7"] in asked
    assert (result.predictions == fitted.predict(table)).all()


@pytest.mark.parametrize("model", [a_forest, a_pipeline, a_cascade])
def test_a_column_in_which_nothing_will_do_is_refused(model: Any) -> None:
    """If every one of several values is bad, it is the supplier's form that is wrong: an error, and nothing is kept."""
    fitted, table = model()
    wrong = table.assign(age="old").astype(object)
    with pytest.raises(pm.errors.PruneModelsError, match="old"):
        pm.OnDemandPredictor(fitted, None if model is a_cascade else 1, from_table(wrong)).run(table.index)




@pytest.mark.parametrize("model", [a_forest, a_pipeline, a_cascade])
def test_a_value_that_comes_late_is_taken(model: Any) -> None:
    """A row that stopped without a value goes on when its request brings it after all, and ends as on full data; it pays then."""
    fitted, table = model()
    kept = []

    def not_today(request: Any) -> Any:
        if "age" in request.features:
            kept.append(request)
            return UNAVAILABLE
        return table.loc[request.rows, list(request.features)]

    walk = pm.OnDemandPredictor(fitted, None if model is a_cascade else 1, not_today).start(table.index[:30])
    early = walk.run()
    assert early.fell_back.all()
    for request in kept:
        walk.take(request, table.loc[request.rows, list(request.features)])
    walk.acquire = from_table(table)
    late = walk.run()
    assert not late.fell_back.any()
    assert (late.predictions == fitted.predict(table.iloc[:30])).all()
    assert late.mean_cost > early.mean_cost
    with pytest.raises(pm.errors.InvalidInputError, match="is not open in this walk"):
        pm.OnDemandPredictor(fitted, None if model is a_cascade else 1, not_today).start(table.index[:30]).take(
            kept[0], UNAVAILABLE
        )


def test_a_row_that_the_model_of_a_stage_refuses_is_named() -> None:
    """A category that no training row had passes as a word; the stage's encoder refuses it, and the result says which stage."""
    encoded = make_pipeline(make_column_transformer((OneHotEncoder(), ["job"])), RandomForestClassifier(5, random_state=0))
    stages = [(None, []), (encoded, ["job"])]
    cascade = pm.CascadeClassifier(stages, 1, lam=0, cv=2, n_levels=3, stack=False, random_state=0).fit(
        TABLE, TABLE["job"] == "a"
    )
    result = pm.OnDemandPredictor(cascade, None, from_table(spoiled(TABLE, "r7", "job", "z"))).run(TABLE.index)
    assert [refused[:2] for refused in result.refused] == [("r7", "stage 1")]
    assert "z" in result.refused[0].why
    assert result.fell_back.sum() == 1
    assert result.finished.all()


def test_known_values_that_a_pipeline_refuses_are_named() -> None:
    """A word among numbers that were known from the start counts as unavailable, and its row alone falls back."""
    fitted, table = a_pipeline()
    known = spoiled(table, "r7", "age", "n/a")[["age"]]
    result = pm.OnDemandPredictor(fitted, 1, from_table(table)).run(table.index, known=known)
    assert [refused[:2] for refused in result.refused] == [("r7", "age")]
    assert (result.predictions[table.index != "r7"] == fitted.predict(table)[table.index != "r7"]).all()
