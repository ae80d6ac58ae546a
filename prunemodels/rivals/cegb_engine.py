"""Boosting with CEGB17's penalty in full: this package's own engine, on one core.

It handles cases that LightGBM cannot express or gets wrong: items that features share, items paid once, split prices by feature
(CEGB17 section 5.2), example weights in the cost, breadth-first growth. A tree is grown leaf by leaf. The leaf to split next is
the one whose best split lowers the penalised objective most (section 4.3, best-first growth), or the oldest of those whose best
split lowers it (breadth-first growth, which the paper compares with in Figure 3b). The number of leaves is limited, and a leaf is
split only if that lowers the objective. The gain of a split is

    1/2 [ G_l^2 / (H_l + mu) + G_r^2 / (H_r + mu) - G_p^2 / (H_p + mu) ]  -  lam * penalty                          (12)

with the penalty of `boosted_learner` and the sums G and H of the loss's derivatives. The ridge mu on leaf values, 0 in the paper,
is XGBoost's. Items that are paid once change the penalty in all leaves as soon as one leaf buys them. So a leaf stores its best
splits by every feature with their gains without that part.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.arguments import Count, Finite, Positive, Range
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees
from prunemodels.models.losses import Loss
from prunemodels.models.response import Link
from prunemodels.models.trees import joined, one_tree
from prunemodels.rivals.boosted_learner import Prices, Purchases
from prunemodels.rivals.histograms import BinnedRows, Binning, Needed, NodeSplits, TrainingRows, best_splits, histograms

Growth = Literal["best", "breadth"]
Engine = Literal["lightgbm", "own"]


@dataclass(frozen=True)
class Settings:
    """How trees are grown, and what each setting has to be; see `CEGBClassifier`.

    The largest number of leaves is LightGBM's; bins are numbered with 16 bits.
    """

    lam: Finite
    n_estimators: Count
    learning_rate: Positive
    num_leaves: Annotated[int, Range(2, 131_072)]
    max_depth: Count | None
    min_child_samples: Count
    min_child_weight: Finite
    reg_lambda: Finite
    max_bin: Annotated[int, Range(2, 65_000)]
    growth: Growth
    engine: Engine

    @property
    def order_matters(self) -> bool:
        """Whether the limit on leaves can stop a tree, so that it matters which leaf is split first."""
        return self.max_depth is None or 2**self.max_depth > self.num_leaves

    @property
    def single_split(self) -> bool:
        """Whether trees have at most one split."""
        return self.num_leaves == 2 or self.max_depth == 1


NOTICEABLE_GAIN = 1e-10
"""A gain, or a lead over another one, counts above this share of its terms: less is rounding. The first of equals wins."""


@dataclass(eq=False)
class ListedTree:
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
    """A leaf that may be split."""

    # node, depth, rows: the node, its depth, and the examples in it.
    node: int
    depth: int
    rows: NDArray[np.int64]
    sums: NDArray[np.float64]  # its histogram.
    splits: NodeSplits  # its best split by each feature.
    penalised: NDArray[np.float64]  # the gains of these splits less their penalties, except for items paid once.


def _first_best(gains: NDArray[np.float64]) -> tuple[int, float]:
    """The first of the gains that equal the largest up to rounding, and its value."""
    largest = float(gains.max())
    k = int(np.argmax(gains >= largest - NOTICEABLE_GAIN * abs(largest)))
    return k, float(gains[k])


class _Grower:
    """Grows a tree; `purchases` records what its splits buy, `terms` holds w g and w h of each example, shape (N, 2)."""

    def __init__(self, data: BinnedRows, terms: NDArray[np.float64], purchases: Purchases, settings: Settings) -> None:
        self.data, self.terms, self.purchases, self.settings = data, terms, purchases, settings
        self.tree, s = ListedTree(), settings
        # sums are differences of sums, so slightly less than the least sum is accepted
        least = s.min_child_weight * (1 - 1e-9)
        self.needed = Needed(s.min_child_samples, least, s.reg_lambda, share=2 * NOTICEABLE_GAIN)

    def run(self) -> tuple[ListedTree, list[tuple[int, NDArray[np.int64]]]]:
        """The tree, and (node, rows) of each leaf."""
        rows = np.arange(len(self.terms))
        leaves = [self._leaf(rows, self._histogram(rows), 0)]
        while len(leaves) < self.settings.num_leaves:
            once = self.settings.lam * self.purchases.once.price
            found = [_first_best(leaf.penalised - once) for leaf in leaves]
            gains = np.array([gain for _, gain in found])
            worthwhile = np.flatnonzero(gains > 0)
            if not worthwhile.size:
                break
            # children are put at the end, so the first leaf is the oldest, and no deeper than the others
            k = _first_best(gains)[0] if self.settings.growth == "best" else int(worthwhile[0])
            leaves += self._split(leaves.pop(k), *found[k])
        return self.tree, [(leaf.node, leaf.rows) for leaf in leaves]

    def _histogram(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        node, (pull, weight) = np.zeros(rows.size, dtype=np.int64), np.ascontiguousarray(self.terms.T)
        return histograms(self.data.codes, self.data.binning.start, rows, node, pull, weight, 1)

    def _leaf(self, rows: NDArray[np.int64], sums: NDArray[np.float64], depth: int) -> _Leaf:
        """A new leaf of the tree."""
        s = self.settings
        g, h = self.terms[rows].sum(axis=0).tolist()
        node = self.tree.add(-s.learning_rate * g / (h + s.reg_lambda) if h + s.reg_lambda > 0 else 0.0, h)
        splits = best_splits(sums, self.data.binning.start, self.needed, np.array([[g, rows.size, h]]))
        penalised = 0.5 * splits.gain[0] - s.lam * self.purchases.running(rows)
        if depth == s.max_depth:
            penalised = np.full_like(penalised, -np.inf)
        return _Leaf(node, depth, rows, sums, splits, penalised)

    def _split(self, leaf: _Leaf, f: int, gain: float) -> tuple[_Leaf, _Leaf]:
        """Split a leaf by feature f: buy its items, divide the rows, and find the children's splits."""
        start, codes = self.data.binning.start, self.data.codes[f, leaf.rows]
        missing = codes == start[f + 1] - start[f] - 1
        last_left = int(leaf.splits.last_left[0, f])
        missing_left = bool(leaf.splits.missing_left[0, f] and missing.any())
        self.purchases.buy(leaf.rows, f)
        left = np.where(missing, missing_left, codes <= last_left)
        parts = leaf.rows[left], leaf.rows[~left]
        smaller = int(parts[1].size < parts[0].size)
        of_smaller = self._histogram(parts[smaller])
        sums = (leaf.sums - of_smaller, of_smaller) if smaller else (of_smaller, leaf.sums - of_smaller)
        children = [self._leaf(rows, own, leaf.depth + 1) for rows, own in zip(parts, sums, strict=True)]
        tree, h = self.tree, leaf.node
        tree.left[h], tree.right[h] = (child.node for child in children)
        tree.feature[h], tree.threshold[h], tree.missing_left[h] = f, self.data.binning.threshold(f, last_left), missing_left
        tree.gain[h] = gain
        return children[0], children[1]


def boost(
    train: TrainingRows, loss: Loss, prices: Prices, settings: Settings, hidden: bool
) -> tuple[ModelForest, tuple[NDArray[np.float64], ...]]:
    """Grow trees one after the other, until `n_estimators` rounds are done or none of a round's trees has a split.

    Returns the model, with labels 0, 1, ..., and for each tree the penalised gains (12) of its splits, 0 at leaves.
    """
    X, weight = train.X, np.ones(len(train.X)) if train.weight is None else train.weight
    binning, purchases = Binning.of(X, weight, settings.max_bin), Purchases(prices, weight)
    data = BinnedRows(binning, binning.codes(X), weight)
    base = loss.baseline(train.targets, weight)
    margins, trees = np.tile(base, (len(X), 1)), list[ListedTree]()
    with tqdm(total=settings.n_estimators, desc="CEGB", file=sys.stderr, leave=False, disable=hidden) as bar:
        for _ in range(settings.n_estimators):
            g, h = loss.gradient(train.targets, margins), loss.hessian(margins)
            grown = []
            for o in range(len(base)):
                terms = np.column_stack([weight * g[:, o], weight * h[:, o]])
                tree, leaves = _Grower(data, terms, purchases, settings).run()
                grown.append(tree)
                for node, rows in leaves:
                    margins[rows, o] += tree.value[node]
            if all(len(tree.left) == 1 for tree in grown):
                break  # the next round would start from the same purchases and margins, and so have the same trees
            trees += grown
            bar.update()
    forest = as_forest(trees or grown, base, loss, X.shape[1])
    return forest, tuple(np.array(tree.gain) for tree in trees or grown)


def as_forest(trees: list[ListedTree], base: NDArray[np.float64], loss: Loss, n_features: int) -> ModelForest:
    """The trees as arrays; a round's trees are in the order of the outputs."""
    given = []
    for tree in trees:
        names = ("left", "right", "feature", "threshold", "missing_left")
        arrays: dict[str, Any] = {name: np.array(getattr(tree, name)) for name in names}
        given.append(one_tree(**arrays, leaf_value=np.array(tree.value)[:, None], cover=np.array(tree.hessian)))
    link: Link = "sigmoid" if loss.kind == "log_loss" else "softmax" if loss.kind == "softmax" else "identity"
    return forest_from_trees(
        joined(given),
        n_features=n_features,
        feature_names=None,
        classes=None if link == "identity" else np.arange(max(2, len(base))),
        output=(np.arange(len(trees)) % len(base)).astype(np.int32),
        scale=np.ones(len(trees)),
        base=base,
        link=link,
        source=None,
        compares_doubles=False,
    )
