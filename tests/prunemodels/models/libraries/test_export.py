"""Pruned models of the same library: they predict what we say, and survive being saved."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from prunemodels.models.libraries.lightgbm_models import ModelText
from prunemodels.models.libraries.reading import read_model, write_model
from tests.loops import looped
from tests.prunemodels.models.libraries.models import (
    SKLEARN,
    library_margins,
    lightgbm_models,
    margins_by_walking,
    sklearn_models,
    some_pruning,
    xgboost_models,
)
from tests.prunemodels.models.libraries.test_reading import ALL, same_leaves, tolerance


@pytest.mark.parametrize(("library", "name"), ALL)
@looped("keep", [0.0, 0.6, 1.0])
def test_the_exported_model_predicts_what_the_pruning_says(library: Any, name: str, keep: float) -> None:
    """The library's own margins of the exported model are ours of the pruning, and what is read back from it is the pruning."""
    model, X, _ = library()[name]
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
    if forest.link != "fractions":
        assert np.allclose(ours[:40], margins_by_walking(forest, rows[:40], kept), rtol=0, atol=1e-9)
    if name != "dart":  # of which XGBoost stores leaves before they are weighted
        ends = np.flatnonzero(~kept & (kept[forest.ensemble.parent] | (forest.ensemble.parent < 0)))
        stored = back.leaf_value[~back.ensemble.is_split]
        assert np.array_equal(np.sort(stored, axis=0), np.sort(forest.leaf_value[ends], axis=0))


def test_xgboost_files_and_copies(tmp_path: Path) -> None:
    """JSON, UBJ, pickle and deepcopy of a pruned estimator predict the same; labels stay."""
    model, X, _ = xgboost_models()["two classes"]
    forest = read_model(model)
    pruned = write_model(forest, some_pruning(forest.ensemble, 0))
    assert pruned.get_params() == model.get_params()
    expected = pruned.predict_proba(X)
    for name in ("model.json", "model.ubj"):
        pruned.save_model(tmp_path / name)
        loaded = xgboost.XGBClassifier()
        loaded.load_model(tmp_path / name)
        assert np.array_equal(loaded.predict_proba(X), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(pruned)).predict_proba(X), expected)
    assert np.array_equal(copy.deepcopy(pruned).predict_proba(X), expected)
    assert np.array_equal(pruned.predict(X), expected.argmax(axis=1))


def test_a_pruned_booster_trains_on() -> None:
    """XGBoost accepts the pruned trees as a start for more: the model is complete, not only readable."""
    model, X, y = xgboost_models()["booster"]
    forest = read_model(model)
    pruned = write_model(forest, some_pruning(forest.ensemble, 0))
    more = xgboost.train({"max_depth": 2, "objective": "binary:logistic"}, xgboost.DMatrix(X, y), 2, xgb_model=pruned)
    assert more.num_boosted_rounds() == model.num_boosted_rounds() + 2
    assert pruned.get_score(importance_type="weight")


def test_lightgbm_text_is_lightgbm_s() -> None:
    """Unpruned, the text comes out to the byte; pruned, block sizes and importances are those that LightGBM writes itself."""
    model, X, _ = lightgbm_models()["two classes"]
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


def test_the_importances_in_the_tail_are_counted_anew() -> None:
    """The text given to LightGBM lists the splits that are left, most frequent first, and no feature that is gone."""
    model, _, _ = lightgbm_models()["numbers"]
    forest = read_model(model)
    kept = forest.ensemble.is_split & (forest.ensemble.depth == 0)
    tail = ModelText.parse(write_model(forest, kept).booster_.model_to_string()).tail
    listed = dict(
        line.split("=") for line in tail[tail.index("feature_importances:") + 1 : tail.index("parameters:") - 1] if line
    )
    roots = forest.ensemble.feature[forest.ensemble.roots]
    assert {k: int(v) for k, v in listed.items()} == {f"Column_{f}": int((roots == f).sum()) for f in np.unique(roots)}


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn_s_pruned_models_are_whole(name: str) -> None:
    """Pickled, cloned and with leaves of new values: pruned boosted models of scikit-learn go on as any other."""
    model, X, _ = sklearn_models()[name]
    forest = read_model(model)
    kept = some_pruning(forest.ensemble, 1)
    pruned = write_model(forest, kept)
    assert pruned.get_params() == model.get_params()
    assert np.array_equal(pickle.loads(pickle.dumps(pruned)).predict(X), pruned.predict(X))
    changed = forest.with_values(forest.ensemble.value * 0.5)
    assert np.array_equal(library_margins(write_model(changed, kept), X, forest.n_outputs), changed.margins(forest.rows(X), kept))
