"""Categorical splits of every library that has them: routed, priced, pruned and written back."""

from __future__ import annotations

import functools
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier

import prunemodels as pm
from prunemodels.models.libraries.reading import read_model, write_model
from prunemodels.models.trees import CategorySet
from prunemodels.on_demand import from_table
from tests.instances import way
from tests.prunemodels.models.libraries.models import library_margins, some_pruning

_rng = np.random.default_rng(0)
N = 300
KINDS = np.array(["ash", "birch", "cedar", "doll", "elm", "fir", "gum"])
TABLE = pd.DataFrame(
    {
        "size": _rng.normal(size=N),
        "kind": pd.Categorical(_rng.choice(KINDS, N), categories=KINDS),
        "year": pd.Categorical(_rng.choice([1990, 2000, 2010], N), categories=[2010, 1990, 2000]),
    }
)
CODES = np.column_stack([TABLE["size"], TABLE["kind"].cat.codes, TABLE["year"].cat.codes]).astype(float)
LABEL = ((CODES[:, 1] % 3 == 1) ^ (CODES[:, 0] > 0.3) ^ (CODES[:, 2] == 1)).astype(int)
HOLES = TABLE.copy()
HOLES.loc[HOLES.index[:40], "kind"] = np.nan
HOLES.loc[HOLES.index[20:70], "size"] = np.nan
CODES_WITH_HOLES = np.column_stack([HOLES["size"], HOLES["kind"].cat.codes, HOLES["year"].cat.codes]).astype(float)
CODES_WITH_HOLES[CODES_WITH_HOLES[:, 1] < 0, 1] = np.nan
COSTS = {"size": 1, "kind": 5, "year": 2}
X_DEEP: dict[str, Any] = {"n_estimators": 6, "max_depth": 4, "n_jobs": 1, "enable_categorical": True}
L_DEEP: dict[str, Any] = {"n_estimators": 6, "num_leaves": 8, "min_child_samples": 5, "cat_smooth": 1, "min_data_per_group": 1}
L_DEEP |= {"verbose": -1, "n_jobs": 1}


@functools.cache
def trained() -> dict[str, tuple[Any, Any, Any]]:
    """Name -> (model, data without holes, data with holes)."""
    frames, arrays = (TABLE, HOLES), (CODES, CODES_WITH_HOLES)
    codes = xgboost.DMatrix(CODES, LABEL, feature_types=["q", "c", "c"], enable_categorical=True)
    booster = xgboost.train({"max_cat_to_onehot": 1, "max_depth": 3, "objective": "binary:logistic"}, codes, 4)
    light = lightgbm.LGBMClassifier(**L_DEEP).fit(CODES, LABEL, categorical_feature=[1, 2])
    return {
        "xgboost, sets": (xgboost.XGBClassifier(max_cat_to_onehot=1, **X_DEEP).fit(TABLE, LABEL), *frames),
        "xgboost, one against the rest": (xgboost.XGBClassifier(max_cat_to_onehot=9, **X_DEEP).fit(TABLE, LABEL), *frames),
        "lightgbm": (lightgbm.LGBMClassifier(**L_DEEP).fit(TABLE, LABEL), *frames),
        "lightgbm, codes": (light, *arrays),
        "histograms": (HistGradientBoostingClassifier(max_iter=6, categorical_features="from_dtype").fit(HOLES, LABEL), *frames),
        "histograms, codes": (HistGradientBoostingClassifier(max_iter=6, categorical_features=[2, 1]).fit(CODES, LABEL), *arrays),
        "xgboost, codes": (booster, *arrays),
    }


NAMES = ("xgboost, sets", "xgboost, one against the rest", "lightgbm", "lightgbm, codes")
NAMES += ("histograms", "histograms, codes", "xgboost, codes")


@pytest.mark.parametrize("name", NAMES)
def test_pruned_and_unpruned_models_are_the_library_s(name: str) -> None:
    """Margins on tables with categories, missing ones too; of the model, and of prunings written back and read again."""
    model, *tables = trained()[name]
    forest = read_model(model)
    assert any(test.feature == 1 for test in forest.category_columns)
    exact = 0.0 if "xgb" not in name else 2e-6
    for table in tables:
        assert np.abs(forest.margins(forest.rows(table)) - library_margins(model, table, 1)).max() <= exact
        for keep in (0.0, 0.6, 0.9):
            kept = some_pruning(forest.ensemble, 3, keep)
            pruned = write_model(forest, kept)
            ours = forest.margins(forest.rows(table), kept)
            assert np.abs(ours - library_margins(pruned, table, 1)).max() <= exact
            again = read_model(pruned)
            assert again.ensemble.n_splits == kept.sum()
            assert np.abs(again.margins(again.rows(table)) - ours).max() <= exact


@pytest.mark.parametrize("name", NAMES)
def test_a_category_costs_what_its_column_costs(name: str) -> None:
    """A row that passes splits on a category pays for its column once, counted row by row on the paths."""
    model, table, _ = trained()[name]
    forest = read_model(model)
    e, rows = forest.ensemble, forest.rows(table).astype(float)
    source = forest.columns_of_features
    paid = np.zeros((len(rows), 3), dtype=bool)
    for i, x in enumerate(rows):
        for root in e.roots:
            for f in e.feature[way(e, root, x)[:-1]]:
                paid[i, source[f]] = True
    seen = pm.evaluate(model, table, LABEL, costs=[1, 5, 2])
    assert seen.cost == pytest.approx(float((paid @ [1, 5, 2]).mean()), rel=1e-12)
    assert seen.features == pytest.approx(float(paid.sum(axis=1).mean()), rel=1e-12)
    by_split = pm.evaluate(model, table, LABEL, costs=0, evaluation_cost=[1, 1, 1])
    assert by_split.cost == pytest.approx(pm.evaluate(model, table, LABEL, costs=0, evaluation_cost=1).cost)


@pytest.mark.parametrize("name", NAMES)
def test_categories_on_demand(name: str) -> None:
    """Asked for by the column's name, answered by the categories: the library's classes, and the cost that evaluate reports."""
    model, table, _ = trained()[name]
    full = pm.OnDemandPredictor(model, [1, 5, 2], from_table(table)).run(N)
    early = pm.OnDemandPredictor(model, [1, 5, 2], from_table(table), early_stopping=True).run(N)
    assert {item for bought in full.bought for item in bought} <= set(COSTS if table is TABLE else ("x0", "x1", "x2"))
    assert full.mean_cost == pytest.approx(pm.evaluate(model, table, LABEL, costs=[1, 5, 2]).cost, rel=1e-12)
    assert np.array_equal(full.predictions, early.predictions)
    assert (early.units <= full.units).all()
    if hasattr(model, "predict_proba"):
        assert np.array_equal(full.predictions, model.predict(table))


def test_by_hand() -> None:
    """Listed, other, unknown, missing and impossible codes: where each goes by the docstring's rule."""
    codes = np.array([0.0, 1.9, 2.0, 7.0, -1.0, 1e9, np.nan])
    known = CategorySet(0, frozenset({1, 2}), True, frozenset({0, 1, 2}), False)
    assert known.right(codes).tolist() == [True, False, False, True, True, True, True]
    right = CategorySet(0, frozenset({1, 2}), False, None, True)
    assert right.right(codes).tolist() == [False, True, True, False, False, False, False]


def test_categories_that_the_model_does_not_know() -> None:
    """XGBoost refuses them, and so do we, with the column's name; the other libraries take them for missing."""
    strange = TABLE[:3].copy()
    strange["kind"] = pd.Categorical(["ash", "yew", "elm"])
    with pytest.raises(pm.errors.InvalidInputError, match="X has 'yew' in the column 'kind', row 1: the model knows 'ash'"):
        read_model(trained()["xgboost, sets"][0]).rows(strange)
    for name in ("lightgbm", "histograms"):
        forest = read_model(trained()[name][0])
        table = strange if name == "histograms" else strange.assign(year=TABLE["year"][:3])
        expected = library_margins(trained()[name][0], table, 1)
        assert np.abs(forest.margins(forest.rows(table)) - expected).max() == 0.0
    odd = pd.DataFrame({"x": TABLE["size"], "kind": pd.Categorical(_rng.choice(["öl", "salz"], N))})
    damaged = xgboost.XGBClassifier(**X_DEEP).fit(odd, LABEL)
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"the column 'kind' has categories with letters outside of ASCII"):
        read_model(damaged)
