"""Pruned models of other libraries are written back, pipelines too."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier, XGBRFClassifier

import prunemodels as pm
from formulations import InvalidInputError
from prunemodels.models.boosting.boosted_pruning import BoostedPruning
from prunemodels.models.libraries.lightgbm_models import ModelText
from prunemodels.models.libraries.reading import read_model, write_model
from prunemodels.report_page import report_page
from prunemodels.report_page.facts import gather_boosted
from tests.loops import looped
from tests.prunemodels.models.columns.tables import NUMBERS, WORDS, raw_table
from tests.prunemodels.models.libraries.models import ALL, library_margins, margins_by_walking, model_of, some_pruning
from tests.prunemodels.models.libraries.models import MODELS as BUILT
from tests.prunemodels.models.libraries.test_reading import same_leaves, tolerance


@pytest.mark.parametrize(("library", "name"), ALL)
@looped("keep", [0.0, 0.6, 1.0])
def test_the_exported_model_predicts_what_the_pruning_says(library: str, name: str, keep: float) -> None:
    """The library's own margins of the exported model are ours of the pruning, and what is read back from it is the pruning."""
    model, X, _ = model_of(library, name)
    forest = read_model(model)
    before = library_margins(model, X, forest.n_outputs)
    kept = some_pruning(forest.ensemble, 3, keep)
    pruned = write_model(forest, kept)
    assert type(pruned) is type(model)
    rows = forest.rows(X)
    ours = forest.margins(rows, kept)
    assert np.abs(library_margins(pruned, X, forest.n_outputs) - ours).max() <= tolerance(forest)
    back = read_model(pruned)
    assert back.ensemble.n_splits == kept.sum()
    assert same_leaves(back, pruned, X)
    assert np.array_equal(library_margins(model, X, forest.n_outputs), before)  # the original is untouched
    assert np.allclose(ours[:40], margins_by_walking(forest, rows[:40], kept), rtol=0, atol=1e-9)
    if name != "dart":  # of which XGBoost stores leaves before they are weighted
        ends = np.flatnonzero(~kept & (kept[forest.ensemble.parent] | (forest.ensemble.parent < 0)))
        stored = back.leaf_value[~back.ensemble.is_split]
        assert np.array_equal(np.sort(stored, axis=0), np.sort(forest.leaf_value[ends], axis=0))


def test_a_pruned_booster_trains_on() -> None:
    """XGBoost accepts the pruned trees as a start for more: the model is complete, not only readable."""
    model, X, y = model_of("xgboost", "booster")
    forest = read_model(model)
    pruned = write_model(forest, some_pruning(forest.ensemble, 0))
    more = xgboost.train({"max_depth": 2, "objective": "binary:logistic"}, xgboost.DMatrix(X, y), 2, xgb_model=pruned)
    assert more.num_boosted_rounds() == model.num_boosted_rounds() + 2
    assert pruned.get_score(importance_type="weight")


def test_lightgbm_text_is_lightgbm_s() -> None:
    """Unpruned, the text comes out to the byte; pruned, block sizes and importances are those that LightGBM writes itself."""
    model, X, _ = model_of("lightgbm", "two classes")
    text = model.booster_.model_to_string()
    assert ModelText.parse(text).write() == text
    forest = read_model(model)
    pruned = write_model(forest, some_pruning(forest.ensemble, 0))
    assert pruned.classes_.tolist() == ["no", "yes"]
    again = pruned.booster_.model_to_string()
    assert ModelText.parse(again).write() == again
    loaded = lightgbm.Booster(model_str=again)
    assert np.array_equal(loaded.predict(X), pruned.booster_.predict(X))
    counts = np.bincount(forest.ensemble.feature[some_pruning(forest.ensemble, 0)], minlength=6)
    assert np.array_equal(pruned.booster_.feature_importance("split"), counts)


@pytest.mark.parametrize("name", BUILT["sklearn"])
def test_scikit_learn_s_pruned_models_are_whole(name: str) -> None:
    """Pickled, cloned and with leaves of new values: pruned boosted models of scikit-learn go on as any other."""
    model, X, _ = model_of("sklearn", name)
    forest = read_model(model)
    kept = some_pruning(forest.ensemble, 1)
    pruned = write_model(forest, kept)
    assert pruned.get_params() == model.get_params()
    assert np.array_equal(pickle.loads(pickle.dumps(pruned)).predict(X), pruned.predict(X))
    changed = forest.with_values(forest.ensemble.value * 0.5)
    assert np.array_equal(library_margins(write_model(changed, kept), X, forest.n_outputs), changed.margins(forest.rows(X), kept))


X, y = raw_table(300)
X = X.fillna({"income": 0.0})
TRAIN, VALID, TEST = slice(0, 150), slice(150, 240), slice(240, 300)
PRICES = {"age": 1, "city": 2, "income": 5, "job": 2, "score": 7, "debt": 3}
SHARED = pm.CostItems.from_items(
    {"visit": 4, "laboratory": 6, "age": 1},
    [("age",), ("visit",), ("visit", "laboratory"), ("visit",), ("laboratory",), ("laboratory",)],
)
"""Columns of one group are bought together: in the order of the table."""

SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 3}
MODELS: dict[str, Any] = {
    "xgboost": XGBClassifier(**SMALL, n_jobs=1),
    "lightgbm": LGBMClassifier(**SMALL, n_jobs=1, verbose=-1),
    "lightgbm, numbers": LGBMRegressor(**SMALL, n_jobs=1, verbose=-1),
    "gradient boosting": GradientBoostingClassifier(**SMALL, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=6, max_depth=3, categorical_features=[0, 1]),
}


@cache
def fitted(kind: str) -> Pipeline:
    """One-hot columns, or codes that the model splits as categories."""
    encoder: Any = OrdinalEncoder() if kind == "histograms" else OneHotEncoder(sparse_output=False)
    steps = make_column_transformer((encoder, WORDS), (StandardScaler(), NUMBERS))
    return make_pipeline(steps, MODELS[kind]).fit(X[TRAIN], y[TRAIN])


@cache
def pruned(kind: str, budget: float = 8) -> BoostedPruning:
    """Pruned to a budget that forces out some columns."""
    return pm.prune_boosted(fitted(kind), X[VALID], y[VALID], costs=PRICES, budget=budget, rounds=4)


@pytest.mark.slow_cases("gradient boosting", "histograms", "lightgbm, numbers", "lightgbm")
@pytest.mark.parametrize("kind", MODELS)
def test_a_pipeline_comes_back(kind: str) -> None:
    """It has the same steps and the model's own class; it predicts what the pruning does; the given pipeline is unchanged."""
    before = fitted(kind).predict(X[TEST])
    cheap = pruned(kind).to_model()
    assert [name for name, _ in cheap.steps] == [name for name, _ in fitted(kind).steps]
    assert type(cheap[-1]) is type(MODELS[kind])
    assert np.allclose(cheap.predict(X[TEST]), pruned(kind).predict(X[TEST]), rtol=1e-5)
    assert (fitted(kind).predict(X[TEST]) == before).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xgboost", "gradient boosting"])
def test_the_same_as_pruning_the_last_step_at_the_prices_of_what_is_made(kind: str) -> None:
    """By hand: transform the rows; three columns are made from the city, four from the job, and then the numbers follow."""
    items = pm.CostItems.plain(list(PRICES.values())).of_made([*[[1]] * 3, *[[3]] * 4, [0], [2], [4], [5]])
    rows = fitted(kind)[:-1].transform(X[VALID])
    by_hand = pm.prune_boosted(fitted(kind)[-1], rows, y[VALID], costs=items, budget=8, rounds=4)
    assert (by_hand.kept == pruned(kind).kept).all()
    assert (by_hand.cost, by_hand.loss) == (pruned(kind).cost, pruned(kind).loss)


@pytest.mark.slow_cases("gradient boosting", "histograms", "lightgbm, numbers", "lightgbm")
@pytest.mark.parametrize("kind", MODELS)
def test_a_column_that_was_not_bought_changes_nothing(kind: str) -> None:
    """Raw columns that no kept split is made from may hold anything."""
    found = pruned(kind)
    made, ensemble = found.forest.made, found.forest.ensemble
    assert made is not None
    read = {name for f in np.unique(ensemble.feature[found.kept]) for name in (made.names[c] for c in made.sources[f])}
    unread = [name for name in X.columns if name not in read]
    assert unread
    changed = X[TEST].copy()
    for name in unread:
        changed[name] = changed[name].iloc[::-1].to_numpy()
    assert (found.to_model().predict(changed) == found.to_model().predict(X[TEST])).all()
    walk = pm.OnDemandPredictor(found, PRICES, pm.on_demand.from_table(X[TEST])).run(X[TEST].index)
    assert np.allclose(np.asarray(walk.predictions), found.to_model().predict(X[TEST]), rtol=1e-5)
    assert walk.mean_cost == pytest.approx(pm.evaluate(found, X[TEST], y[TEST], costs=PRICES).cost)


def test_a_trade_off_a_refit_and_a_page() -> None:
    """What follows a pruning takes raw rows, and names raw columns."""
    path = pm.other_libraries.boosted_path(fitted("xgboost"), X[VALID], y[VALID], costs=PRICES, lams=3, rounds=2)
    curve = pm.tradeoff_curve(path, X[TEST], y[TEST])
    assert curve.cost[-1] == pytest.approx(pm.evaluate(path[0].to_model(), X[TEST], y[TEST], costs=PRICES).cost)
    again = path.at_cost(8).refit(X[TRAIN], y[TRAIN])
    assert (again.to_model().predict(X[TEST]) == again.predict(X[TEST])).all()
    page = report_page(path, X[TEST], y[TEST], chosen=path.at_cost(8))
    assert all(name in page for name in PRICES)
    assert "6 raw columns" in page
    assert "onehotencoder__" not in page


def test_what_is_bought_names_the_raw_columns_that_use_it() -> None:
    """An item of several raw columns lists them, not the columns that the pipeline makes of them."""
    path = pm.other_libraries.boosted_path(fitted("lightgbm"), X[VALID], y[VALID], costs=SHARED, lams=2, rounds=1)
    facts = gather_boosted(path, X[TEST], y[TEST], chosen=path[0])
    users = {item.name: item.features for item in facts.items}
    assert users == {"visit": ("city", "income", "job"), "laboratory": ("income", "score", "debt"), "age": ()}


def test_a_statement_that_rows_contradict() -> None:
    """A step of one's own that says too little about what its columns are made from is refused, with the column."""
    step = FunctionTransformer(lambda Z: Z[:, ::-1], feature_names_out="one-to-one")
    pipe = make_pipeline(step, XGBClassifier(**SMALL, n_jobs=1)).fit(X[NUMBERS].to_numpy()[TRAIN], y[TRAIN])
    with pytest.raises(InvalidInputError, match="changes with the raw column 'x0', from which it is not said to be made"):
        pm.prune_boosted(pipe, X[NUMBERS].to_numpy()[VALID], y[VALID], costs=1, budget=2)


def test_forests_of_other_libraries_in_pipelines() -> None:
    """The exact optimum for an averaged forest of XGBoost, whose rows are raw ones, and the pipeline with it."""
    pipe = make_pipeline(fitted("xgboost")[0], XGBRFClassifier(**SMALL, n_jobs=1, random_state=0)).fit(X[TRAIN], y[TRAIN])
    errors = pm.samples.Given(X[VALID], y[VALID])
    problem = pm.other_libraries.problem_from_model(pipe, X[VALID], costs=PRICES, errors=errors)
    pruning = pm.solve(problem, budget=8, method="path").pruning
    cheap = pm.prune_model(pruning, pipe)
    assert pm.evaluate(cheap, X[VALID], y[VALID], costs=PRICES).cost == pytest.approx(pruning.cost)
