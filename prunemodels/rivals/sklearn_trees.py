"""Turn trees that were grown here into real scikit-learn trees, in a real scikit-learn forest.

scikit-learn builds its trees in compiled code and does not accept arrays. It does accept the state of a pickled tree. Its record
of a node changes between versions, so the record is copied from a tree that the installed version has just fitted, and filled by
the names of its fields.

    impurity      1 - sum_k p_k^2  (gini),      - sum_k p_k log2 p_k  (entropy)        p: class fractions of the node      (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from formulations.errors import UnsupportedModelError
from formulations.instance.ensemble import Ensemble
from prunemodels.models.trees import joined, one_tree

Criterion = Literal["gini", "entropy"]

FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
)
"""The fields of a node in scikit-learn."""


@dataclass(frozen=True, eq=False)
class ClassificationTree:
    """One tree of n nodes and C classes as arrays; the root first, every parent before its children."""

    # left, right: int32, shape (n,): children, -1 at leaves.
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]  # int32, shape (n,): the feature that the node tests; anything at leaves.
    threshold: NDArray[np.float64]  # float64, shape (n,): an example goes left where ``float32(x) <= threshold``.
    counts: NDArray[np.float64]  # float64, shape (n, C): weight of the training examples of each class at the node.
    n_rows: NDArray[np.int64]  # int64, shape (n,): number of distinct training rows at the node.

    @property
    def n_nodes(self) -> int:
        """n, splits and leaves."""
        return len(self.left)

    @property
    def fractions(self) -> NDArray[np.float64]:
        """Of each class at each node, shape (n, C)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def missing_left(self) -> NDArray[np.bool_]:
        """Where a NaN goes, shape (n,): as in scikit-learn, to the side with most rows if none was NaN in training."""
        return (self.left >= 0) & (self.n_rows[self.left] > self.n_rows[self.right])

    @cached_property
    def max_depth(self) -> int:
        """Largest number of splits on a path."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for h in np.flatnonzero(self.left >= 0):
            depth[[self.left[h], self.right[h]]] = depth[h] + 1
        return int(depth.max())

    def impurity(self, criterion: Criterion) -> NDArray[np.float64]:
        """(1) of every node, shape (n,)."""
        p = self.fractions
        if criterion == "gini":
            return np.asarray(1.0 - (p**2).sum(axis=1))
        return np.asarray(np.maximum(-xlogy(p, p).sum(axis=1) / np.log(2.0), 0.0))


def sklearn_tree(tree: ClassificationTree, n_features: int, criterion: Criterion) -> Tree:
    """A `sklearn.tree._tree.Tree` with the same nodes."""
    n, n_classes = tree.counts.shape
    state = _fitted_state()
    leaf = state["nodes"][-1]  # the last node of a fitted tree is a leaf
    nodes = np.full(n, leaf)
    split = tree.left >= 0
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"][split], nodes["threshold"][split] = tree.feature[split], tree.threshold[split]
    nodes["impurity"] = tree.impurity(criterion)
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = tree.n_rows, tree.counts.sum(axis=1)
    nodes["missing_go_to_left"] = tree.missing_left
    state |= {"max_depth": tree.max_depth, "node_count": n, "nodes": nodes, "values": tree.fractions.reshape(n, 1, n_classes)}
    built = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
    built.__setstate__(state)
    return built


def _fitted_state() -> dict[str, Any]:
    """The state of a tree of the installed scikit-learn, with one split."""
    state: dict[str, Any] = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_.__getstate__()
    known = state["nodes"].dtype.names if "nodes" in state else ()
    absent = [name for name in FIELDS if name not in known]
    if absent:
        raise UnsupportedModelError(
            f"the trees of the installed scikit-learn have no field {absent[0]!r} (they have {list(known)}); install a version "
            "that this package was tested with, see its dependencies"
        )
    return state


def forest_to_fill(forest: RandomForestClassifier, X: Any, y: Any, sample_weight: Any = None) -> RandomForestClassifier:
    """An unfitted forest, fitted as stumps by scikit-learn: seeds, draws, classes and names are its own; trees are replaced."""
    wanted = {name: getattr(forest, name) for name in ("max_depth", "max_features", "min_samples_leaf")}
    forest.set_params(max_depth=1, max_features=1, min_samples_leaf=1).fit(X, y, sample_weight)
    forest.set_params(**wanted)
    for tree in forest.estimators_:
        tree.set_params(**wanted)
    return forest


def fill_forest(forest: RandomForestClassifier, trees: Sequence[ClassificationTree], max_features: int) -> RandomForestClassifier:
    """Replace the first stumps of `forest_to_fill` by trees whose splits chose from `max_features`, and drop the others."""
    forest.estimators_ = forest.estimators_[: len(trees)]
    forest.set_params(n_estimators=len(trees))
    for estimator, tree in zip(forest.estimators_, trees, strict=True):
        estimator.tree_ = sklearn_tree(tree, int(forest.n_features_in_), forest.criterion)
        estimator.max_features_ = max_features
    return forest


def ensemble_of(trees: Sequence[ClassificationTree], n_features: int, classes: NDArray[Any]) -> Ensemble:
    """The trees as arrays, for computing costs."""
    given = [one_tree(t.left, t.right, t.feature, t.threshold, t.missing_left, t.fractions) for t in trees]
    return joined(given).ensemble(n_features, classes, None)
