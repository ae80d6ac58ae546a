"""Boost trees of limited depth, each grown level by level and paying for the items that it is the first to need.

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

    F_0 = the best constant,    F_s = F_{s-1} + rate * (h_{s,1}, ..., h_{s,K})                                      (4)

h_{s,k} is grown on the negative gradient at F_{s-1} in margin k. Within a stage too, later trees get free what earlier ones
bought. The constant needs no feature and costs nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.arguments import Count, Finite, Positive, Range
from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from prunemodels.models.losses import Loss
from prunemodels.models.trees import joined, one_tree
from prunemodels.rivals.boosted_learner import ModelItems, Prices
from prunemodels.rivals.histograms import (
    MOST_BINS,
    BinnedRows,
    Binning,
    Needed,
    NodeSplits,
    TrainingRows,
    best_splits,
    histograms,
)


@dataclass(frozen=True)
class Settings:
    """How trees are grown, and what each setting has to be; see `GreedyMiserClassifier`."""

    lam: Finite
    n_estimators: Count
    learning_rate: Positive
    max_depth: Annotated[int, Range(1, 16)]
    min_samples_leaf: Count
    subsample: Annotated[float, Range(0, 1, open_below=True)]
    n_iter_no_change: Count | None
    tol: Finite


class GrownTree:
    """A tree in codes while it grows: its root is node 0, and nodes are in order of their levels.

    ``left``, ``right`` and ``feature``, int32, are -1 at leaves; ``last_left``, int32, is the last bin that goes left, and
    ``missing_left`` says where missing values go; ``value`` is the mean residual of a node's training rows, leaf or split.
    """

    value: NDArray[np.float64]

    def __init__(self, most: int) -> None:
        self.n = 1
        self.left, self.right, self.feature, self.last_left = (np.full(most, -1, dtype=np.int32) for _ in range(4))
        self.missing_left = np.zeros(most, dtype=bool)

    def split(
        self, level: NDArray[np.int64], parents: NDArray[np.int64], feature: NDArray[np.int64], found: NodeSplits
    ) -> NDArray[np.int64]:
        """Split nodes ``level[parents]``, and return the new level: left, right, left ..."""
        node = level[parents]
        children = self.n + np.arange(2 * len(node))
        self.n += len(children)
        self.left[node], self.right[node], self.feature[node] = children[::2], children[1::2], feature
        self.last_left[node] = found.last_left[parents, feature]
        self.missing_left[node] = found.missing_left[parents, feature]
        return children

    def step(self, codes: NDArray[np.uint8] | NDArray[np.uint16], binning: Binning, position: NDArray[np.int64]) -> bool:
        """Send each row that is at a split to a child. Returns whether any row moved."""
        where = (self.left, self.right, self.feature, self.last_left, self.missing_left)
        return bool(_step(codes, binning.start, position, *where))

    def leaves(self, codes: NDArray[np.uint8] | NDArray[np.uint16], binning: Binning) -> NDArray[np.int64]:
        """The leaf that each row ends in; codes of shape (F, N)."""
        position = np.zeros(codes.shape[1], dtype=np.int64)
        while self.step(codes, binning, position):
            pass
        return position

    def finish(self, at: NDArray[np.int64], pull: NDArray[np.float64], weight: NDArray[np.float64] | None) -> None:
        """Set the values, from sums over the rows at the leaves that are added up towards the root; and drop unused room."""
        pulled = np.bincount(at, weights=pull, minlength=self.n)
        weighed = np.bincount(at, weights=weight, minlength=self.n).astype(np.float64)
        for h in range(self.n - 1, -1, -1):
            if self.left[h] >= 0:
                pulled[h] = pulled[self.left[h]] + pulled[self.right[h]]
                weighed[h] = weighed[self.left[h]] + weighed[self.right[h]]
        self.value = pulled / weighed
        for name in ("left", "right", "feature", "last_left", "missing_left"):
            setattr(self, name, getattr(self, name)[: self.n].copy())


def grow_tree(
    data: BinnedRows,
    residual: NDArray[np.float64],
    rows: NDArray[np.int64],
    settings: Settings,
    evaluation: NDArray[np.float64],
    purchases: ModelItems,
    least: float = 0.0,
) -> tuple[GrownTree, NDArray[np.int64]]:
    """Grow a tree on some rows, which buys what it needs. Returns the tree, and the leaf of each of all N rows.

    `residual`: float64, shape (N,): r_i. `evaluation`: float64, shape (F,): a_f. `least`: rounding in nets, in addition to that
    of the sums.
    """
    pull = residual if data.weight is None else residual * data.weight
    total = float(len(rows)) if data.weight is None else float(data.weight[rows].sum())
    # Nets that differ by less than this share of the mean squared residual count as equal: the first node, feature and threshold
    # is taken, and a smaller net is no reason to split. So sums in another order, as with a row twice for a weight of 2, agree.
    least += 1e-13 * float((pull * residual)[rows].sum()) / total
    tree, position = GrownTree(2 ** (settings.max_depth + 1) - 1), np.zeros(data.codes.shape[1], dtype=np.int64)
    level = np.zeros(1, dtype=np.int64)
    sums = histograms(data.codes, data.binning.start, rows, np.zeros(len(rows), dtype=np.int64), pull, data.weight, 1)
    for depth in range(settings.max_depth):
        found = best_splits(sums, data.binning.start, Needed(settings.min_samples_leaf, tie=least * total))
        worth = found.gain / total - settings.lam * (found.weight / total)[:, None] * evaluation
        chosen = choose_splits(worth, settings.lam, purchases, least)
        parents = np.flatnonzero(chosen >= 0)
        if not parents.size:
            break
        level = tree.split(level, parents, chosen[parents], found)
        tree.step(data.codes, data.binning, position)
        if depth + 1 < settings.max_depth:
            sums = _children_sums(data, rows, position, level, pull, sums[parents])
    tree.finish(position[rows], pull[rows], None if data.weight is None else data.weight[rows])
    return tree, position


def choose_splits(worth: NDArray[np.float64], lam: float, purchases: ModelItems, least: float) -> NDArray[np.int64]:
    """The feature on which each node of a level splits by (2), -1 for none; what a split needs is bought at once.

    `worth`: (2) without what is still to be bought, shape (k, F). `least`: nets that differ by at most this are equal, and a net
    up to this does not count.
    """
    chosen = np.full(len(worth), -1)
    unsplit = np.arange(len(worth))
    while unsplit.size:
        net = worth[unsplit] - lam * purchases.price
        best = net.max()
        if not best > least:
            break
        k, f = np.unravel_index(int((net >= best - least).argmax()), net.shape)
        chosen[unsplit[k]] = f
        purchases.buy(int(f))
        unsplit = np.delete(unsplit, k)
    return chosen


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


@njit(cache=True, nogil=True)
def _step(codes, start, position, left, right, feature, last_left, missing_left):  # type: ignore[no-untyped-def]
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


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """The trees of all stages, of shape (n, 1) in ``value``, the learning rate included, and what was seen after each stage."""

    trees: Ensemble
    baseline: NDArray[np.float64]
    model_cost: NDArray[np.float64]
    validation_loss: NDArray[np.float64]


def boost(
    train: TrainingRows,
    valid: TrainingRows | None,
    loss: Loss,
    prices: Prices,
    settings: Settings,
    rng: np.random.RandomState,
    *,
    names: tuple[str, ...] | None,
    hidden: bool,
) -> BoostedTrees:
    """Grow all stages; `valid` holds the rows for early stopping, `hidden` says whether the progress bar is hidden."""
    binning = Binning.of(train.X, train.weight, MOST_BINS)
    data = BinnedRows(binning, binning.codes(train.X), train.weight)
    F0 = loss.baseline(train.targets, train.weight)
    F = np.tile(F0, (len(train.X), 1))
    validation = None if valid is None else _Validation(valid, loss, binning, F0)
    purchases, grown, model_cost = ModelItems.all_of(prices.items), list[GrownTree](), list[float]()
    for _ in tqdm(range(settings.n_estimators), desc="stages", file=sys.stderr, disable=hidden):
        rows = _drawn(len(F), settings.subsample, rng)
        residual = -loss.gradient(train.targets, F)
        least = 1e-28 * float((F**2).mean())  # squared residuals below the margins' rounding errors are noise
        step = np.empty_like(F)
        for k in range(F.shape[1]):
            pull = np.ascontiguousarray(residual[:, k])
            tree, leaf = grow_tree(data, pull, rows, settings, prices.evaluation, purchases, least)
            step[:, k] = settings.learning_rate * tree.value[leaf]
            grown.append(tree)
        F += step
        model_cost.append(float(prices.items.price[purchases.bought].sum()))
        if validation is not None and validation.add(grown[-F.shape[1] :], settings):
            break
    losses = [] if validation is None else validation.losses
    return BoostedTrees(_as_ensemble(grown, binning, settings.learning_rate, names), F0, np.array(model_cost), np.array(losses))


def _drawn(n: int, share: float, rng: np.random.RandomState) -> NDArray[np.int64]:
    """The rows of a stage, in order, drawn without replacement; at least one."""
    return np.arange(n) if share == 1 else np.sort(rng.permutation(n)[: max(1, round(share * n))])


class _Validation:
    """The loss on validation rows after each stage."""

    def __init__(self, valid: TrainingRows, loss: Loss, binning: Binning, F0: NDArray[np.float64]) -> None:
        self.valid, self.loss, self.binning = valid, loss, binning
        self.codes, self.F = binning.codes(valid.X), np.tile(F0, (len(valid.X), 1))
        self.losses, self.best, self.stages_without_fall = list[float](), self._mean_loss(), 0

    def _mean_loss(self) -> float:
        return float(np.average(self.loss.values(self.valid.targets, self.F), weights=self.valid.weight))

    def add(self, stage: list[GrownTree], settings: Settings) -> bool:
        """Add a stage's trees. Returns whether to stop."""
        for k, tree in enumerate(stage):
            self.F[:, k] += settings.learning_rate * tree.value[tree.leaves(self.codes, self.binning)]
        self.losses.append(self._mean_loss())
        if self.losses[-1] < self.best - settings.tol:
            self.best, self.stages_without_fall = self.losses[-1], 0
        else:
            self.stages_without_fall += 1
        return settings.n_iter_no_change is not None and self.stages_without_fall >= settings.n_iter_no_change


def _as_ensemble(grown: list[GrownTree], binning: Binning, rate: float, names: tuple[str, ...] | None) -> Ensemble:
    """All trees as an `Ensemble`, with thresholds for codes and values times the rate."""
    trees = []
    for tree in grown:
        threshold = np.zeros(len(tree.left))
        for h in np.flatnonzero(tree.left >= 0):
            threshold[h] = binning.threshold(int(tree.feature[h]), int(tree.last_left[h]))
        trees.append(one_tree(tree.left, tree.right, tree.feature, threshold, tree.missing_left, rate * tree.value[:, None]))
    return joined(trees).ensemble(len(binning.cuts), None, names)
