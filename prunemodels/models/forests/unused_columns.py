"""Forests of scikit-learn that are given only the columns that their splits test.

Column f of the new forest is column ``kept[f]`` of the old one. A tree's state is copied with its features renumbered, and
nothing else changes, so predictions, leaves and importances are equal bit for bit.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree._tree import Tree

from prunemodels.models.forests.reading import BAGS, TreeView, is_tree, tree_views

Columns = NDArray[np.int64]


def used_columns(forest: Any) -> Columns:
    """Columns that some split tests, ascending; the first column if there is no split, since scikit-learn wants one.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError, InvalidInputError
        see `tree_views`.
    """
    tested = [view.columns[_tested(view)] for view in tree_views(forest, several_outputs=True)]
    kept = np.unique(np.concatenate(tested)).astype(np.int64)
    return kept if kept.size else np.zeros(1, dtype=np.int64)


def with_columns(forest: Any, kept: Columns) -> Any:
    """A copy of the forest that is given the kept columns only, in their order; they include all that it tests."""
    views = tree_views(forest, several_outputs=True)
    slim = copy.deepcopy(forest, {id(view.estimator.tree_): view.estimator.tree_ for view in views})
    place = np.full(forest.n_features_in_, -1, dtype=np.int64)
    place[kept] = np.arange(kept.size)
    columns = []
    for view, own in zip(views, [slim] if is_tree(slim) else slim.estimators_, strict=True):
        stays = np.flatnonzero(place[view.columns] >= 0)
        if not stays.size:  # a tree of a bag without a split still is given a column
            stays = np.zeros(1, dtype=np.int64)
        own.tree_ = _renumbered(view, stays)
        _narrow(own, stays)
        columns.append(np.maximum(place[view.columns[stays]], 0))
    if isinstance(slim, BAGS):
        slim.estimators_features_ = columns
    if not is_tree(slim):
        _narrow(slim, kept)
    return slim


def _tested(view: TreeView) -> Columns:
    tree = view.estimator.tree_
    return np.unique(tree.feature[tree.children_left >= 0]).astype(np.int64)


def _renumbered(view: TreeView, stays: Columns) -> Tree:
    """The tree on the columns of its own that stay."""
    old = view.estimator.tree_
    state = old.__getstate__()
    place = np.full(old.n_features, -1, dtype=np.int64)
    place[stays] = np.arange(stays.size)
    nodes = state["nodes"].copy()
    split = nodes["left_child"] >= 0
    nodes["feature"][split] = place[nodes["feature"][split]]
    tree = Tree(stays.size, np.array(old.n_classes, dtype=np.intp), old.n_outputs)
    tree.__setstate__({**state, "nodes": nodes})
    return tree


def _narrow(model: Any, kept: Columns) -> None:
    """Tell a model that has attributes of its own which columns it is given."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = names[kept]
    if getattr(model, "monotonic_cst", None) is not None and not isinstance(model.monotonic_cst, dict):
        model.monotonic_cst = np.asarray(model.monotonic_cst)[kept]
    if hasattr(model, "max_features_"):
        model.max_features_ = min(model.max_features_, kept.size)
    if hasattr(model, "_max_features"):
        model._max_features = min(model._max_features, kept.size)
    model.n_features_in_ = int(kept.size)
