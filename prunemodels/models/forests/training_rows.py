"""How training rows are drawn and weighted, by version of scikit-learn, and whether given rows are those of training.

A tree of a forest is grown on a bootstrap sample or a bag of the rows that ``fit`` saw, weighted by ``sample_weight`` and
``class_weight``. The weights and labels that the trees store show whether given rows are the same rows in the same order.

Forests are pruned with scikit-learn 1.6, 1.7, 1.8 and 1.9. Their trees are the same: a node has the same eight fields, a
classification tree's ``value`` holds class fractions, and one private function rebuilds a tree without some nodes. What weights
of examples and classes do in training differs:

    up to 1.7        a drawn row counts in its tree as often as it was drawn, times its weight                               (1)
    1.8              a bag draws rows in proportion to their weights, and each draw counts once                              (2)
    from 1.9 on      so does a forest with ``bootstrap=True``                                                                (3)
    up to 1.8        ``class_weight="balanced"`` counts the rows of a class, whatever they weigh                             (4)
    from 1.9 on      it adds up their weights                                                                                (5)
    up to 1.7        a tree of absolute errors stores too large an impurity in some nodes of weighted rows                    (6)

(6) is refused where it happens. A saved tree does not say which version grew it, so of a forest that 1.7 grew and a later version
loaded, give the training rows: ``errors=InBag(X, y)``.

Up to 1.7 a tree that was grown on missing values may send its training rows elsewhere than where it counted them. `InBag(X, y)`
and `OutOfBag(X, y)` refuse such a forest, for the rows do not add up; the default, what the trees store, does not depend on it.

``make test-versions`` runs the tests of everything that reads, prunes, saves and fits forests with each version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from formulations.errors import InvalidInputError
from formulations.instance.routing import Routing
from prunemodels.models.forests.reading import BAGS, FORESTS, ReadForest, is_tree


def version_of(text: str) -> tuple[int, ...]:
    """``(1, 9)`` of ``"1.9.1"``; ``()`` of what is no version."""
    parts = text.split(".")[:2]
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()


VERSION = version_of(sklearn.__version__)
"""The installed version, e.g. ``(1, 9)``."""

SAME_TREES = ((1, 6), (1, 7), (1, 8), (1, 9))
"""Versions that read each other's files with the same predictions: the tests of ``make test-versions`` hold them to it."""

BAGS_DRAW_BY_WEIGHT = VERSION >= (1, 8)
"""(2)."""

FORESTS_DRAW_BY_WEIGHT = VERSION >= (1, 9)
"""(3)."""

MEDIANS_MEASURED_EXACTLY = VERSION >= (1, 8)
"""Not (6)."""


def balanced_class_weights(y: NDArray[Any], sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each row by ``class_weight="balanced"`` in a forest that draws no rows: shape (N,), (4) or (5)."""
    classes = np.unique(y)
    weighted = {"sample_weight": sample_weight} if FORESTS_DRAW_BY_WEIGHT else {}
    by_class = compute_class_weight("balanced", classes=classes, y=y, **weighted)
    return np.asarray(by_class[np.searchsorted(classes, y)])


def training_weights(forest: ReadForest, y: NDArray[Any], sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each row when each tree was grown: float64, shape (T, N)."""
    draws = _draws(forest, len(y))
    weights = draws if _weights_drive_draw(forest.forest) else draws * sample_weight
    if is_classifier(forest.forest):
        for t, view in enumerate(forest.views):
            weights[t] = weights[t] * _class_weights(forest, view.estimator, y, draws[t], sample_weight)
    return weights


def check_training_data(forest: ReadForest, routing: Routing, y: NDArray[Any], weights: NDArray[np.float64]) -> None:
    """Refuse rows that put other weights, or other labels, on the nodes than those with which the trees were grown."""
    views, ensemble = forest.views, forest.ensemble
    on_nodes = routing.node_sums(ensemble, weights)
    for t, view in enumerate(views):
        given, stored = on_nodes[ensemble.nodes_of(t)], view.estimator.tree_.weighted_n_node_samples
        h = _first(np.abs(given - stored) > 1e-6 * stored[0])
        if h is not None:
            raise InvalidInputError(
                f"errors: the rows put a weight of {given[h]:g} on node {h} of tree {t}, which was grown with {stored[h]:g}; "
                "give the training data in its order, with the sample_weight of fit, or use Given(X, y)"
            )
    codes = np.arange(1.0, ensemble.value.shape[1] + 1)  # one sum tells all classes apart: 1 for the first, 2 for the second
    target = codes[y] if ensemble.task == "classification" else y
    labels_on_nodes = routing.node_sums(ensemble, weights * target)
    stored_labels = ensemble.value @ codes  # of regression: the one value
    allowed = 1e-6 * (1 + np.abs(target).max())
    for t, view in enumerate(views):
        if _stores_means(view.estimator):
            nodes, stored = ensemble.nodes_of(t), view.estimator.tree_.weighted_n_node_samples
            _check_labels(t, _first(np.abs(labels_on_nodes[nodes] - stored_labels[nodes] * stored) > allowed * stored[0]))


def _first(wrong: NDArray[np.bool_]) -> int | None:
    """The first node that is wrong; None: there is none."""
    return int(np.argmax(wrong)) if wrong.any() else None


def _check_labels(t: int, wrong: int | None) -> None:
    if wrong is not None:
        raise InvalidInputError(
            f"errors: the labels at node {wrong} of tree {t} are not those that it was grown with; give y in the order of the "
            "training data, or use Given(X, y)"
        )


def out_of_bag(forest: ReadForest, routing: Routing, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which training rows each tree did not draw: bool, shape (T, N); the routing and y are those of ``fit``, in its order."""
    draws = _draws(forest, len(y))
    out = np.asarray(draws == 0)
    if not out.any():
        raise InvalidInputError(
            f"every tree of the {type(forest.forest).__name__} was grown on all rows, so none is out of bag; use Given(X, y)"
        )
    weights = training_weights(forest, y, np.ones(len(y)))
    grown_with = np.array([view.estimator.tree_.weighted_n_node_samples[0] for view in forest.views])
    if _weights_drive_draw(forest.forest) or np.allclose(weights.sum(axis=1), grown_with):
        check_training_data(forest, routing, y, weights)
    else:  # grown with weights that are not known here: the rows can be counted
        _check_row_counts(forest, routing, draws)
    return out


def _draws(forest: ReadForest, n_rows: int) -> NDArray[np.float64]:
    """How often each tree drew each training row: float64, shape (T, N)."""
    n_trees = len(forest.views)  # refused for an `Ensemble`, which was not grown here
    if is_tree(forest.forest):
        return np.ones((n_trees, n_rows))
    trained_on = getattr(forest.forest, "_n_samples", None)
    if trained_on is not None and trained_on != n_rows:
        raise InvalidInputError(
            f"errors: X has {n_rows} rows, the forest was trained on {trained_on}; give the training data in its order"
        )
    return np.stack([np.bincount(drawn, minlength=n_rows) for drawn in forest.forest.estimators_samples_]).astype(np.float64)


def _weights_drive_draw(forest: Any) -> bool:
    """Whether weights already act through the draw of the rows, so that they must not count again."""
    if isinstance(forest, BAGS):
        return BAGS_DRAW_BY_WEIGHT
    return FORESTS_DRAW_BY_WEIGHT and isinstance(forest, FORESTS) and bool(forest.bootstrap)


def _class_weights(
    read: ReadForest, tree: Any, y: NDArray[np.int64], draws: NDArray[np.float64], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The factor by which ``class_weight`` multiplied each row's weight in one tree: shape (N,)."""
    forest = read.forest
    if isinstance(forest, BAGS):  # a bag trains its trees on the indices of the classes
        return np.asarray(compute_sample_weight(tree.class_weight, y))
    if isinstance(forest, FORESTS) and forest.bootstrap and forest.class_weight == "balanced_subsample":
        drawn = np.repeat(np.arange(len(y)), draws.astype(np.int64))
        return np.asarray(compute_sample_weight("balanced", y, indices=drawn))
    if _weights_drive_draw(forest):
        return np.ones(len(y))
    if isinstance(forest, FORESTS) and isinstance(forest.class_weight, str):  # without bootstrap, both presets mean the same
        return balanced_class_weights(y, sample_weight)
    return np.asarray(compute_sample_weight(forest.class_weight, np.asarray(read.ensemble.classes)[y]))


def _check_row_counts(forest: ReadForest, routing: Routing, draws: NDArray[np.float64]) -> None:
    """Refuse rows of which fewer reach a node than it was grown with; rows of weight 0 reach it uncounted."""
    on_nodes = routing.node_sums(forest.ensemble, (draws > 0).astype(np.float64))
    for t, view in enumerate(forest.views):
        given, stored = on_nodes[forest.ensemble.nodes_of(t)], view.estimator.tree_.n_node_samples
        h = _first(given < stored)
        if h is not None:
            raise InvalidInputError(
                f"errors: only {given[h]:g} of the rows reach node {h} of tree {t}, which was grown with {stored[h]}; "
                "give the training data in its order, or use Given(X, y)"
            )


def _stores_means(tree: Any) -> bool:
    """Whether the tree's nodes hold class fractions or means of the training targets, unchanged."""
    return getattr(tree, "monotonic_cst", None) is None and getattr(tree, "criterion", None) != "absolute_error"
