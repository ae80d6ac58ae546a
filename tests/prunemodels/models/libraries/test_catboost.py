"""CatBoost's models, from stored files always, and from CatBoost itself where it is installed."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.instance.routing import leaves_of
from prunemodels.models.libraries.catboost_models import catboost_forest
from prunemodels.models.libraries.reading import read_model
from prunemodels.on_demand import from_table
from tests.prunemodels.models.libraries.catboost_fixture import FILE, data, margins, trained

X, LABELS = data()
STORED = json.loads(FILE.read_text())


def test_a_symmetric_tree_by_hand() -> None:
    """Splits on features 0 and 1; leaf number = bit of the first split + 2 * bit of the second; NaN goes right at 1 only."""
    splits = [{"border": 0.5, "float_feature_index": f, "split_type": "FloatFeature"} for f in (0, 1)]
    document: dict[str, Any] = {
        "features_info": {
            "float_features": [
                {"feature_index": f, "flat_feature_index": f, "nan_value_treatment": rule}
                for f, rule in enumerate(["AsFalse", "AsTrue"])
            ]
        },
        "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
        "oblivious_trees": [{"leaf_values": [1, 2, 3, 5], "leaf_weights": [1, 1, 1, 1], "splits": splits}],
        "scale_and_bias": [10, [0.25]],
    }
    forest = catboost_forest(document)
    rows = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, np.nan], [np.nan, 0.5]])
    assert forest.margins(forest.rows(rows))[:, 0].tolist() == [10.25, 20.25, 30.25, 50.25, 30.25, 10.25]
    assert forest.ensemble.feature[0] == 0
    assert forest.leaf_value[0, 0] == 11 / 4  # the root as a leaf: the mean by weight


def test_what_is_not_read_is_named() -> None:
    """Losses, and splits on categories."""
    document = copy.deepcopy(STORED["two classes"]["model"])
    document["model_info"]["params"]["loss_function"]["type"] = "Poisson"
    with pytest.raises(pm.errors.UnsupportedModelError, match="the loss 'Poisson'; what can be pruned: RMSE, Logloss"):
        catboost_forest(document)
    document = copy.deepcopy(STORED["two classes"]["model"])
    document["oblivious_trees"][1]["splits"][0]["split_type"] = "OneHotFeature"
    with pytest.raises(pm.errors.UnsupportedModelError, match="tree 1 has a split of the type 'OneHotFeature'"):
        catboost_forest(document)


def test_the_installed_catboost() -> None:
    """Margins, labels, probabilities, cost, early stopping and a pruning of CatBoost's own models."""
    catboost = pytest.importorskip("catboost")
    for name, (model, y) in trained().items():
        forest = read_model(model)
        assert np.abs(forest.margins(forest.rows(X)) - margins(model, X)).max() < 1e-14, name
        full = pm.OnDemandPredictor(model, [1, 2, 3, 4], from_table(X)).run(len(X))
        assert full.mean_cost == pytest.approx(pm.evaluate(model, X, y, costs=[1, 2, 3, 4]).cost), name
        if full.probabilities is not None:
            assert np.array_equal(full.predictions, np.ravel(model.predict(X))), name
            assert np.abs(full.probabilities - model.predict_proba(X)).max() < 1e-15, name
            early = pm.OnDemandPredictor(model, [1, 2, 3, 4], from_table(X), early_stopping=True).run(len(X))
            assert np.array_equal(early.predictions, full.predictions), name
        found = pm.prune_boosted(model, X, y, costs=1, budget=1.5, rounds=3)
        with pytest.raises(pm.errors.UnsupportedModelError, match="has no form in CatBoost"):
            found.to_model()
    with pytest.raises(pm.errors.NotFittedForestError, match="is not fitted"):
        read_model(catboost.CatBoostClassifier())
    codes = catboost.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False)
    codes.fit(np.column_stack([np.arange(300) % 3, np.arange(300)]), LABELS["two"], cat_features=[0])
    with pytest.raises(pm.errors.UnsupportedModelError, match="reads categories, texts or embeddings"):
        read_model(codes)


@pytest.mark.slow_cases("numbers, missing high", "two classes")
@pytest.mark.parametrize("name", ["two classes", "three classes", "numbers, missing high"])
def test_prunings_predict_without_their_library(name: str) -> None:
    """A pruning that cannot be written back is judged and walked as a model: the loss, the cost and the predictions promised."""
    y = LABELS["three" if "three" in name else "numbers" if "numbers" in name else "two"]
    forest = catboost_forest(STORED[name]["model"], None if "numbers" in name else np.unique(y))
    found = pm.prune_boosted(forest, X, y, costs=[1, 2, 3, 4], budget=2, rounds=3)
    assert 0 < found.cost <= 2
    seen = pm.evaluate(found, X, y, costs=[1, 2, 3, 4])
    assert (seen.splits, seen.n) == (found.n_splits, len(X))
    assert seen.cost == pytest.approx(found.cost, rel=1e-12)
    assert seen.loss == pytest.approx(found.loss, rel=1e-12)
    walked = pm.OnDemandPredictor(found, [1, 2, 3, 4], from_table(X)).run(len(X))
    assert np.array_equal(walked.predictions, found.predict(X))
    assert walked.mean_cost == pytest.approx(found.cost, rel=1e-12)


def test_a_threshold_of_the_model_s_own() -> None:
    """`set_probability_threshold` is part of the file: the second class where its probability is more than that, as in CatBoost.
    A threshold that a user gives counts in its place, and early stopping keeps to it.
    """
    document = copy.deepcopy(STORED["two classes"]["model"])
    plain = catboost_forest(document)
    p = plain.response().probabilities(plain.response().sums(_leaves(plain)))[:, 1]
    tie = float(np.sort(p)[len(p) // 4])
    document["model_info"]["binclass_probability_threshold"] = repr(tie)
    forest = catboost_forest(document)
    expected = (p > tie).astype(int)
    assert (expected != (p > 0.5)).sum() > 0
    assert (p == tie).any()
    assert np.array_equal(forest.predictions(forest.margins(forest.rows(X))), expected)
    assert pm.evaluate(forest, X, expected, costs=1).error == 0
    for options in ({}, {"early_stopping": True}):
        result = pm.OnDemandPredictor(forest, 1, from_table(X), **options).run(len(X))
        assert np.array_equal(result.predictions, expected)
    given = pm.OnDemandPredictor(forest, 1, from_table(X), threshold=0.9).run(len(X))
    assert np.array_equal(given.predictions, (p >= 0.9).astype(int))


def _leaves(forest: pm.other_libraries.ModelForest) -> np.ndarray:
    return leaves_of(forest.ensemble, forest.rows(X)).T
