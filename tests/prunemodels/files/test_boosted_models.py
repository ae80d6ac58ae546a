"""Boosted models survive their files, in their libraries' own formats and in ours; other files are refused by what they hold."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from xgboost import Booster, XGBClassifier, XGBRegressor

import prunemodels as pm
from formulations.errors import BrokenFileError, InvalidInputError
from prunemodels.example import X_test, X_train, X_valid, costs, y_train, y_valid
from prunemodels.files import boosted_models
from prunemodels.models.boosting.boosted_pruning import BoostedPruning
from prunemodels.models.libraries.lightgbm_models import ModelText
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.tree_model import tree_model_of
from tests.loops import looped
from tests.prunemodels.models.libraries.catboost_fixture import FILE, SHOWN, data

SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 3}
MODELS: dict[str, Any] = {
    "xgboost": XGBClassifier(**SMALL, n_jobs=1),
    "xgboost, numbers": XGBRegressor(**SMALL, n_jobs=1),
    "lightgbm": LGBMClassifier(**SMALL, n_jobs=1, verbose=-1),
    "lightgbm, numbers": LGBMRegressor(**SMALL, n_jobs=1, verbose=-1),
    "gradient boosting, numbers": GradientBoostingRegressor(**SMALL),
    "histograms": HistGradientBoostingClassifier(max_iter=6, categorical_features=[0]),
}
KIND = {".json": "xgboost", ".ubj": "xgboost", ".txt": "lightgbm"}
CASES = [(name, ending) for ending, kind in KIND.items() for name in MODELS if name.startswith(kind)]
CASES += [(name, ending) for ending in (".skops", ".joblib") for name in MODELS]


@functools.cache
def fitted(name: str) -> Any:
    """A model whose first column has few values."""
    return MODELS[name].fit(X_train.round({"radius": 0}), y_train)


@functools.cache
def pruned(name: str) -> BoostedPruning:
    """The model, pruned to a budget."""
    return pm.prune_boosted(fitted(name), X_valid, y_valid, costs=costs, budget=8, rounds=2)


@pytest.mark.slow_cases("gradient boosting, *", "histograms-*", "lightgbm, *", "xgboost, *")
@pytest.mark.parametrize(("name", "ending"), CASES)
def test_a_pruned_model_round_trips(tmp_path: Path, name: str, ending: str) -> None:
    """What is read predicts what the pruned model did, costs the same, and holds the rows of no table."""
    found = pruned(name)
    pm.save_forest(found, tmp_path / f"model{ending}")
    again = pm.load_forest(tmp_path / f"model{ending}", trust_pickle=ending == ".joblib")
    assert [file.name for file in tmp_path.iterdir()] == [f"model{ending}"]
    assert (tree_model_of(again).predict(X_test) == tree_model_of(found.to_model()).predict(X_test)).all()
    assert pm.evaluate(again, X_valid, y_valid, costs=costs).cost == pytest.approx(found.cost)


def test_the_class_that_wrote_a_file_of_xgboost_reads_it(tmp_path: Path) -> None:
    """An estimator's file comes back as an estimator, a booster's as a booster; their trees are the same."""
    model = fitted("xgboost")
    model.save_model(tmp_path / "a.json")
    booster = XGBClassifier(**SMALL, n_jobs=1).fit(X_train.round({"radius": 0}), y_train).get_booster()
    booster.set_attr(scikit_learn=None)
    booster.save_model(tmp_path / "b.ubj")
    read = [pm.load_forest(tmp_path / name) for name in ("a.json", "b.ubj")]
    assert [type(m) for m in read] == [XGBClassifier, Booster]
    assert (read[0].predict(X_test) == model.predict(X_test)).all()
    assert np.array_equal(*(tree_model_of(m).ensemble.threshold for m in read))


@pytest.mark.parametrize("name", json.loads(FILE.read_text(encoding="utf-8")))
def test_files_of_catboost_are_read_without_catboost(tmp_path: Path, name: str) -> None:
    """The margins are those that CatBoost printed; labels are the file's, where it has some."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))[name]
    if name == "two classes":
        stored["model"]["model_info"]["class_params"] = {"class_names": ["bad", "good"]}
    (tmp_path / "model.json").write_text(json.dumps(stored["model"]), encoding="utf-8")
    forest = pm.load_forest(tmp_path / "model.json")
    X, _ = data()
    margins = forest.margins(forest.rows(X[:SHOWN]))
    assert np.abs(margins - stored["margins"]).max() < 1e-14
    labels = {"two classes": ["bad", "good"], "three classes": [0, 1, 2], "grown best first": [0, 1]}.get(name)
    assert labels is None or forest.classes.tolist() == labels


@pytest.mark.slow
def test_a_pruned_model_of_catboost_is_a_model_forest(tmp_path: Path) -> None:
    """CatBoost has no form for it, so joblib has; the file holds trees, and no rows."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))["two classes"]["model"]
    (tmp_path / "model.json").write_text(json.dumps(stored), encoding="utf-8")
    X, labels = data()
    found = pm.prune_boosted(pm.load_forest(tmp_path / "model.json"), X, labels["two"], costs=[1, 2, 3, 4], budget=2, rounds=3)
    pm.save_forest(found, tmp_path / "cheap.joblib")
    again = pm.load_forest(tmp_path / "cheap.joblib", trust_pickle=True)
    assert (tree_model_of(again).predict(X) == found.predict(X)).all()
    assert pm.evaluate(again, X, labels["two"], costs=[1, 2, 3, 4]).cost == pytest.approx(found.cost)
    with pytest.raises(InvalidInputError, match=r"ending '\.json'; give a ModelForest as \.joblib"):
        pm.save_forest(found, tmp_path / "cheap.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale_and_bias": [1, [[]]]}, "scale_and_bias"),
        ({"scale_and_bias": [1, []]}, "scale_and_bias"),
        ({"scale_and_bias": [1, [[[0.5]]]]}, "scale_and_bias"),
        ({"scale_and_bias": [1, [float("inf")]]}, "scale_and_bias"),
        ({"scale_and_bias": [1, [0.5, 0.5]]}, "a tree of . levels has . values, not 2 for each leaf"),
    ],
)
def test_outputs_of_catboost_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """They were read, and ended in an error without a name at the first prediction, or in other predictions."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))["two classes"]["model"]
    (tmp_path / "model.json").write_text(json.dumps(stored | change), encoding="utf-8")
    with pytest.raises(BrokenFileError, match=f"model.json cannot be read as a model of CatBoost .*{message}"):
        pm.load_forest(tmp_path / "model.json")


WRONG_FILES = {
    "absent.json": (None, "there is no file"),
    "cut.json": ('{"learner": {', "is not a JSON file, or a damaged one"),
    "list.json": ("[1, 2]", "holds a list; give a model of XGBoost"),
    "package.json": ('{"name": "x", "version": "1"}', "holds the keys name, version; give a model of XGBoost"),
    "dump.json": ('{"name": "tree", "tree_info": []}', "what LightGBM's dump_model returns, .*save_model"),
    "hollow.json": ('{"learner": {}}', "cannot be read as a model of XGBoost"),
    "cat.json": ('{"features_info": {}, "model_info": {}}', "cannot be read as a model of CatBoost"),
    "noise.ubj": ("abc", "cannot be read as a model of XGBoost"),
    "dump.txt": ("booster[0]:\n0:leaf=1", r"begins with 'booster\[0\]:', a LightGBM model with 'tree'"),
    "cut.txt": ("tree\nversion=v4\n", "has no line 'end of trees', so a part is missing"),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_other_files_are_refused(tmp_path: Path, name: str) -> None:
    content, message = WRONG_FILES[name]
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(BrokenFileError, match=rf"{name}.*{message}|{message}.*{name}"):
        pm.load_forest(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "ending", "known"),
    [
        ("xgboost", ".txt", r"XGBClassifier as \.skops or \.joblib or \.json or \.ubj"),
        ("lightgbm", ".json", r"LGBMClassifier as \.skops or \.joblib or \.txt"),
        ("histograms", ".json", r"forest as \.skops or \.joblib"),
    ],
)
def test_a_model_has_the_endings_of_its_library(tmp_path: Path, name: str, ending: str, known: str) -> None:
    """Another ending is refused with those that there are, and nothing is written."""
    with pytest.raises(InvalidInputError, match=known):
        pm.save_forest(fitted(name), tmp_path / f"model{ending}")
    assert not list(tmp_path.iterdir())


def test_a_partial_gives_no_trust_to_its_function(tmp_path: Path) -> None:
    """Histograms with categories hold a partial of scikit-learn's check; one of another function is refused by name."""
    command = f'{sys.executable} -c \'open("ran", "w")\''
    step = FunctionTransformer(functools.partial(os.system, command))
    pipe = make_pipeline(step, fitted("histograms"))
    skops.io.dump(pipe, tmp_path / "pipe.skops")
    with pytest.raises(BrokenFileError, match=r"types that no scikit-learn forest needs: posix\.system"):
        pm.load_forest(tmp_path / "pipe.skops")


def test_trees_of_histograms_that_lead_astray_are_refused(tmp_path: Path) -> None:
    """A child outside of the tree's array, which scikit-learn's compiled code would follow."""
    model = HistGradientBoostingClassifier(max_iter=2).fit(X_train, y_train)
    model._predictors[0][0].nodes["left"][0] = 10**6
    pm.save_forest(model, tmp_path / "model.skops")
    with pytest.raises(pm.errors.PruneModelsError, match="a child must stand behind its parent"):
        pm.load_forest(tmp_path / "model.skops")


DAMAGE: dict[str, tuple[str, str, str, str]] = {
    "a circle": ("left_child=", "left_child=0 ", ".txt", "tree_sizes"),
    "a misspelt key": ("left_child=", "left_childd=", ".txt", "tree_sizes are not those of its trees"),
    "a number with noise": ("leaf_value=0.", "leaf_value=0x", ".txt", "could not convert string to float"),
    "parameters cut off": ("end of parameters", "", ".txt", "no line 'end of parameters'"),
    "half a parameter": ("[bagging_by_query: 0]", "[bagging_by_query:", ".txt", r"the parameter '\[bagging_by_query:' is not"),
    "an inner attribute": ('{\\"_estimator_type\\"', '{\\"_estimator_type', ".json", "cannot be read as a model of XGBoost"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_models_are_refused_by_name(tmp_path: Path, name: str) -> None:
    """What crashed the library, made it loop, or ended in an error without a name."""
    old, new, ending, message = DAMAGE[name]
    place = tmp_path / f"model{ending}"
    pm.save_forest(fitted("lightgbm" if ending == ".txt" else "xgboost"), place)
    text = place.read_text(encoding="utf-8")
    assert old in text
    place.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BrokenFileError, match=rf"{place.name}.*({message})"):
        pm.load_forest(place)


@pytest.mark.parametrize(("name", "ending"), [("lightgbm", ".txt"), ("xgboost", ".ubj"), ("xgboost", ".json")])
def test_models_that_are_cut_off_are_refused(tmp_path: Path, name: str, ending: str) -> None:
    """At half: LightGBM's loader crashed, and XGBoost's read beyond its buffer, or for ever."""
    place = tmp_path / f"model{ending}"
    pm.save_forest(fitted(name), place)
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    with pytest.raises(BrokenFileError, match=place.name):
        pm.load_forest(place)


@looped(
    ("left", "right", "message"),
    [
        ("0 -2", "1 -3", "a node is a child twice, or above itself"),
        ("2 -1", "-2 -3", "a child is 2, which is no node"),  # splits are 0 and 1: LightGBM read beyond its arrays
        ("-1 1", "-2 -3", "node 1 is nobody's child"),
    ],
)
def test_what_is_no_tree_is_refused_before_the_library_follows_it(left: str, right: str, message: str, tmp_path: Path) -> None:
    """Children above themselves, children that do not exist, splits that hang on nothing; the sizes of all blocks are right."""
    place = tmp_path / "model.txt"
    pm.save_forest(lightgbm_with_three_leaves(), place)
    text = ModelText.parse(place.read_text(encoding="utf-8"))
    wrong = {**text.trees[0], "left_child": left, "right_child": right}
    place.write_text(replace(text, trees=(wrong, *text.trees[1:])).write(), encoding="utf-8")
    with pytest.raises(BrokenFileError, match=f"tree 0: {message}"):
        pm.load_forest(place)


def lightgbm_with_three_leaves(names: Sequence[str] = ("a", "b")) -> Any:
    """A booster of two trees with two splits each."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=list(names))
    model = LGBMRegressor(n_estimators=2, num_leaves=3, min_child_samples=5, verbose=-1)
    return model.fit(X, X.sum(axis=1))


def test_a_feature_may_be_called_like_a_tree(tmp_path: Path) -> None:
    """Its importance stands behind the trees as "Tree=0=5", a line that is no tree."""
    model = lightgbm_with_three_leaves(("Tree=0", "b"))
    pm.save_forest(model, tmp_path / "model.txt")
    forest = read_model(pm.load_forest(tmp_path / "model.txt"))
    rows = pd.DataFrame([[0.5, -1.0], [-2.0, 0.1]], columns=["Tree=0", "b"])
    assert forest.ensemble.feature_names == ("Tree=0", "b")
    np.testing.assert_allclose(forest.margins(forest.rows(rows)).ravel(), model.predict(rows), rtol=1e-12)


def test_a_library_that_crashes_or_does_not_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that loads the file first is killed by a signal, or by us after the limit."""
    place = tmp_path / "model.ubj"
    pm.save_forest(fitted("xgboost"), place)
    monkeypatch.setattr(boosted_models, "TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(BrokenFileError, match="loading it with XGBoost was killed by signal 11"):
        pm.load_forest(place)
    monkeypatch.setattr(boosted_models, "TRIAL", "while True: pass")
    monkeypatch.setattr(boosted_models, "SECONDS", 0.2)
    with pytest.raises(BrokenFileError, match="XGBoost did not load it within 0 s"):
        pm.load_forest(place)
