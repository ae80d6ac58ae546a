"""The trees of a forest as plain NumPy arrays: a user's `Ensemble`, and the `Forest` that engines see of it.

All trees share one numbering of nodes. Tree t has the nodes ``tree_start[t] .. tree_start[t+1]-1``. Its root comes first, and
every child has a larger number than its parent. So a loop over ascending numbers visits parents before children, and a loop over
descending numbers visits children before parents. Every algorithm of the package relies on that, and none needs recursion.

In a `Forest` a split may have any number of children. An `Ensemble` has what only a user's trees have, such as thresholds and a
left and a right child.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.tree_loss import USUAL_LOSS, TreeLoss, misclassification_loss


class Forest:
    """T trees with n nodes in all.

    Attributes
    ----------
    tree_start
        int64, shape (T + 1,): the first node of each tree, and n as the last entry.
    parent
        int32, shape (n,): -1 at roots.
    feature
        int32, shape (n,): the feature that a split tests, -1 at leaves.
    is_split
        bool, shape (n,): the internal nodes.
    """

    tree_start: NDArray[np.int64]
    parent: NDArray[np.int32]
    feature: NDArray[np.int32]

    @cached_property
    def is_split(self) -> NDArray[np.bool_]:
        """bool, shape (n,): the internal nodes."""
        raise NotImplementedError

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.feature.shape[0])

    @property
    def n_trees(self) -> int:
        """T, the number of trees."""
        return int(self.tree_start.shape[0]) - 1

    @cached_property
    def n_splits(self) -> int:
        """Number of internal nodes of all trees."""
        return int(self.is_split.sum())

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """int32, shape (n,): how many nodes are above each node."""
        depth = (self.parent >= 0).astype(np.int32)
        above = np.where(self.parent >= 0, self.parent, np.arange(self.n_nodes, dtype=np.int32))
        while (more := depth[above]).any():  # `above` is so many levels up as `depth` says, or a root
            depth += more
            above = above[above]
        return depth

    @cached_property
    def tree_of(self) -> NDArray[np.int32]:
        """int32, shape (n,): the tree that a node belongs to."""
        return np.repeat(np.arange(self.n_trees, dtype=np.int32), np.diff(self.tree_start))

    @cached_property
    def roots(self) -> NDArray[np.int64]:
        """int64, shape (T,): the root of each tree."""
        return self.tree_start[:-1]

    @checked
    def nodes_of(self, t: int) -> slice:
        """The nodes of tree t, for indexing arrays over all nodes. Raises `InvalidInputError` if there is no tree t."""
        if not 0 <= t < self.n_trees:
            raise InvalidInputError(f"ensemble: there is no tree {t}; it has the trees 0 to {self.n_trees - 1}")
        return slice(int(self.tree_start[t]), int(self.tree_start[t + 1]))

    @checked
    def gains(self, error: NDArray[np.float64]) -> NDArray[np.float64]:
        """The error of each split less those of its children, 0 at leaves; shape (n,)."""
        below = np.flatnonzero(self.parent >= 0)
        gain = error.copy()
        np.subtract.at(gain, self.parent[below], error[below])
        return np.where(self.is_split, gain, 0.0)

    def children(self) -> list[list[int]]:
        """The children of each node, ascending."""
        found: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for h, above in enumerate(self.parent.tolist()):
            if above >= 0:
                found[above].append(h)
        return found


@dataclass(frozen=True, eq=False)
class PlainForest(Forest):
    """Trees by their arrays alone."""

    tree_start: NDArray[np.int64]
    parent: NDArray[np.int32]
    feature: NDArray[np.int32]
    is_split: NDArray[np.bool_] = field()  # a field, not the property of the class above


Task = Literal["classification", "regression"]


class MadeFeatures(Protocol):
    """How the F features of a pipeline's trees are made from R raw columns, which are what a user pays for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The raw columns' names, shape (R,)."""
        ...

    @property
    def named(self) -> bool:
        """Whether the pipeline was fitted on a table with these names."""
        ...

    @property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """For each feature the raw columns that it is made from, ascending."""
        ...

    def features(self, X: Any, name: str = "X") -> Any:
        """The features of rows of raw columns; `name` is what messages call X."""
        ...

    def check(self, X: Any) -> None:
        """Try on some rows whether the sources are right, if users stated them; InvalidInputError if they are not."""
        ...

    def features_known(self, values: NDArray[Any], known: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The features of rows of which some raw columns are known, shape (n, R), and whether each feature is known, (n, F)."""
        ...


@checked
@dataclass(frozen=True, eq=False)
class Ensemble(Forest):
    """An averaged ensemble of T decision trees with n nodes in all.

    Parameters
    ----------
    tree_start
        int64, shape (T + 1,): the first node of each tree, and n as the last entry.
    left, right
        int32, shape (n,): children (ids over the whole ensemble), -1 at leaves.
    feature
        int32, shape (n,): the feature that the node tests, -1 at leaves.
    threshold
        float64, shape (n,): an example goes left where ``float32(x) <= threshold``.
    missing_left
        bool, shape (n,): whether a NaN goes left.
    value
        float64, shape (n, K): class fractions (classification) or, with K = 1, the mean (regression):
        what the node predicts if it is a leaf.
    n_features
        number of features that the forest was trained on.
    task
        ``"classification"`` or ``"regression"``.
    classes
        the K labels, in the order of `value`'s columns; None for regression.
    feature_names
        the names that the forest was trained with, or None.
    judged_by
        the loss of a prediction. None: the error rate of a classification, the squared error of a regression.
    made
        how the features are made from raw columns, for trees at the end of a pipeline; None: they are the columns of X.

    Raises
    ------
    InvalidInputError
        if the arrays do not describe trees, or a child does not come behind its parent.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest
    >>> ensemble = pm.read_forest(forest)
    >>> ensemble.n_trees, ensemble.n_splits, ensemble.feature_names[:2]
    (8, 84, ('radius', 'texture'))
    >>> ensemble.feature[ensemble.roots]
    array([6, 7, 6, 7, 6, 5, 7, 6], dtype=int32)
    """

    tree_start: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    n_features: int
    task: Task
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    judged_by: TreeLoss | None = None
    made: Annotated[MadeFeatures, "how features are made from raw columns"] | None = None
    parent: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        # one entry a node
        n = len(self.left)
        for name in ("left", "right", "feature", "threshold", "missing_left", "value"):
            if len(getattr(self, name)) != n:
                raise InvalidInputError(f"ensemble: {name} has {len(getattr(self, name))} entries, left has {n}: one a node")
        # children stand behind their parents, in the same tree
        split = np.flatnonzero(self.left >= 0)
        ids = np.concatenate([self.left[split], self.right[split]]).astype(np.int64)
        parents = np.concatenate([split, split])
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))
        if (ids <= parents).any() or (ids >= n).any() or (tree[ids] != tree[parents]).any():
            raise InvalidInputError("ensemble: a child must stand behind its parent, in the same tree; renumber the nodes")
        # every node but a root has one parent
        expected = np.ones(n, dtype=np.int64)
        expected[self.tree_start[:-1]] = 0
        if (np.bincount(ids, minlength=n) != expected).any():
            raise InvalidInputError("ensemble: every node but a root must have exactly one parent")
        # splits test features that there are
        bad = split[(self.feature[split] < 0) | (self.feature[split] >= self.n_features)]
        if bad.size:
            raise InvalidInputError(
                f"ensemble: node {bad[0]} tests feature {self.feature[bad[0]]}, "
                f"the forest has features 0 to {self.n_features - 1}"
            )
        if self.classes is not None and np.shape(self.value)[1:] != (len(self.classes),):
            raise InvalidInputError(
                f"ensemble: value has shape {np.shape(self.value)}; give one fraction for each of {len(self.classes)} classes"
            )
        # what follows from the children: -1 at roots
        parent = np.full(n, -1, dtype=np.int32)
        parent[ids] = parents
        object.__setattr__(self, "parent", parent)

    @cached_property
    def is_split(self) -> NDArray[np.bool_]:
        """bool, shape (n,): the internal nodes."""
        return self.left >= 0

    @checked
    def only_tree(self, t: int) -> Ensemble:
        """The ensemble that consists of tree t.

        Raises
        ------
        InvalidInputError
            if there is no tree t.
        """
        nodes = self.nodes_of(t)
        below = self.left[nodes] >= 0
        return replace(
            self,
            tree_start=np.array([0, nodes.stop - nodes.start]),
            left=np.where(below, self.left[nodes] - nodes.start, -1).astype(np.int32),
            right=np.where(below, self.right[nodes] - nodes.start, -1).astype(np.int32),
            feature=self.feature[nodes],
            threshold=self.threshold[nodes],
            missing_left=self.missing_left[nodes],
            value=self.value[nodes],
        )

    @checked
    def under_costs(self, misclassification_costs: ArrayLike) -> Ensemble:
        """The same trees, judged by misclassification costs: C[true class, predicted class], see `misclassification_loss`.

        Raises
        ------
        InvalidInputError
            for trees that predict numbers, another shape, and a cost that is negative or no number.

        Examples
        --------
        >>> from prunemodels.example import problem
        >>> problem.ensemble.under_costs([[0, 10], [1, 0]]).measure
        'mean misclassification cost'
        """
        return replace(self, judged_by=misclassification_loss(misclassification_costs, self.classes))

    @property
    def loss(self) -> TreeLoss:
        """The loss of a prediction: `judged_by`, or its default."""
        return self.judged_by or USUAL_LOSS[self.task]

    @property
    def measure(self) -> str:
        """What an error of the trees or the forest is: ``"error rate"``, ``"mean squared error"``, ...; see `TreeLoss`."""
        return self.loss.measure

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features; ``x0``, ``x1``, ... where the forest was trained without."""
        return self.feature_names or tuple(f"x{f}" for f in range(self.n_features))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that are paid for: the raw columns where features are made from them, else `names`."""
        return self.names if self.made is None else self.made.names

    @property
    def names_to_check(self) -> tuple[str, ...] | None:
        """The names that a table of examples must have, in their order; None where there are none, or the pipeline finds them."""
        return self.feature_names if self.made is None else None

    @property
    def on_features(self) -> Self:
        """The same trees, for rows of features instead of raw columns."""
        return self if self.made is None else replace(self, made=None)

    def __repr__(self) -> str:
        return f"Ensemble({self.n_trees} trees, {self.n_splits} splits, {self.n_features} features, {self.task})"
