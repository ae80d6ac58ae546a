"""Whether a scikit-learn forest is one: compiled code follows its trees' arrays without a check, scikit-learn's and ours.

A tree with n nodes on d features is sound if its children c satisfy  node < c < n,  each node but the root is the child of one
node, splits ask for features 0 to d - 1, no threshold is missing, and every node has a finite value for each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.tree._tree import Tree

from formulations.memory import too_large

BYTES_OF_FEATURE = 200
"""Memory for each feature that any use of a forest takes at least: a name, a price, an item."""


def wrong_with_forest(forest: Any, trees: list[Any], columns: list[NDArray[np.int64]] | None) -> str | None:
    """The first thing that is wrong with a fitted forest of these trees, None where it is sound.

    For a bag, `columns` has the columns of the forest that each tree sees; else it is None.
    """
    given = forest.n_features_in_
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < 1:
        return f"n_features_in_ is {str(given)[:40]}"
    n_features = int(given)
    size = too_large(BYTES_OF_FEATURE * n_features)
    if size is not None:
        return f"n_features_in_ is {n_features:,}, which {size}"
    if not trees:
        return "it has no trees"
    names = getattr(forest, "feature_names_in_", None)
    if names is not None and (np.shape(names) != (n_features,) or len({str(name) for name in names}) < n_features):
        return f"feature_names_in_ has not one name for each of {n_features} features"
    classes = forest.classes_ if is_classifier(forest) else None
    if classes is not None and (np.ndim(classes) != 1 or not len(classes) or len(set(classes.tolist())) < len(classes)):
        return "classes_ is no list of different classes"
    if columns is not None and len(columns) != len(trees):
        return f"it has the columns of {len(columns)} trees, and {len(trees)} trees"
    for t, tree in enumerate(trees):
        seen = None if columns is None else columns[t]
        wrong = _wrong_with_columns(seen, n_features)
        wrong = wrong or _wrong_with_classes(tree, classes, whole=columns is None)
        wrong = wrong or wrong_with_tree(tree, n_features if seen is None else len(seen))
        if wrong is not None:
            return f"tree {t}: {wrong}"
    return None


def _wrong_with_columns(columns: NDArray[np.int64] | None, n_features: int) -> str | None:
    if columns is None:
        return None
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or not columns.size:
        return "its columns are no whole numbers"
    outside = columns[(columns < 0) | (columns >= n_features)]
    return f"it sees column {outside[0]} of {n_features}" if outside.size else None


def _wrong_with_classes(tree: Any, classes: Any, *, whole: bool) -> str | None:
    """A tree of a bag may know some of the forest's classes, by their numbers; other trees know all."""
    if classes is None:
        return None
    known = np.asarray(tree.classes_)
    if known.ndim != 1 or len(known) > len(classes) or (whole and len(known) != len(classes)):
        return f"it has classes of shape {known.shape}, the forest has {len(classes)}"
    if len(known) < len(classes):
        numbers = known.astype(np.int64)
        if (
            (numbers != known).any()
            or numbers.min() < 0
            or numbers.max() >= len(classes)
            or len(set(numbers.tolist())) < len(known)
        ):
            return "its classes are not among the forest's"
    return None


def wrong_with_tree(estimator: Any, n_features: int) -> str | None:
    """The first thing that is wrong with the arrays of a fitted decision tree on so many features, None where it is sound."""
    tree = estimator.tree_
    if not isinstance(tree, Tree):
        return f"tree_ is a {type(tree).__name__}"
    if tree.n_features != n_features or estimator.n_features_in_ != n_features:
        return f"it is for {tree.n_features} features, the forest has {n_features} for it"
    n, n_values = tree.node_count, len(estimator.classes_) if is_classifier(estimator) else 1
    if n < 1 or tree.n_outputs != 1 or tree.value.shape != (n, 1, n_values):
        return f"it has {n} nodes with values of shape {tree.value.shape} for {n_values} classes and 1 outputs"
    if is_classifier(estimator) and np.ravel(estimator.n_classes_).tolist() != [n_values]:
        return f"n_classes_ is {str(estimator.n_classes_)[:40]} for {n_values} classes"
    split = tree.children_left != -1
    if (split != (tree.children_right != -1)).any():
        return "a node has one child"
    if not sound_nodes(split, tree.children_left, tree.children_right, tree.feature, n_features):
        return "it points outside of its own arrays, or in a circle"
    children = np.concatenate([tree.children_left[split], tree.children_right[split]])
    if (np.bincount(children, minlength=n)[1:] != 1).any():
        return "a node has no parent, or two"
    if np.isnan(tree.threshold[split]).any():
        return "a threshold is missing"
    if not np.isfinite(tree.value).all() or (is_classifier(estimator) and (tree.value < 0).any()):
        return "a value is not finite, or a negative share of a class"
    weight = tree.weighted_n_node_samples
    if not np.isfinite(weight).all() or (weight < 0).any() or weight[0] <= 0 or (tree.n_node_samples < 0).any():
        return "a node has no finite weight of examples"
    return None


def sound_nodes(
    split: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], n_features: int
) -> bool:
    """Whether the children of every split have larger indices than it, and all features exist."""
    ids = np.flatnonzero(split)
    children = all(((child[ids] > ids) & (child[ids] < len(split))).all() for child in (left, right))
    return children and bool(((feature[ids] >= 0) & (feature[ids] < n_features)).all())
