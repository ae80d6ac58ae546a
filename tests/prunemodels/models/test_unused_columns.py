"""A model that is given only the columns that it uses predicts what it did before, bit for bit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.example import X_test, X_valid, costs, forest, y_valid
from prunemodels.models.tree_model import tree_model_of
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, rows
from tests.prunemodels.models.columns.tables import NUMBERS, WORDS, raw_table

RNG = np.random.default_rng(0)
WIDE = np.insert(np.where(RNG.random((200, 4)) < 0.1, np.nan, RNG.normal(size=(200, 4))), [0, 2, 2, 4], 7.0, axis=1)
"""Columns 0, 3, 4 and 7 are constant, so no split tests them."""
USED = [1, 2, 5, 6]
CLASSES = (np.nan_to_num(WIDE[:, USED]).sum(axis=1) + RNG.normal(scale=0.3, size=200) > 0).astype(int)
TESTED = np.where(RNG.random((300, 8)) < 0.2, np.nan, RNG.normal(size=(300, 8)))
"""Other rows, where all columns vary and have holes."""


def columns_of(model: Any) -> list[int]:
    """The columns that some split tests."""
    ensemble = pm.read_forest(model)
    return np.unique(ensemble.feature[ensemble.feature >= 0]).tolist()


@pytest.mark.slow
@looped("kind", KINDS)
def test_a_pruned_forest_of_every_kind(kind: str) -> None:
    """Predictions, probabilities, leaves and importances are equal, and the old forest is as it was."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    ensemble = problem.ensemble
    few = np.isin(ensemble.feature, [1, 3]) & ensemble.is_split
    for h in range(ensemble.n_nodes):  # only splits on two columns, and only below such splits
        few[h] &= ensemble.parent[h] < 0 or few[ensemble.parent[h]]
    cheap = pm.apply_pruning(pm.Pruning(problem, few), case.forest)
    kept = columns_of(cheap) or [0]
    before = cheap.n_features_in_
    slim = pm.drop_unused(cheap)
    assert type(slim) is type(cheap)
    assert (slim.n_features_in_, cheap.n_features_in_) == (len(kept), before)
    X = case.X if "missing values" not in kind else rows(60, seed=6, missing=0.4)  # holes that training did not see
    some = X.iloc[:, kept] if hasattr(X, "iloc") else X[:, kept]
    for method in ("predict", "predict_proba", "apply"):
        if hasattr(cheap, method):
            assert np.array_equal(getattr(slim, method)(some), getattr(cheap, method)(X))
    if hasattr(cheap, "feature_importances_"):
        np.testing.assert_array_equal(slim.feature_importances_, cheap.feature_importances_[kept])
    if hasattr(cheap, "feature_names_in_"):
        assert slim.feature_names_in_.tolist() == cheap.feature_names_in_[kept].tolist()
    again = pm.read_forest(slim)
    assert np.array_equal(np.array(kept)[again.feature[again.is_split]], pm.read_forest(cheap).feature[again.is_split])


def test_constraints_follow_the_columns() -> None:
    """Of monotonic splits those of the columns that remain, on other rows too; rows of all columns are refused."""
    rows, tested = np.nan_to_num(WIDE), np.nan_to_num(TESTED)  # scikit-learn takes monotonic splits without holes alone
    model = RandomForestClassifier(5, max_depth=5, monotonic_cst=[0, 1, 0, 0, 0, 0, 0, 0], random_state=0).fit(rows, CLASSES)
    slim = pm.drop_unused(model)
    assert columns_of(model) == USED
    assert np.array_equal(slim.predict(tested[:, USED]), model.predict(tested))
    assert slim.monotonic_cst.tolist() == [1, 0, 0, 0]
    with pytest.raises(ValueError, match="8 features, but"):
        slim.predict(tested)


MODELS: dict[str, Any] = {
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1),
    "xgboost, numbers": lambda: xgboost.XGBRegressor(n_estimators=6, max_depth=3, n_jobs=1),
    "xgboost, dart": lambda: xgboost.XGBClassifier(booster="dart", rate_drop=0.5, n_estimators=6, max_depth=3, n_jobs=1),
    "xgboost, forest": lambda: xgboost.XGBRFClassifier(n_estimators=6, max_depth=3, n_jobs=1, random_state=0),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=6, verbose=-1, n_jobs=1),
    "lightgbm, numbers": lambda: lightgbm.LGBMRegressor(n_estimators=6, verbose=-1, n_jobs=1),
    "lightgbm, monotone": lambda: lightgbm.LGBMClassifier(
        n_estimators=6, verbose=-1, n_jobs=1, monotone_constraints=[0, 1, 0, 0, 0, 0, 0, 0]
    ),
    "lightgbm, bare trees": lambda: lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=190, verbose=-1, n_jobs=1),
}


@pytest.mark.parametrize("named", [False, True])
@looped("kind", MODELS)
def test_boosted_models(kind: str, named: bool) -> None:
    """The library's own predictions are equal, with and without names; so are those of the booster alone, and of a saved copy."""
    names = [f"column {f}".replace(" ", "_") for f in range(8)]

    def table(X: np.ndarray, kept: list[int]) -> Any:
        return pd.DataFrame(X[:, kept], columns=[names[f] for f in kept]) if named else X[:, kept]

    model = MODELS[kind]().fit(table(WIDE, list(range(8))), CLASSES)
    slim = pm.drop_unused(model)
    kept = [0] if "bare" in kind else USED
    assert (slim.n_features_in_, model.n_features_in_) == (len(kept), 8)
    assert type(slim) is type(model)
    method = "predict" if "numbers" in kind else "predict_proba"
    whole = getattr(model, method)(table(TESTED, list(range(8))))
    assert np.array_equal(getattr(slim, method)(table(TESTED, kept)), whole)
    assert np.array_equal(getattr(copy.deepcopy(slim), method)(table(TESTED, kept)), whole)
    np.testing.assert_array_equal(slim.feature_importances_, model.feature_importances_[kept])
    if named:
        assert list(slim.feature_names_in_) == [names[f] for f in kept]
    booster = pm.drop_unused(model.get_booster() if hasattr(model, "get_booster") else model.booster_)
    wrap = (lambda X: xgboost.DMatrix(X)) if hasattr(model, "get_booster") else (lambda X: X)
    whole_booster = model.get_booster() if hasattr(model, "get_booster") else model.booster_
    all_columns = table(TESTED, list(range(8)))
    assert np.array_equal(booster.predict(wrap(table(TESTED, kept))), whole_booster.predict(wrap(all_columns)))


def test_categories_of_xgboost_stay() -> None:
    """The table of categories is cut to the columns that remain; a categorical column is dropped or kept with its own."""
    rng = np.random.default_rng(1)
    letters = [pd.Categorical(rng.choice(list(text), 200)) for text in ("uvw", "xy", "rst")]
    X = pd.DataFrame({"a": rng.normal(size=200), "b": 1.0, "c": letters[0], "d": pd.Categorical(["x"] * 200), "e": letters[2]})
    y = (X["a"] + (X["c"] == "v") - (X["e"] == "t") > 0.3).astype(int)
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=3, enable_categorical=True, n_jobs=1).fit(X, y)
    slim = pm.drop_unused(model)
    assert list(slim.feature_names_in_) == ["a", "c", "e"]
    assert np.array_equal(slim.predict_proba(X[["a", "c", "e"]]), model.predict_proba(X))


def test_what_holds_a_model_gives_the_model() -> None:
    """The result of prune_forest and a fitted estimator return the forest that they predict with, on fewer columns."""
    result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=5)
    slim = pm.drop_unused(result)
    assert isinstance(slim, RandomForestClassifier)
    assert slim.n_features_in_ < X_test.shape[1]
    assert np.array_equal(slim.predict(X_test[slim.feature_names_in_]), result.estimator.predict(X_test))
    saved = pm.OnDemandPredictor(slim, dict.fromkeys(slim.feature_names_in_, 1), pm.on_demand.from_table(X_test))
    assert np.array_equal(saved.predict(X_test.index), result.estimator.predict(X_test))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GradientBoostingClassifier(n_estimators=2), "of a GradientBoostingClassifier are dropped at the end of a Pipeline"),
        (AdaBoostClassifier(n_estimators=2), "AdaBoostClassifier cannot be pruned"),
        (xgboost.XGBClassifier(booster="gblinear", n_estimators=2), "the booster is 'gblinear': it has no trees"),
        (lightgbm.LGBMRegressor(linear_tree=True, n_estimators=2, verbose=-1), "linear models in its leaves"),
    ],
)
def test_other_models_are_refused_by_name(model: Any, message: str) -> None:
    """Each says what it is."""
    rows = np.nan_to_num(WIDE)
    with pytest.raises(pm.errors.UnsupportedModelError, match=message):
        pm.drop_unused(model.fit(rows, CLASSES))


PIPELINES: dict[str, Any] = {
    "a forest": (RandomForestClassifier(3, max_depth=2, max_features=1, random_state=1), False),
    "a forest, sparse": (RandomForestClassifier(3, max_depth=2, max_features=1, random_state=1), True),
    "XGBoost, sparse": (xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1), True),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=2, max_depth=2), False),
}


@pytest.mark.parametrize("kind", PIPELINES)
def test_raw_columns_of_a_pipeline(kind: str, tmp_path: Path) -> None:
    """Words and numbers that no split is made from are gone; predictions are equal bit for bit, and so are costs."""
    X, y = raw_table(300)
    model, sparse = PIPELINES[kind]
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=sparse))
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = make_column_transformer((words, WORDS), (numbers, NUMBERS), sparse_threshold=float(sparse))
    pipe = make_pipeline(steps, clone(model)).fit(X[:200], y[:200])
    before = pipe.predict_proba(X[200:])
    slim = pm.drop_unused(pipe)
    kept = list(slim.feature_names_in_)
    trees = tree_model_of(pipe).ensemble
    assert trees.made is not None
    assert kept == [n for f, n in enumerate(X) if any(f in trees.made.sources[k] for k in trees.feature[trees.is_split])]
    assert 0 < len(kept) == slim.n_features_in_ < 6
    assert np.array_equal(slim.predict_proba(X[kept][200:]), before)
    assert np.array_equal(slim.predict_proba(X[200:]), before)  # more columns do no harm
    assert np.array_equal(pipe.predict_proba(X[200:]), before)
    assert type(slim[-1]) is type(model)
    price = dict(zip(X.columns, [1, 2, 5, 2, 7, 3], strict=True))
    left = {name: price[name] for name in kept}
    cost = pm.evaluate(pipe, X[200:], y[200:], costs=price).cost
    assert pm.evaluate(slim, X[200:], y[200:], costs=left).cost == pytest.approx(cost)
    walk = pm.OnDemandPredictor(slim, left, pm.on_demand.from_table(X[kept][200:])).run(X.index[200:])
    assert np.array_equal(walk.predictions, slim.predict(X[kept][200:]))
    assert walk.mean_cost == pytest.approx(cost)
    pm.save_forest(slim, tmp_path / "slim.skops")
    assert np.array_equal(pm.load_forest(tmp_path / "slim.skops").predict_proba(X[kept][200:]), before)
    with pytest.raises(pm.errors.InvalidInputError, match=f"X lacks the column '{kept[0]}'"):
        slim.predict(X[kept[1:]])


def test_a_step_that_accepts_no_value_for_a_column_that_is_gone() -> None:
    """A function that wants words refuses the constant in their place; the message names the step."""
    X = pd.DataFrame({"a": list("uvwx") * 50, "b": WIDE[:, 1]}).fillna(0.0)
    upper = FunctionTransformer(lambda t: t.apply(lambda c: c.str.upper().map(ord)), feature_names_out="one-to-one")
    pipe = make_pipeline(make_column_transformer((upper, ["a"]), ("passthrough", ["b"])), DecisionTreeClassifier(max_depth=1))
    pipe.fit(X, (X["b"] > 0).astype(int))
    with pytest.raises(pm.errors.InvalidInputError, match=r"replaced by constants, which a step .*the step 'columntransformer'"):
        pm.drop_unused(pipe)


def test_categories_of_pandas_in_lightgbm_are_refused() -> None:
    """Its text stores their table by place among the categorical columns."""
    X = pd.DataFrame({"a": RNG.normal(size=200), "b": pd.Categorical(RNG.choice(list("uv"), 200))})
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, CLASSES)
    with pytest.raises(pm.errors.UnsupportedModelError, match="pandas categories; encode them as numbers"):
        pm.drop_unused(model)
