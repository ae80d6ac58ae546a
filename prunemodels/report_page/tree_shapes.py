"""The shapes of the trees before and after pruning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning


@dataclass(frozen=True, eq=False)
class TreeShapes:
    """Counts over all trees of a pruning.

    Parameters
    ----------
    splits
        int64, shape (T,): number of splits of each tree.
    by_depth
        int64: splits at each depth, roots at 0; as long as the unpruned forest is deep.
    deepest
        number of splits on the longest path from a root to a leaf.
    mean_path_length
        mean number of splits that a row of the cost sample meets in a tree.
    features
        distinct features that the splits test.
    """

    splits: NDArray[np.int64]
    by_depth: NDArray[np.int64]
    deepest: int
    mean_path_length: float
    features: int

    @property
    def leaves(self) -> int:
        """Leaves of all trees; a tree has one more leaf than splits."""
        return int(self.splits.sum()) + len(self.splits)

    @property
    def stumps(self) -> int:
        """Trees that are single leaves."""
        return int((self.splits == 0).sum())


def tree_shapes(pruning: Pruning) -> TreeShapes:
    """The shapes of the trees of a pruning."""
    problem, ensemble = pruning.problem, pruning.problem.ensemble
    kept = np.flatnonzero(pruning.kept)
    mean_path_length = problem.usage.node_weight[kept].sum() / (problem.usage.total_weight * ensemble.n_trees)
    depth = ensemble.depth[kept]
    return TreeShapes(
        np.bincount(ensemble.tree_of[kept], minlength=ensemble.n_trees),
        np.bincount(depth, minlength=max(1, int(ensemble.depth.max()))),
        int(depth.max()) + 1 if kept.size else 0,
        float(mean_path_length),
        int(np.unique(ensemble.feature[kept]).size),
    )
