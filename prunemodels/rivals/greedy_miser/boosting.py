"""Boosting stage by stage: each tree is fitted to the gradient, and pays for items that no tree before it needs.

    F_0 = the best constant,    F_s = F_{s-1} + rate * (h_{s,1}, ..., h_{s,K})                                      (1)

h_{s,k} is grown by `growth` on the negative gradient at F_{s-1} in margin k. Within a stage too, later trees get free what
earlier ones bought. The constant needs no feature and costs nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.instance.ensemble import Ensemble
from prunemodels.models.losses import Loss
from prunemodels.models.trees import joined, one_tree
from prunemodels.rivals.greedy_miser.growth import GrownTree, Settings, grow_tree
from prunemodels.rivals.histograms import BinnedRows, Binning, TrainingRows
from prunemodels.rivals.purchases import ModelItems, Prices

MARGIN_ROUNDING = 1e-28
"""Square of a margin's relative rounding error: squared residuals below it are noise."""


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
    binning = Binning.of(train.X, train.weight, settings.max_bins)
    data = BinnedRows(binning, binning.codes(train.X), train.weight)
    F0 = loss.baseline(train.targets, train.weight)
    F = np.tile(F0, (len(train.X), 1))
    validation = None if valid is None else _Validation(valid, loss, binning, F0)
    purchases, grown, model_cost = ModelItems.all_of(prices.items), list[GrownTree](), list[float]()
    for _ in tqdm(range(settings.n_estimators), desc="stages", file=sys.stderr, disable=hidden):
        rows = _drawn(len(F), settings.subsample, rng)
        residual = -loss.gradient(train.targets, F)
        least = MARGIN_ROUNDING * float((F**2).mean())
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
