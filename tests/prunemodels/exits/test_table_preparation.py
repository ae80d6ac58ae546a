"""Tables of any columns become what boosted trees, linear models and forests take."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io as skops_io
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from prunemodels.exits.cascade_files import TRUSTED_IN_CASCADES
from prunemodels.exits.table_preparation import TableColumns, prepared

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


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([1.0, 2.0], ["many", 1], r"'c' holds 'many' in the row 0, and held a number .*; give a number, or leave the cell empty"),
        (["2024-01-01"] * 2, ["2024-02-01", "soon"], r"'c' holds 'soon' in the row 1, and held a date"),
        ([1j, 2j], None, r"'c' holds complex numbers"),
        ([[1], [2]], None, r"'c' holds \[1\]; give a number, a word or a date"),
    ],
)
def test_what_cannot_be_read_is_named(train: Any, test: Any, message: str) -> None:
    """Errors name the column, the value and the remedy."""
    with pytest.raises(ValueError, match=message):
        TableColumns().fit(pd.DataFrame({"c": train})).transform(pd.DataFrame({"c": test}))
