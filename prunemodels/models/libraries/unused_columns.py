"""Models of XGBoost and LightGBM that are given only the columns that their splits test.

The features are renumbered in the model's own JSON or text, and nothing else changes, so the library's predictions are equal.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.libraries.lightgbm_text import ModelText, numbers

Columns = NDArray[np.int64]


def xgboost_without_unused(model: Any) -> Any:
    """A copy of a ``Booster`` or scikit-learn estimator of XGBoost.

    Raises
    ------
    UnsupportedModelError
        for linear boosters.
    NotFittedForestError
        for an estimator that was not fitted.
    """
    slim = copy.deepcopy(model)
    booster = slim
    if hasattr(slim, "get_booster"):
        if not slim.__sklearn_is_fitted__():
            raise NotFittedForestError(f"the {type(model).__name__} is not fitted: call fit(X, y) first")
        booster = slim.get_booster()
    document = json.loads(bytes(booster.save_raw(raw_format="json")))
    learner = document["learner"]
    grown = learner["gradient_booster"]
    if grown["name"] not in ("gbtree", "dart"):
        raise UnsupportedModelError(f"the booster is {grown['name']!r}: it has no trees; train with booster='gbtree'")
    trees = grown.get("gbtree", grown)["model"]["trees"]
    is_split = [np.array(tree["left_children"]) >= 0 for tree in trees]
    kept = _kept([np.array(tree["split_indices"])[split] for tree, split in zip(trees, is_split, strict=True)])
    place = {int(f): k for k, f in enumerate(kept)}
    for tree, split in zip(trees, is_split, strict=True):
        tree["split_indices"] = [place[f] if s else 0 for f, s in zip(tree["split_indices"], split, strict=True)]
        tree["tree_param"]["num_feature"] = str(kept.size)
    learner["learner_model_param"]["num_feature"] = str(kept.size)
    _keep_categories(grown.get("gbtree", grown)["model"].get("cats"), kept)
    for name in ("feature_names", "feature_types"):
        if learner.get(name):
            learner[name] = [learner[name][f] for f in kept]
    booster.load_model(bytearray(json.dumps(document), "utf-8"))
    return slim


def _keep_categories(table: Any, kept: Columns) -> None:
    """XGBoost's table of categories: what is encoded for each feature, and one list of orders, cut at the features' ends."""
    if table and table["enc"]:
        ends, order = table["feature_segments"], table["sorted_idx"]
        table["enc"] = [table["enc"][f] for f in kept]
        table["sorted_idx"] = [k for f in kept for k in order[ends[f] : ends[f + 1]]]
        table["feature_segments"] = [0, *np.cumsum([ends[f + 1] - ends[f] for f in kept]).tolist()]


def lightgbm_without_unused(model: Any) -> Any:
    """A copy of a ``Booster`` or scikit-learn estimator of LightGBM.

    Raises
    ------
    UnsupportedModelError
        for linear leaves, and for categories of pandas, whose table the text stores by place.
    NotFittedForestError
        for an estimator that was not fitted.
    """
    slim = copy.deepcopy(model)
    estimator = hasattr(slim, "fit")
    if estimator and not slim.__sklearn_is_fitted__():
        raise NotFittedForestError(f"the {type(model).__name__} is not fitted: call fit(X, y) first")
    booster = slim.booster_ if estimator else slim
    text = ModelText.parse(booster.model_to_string())
    if any(tree.get("is_linear", "0") != "0" for tree in text.trees):
        raise UnsupportedModelError("the model has linear models in its leaves; train with linear_tree=False")
    if any(line.startswith("pandas_categorical:") and line not in NO_CATEGORIES for line in text.tail):
        raise UnsupportedModelError("the model was trained on pandas categories; encode them as numbers before training")
    kept = _kept([numbers(tree, "split_feature").astype(np.int64) for tree in text.trees])
    place = {int(f): k for k, f in enumerate(kept)}
    trees = tuple(_renumbered(tree, place) for tree in text.trees)
    booster.model_from_string(ModelText(tuple(_narrow(line, kept) for line in text.head), trees, text.tail).write())
    if estimator:
        slim._n_features = slim._n_features_in = int(kept.size)
    return slim


NO_CATEGORIES = ("pandas_categorical:null", "pandas_categorical:[]")

PER_FEATURE = ("feature_names", "feature_infos", "monotone_constraints")
"""Lines of LightGBM's head with a word for each feature."""


def _kept(tested: list[Columns]) -> Columns:
    """All features tested, ascending; the first one if there is none, since the libraries want one."""
    kept = np.unique(np.concatenate(tested)).astype(np.int64) if tested else np.zeros(0, dtype=np.int64)
    return kept if kept.size else np.zeros(1, dtype=np.int64)


def _renumbered(tree: dict[str, str], place: dict[int, int]) -> dict[str, str]:
    if not tree.get("split_feature"):
        return tree
    return {**tree, "split_feature": " ".join(str(place[int(f)]) for f in tree["split_feature"].split())}


def _narrow(line: str, kept: Columns) -> str:
    """A line of the head for the kept features."""
    key, equals, value = line.partition("=")
    if key == "max_feature_idx":
        return f"{key}={kept.size - 1}"
    if equals and key in PER_FEATURE and value:
        words = value.split(" ")
        return f"{key}=" + " ".join(words[f] for f in kept)
    return line
