"""Small fitted models of every kind that is read, and prunings of them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from formulations import Ensemble
from prunemodels.other_libraries import ModelForest
from tests.instances import way

X2, Y2 = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=0)
X3, Y3 = make_classification(240, 6, n_informative=4, n_classes=3, random_state=1)
XR, YR = make_regression(240, 6, noise=5.0, random_state=2)
_rng = np.random.default_rng(0)
HOLES = np.where(_rng.random(X2.shape) < 0.15, np.nan, np.where(_rng.random(X2.shape) < 0.2, 0.0, X2))
"""X2 with missing values and zeros."""

SKLEARN_CLASSES = (GradientBoostingClassifier, GradientBoostingRegressor)
SKLEARN_CLASSES += (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

X_DEEP = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1, "random_state": 0}
L_DEEP = {"n_estimators": 8, "num_leaves": 10, "verbose": -1, "n_jobs": 1, "random_state": 0}
L_RF = {**L_DEEP, "boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}
LETTERS = np.array(["no", "yes"])[Y2]
FEW, HIST = {"n_estimators": 6, "random_state": 0}, {"max_iter": 6, "max_leaf_nodes": 8, "min_samples_leaf": 8}
MARKED = np.where(Y2[:, None] == 1, np.nan, XR[:, :2])  # the first split is between numbers and NaN: at infinity

MODELS: dict[str, dict[str, tuple[Callable[[], Any], NDArray[np.float64], NDArray[Any]]]] = {
    "xgboost": {
        "two classes": (lambda: xgboost.XGBClassifier(**X_DEEP).fit(HOLES, Y2), HOLES, Y2),
        "three classes": (lambda: xgboost.XGBClassifier(**X_DEEP).fit(X3, Y3), X3, Y3),
        "numbers": (lambda: xgboost.XGBRegressor(**X_DEEP).fit(XR, YR), XR, YR),
        "forest, two classes": (lambda: xgboost.XGBRFClassifier(**X_DEEP).fit(HOLES, Y2), HOLES, Y2),
        "forest, three classes": (lambda: xgboost.XGBRFClassifier(**X_DEEP).fit(X3, Y3), X3, Y3),
        "forest, numbers": (lambda: xgboost.XGBRFRegressor(**X_DEEP).fit(XR, YR), XR, YR),
        "dart": (lambda: xgboost.XGBClassifier(booster="dart", rate_drop=0.5, **X_DEEP).fit(X2, Y2), X2, Y2),
        "nodes deleted": (lambda: xgboost.XGBClassifier(gamma=3.0, **X_DEEP).fit(X2, Y2), X2, Y2),
        "zero is missing": (lambda: xgboost.XGBClassifier(missing=0.0, **X_DEEP).fit(HOLES, Y2), HOLES, Y2),
        "stopped early": (lambda: _stopped_early(), X2, Y2),
        "stopped early, from a file": (lambda: _from_file(_stopped_early()), X2, Y2),
        "booster": (lambda: xgboost.XGBClassifier(**X_DEEP).fit(X2, Y2).get_booster(), X2, Y2),
        "rounds of two trees": (lambda: xgboost.XGBClassifier(num_parallel_tree=2, subsample=0.5, **X_DEEP).fit(X2, Y2), X2, Y2),
    },
    "lightgbm": {
        "two classes": (lambda: lightgbm.LGBMClassifier(**L_DEEP).fit(HOLES, LETTERS), HOLES, LETTERS),
        "three classes": (lambda: lightgbm.LGBMClassifier(**L_DEEP).fit(X3, Y3), X3, Y3),
        "one against the rest": (lambda: lightgbm.LGBMClassifier(objective="multiclassova", **L_DEEP).fit(X3, Y3), X3, Y3),
        "numbers": (lambda: lightgbm.LGBMRegressor(**L_DEEP).fit(XR, YR), XR, YR),
        "forest, two classes": (lambda: lightgbm.LGBMClassifier(**L_RF).fit(HOLES, Y2), HOLES, Y2),
        "forest, numbers": (lambda: lightgbm.LGBMRegressor(**L_RF).fit(XR, YR), XR, YR),
        "zeros are missing": (lambda: lightgbm.LGBMClassifier(zero_as_missing=True, **L_DEEP).fit(HOLES, Y2), HOLES, Y2),
        "nothing is missing": (lambda: lightgbm.LGBMClassifier(use_missing=False, **L_DEEP).fit(HOLES, Y2), HOLES, Y2),
        "dart": (lambda: lightgbm.LGBMClassifier(**{**L_DEEP, "boosting_type": "dart"}).fit(X2, Y2), X2, Y2),
        "steep sigmoid": (lambda: lightgbm.LGBMClassifier(sigmoid=2.5, **L_DEEP).fit(X2, Y2), X2, Y2),
        "bare trees": (lambda: lightgbm.LGBMClassifier(min_child_samples=230, **L_DEEP).fit(X2, Y2), X2, Y2),
        "booster": (lambda: lightgbm.LGBMClassifier(**L_DEEP).fit(X2, Y2).booster_, X2, Y2),
    },
    "sklearn": {
        "two classes": (lambda: GradientBoostingClassifier(**FEW).fit(X2, LETTERS), X2, LETTERS),
        "three classes": (lambda: GradientBoostingClassifier(subsample=0.7, **FEW).fit(X3, Y3), X3, Y3),
        "numbers": (lambda: GradientBoostingRegressor(learning_rate=0.3, **FEW).fit(XR, YR), XR, YR),
        "from zero": (lambda: GradientBoostingClassifier(init="zero", **FEW).fit(X2, Y2), X2, Y2),
        "grown best first": (lambda: GradientBoostingRegressor(max_leaf_nodes=7, max_depth=None, **FEW).fit(XR, YR), XR, YR),
        "histograms, two classes": (lambda: HistGradientBoostingClassifier(**HIST).fit(HOLES, LETTERS), HOLES, LETTERS),
        "histograms, three classes": (lambda: HistGradientBoostingClassifier(**HIST).fit(X3, Y3), X3, Y3),
        "histograms, numbers": (lambda: HistGradientBoostingRegressor(l2_regularization=1.0, **HIST).fit(HOLES, YR), HOLES, YR),
        "histograms, missing only": (lambda: HistGradientBoostingClassifier(max_iter=2).fit(MARKED, Y2), MARKED, Y2),
    },
}
"""By library and name, what fits the model, its data and labels."""

ALL = [(library, name) for library, models in MODELS.items() for name in models]


@functools.cache
def model_of(library: str, name: str) -> tuple[Any, NDArray[np.float64], NDArray[Any]]:
    """(model, data, labels); tests must not change them."""
    make, X, y = MODELS[library][name]
    return make(), X, y


def models_of(library: str) -> dict[str, tuple[Any, NDArray[np.float64], NDArray[Any]]]:
    """Name -> (model, data, labels)."""
    return {name: model_of(library, name) for name in MODELS[library]}


def _from_file(model: Any) -> Any:
    """The model as XGBoost loads it, which no longer knows the arguments of its training."""
    again = type(model)()
    again.load_model(model.get_booster().save_raw(raw_format="json"))
    return again


def _stopped_early() -> Any:
    """Stops at its second round and holds four more."""
    model = xgboost.XGBClassifier(early_stopping_rounds=4, learning_rate=1.0, **{**X_DEEP, "n_estimators": 50})
    model.fit(X2[:120], Y2[:120], eval_set=[(X2[120:], Y2[120:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


def library_margins(model: Any, X: NDArray[np.float64], n_outputs: int) -> NDArray[np.float64]:
    """What the library itself makes of X, before the link, shape (N, outputs)."""
    if isinstance(model, SKLEARN_CLASSES):
        margins = model.decision_function(X) if is_classifier(model) else model.predict(X)
    elif isinstance(model, xgboost.Booster):
        margins = model.predict(xgboost.DMatrix(X), output_margin=True)
    elif isinstance(model, xgboost.XGBModel):
        margins = model.predict(X, output_margin=True)
    else:
        booster = getattr(model, "booster_", model)
        margins = booster.predict(X, raw_score=True)
        if "\naverage_output" in booster.model_to_string():
            margins = margins / booster.num_trees()  # LightGBM hands out the sum for raw scores, and the mean to the link
    return np.asarray(margins, dtype=np.float64).reshape(len(X), n_outputs)


def library_leaves(model: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """The leaf of each row in each tree as the library counts them, shape (N, T)."""
    if isinstance(model, (GradientBoostingClassifier, GradientBoostingRegressor)):
        return np.asarray(model.apply(X)).astype(np.int64).reshape(len(X), -1)
    if isinstance(model, SKLEARN_CLASSES):
        return np.column_stack([_leaf_of_histograms(model, p, X) for one_round in model._predictors for p in one_round])
    if isinstance(model, xgboost.Booster):
        return np.asarray(model.predict(xgboost.DMatrix(X), pred_leaf=True)).astype(np.int64).reshape(len(X), -1)
    if isinstance(model, xgboost.XGBModel):
        return np.asarray(model.apply(X)).astype(np.int64).reshape(len(X), -1)
    return np.asarray(getattr(model, "booster_", model).predict(X, pred_leaf=True)).astype(np.int64).reshape(len(X), -1)


def _leaf_of_histograms(model: Any, tree: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """The leaf of each row in a tree of HistGradientBoosting, which tells only values: here its leaves' values are numbers."""
    numbered = copy.deepcopy(tree)
    numbered.nodes["value"] = np.arange(len(tree.nodes))
    categories, places = model._bin_mapper.make_known_categories_bitsets()
    return np.asarray(numbered.predict(np.asarray(X, dtype=np.float64), categories, places, 1)).astype(np.int64)


def some_pruning(ensemble: Ensemble, seed: int, keep: float = 0.7) -> NDArray[np.bool_]:
    """Random splits, closed under parents."""
    kept = (np.random.default_rng(seed).random(ensemble.n_nodes) < keep) & ensemble.is_split
    for h in range(ensemble.n_nodes):
        if ensemble.parent[h] >= 0 and not kept[ensemble.parent[h]]:
            kept[h] = False
    return kept


def all_prunings(ensemble: Ensemble) -> NDArray[np.bool_]:
    """Every pruning of a small ensemble, one a row."""
    splits = np.flatnonzero(ensemble.is_split)
    assert splits.size <= 14
    closed = []
    for code in range(2**splits.size):
        kept = np.zeros(ensemble.n_nodes, dtype=bool)
        kept[splits[(code >> np.arange(splits.size)) & 1 == 1]] = True
        above = ensemble.parent[splits]
        if (kept[above] | (above < 0) | ~kept[splits]).all():
            closed.append(kept)
    return np.array(closed)


def margins_by_walking(forest: ModelForest, rows: NDArray[np.float32], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The margins of a pruned forest, row by row and node by node: the plain reference."""
    e = forest.ensemble
    margins = np.tile(forest.base, (len(rows), 1))
    for i, x in enumerate(rows.astype(np.float64)):
        for t, root in enumerate(e.roots):
            margins[i, forest.output[t]] += e.value[way(e, root, x, kept)[-1], 0]
    return margins
