"""Boosted trees that few rows walk in one call, where scikit-learn calls each tree by itself.

    margin_k(x) = start_k + sum over the rounds i of the value of x's leaf in tree (i, k)                                  (1)

in doubles and in the order of the rounds, as scikit-learn adds it: the sums are the same bit for bit. Thresholds are compared as
they are, ``x <= t`` in doubles. A categorical split looks up the code of x among those that go left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from prunemodels.models.libraries.sklearn_models import hist_trees

NODE = np.dtype(
    [("number", "f8"), ("left", "i4"), ("right", "i4"), ("feature", "i4"), ("missing_left", "?"), ("by_code", "?")], align=True
)
"""A node, whole in one line of the processor's cache: at a split the threshold, or a row of `SummedTrees.goes_left`; at a leaf,
which is its own left child, its value."""


TURNS = 8
"""The number of trees that are walked in turns."""


@dataclass(frozen=True, eq=False)
class SummedTrees:
    """(1), for rows with the columns of the training rows."""

    start: NDArray[np.float64]  # shape (K,)
    root: NDArray[np.int64]  # shape (T,): of the trees, round after round, in each round one for every output
    node: NDArray[Any]  # shape (n,), of the type `NODE`: the nodes of all trees
    goes_left: NDArray[np.bool_]  # shape (categorical splits, codes)

    def margins(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(1), shape (rows, K). `rows`: C-contiguous, with NaN where a value is missing or a category is not known."""
        total = np.tile(self.start, (len(rows), 1))
        _add(rows, self.root, self.node, self.goes_left, total)
        return total


def summed_trees(model: Any) -> SummedTrees:
    """The trees of a fitted HistGradientBoosting*; rows hold its own codes of categories."""
    trees, start = hist_trees(model)
    split, node = trees.left >= 0, np.zeros(len(trees.left), dtype=NODE)
    node["number"] = np.where(split, trees.threshold, trees.leaf_value[:, 0])
    node["left"] = np.where(split, trees.left, np.arange(len(node)))
    node["right"], node["feature"], node["missing_left"] = trees.right, trees.feature, trees.missing_left
    tests = trees.categories
    codes = max((max(test.known or test.listed, default=0) + 1 for test in tests.values()), default=0)
    goes_left = np.array([~test.right(np.arange(codes, dtype=np.float64)) for test in tests.values()], dtype=bool)
    node["by_code"][[*tests]], node["number"][[*tests]] = True, np.arange(len(tests))
    return SummedTrees(start, trees.tree_start[:-1], node, goes_left.reshape(len(tests), codes))


@njit(cache=True, nogil=True)
def _add(rows, root, node, goes_left, total):  # type: ignore[no-untyped-def]
    """Add every tree's value for every row to its output.

    Some trees are walked in turns: while memory delivers the next node of one, the others take a step.
    """
    n_outputs, at = total.shape[1], np.empty(TURNS, dtype=np.int64)
    for i in range(rows.shape[0]):
        for first in range(0, root.shape[0], TURNS):
            count = min(TURNS, root.shape[0] - first)
            at[:count] = root[first : first + count]
            # one step down in each of these trees that is not at a leaf yet; a leaf is its own child
            moving = True
            while moving:
                moving = False
                for j in range(count):
                    h = at[j]
                    here = node[h]
                    if here.left == h:
                        continue
                    moving = True
                    x = rows[i, here.feature]
                    if np.isnan(x):
                        left = here.missing_left
                    elif here.by_code:
                        left = goes_left[np.int64(here.number), np.int64(x)]
                    else:
                        left = x <= here.number
                    at[j] = here.left if left else here.right
            # all are at leaves, whose numbers are the trees' values
            for j in range(count):
                total[i, (first + j) % n_outputs] += node[at[j]].number
