"""Grow one tree leaf by leaf with CEGB17's penalty.

The leaf to split next is the one whose best split lowers the penalised objective most (section 4.3, best-first growth), or the
oldest of those whose best split lowers it (breadth-first growth, which the paper compares with in Figure 3b). The number of
leaves is limited, and a leaf is split only if that lowers the objective. The gain of a split is

    1/2 [ G_l^2 / (H_l + mu) + G_r^2 / (H_r + mu) - G_p^2 / (H_p + mu) ]  -  lam * penalty                          (12)

with the penalty of `prices`. Items that are paid once change the penalty in all leaves as soon as one leaf buys them. So a leaf
stores its best splits by every feature with their gains without that part.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prunemodels.rivals.cegb.bins import Bins
from prunemodels.rivals.cegb.purchases import Purchases
from prunemodels.rivals.cegb.settings import Settings
from prunemodels.rivals.cegb.splits import NOTICEABLE_GAIN, Candidates, candidates, goes_left, histogram


@dataclass(eq=False)
class GrownTree:
    """A tree as lists over its nodes, parents before children; ``gain`` is (12), 0 at leaves."""

    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    hessian: list[float] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)

    def add(self, value: float, hessian: float) -> int:
        """Add a leaf. Returns its number."""
        for child in (self.left, self.right, self.feature):
            child.append(-1)
        self.threshold.append(0.0)
        self.missing_left.append(False)
        self.value.append(value)
        self.hessian.append(hessian)
        self.gain.append(0.0)
        return len(self.left) - 1


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A leaf that may be split.

    Parameters
    ----------
    node, depth, rows
        the node, its depth, and the examples in it.
    sums
        its histogram.
    splits
        its best split by each feature.
    penalised
        the gains of these splits less their penalties, except for items paid once.
    """

    node: int
    depth: int
    rows: NDArray[np.int64]
    sums: NDArray[np.float64]
    splits: Candidates
    penalised: NDArray[np.float64]


def grow(
    bins: Bins, terms: NDArray[np.float64], purchases: Purchases, settings: Settings
) -> tuple[GrownTree, list[tuple[int, NDArray[np.int64]]]]:
    """Grow a tree; `purchases` records what its splits buy.

    Parameters
    ----------
    terms
        w g and w h of each example, shape (N, 2).

    Returns
    -------
    tree, leaves
        the tree, and (node, rows) of each leaf.
    """
    return _Grower(bins, terms, purchases, settings).run()


def _first_best(gains: NDArray[np.float64]) -> tuple[int, float]:
    """The first of the gains that equal the largest up to rounding, and its value."""
    largest = float(gains.max())
    k = int(np.argmax(gains >= largest - NOTICEABLE_GAIN * abs(largest)))
    return k, float(gains[k])


class _Grower:
    def __init__(self, bins: Bins, terms: NDArray[np.float64], purchases: Purchases, settings: Settings) -> None:
        self.bins, self.terms, self.purchases, self.settings = bins, terms, purchases, settings
        self.tree = GrownTree()
        self.ends: list[tuple[int, NDArray[np.int64]]] = []

    def run(self) -> tuple[GrownTree, list[tuple[int, NDArray[np.int64]]]]:
        rows = np.arange(len(self.terms))
        leaves = [self._leaf(rows, histogram(self.bins, rows, self.terms), 0)]
        while len(leaves) < self.settings.num_leaves:
            once = self.settings.lam * self.purchases.once()
            found = [_first_best(leaf.penalised - once) for leaf in leaves]
            gains = np.array([gain for _, gain in found])
            worthwhile = np.flatnonzero(gains > 0)
            if not worthwhile.size:
                break
            # children are put at the end, so the first leaf is the oldest, and no deeper than the others
            k = _first_best(gains)[0] if self.settings.growth == "best" else int(worthwhile[0])
            leaves += self._split(leaves.pop(k), *found[k])
        return self.tree, [(leaf.node, leaf.rows) for leaf in leaves]

    def _leaf(self, rows: NDArray[np.int64], sums: NDArray[np.float64], depth: int) -> _Leaf:
        """A new leaf of the tree."""
        s = self.settings
        g, h = self.terms[rows].sum(axis=0).tolist()
        node = self.tree.add(-s.learning_rate * g / (h + s.reg_lambda) if h + s.reg_lambda > 0 else 0.0, h)
        splits = candidates(self.bins, sums, np.array([g, h, rows.size]), s.reg_lambda, (s.min_child_samples, s.min_child_weight))
        penalised = splits.gain - s.lam * self.purchases.running(rows)
        if depth == s.max_depth:
            penalised = np.full_like(penalised, -np.inf)
        return _Leaf(node, depth, rows, sums, splits, penalised)

    def _split(self, leaf: _Leaf, f: int, gain: float) -> tuple[_Leaf, _Leaf]:
        """Split a leaf by feature f: buy its items, divide the rows, and find the children's splits."""
        last_left, missing_left = int(leaf.splits.last_left[f]), bool(leaf.splits.missing_left[f])
        self.purchases.buy(leaf.rows, f)
        left = goes_left(self.bins, leaf.rows, f, last_left, missing_left)
        parts = leaf.rows[left], leaf.rows[~left]
        smaller = int(parts[1].size < parts[0].size)
        of_smaller = histogram(self.bins, parts[smaller], self.terms)
        sums = (leaf.sums - of_smaller, of_smaller) if smaller else (of_smaller, leaf.sums - of_smaller)
        children = [self._leaf(rows, own, leaf.depth + 1) for rows, own in zip(parts, sums, strict=True)]
        tree, h = self.tree, leaf.node
        tree.left[h], tree.right[h] = (child.node for child in children)
        tree.feature[h], tree.threshold[h], tree.missing_left[h] = f, self.bins.threshold(f, last_left), missing_left
        tree.gain[h] = gain
        return children[0], children[1]
