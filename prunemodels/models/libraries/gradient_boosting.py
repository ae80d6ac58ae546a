"""scikit-learn's GradientBoosting*: reading them, and writing them back pruned.

    margin_k(x) = start_k + sum over the rounds i of  learning_rate * (value of x's leaf in estimators_[i, k])             (1)

in doubles, in this order. Rows are compared in float32 with thresholds that are doubles, as `Ensemble` does. The start is the
same for all rows where `init` is scikit-learn's own or "zero"; another `init` is a model of its own that trees cannot stand for.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.forests.sklearn_versions import pruned_tree
from prunemodels.models.libraries.links import Link
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees, pruned_ends
from prunemodels.models.libraries.trees import Trees, joined

LOSSES = {"log_loss": "log loss", "squared_error": "squared error"}
"""The losses whose curvature is bounded, by scikit-learn's names."""


def read_gradient_boosting(model: Any) -> ModelForest:
    """Read a fitted ``GradientBoostingClassifier`` or ``GradientBoostingRegressor``.

    Raises
    ------
    UnsupportedModelError
        for other losses than log loss and squared error, and for an `init` that is an estimator of its own.
    NotFittedForestError
        for an estimator that was not fitted.
    """
    if not hasattr(model, "estimators_"):
        raise NotFittedForestError(f"the {type(model).__name__} is not fitted: call fit(X, y) first")
    check_loss(model)
    return trees_of_any_loss(model)


def trees_of_any_loss(model: Any) -> ModelForest:
    """The trees of a fitted model, whatever loss they were grown for; that of "exponential" takes a = 2, see `links`.

    Raises
    ------
    UnsupportedModelError
        for an `init` that is an estimator of its own.
    """
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
    """The margins before the first tree, see (1)."""
    if not (isinstance(model.init_, str) or type(model.init_) in (DummyClassifier, DummyRegressor)):
        raise UnsupportedModelError(
            f"the {type(model).__name__} starts from the predictions of a {type(model.init_).__name__} (init), which reads "
            "columns outside of the trees; train with init=None or init='zero'"
        )
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return np.array(model._raw_predict_init(row)[0], dtype=np.float64)  # a private method: the one place


def _read_tree(tree: Any) -> Trees:
    leaf = tree.children_left < 0
    n = tree.node_count
    return Trees(
        np.array([0, n]),
        tree.children_left.astype(np.int32),
        tree.children_right.astype(np.int32),
        np.where(leaf, -1, tree.feature).astype(np.int32),
        np.where(leaf, 0.0, tree.threshold),
        np.zeros(n, dtype=bool),
        np.where(leaf, tree.value[:, 0, 0], 0.0)[:, None],
        np.array(tree.weighted_n_node_samples, dtype=np.float64),
        np.arange(n, dtype=np.int32),
    )


def write_gradient_boosting(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """A copy of the model with pruned trees, whose leaves hold the values of `forest`.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits that stay.
    """
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
