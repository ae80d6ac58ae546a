"""scikit-learn's boosted models, GradientBoosting* and HistGradientBoosting*: reading them, and writing them back pruned.

    margin_k(x) = start_k + sum over the rounds i of  learning_rate * (value of x's leaf in estimators_[i, k])             (1)

in doubles, in this order. GradientBoosting* compares rows in float32 with thresholds that are doubles, as `Ensemble` does. Its
start is the same for all rows where `init` is scikit-learn's own or "zero"; another `init` is a model of its own that trees
cannot stand for.

Of HistGradientBoosting*, data, thresholds and sums are doubles, ``x <= t``; each split says where missing values go. A tree is a
structured array with one record for each node, parents first. The learning rate of (1) and penalties are in the leaves already.
An encoder of the model's own numbers the categories; unknown ones go where missing values go.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.forests.reading import pruned_tree
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees
from prunemodels.models.response import Link
from prunemodels.models.trees import CategorySet, Trees, joined, one_tree, pruned_ends, remaining
from prunemodels.models.user_columns import UserColumns

LOSSES = {"log_loss": "log loss", "squared_error": "squared error"}
"""The losses whose curvature is bounded, by scikit-learn's names."""


def read_gradient_boosting(model: Any) -> ModelForest:
    """Read a fitted ``GradientBoostingClassifier`` or ``GradientBoostingRegressor``."""
    if not hasattr(model, "estimators_"):
        raise NotFittedForestError.of(model)
    check_loss(model)
    return trees_of_any_loss(model)


def trees_of_any_loss(model: Any) -> ModelForest:
    """The trees of a fitted model, whatever loss they were grown for; for "exponential" the sigmoid has a = 2."""
    base = _start(model)
    classes = model.classes_ if is_classifier(model) else None
    n_outputs = model.estimators_.shape[1]
    link: Link = "identity" if classes is None else "sigmoid" if n_outputs == 1 else "softmax"
    trees = joined([_read_tree(estimator.tree_) for estimator in model.estimators_.ravel()])
    return forest_from_trees(
        trees,
        n_features=int(model.n_features_in_),
        feature_names=names_of(model),
        classes=classes,
        output=np.tile(np.arange(n_outputs, dtype=np.int32), len(model.estimators_)),
        scale=np.full(model.estimators_.size, float(model.learning_rate)),
        base=base,
        link=link,
        source=model,
        sharpness=2.0 if model.loss == "exponential" else 1.0,
        second="margin >= 0",
        compares_doubles=False,
    )


def check_loss(model: Any) -> None:
    """Refuse losses of scikit-learn's boosted models that have no bounded curvature, or are not read."""
    if model.loss not in LOSSES:
        raise UnsupportedModelError(
            f"the {type(model).__name__} was trained with loss={model.loss!r}; what can be pruned: {', '.join(LOSSES.values())}"
        )


def names_of(model: Any) -> tuple[str, ...] | None:
    """Names of the columns that scikit-learn's model was trained on, if it knows them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def _start(model: Any) -> NDArray[np.float64]:
    """The margins of a GradientBoosting* before the first tree, see (1)."""
    if not (isinstance(model.init_, str) or type(model.init_) in (DummyClassifier, DummyRegressor)):
        raise UnsupportedModelError(
            f"the {type(model).__name__} starts from the predictions of a {type(model.init_).__name__} (init), which reads "
            "columns outside of the trees; train with init=None or init='zero'"
        )
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return np.array(model._raw_predict_init(row)[0], dtype=np.float64)  # a private method: the one place


def _read_tree(tree: Any) -> Trees:
    return one_tree(
        tree.children_left,
        tree.children_right,
        tree.feature,
        tree.threshold,
        np.zeros(tree.node_count, dtype=bool),
        tree.value[:, 0, :1],
        cover=np.array(tree.weighted_n_node_samples, dtype=np.float64),
    )


def write_gradient_boosting(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """A copy of the model that keeps these splits, whose leaves hold the values of `forest`."""
    source, ensemble = forest.source, forest.ensemble
    shared = {id(estimator.tree_): estimator.tree_ for estimator in source.estimators_.ravel()}
    pruned = copy.deepcopy(source, shared)  # large, and about to be replaced
    ends = pruned_ends(ensemble, kept)
    for t, estimator in enumerate(pruned.estimators_.ravel()):
        nodes = ensemble.nodes_of(t)
        tree = pruned_tree(estimator.tree_, ~kept[nodes])
        old = _places(tree, estimator.tree_) + nodes.start
        leaf = np.flatnonzero(tree.children_left < 0)
        tree.value[leaf, 0, 0] = forest.leaf_value[ends[old[leaf]], 0]
        estimator.tree_ = tree
    return pruned


def _places(pruned: Any, tree: Any) -> NDArray[np.int64]:
    """The node of a tree that each node of the pruned one comes from."""
    place = np.zeros(pruned.node_count, dtype=np.int64)
    for h in range(pruned.node_count):  # parents first
        if pruned.children_left[h] >= 0:
            place[pruned.children_left[h]] = tree.children_left[place[h]]
            place[pruned.children_right[h]] = tree.children_right[place[h]]
    return place


def read_hist_gradient_boosting(model: Any) -> ModelForest:
    """Read a fitted ``HistGradientBoostingClassifier`` or ``HistGradientBoostingRegressor``."""
    if not hasattr(model, "n_trees_per_iteration_"):
        raise NotFittedForestError.of(model)
    check_loss(model)
    trees, base = hist_trees(model)
    n_trees = len(trees.tree_start) - 1
    classes = model.classes_ if is_classifier(model) else None
    link: Link = "identity" if classes is None else "sigmoid" if base.size == 1 else "softmax"
    return forest_from_trees(
        trees,
        n_features=int(model.n_features_in_),
        feature_names=names_of(model),
        classes=classes,
        output=np.tile(np.arange(base.size, dtype=np.int32), n_trees // base.size),
        scale=np.ones(n_trees),
        base=base,
        link=link,
        source=model,
        second="margin > 0",
        codes=codes_of(model),
    )


def hist_trees(model: Any) -> tuple[Trees, NDArray[np.float64]]:
    """The trees of a HistGradientBoosting*, round after round, with features in the order of the table's columns; its start."""
    column, known = _columns(model)
    trees = joined([_read_records(tree.nodes, tree.raw_left_cat_bitsets, column, known) for tree in _trees(model)])
    return trees, np.array(model._baseline_prediction, dtype=np.float64).ravel()


def _trees(model: Any) -> list[Any]:
    """The trees, round after round; with `_columns` what is private here.

    Each has its records as ``nodes``, and in ``raw_left_cat_bitsets`` the categories that go left at each categorical split.
    """
    return [tree for one_round in model._predictors for tree in one_round]


def _columns(model: Any) -> tuple[NDArray[np.int64], dict[int, frozenset[int]] | None]:
    """The column of the user's table for each feature of the trees, and the categories that the model knows, by column.

    scikit-learn moves columns of categories to the front.
    """
    categorical = getattr(model, "is_categorical_", None)
    if categorical is None:
        return np.arange(model.n_features_in_), None
    column = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    bits, place = model._bin_mapper.make_known_categories_bitsets()
    known = {int(column[k]): _members(bits[place[k]]) for k in range(int(categorical.sum()))}
    return column, known


def _members(bits: NDArray[np.uint32]) -> frozenset[int]:
    """The numbers whose bits are set in a row of 32-bit words."""
    return frozenset(32 * k + j for k, word in enumerate(bits.tolist()) for j in range(32) if word >> j & 1)


def codes_of(model: Any) -> UserColumns | None:
    """The categories of each column that has them, as the model's own encoder numbers them; None without such columns."""
    if getattr(model, "is_categorical_", None) is None:
        return None
    categories = model._preprocessor.named_transformers_["encoder"].categories_
    columns = np.flatnonzero(model.is_categorical_)
    named = {int(f): tuple(found.tolist()) for f, found in zip(columns, categories, strict=True)}
    return UserColumns(named, arrays=False, by_text=False)


def _read_records(
    records: NDArray[Any], bits: NDArray[np.uint32], column: NDArray[np.int64], known: dict[int, frozenset[int]] | None
) -> Trees:
    leaf = records["is_leaf"] > 0
    feature, missing_left = column[np.where(leaf, 0, records["feature_idx"])], records["missing_go_to_left"] > 0
    categories = {}
    for h in np.flatnonzero((records["is_categorical"] > 0) & ~leaf).tolist():
        f = int(feature[h])
        members = _members(bits[records["bitset_idx"][h]])
        categories[h] = CategorySet(f, members, True, (known or {})[f] | members, bool(missing_left[h]))
    return one_tree(
        np.where(leaf, -1, records["left"].astype(np.int64)),
        records["right"],
        feature,
        records["num_threshold"],
        missing_left,
        records["value"][:, None],
        cover=records["count"].astype(np.float64),
        categories=categories,
    )


def write_hist_gradient_boosting(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """A copy of the model that keeps these splits, whose leaves hold the values of `forest`."""
    ensemble = forest.ensemble
    stays, pruned = remaining(ensemble, kept), copy.deepcopy(forest.source)
    for t, tree in enumerate(_trees(pruned)):
        nodes = ensemble.nodes_of(t)
        tree.nodes = _pruned_tree(tree.nodes, stays[nodes], kept[nodes], forest.leaf_value[nodes, 0])
    return pruned


def _pruned_tree(
    records: NDArray[Any], stays: NDArray[np.bool_], kept: NDArray[np.bool_], value: NDArray[np.floating]
) -> NDArray[Any]:
    """The records that stay, with splits that are not kept as leaves; all arrays over the nodes of one tree."""
    place = np.cumsum(stays) - 1
    nodes = records[stays].copy()
    split = kept[stays]
    for side in ("left", "right"):
        nodes[side] = np.where(split, place[nodes[side]], 0)
    zero = ("feature_idx", "num_threshold", "missing_go_to_left", "bin_threshold", "is_categorical", "bitset_idx")
    for name, of_leaf in {"gain": -1, **dict.fromkeys(zero, 0)}.items():
        nodes[name] = np.where(split, nodes[name], of_leaf)
    nodes["is_leaf"] = ~split
    nodes["value"] = np.where(split, nodes["value"], value[stays])
    return nodes
