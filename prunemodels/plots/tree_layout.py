"""The places of the nodes of trees in a picture.

The leaves of a tree are side by side at distance 1; a split is in the middle above its children, and its height is its depth.
Trees follow one another with a free place between them; when a line is full, the next one begins below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble

GAP = 1.0
"""Free places between two trees, and between two lines of trees."""


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Places of the nodes of some trees.

    Parameters
    ----------
    node
        int64: the nodes drawn, tree by tree.
    x, y
        float64, shape (n,): over all nodes of the forest, NaN at those not drawn; y is 0 at the first line's roots and falls.
    """

    node: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @property
    def width(self) -> float:
        """Distance between the leftmost and the rightmost node."""
        return float(np.nanmax(self.x))

    @property
    def height(self) -> float:
        """Distance between the highest and the lowest node."""
        return -float(np.nanmin(self.y))


def lay_out(
    ensemble: Ensemble, trees: Sequence[int] | None = None, *, widest: float = 40.0, narrowest: float = 0.0, between: float = GAP
) -> TreeLayout:
    """Place trees side by side.

    Parameters
    ----------
    trees
        the trees, in this order; default: all.
    widest
        a line is full when its next tree would exceed this width; a wider tree has a line of its own.
    narrowest
        least distance of two roots in a line, so that there is room for a title above each.
    between
        free places between two lines.

    Raises
    ------
    InvalidInputError
        for an empty list, for a tree that does not exist, or for the same one twice.
    """
    chosen = list(range(ensemble.n_trees)) if trees is None else [int(t) for t in trees]
    wrong = [t for t in chosen if not 0 <= t < ensemble.n_trees]
    if wrong or not chosen or len(set(chosen)) < len(chosen):
        raise InvalidInputError(f"trees is {chosen}; give different numbers between 0 and {ensemble.n_trees - 1}, at least one")
    x, y = np.full(ensemble.n_nodes, np.nan), np.full(ensemble.n_nodes, np.nan)
    left_end, top, deepest, last_root = 0.0, 0.0, 0.0, -math.inf
    for t in chosen:
        nodes = ensemble.nodes_of(t)
        own, depth = _places(ensemble, nodes), ensemble.depth[nodes]
        start = max(left_end, last_root + narrowest - float(own[0]))
        if left_end > 0 and start + own.max() > widest:
            start, top, deepest = 0.0, top + deepest + 1 + between, 0.0
        x[nodes], y[nodes] = own + start, -(top + depth)
        left_end, deepest = start + float(own.max()) + 1 + GAP, max(deepest, float(depth.max()))
        last_root = start + float(own[0])
    return TreeLayout(np.concatenate([np.arange(ensemble.n_nodes)[ensemble.nodes_of(t)] for t in chosen]), x, y)


def _places(ensemble: Ensemble, nodes: slice) -> NDArray[np.float64]:
    """Horizontal places in a tree: leaves 0, 1, 2 ... from left to right. Parents come first, so a few sweeps suffice."""
    left, right = (side[nodes] - nodes.start for side in (ensemble.left, ensemble.right))
    splits = np.flatnonzero(ensemble.is_split[nodes])
    leaves = np.ones(nodes.stop - nodes.start, dtype=np.int64)
    for h in splits[::-1]:
        leaves[h] = leaves[left[h]] + leaves[right[h]]
    x = np.zeros(len(leaves))
    for h in splits:
        x[left[h]], x[right[h]] = x[h], x[h] + leaves[left[h]]
    for h in splits[::-1]:
        x[h] = (x[left[h]] + x[right[h]]) / 2
    return x
