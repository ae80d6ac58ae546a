"""Grow one regression tree of limited depth, level by level; it pays for the items that it is first to need.

The price that a split on feature f would add to the model is

    c(f) = sum of the prices of items(f) that no split of the model needs yet                                       (1)

An item that any split needs is free for all later ones, in any branch: "features computed for all instances at once" (CEGB17
section 4.3 on GreedyMiser). An item that is paid once for all examples adds its full price to the cost of an average example
(prunemodels' OBJ), and so does one that every example pays; both kinds are treated alike. With the gain of
`prunemodels.rivals.histograms` and the weight V of all rows that the tree is grown on, the net value of a split of node S is

    net = gain / V  -  lam * ( c(f) + a_f V_S / V )                                                                 (2)

In a level the split of greatest net is made first, and what it buys is free from then on, for the rest of the level too; then the
next, until no net is positive. This is CART's greedy minimisation, over trees h of the given depth, of

    (1/V) sum_i w_i (r_i - h(x_i))^2  +  lam * ( price of all items that h is first to need  +  evaluation of h )      (3)

(3) is BP16's description of GreedyMiser, "squared loss with respect to the current gradient plus feature acquisition cost", as
a mean. CART sees one split at a time: a feature that only several splits together would pay for is not bought.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems
from prunemodels.rivals.histograms import BinnedRows, Binning, Needed, NodeSplits, best_splits, histograms


@dataclass(frozen=True, eq=False)
class ModelItems:
    """The items that a model needs.

    Parameters
    ----------
    item_price
        float64, shape (M,).
    needed
        float64, shape (F, M), sparse: 1 where the feature needs the item.
    bought
        bool, shape (M,).
    price
        float64, shape (F,): (1).
    """

    item_price: NDArray[np.float64]
    needed: csr_array
    bought: NDArray[np.bool_]
    price: NDArray[np.float64]

    @classmethod
    def none(cls, items: CostItems) -> ModelItems:
        """The state in which nothing is bought."""
        start = np.cumsum([0] + [len(needs) for needs in items.needs])
        item = np.array([m for needs in items.needs for m in needs], dtype=np.int64)
        needed = csr_array((np.ones(len(item)), item, start), shape=(items.n_features, items.n_items))
        return cls(items.price, needed, np.zeros(items.n_items, dtype=bool), needed @ items.price)

    def with_feature(self, f: int) -> ModelItems:
        """The state after buying the items of feature f."""
        item = self.needed.indices[self.needed.indptr[f] : self.needed.indptr[f + 1]]
        if self.bought[item].all():
            return self
        bought = self.bought.copy()
        bought[item] = True
        return ModelItems(self.item_price, self.needed, bought, self.needed @ np.where(bought, 0.0, self.item_price))

    @property
    def cost(self) -> float:
        """Price of all that is bought."""
        return float(self.item_price[self.bought].sum())


NET_ROUNDING = 1e-13
"""Nets that differ by less than this share of the mean squared residual count as equal: the first node, feature and threshold is
taken, and a smaller net is no reason to split. So sums in another order, such as a row twice for a weight of 2, agree."""


@dataclass(frozen=True, eq=False)
class GrowthLimits:
    """How deep a tree grows, how small its leaves may be, and what prices count.

    Parameters
    ----------
    lam
        see (2).
    evaluation
        float64, shape (F,): a_f.
    """

    max_depth: int
    min_samples_leaf: int
    lam: float
    evaluation: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree in codes; its root is node 0, and nodes are in order of their levels.

    Parameters
    ----------
    left, right, feature
        int32, shape (n,): -1 at leaves.
    last_left
        int32, shape (n,): the last bin that goes left.
    missing_left
        bool, shape (n,).
    value
        float64, shape (n,): mean residual of the training rows at each node, leaf or split.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    last_left: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]

    def leaves(self, codes: NDArray[np.uint8] | NDArray[np.uint16], binning: Binning) -> NDArray[np.int64]:
        """The leaf that each row ends in; codes of shape (F, N)."""
        position = np.zeros(codes.shape[1], dtype=np.int64)
        while _step(codes, binning.start, position, self.left, self.right, self.feature, self.last_left, self.missing_left):
            pass
        return position


def grow_tree(
    data: BinnedRows,
    residual: NDArray[np.float64],
    rows: NDArray[np.int64],
    limits: GrowthLimits,
    purchases: ModelItems,
    least: float = 0.0,
) -> tuple[GrownTree, NDArray[np.int64], ModelItems]:
    """Grow a tree.

    Parameters
    ----------
    residual
        float64, shape (N,): r_i.
    rows
        the rows that it is grown on.
    purchases
        the items that are free already.
    least
        rounding in nets, in addition to that of the sums.

    Returns
    -------
    the tree, the leaf of each of the N rows, and the new purchases
    """
    pull = residual if data.weight is None else residual * data.weight
    total = float(len(rows)) if data.weight is None else float(data.weight[rows].sum())
    least += NET_ROUNDING * float((pull * residual)[rows].sum()) / total
    tree = _Draft(data, 2 ** (limits.max_depth + 1) - 1)
    level = np.zeros(1, dtype=np.int64)
    sums = histograms(data.codes, data.binning.start, rows, np.zeros(len(rows), dtype=np.int64), pull, data.weight, 1)
    for depth in range(limits.max_depth):
        found = best_splits(sums, data.binning.start, Needed(limits.min_samples_leaf, tie=least * total))
        chosen, purchases = choose_splits(found, total, limits, purchases, least)
        if not chosen.size:
            break
        parents = np.flatnonzero(chosen >= 0)
        level = tree.split(level, parents, chosen[parents], found)
        if depth + 1 < limits.max_depth:
            sums = _children_sums(data, rows, tree.position, level, pull, sums[parents])
    return tree.finished(pull, rows), tree.position, purchases


def choose_splits(
    found: NodeSplits, total: float, limits: GrowthLimits, purchases: ModelItems, least: float
) -> tuple[NDArray[np.int64], ModelItems]:
    """The feature on which each node of a level splits by (2), -1 for none, and the new purchases; empty if no node splits.

    Parameters
    ----------
    least
        nets that differ by at most this are equal, and a net up to this does not count.
    """
    chosen = np.full(len(found.gain), -1)
    unsplit = np.arange(len(found.gain))
    worth = found.gain / total - limits.lam * (found.weight / total)[:, None] * limits.evaluation
    while unsplit.size:
        net = worth[unsplit] - limits.lam * purchases.price
        best = net.max()
        if not best > least:
            break
        k, f = np.unravel_index(int((net >= best - least).argmax()), net.shape)
        chosen[unsplit[k]] = f
        purchases = purchases.with_feature(int(f))
        unsplit = np.delete(unsplit, k)
    return (chosen if (chosen >= 0).any() else chosen[:0]), purchases


def _children_sums(
    data: BinnedRows,
    rows: NDArray[np.int64],
    position: NDArray[np.int64],
    level: NDArray[np.int64],
    pull: NDArray[np.float64],
    parents: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Histograms of a level of siblings (left, right, left ...): sum the smaller one, and subtract it for the other."""
    at = position[rows]  # `parents` is a copy, so it may be overwritten
    count = np.bincount(at, minlength=int(level[-1]) + 1)[level].reshape(-1, 2)
    smaller = 2 * np.arange(len(count)) + np.argmin(count, axis=1)
    place = np.full(int(level[-1]) + 1, -1)
    place[level[smaller]] = smaller
    node = place[at]
    some = np.flatnonzero(node >= 0)
    sums = histograms(data.codes, data.binning.start, rows[some], node[some], pull, data.weight, len(level))
    np.subtract(parents, sums[smaller], out=parents)
    sums[smaller ^ 1] = parents
    return sums


class _Draft:
    """A tree that is being grown, and the node that each row has reached."""

    def __init__(self, data: BinnedRows, most: int) -> None:
        self.data, self.n = data, 1
        self.left, self.right, self.feature, self.last_left = (np.full(most, -1, dtype=np.int32) for _ in range(4))
        self.missing_left = np.zeros(most, dtype=bool)
        self.position = np.zeros(data.codes.shape[1], dtype=np.int64)

    def split(
        self, level: NDArray[np.int64], parents: NDArray[np.int64], feature: NDArray[np.int64], found: NodeSplits
    ) -> NDArray[np.int64]:
        """Split nodes ``level[parents]``, send the rows on, and return the new level: left, right, left ..."""
        node = level[parents]
        children = self.n + np.arange(2 * len(node))
        self.n += len(children)
        self.left[node], self.right[node], self.feature[node] = children[::2], children[1::2], feature
        self.last_left[node] = found.last_left[parents, feature]
        self.missing_left[node] = found.missing_left[parents, feature]
        where = (self.left, self.right, self.feature, self.last_left, self.missing_left)
        _step(self.data.codes, self.data.binning.start, self.position, *where)
        return children

    def finished(self, pull: NDArray[np.float64], rows: NDArray[np.int64]) -> GrownTree:
        """The tree with its values, from sums over the rows at the leaves that are added up towards the root."""
        at, weight = self.position[rows], self.data.weight
        pulled = np.bincount(at, weights=pull[rows], minlength=self.n)
        weighed = np.bincount(at, weights=None if weight is None else weight[rows], minlength=self.n).astype(np.float64)
        for h in range(self.n - 1, -1, -1):
            if self.left[h] >= 0:
                pulled[h] = pulled[self.left[h]] + pulled[self.right[h]]
                weighed[h] = weighed[self.left[h]] + weighed[self.right[h]]
        left, right, feature = (a[: self.n].copy() for a in (self.left, self.right, self.feature))
        last_left, missing_left = self.last_left[: self.n].copy(), self.missing_left[: self.n].copy()
        return GrownTree(left, right, feature, last_left, missing_left, pulled / weighed)


@njit(cache=True, nogil=True)
def _step(codes, start, position, left, right, feature, last_left, missing_left):  # type: ignore[no-untyped-def]
    """Send each row that is at a split to a child. Returns whether any row moved."""
    moved = False
    for i in range(position.shape[0]):
        h = position[i]
        if left[h] >= 0:
            f = feature[h]
            code = codes[f, i]
            missing = code == start[f + 1] - start[f] - 1
            go_left = missing_left[h] if missing else code <= last_left[h]
            position[i] = left[h] if go_left else right[h]
            moved = True
    return moved
