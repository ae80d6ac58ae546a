"""Make, from checked examples, the functions that grow a tree and compute the cost of the trees grown so far."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.validation import _check_sample_weight

from formulations.instance.cost_items import CostItems, EvaluationCost
from prunemodels.estimators.samples import Sample, split
from prunemodels.forests.staged_costs import staged_costs
from prunemodels.rivals.budget_rf.greedy_tree import TrainingTable, grow_tree, sorted_rows
from prunemodels.rivals.budget_rf.growing import Grow, MeanCosts
from prunemodels.rivals.budget_rf.options import GrowingOptions
from prunemodels.rivals.budget_rf.split_prices import SplitPrices
from prunemodels.rivals.sklearn_trees import ClassificationTree, Criterion, ensemble_of


def set_aside(
    sample: Sample, fraction: float | None, rng: np.random.RandomState
) -> tuple[Sample, Sample | None, NDArray[np.int64]]:
    """The training examples, the examples set aside (None if not wanted), and the numbers of the training rows."""
    rows = np.arange(len(sample), dtype=np.int64)
    if fraction is None:
        return sample, None, rows
    kept, others = split(Sample(rows[:, None], sample.y, sample.weight), fraction, rng, sample.y)
    return sample.take(kept.X[:, 0]), sample.take(others.X[:, 0]), kept.X[:, 0]


def weights_of(sample_weight: ArrayLike | None, rows: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """Weights, one for each row, checked by scikit-learn; None: no weights."""
    if sample_weight is None:
        return None
    return np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))


def unfitted_forest(learner: Any, criterion: Criterion, n_trees: int, rng: np.random.RandomState) -> RandomForestClassifier:
    """A forest with the learner's parameters."""
    shared = ("max_depth", "max_features", "min_samples_leaf", "bootstrap")
    parameters = {name: getattr(learner, name) for name in shared}
    seed = rng.randint(np.iinfo(np.int32).max)
    return RandomForestClassifier(n_trees, criterion=criterion, random_state=seed, **parameters)


def tree_grower(train: Sample, forest: RandomForestClassifier, options: GrowingOptions, prices: SplitPrices) -> Grow:
    """The function that grows the k-th tree, on the rows that scikit-learn drew for the forest's k-th stump.

    Parameters
    ----------
    forest
        fitted on the same examples, see `forest_to_fill`.
    """
    columns = np.ascontiguousarray(train.X.T)
    order, y = sorted_rows(columns), np.searchsorted(forest.classes_, np.asarray(train.y))
    ones = np.ones(len(train))
    given = ones if train.weight is None else train.weight

    def grow(number: int) -> ClassificationTree:
        estimator = forest.estimators_[number]
        weight, size = given, ones
        if forest.bootstrap:
            alone = copy.copy(forest)  # to draw for this tree only: the forest lists the draws of all its trees at once
            alone.estimators_ = [estimator]
            weight = size = np.bincount(alone.estimators_samples_[0], minlength=len(train)).astype(np.float64)
        table = TrainingTable(columns, y, weight, size)
        seed = int(estimator.random_state)
        return grow_tree(table, order, len(forest.classes_), options.rule, options.limits, prices, seed)

    return grow


def mean_costs_on(sample: Sample, items: CostItems, evaluation_cost: EvaluationCost, classes: NDArray[Any]) -> MeanCosts:
    """The function that computes the mean cost of a prediction by the first tree, the first two, and so on, on a sample."""

    def mean_costs(trees: Sequence[ClassificationTree]) -> NDArray[np.float64]:
        ensemble = ensemble_of(trees, sample.X.shape[1], classes, None)
        return staged_costs(ensemble, sample.X, items, evaluation_cost=evaluation_cost, sample_weight=sample.weight)

    return mean_costs
