"""Boosting stage by stage: each tree is fitted to the gradient, and pays for items that no tree before it needs.

    F_0 = the best constant,    F_s = F_{s-1} + rate * (h_{s,1}, ..., h_{s,K})                                      (1)

h_{s,k} is grown by `growth` on the negative gradient at F_{s-1} in margin k. Within a stage too, later trees get free what
earlier ones bought. The constant needs no feature and costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import read_only, walk_tree
from prunemodels.models.losses import Loss
from prunemodels.models.trees import joined, one_tree
from prunemodels.rivals.greedy_miser.growth import GrownTree, GrowthLimits, ModelItems, grow_tree
from prunemodels.rivals.histograms import BinnedRows, Binning, TrainingRows

MARGIN_ROUNDING = 1e-28
"""Square of a margin's relative rounding error: squared residuals below it are noise."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """How many stages, how long their steps, and when to stop.

    Parameters
    ----------
    subsample
        share of the rows that a stage's trees are grown on.
    patience, tol
        stop after `patience` stages in which the validation loss did not fall more than `tol` below its least; None: never.
    """

    n_estimators: int
    learning_rate: float
    subsample: float
    max_bins: int
    patience: int | None
    tol: float
    progress: bool


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """The trees of all stages.

    Parameters
    ----------
    trees
        all trees, ``value`` of shape (n, 1), the learning rate included.
    baseline
        float64, shape (K,): F_0.
    stage, output
        int32, shape (T,): the stage and the margin that each tree belongs to.
    model_cost
        float64, shape (stages,): price of all items that the trees up to each stage need.
    validation_loss
        float64, shape (stages,), or empty.
    """

    trees: Ensemble
    baseline: NDArray[np.float64]
    stage: NDArray[np.int32]
    output: NDArray[np.int32]
    model_cost: NDArray[np.float64]
    validation_loss: NDArray[np.float64]


def boost(
    train: TrainingRows,
    valid: TrainingRows | None,
    loss: Loss,
    items: CostItems,
    limits: GrowthLimits,
    schedule: Schedule,
    rng: np.random.RandomState,
    names: tuple[str, ...] | None,
) -> BoostedTrees:
    """Grow all stages; `valid` holds the rows for early stopping."""
    binning = Binning.of(train.X, train.weight, schedule.max_bins)
    data = BinnedRows(binning, binning.codes(train.X), train.weight)
    F0 = loss.baseline(train.targets, train.weight)
    F = np.tile(F0, (len(train.X), 1))
    validation = None if valid is None else _Validation(valid, loss, binning, F0)
    purchases, grown, model_cost = ModelItems.none(items), list[GrownTree](), list[float]()
    stages = range(schedule.n_estimators)
    for _ in tqdm(stages, desc="stages", file=sys.stderr, disable=not schedule.progress):
        rows = _drawn(len(F), schedule.subsample, rng)
        residual = -loss.gradient(train.targets, F)
        least = MARGIN_ROUNDING * float((F**2).mean())
        step = np.empty_like(F)
        for k in range(F.shape[1]):
            tree, leaf, purchases = grow_tree(data, np.ascontiguousarray(residual[:, k]), rows, limits, purchases, least)
            step[:, k] = schedule.learning_rate * tree.value[leaf]
            grown.append(tree)
        F += step
        model_cost.append(purchases.cost)
        if validation is not None and validation.add(grown[-F.shape[1] :], schedule):
            break
    tree_number = np.arange(len(grown), dtype=np.int32)
    return BoostedTrees(
        _as_ensemble(grown, binning, schedule.learning_rate, names),
        F0,
        tree_number // len(F0),
        tree_number % len(F0),
        np.array(model_cost),
        np.array(validation.losses if validation is not None else []),
    )


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

    def add(self, stage: list[GrownTree], schedule: Schedule) -> bool:
        """Add a stage's trees. Returns whether to stop."""
        for k, tree in enumerate(stage):
            self.F[:, k] += schedule.learning_rate * tree.value[tree.leaves(self.codes, self.binning)]
        self.losses.append(self._mean_loss())
        if self.losses[-1] < self.best - schedule.tol:
            self.best, self.stages_without_fall = self.losses[-1], 0
        else:
            self.stages_without_fall += 1
        return schedule.patience is not None and self.stages_without_fall >= schedule.patience


def _as_ensemble(grown: list[GrownTree], binning: Binning, rate: float, names: tuple[str, ...] | None) -> Ensemble:
    """All trees as an `Ensemble`, with thresholds for codes and values times the rate."""
    trees = []
    for tree in grown:
        threshold = np.zeros(len(tree.left))
        for h in np.flatnonzero(tree.left >= 0):
            threshold[h] = binning.threshold(int(tree.feature[h]), int(tree.last_left[h]))
        trees.append(one_tree(tree.left, tree.right, tree.feature, threshold, tree.missing_left, rate * tree.value[:, None]))
    return joined(trees).ensemble(len(binning.cuts), None, names)


def staged_margins(
    trees: Ensemble, baseline: NDArray[np.float64], stage: NDArray[np.int32], output: NDArray[np.int32], rows: NDArray[np.float32]
) -> Iterator[NDArray[np.float64]]:
    """Margins after each stage, shape (N, K), in one array that the next stage overwrites. The trees are sorted by stage."""
    F = np.tile(baseline, (len(rows), 1))
    ends = np.flatnonzero(np.diff(stage, append=-1)) + 1
    rows, nodes, leaf = read_only(rows), np.arange(trees.n_nodes, dtype=np.int32), np.empty(len(rows), dtype=np.int32)
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        for t in range(first, end):
            walk_tree(trees, t, rows, nodes, leaf)
            F[:, output[t]] += trees.value[leaf, 0]
        yield F
