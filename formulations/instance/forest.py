"""What engines see of trees: the nodes above each other, and which of them are splits.

All trees share one numbering of nodes. Tree t has the nodes ``tree_start[t] .. tree_start[t+1]-1``. Its root comes first, and
every child has a larger number than its parent. So a loop over ascending numbers visits parents before children, and a loop over
descending numbers visits children before parents. Every algorithm of the package relies on that, and none needs recursion.

A split may have any number of children here. What only a user's trees have, such as thresholds and a left and a right child, is
in `formulations.instance.ensemble`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError


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
        """The nodes of tree t, for indexing arrays over all nodes.

        Raises
        ------
        InvalidInputError
            if there is no tree t.
        """
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
