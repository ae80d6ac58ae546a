"""A pruning back into a real scikit-learn forest."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.tree._tree import Tree, _build_pruned_tree_py

from formulations.errors import InvalidInputError
from formulations.pruning import Pruning
from prunemodels.forests import read_forest, tree_views


def apply_pruning(pruning: Pruning, forest: Any) -> Any:
    """A copy of the forest whose trees are pruned.

    Every tree is a real ``sklearn.tree`` tree with the pruned nodes gone, so ``predict``, ``predict_proba``, ``apply``, joblib,
    SHAP and ONNX converters work as on any forest. The given forest is not changed.

    Parameters
    ----------
    pruning
        which splits to keep.
    forest
        the forest that the pruning's problem was built from, or an equal one.

    Raises
    ------
    InvalidInputError
        if the forest's trees are not those of the pruning's problem.
    """
    ours, theirs = pruning.problem.ensemble, read_forest(forest)
    arrays = ("tree_start", "left", "right", "feature", "threshold", "missing_left", "value")
    same = all(np.array_equal(getattr(ours, a), getattr(theirs, a)) for a in arrays)
    if not same:
        raise InvalidInputError(
            f"the forest has other trees ({theirs!r}) than the problem that was pruned ({ours!r}); "
            "give the forest that the problem was built from"
        )
    pruned = _copy_without_trees(forest)
    for t, view in enumerate(tree_views(pruned)):  # its estimators still hold the original trees
        view.estimator.tree_ = _pruned_tree(forest, view.estimator, pruning.is_leaf[ours.nodes_of(t)])
    return pruned


def _copy_without_trees(forest: Any) -> Any:
    """A deep copy; the trees themselves, large and about to be replaced, stay shared."""
    trees = [view.estimator.tree_ for view in tree_views(forest)]
    return copy.deepcopy(forest, {id(tree): tree for tree in trees})


def _pruned_tree(forest: Any, estimator: Any, is_leaf: NDArray[np.bool_]) -> Tree:
    """A scikit-learn tree with the given nodes as leaves."""
    n_classes = np.atleast_1d(estimator.n_classes_) if is_classifier(forest) else np.array([1], dtype=np.intp)
    tree = Tree(estimator.tree_.n_features, np.asarray(n_classes, dtype=np.intp), 1)
    _build_pruned_tree_py(tree, estimator.tree_, is_leaf.astype(np.uint8))
    return tree
