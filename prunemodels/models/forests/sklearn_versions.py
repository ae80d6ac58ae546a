"""What differs between the versions of scikit-learn that forests are pruned with: 1.6, 1.7, 1.8 and 1.9.

Their trees are the same: a node has the same eight fields, a classification tree's ``value`` holds class fractions, and one
private function rebuilds a tree without some nodes. What weights of examples and classes do in training differs:

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
from sklearn.tree._tree import Tree, _build_pruned_tree_py
from sklearn.utils.class_weight import compute_class_weight


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


def pruned_tree(tree: Tree, is_leaf: NDArray[np.bool_]) -> Tree:
    """A copy of a tree with the given nodes, shape (n,), as leaves, and without what is below them."""
    pruned = Tree(tree.n_features, np.array(tree.n_classes, dtype=np.intp), tree.n_outputs)
    _build_pruned_tree_py(pruned, tree, is_leaf.astype(np.uint8))
    return pruned


def balanced_class_weights(y: NDArray[Any], sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each row by ``class_weight="balanced"`` in a forest that draws no rows: shape (N,), (4) or (5)."""
    classes = np.unique(y)
    weighted = {"sample_weight": sample_weight} if FORESTS_DRAW_BY_WEIGHT else {}
    by_class = compute_class_weight("balanced", classes=classes, y=y, **weighted)
    return np.asarray(by_class[np.searchsorted(classes, y)])
