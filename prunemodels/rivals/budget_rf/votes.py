"""How the votes of a forest's trees are combined.

    majority   p_k = share of the trees whose leaf has most examples of class k          BRF15 section 2.1           (1)
    mean       p_k = mean over the trees of the fraction of class k at the leaf          scikit-learn's forests      (2)
    counts     p_k = examples of class k at the leaves of all trees / all examples there BRF15 section 3, to rank    (3)

Of equal classes the first is taken, in a leaf and in the forest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ForestVote = Literal["majority", "mean", "counts"]


def staged_shares(forest: Any, rows: NDArray[np.float32], vote: ForestVote) -> Iterator[NDArray[np.float64]]:
    """Shares p of every row after the first tree, the first two, and so on: each shape (N, C).

    Parameters
    ----------
    forest
        a fitted scikit-learn forest of classification trees.
    rows
        examples, C-contiguous.
    """
    total = np.zeros((len(rows), len(forest.classes_)))
    for estimator in forest.estimators_:
        tree = estimator.tree_
        total += _ballots(tree.value[:, 0, :], tree.weighted_n_node_samples, vote)[tree.apply(rows)]
        yield total / total.sum(axis=1, keepdims=True)


def _ballots(fractions: NDArray[np.float64], weight: NDArray[np.float64], vote: ForestVote) -> NDArray[np.float64]:
    """The vote of each node, shape (n, C)."""
    if vote == "mean":
        return fractions
    if vote == "counts":
        return np.asarray(fractions * weight[:, None])
    ballots: NDArray[np.float64] = np.eye(fractions.shape[1])[fractions.argmax(axis=1)]
    return ballots
