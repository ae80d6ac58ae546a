"""Grow trees until the budget is spent (BRF15 Algorithm 1, lines 2-7).

    T <- no tree;  while the mean cost of T on the validation data <= B:  T <- T and a tree;  return T without its last tree   (1)

The cost never falls as trees are added, so (1) returns the largest of the forests T_1, T_2 ... within the budget. Given their
seeds, trees are independent of each other. So they are grown a few at a time, and the cost is then computed tree by tree. The
result is that of (1), whatever the number of threads.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.validation import _check_sample_weight
from tqdm import tqdm

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost
from prunemodels.models.costs import staged_costs
from prunemodels.models.labelled_samples import Sample, split
from prunemodels.rivals.budget_rf.greedy_tree import TrainingTable, grow_tree, sorted_rows
from prunemodels.rivals.budget_rf.options import GrowingOptions
from prunemodels.rivals.budget_rf.stumps import SplitPrices
from prunemodels.rivals.sklearn_trees import ClassificationTree, Criterion, ensemble_of

Grow = Callable[[int], ClassificationTree]
MeanCosts = Callable[[Sequence[ClassificationTree]], NDArray[np.float64]]

MOST_AT_ONCE = 8
"""Largest number of trees that are grown before the cost is computed again."""


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """The trees within the budget, and the cost of the forest as it grew.

    Parameters
    ----------
    trees
        the trees that were kept.
    costs
        mean cost on the cost sample after each tree kept, and after the first one beyond the budget, if there was one.
    """

    trees: tuple[ClassificationTree, ...]
    costs: NDArray[np.float64]

    @property
    def spent(self) -> bool:
        """Whether the budget, and not the number of trees, ended the growth."""
        return len(self.costs) > len(self.trees)


def grow_within(
    grow: Grow, mean_costs: MeanCosts, most: int, budget: float | None, *, n_jobs: int | None = None, verbose: int = 0
) -> GrownTrees:
    """(1), with at most `most` trees.

    Parameters
    ----------
    grow
        grows the tree of a given number, from 0 on.
    mean_costs
        computes, for a sequence of trees, the mean cost of a prediction by the first, by the first two, and so on.
    most
        >= 1: the largest number of trees.
    budget
        B; None: no limit.
    n_jobs
        threads, as in joblib.
    verbose
        > 0: a bar that counts trees.

    Raises
    ------
    InvalidInputError
        if the first tree alone costs more than the budget.
    """
    trees: list[ClassificationTree] = []
    costs: NDArray[np.float64] = np.zeros(0)
    bar = tqdm(total=most, desc="growing trees", unit="tree", file=sys.stderr, leave=False, disable=verbose <= 0)
    with bar, Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator") as parallel:
        while len(trees) < most:
            # one tree, then one, two, four, eight at a time, so that a small budget wastes little; without a budget, all at once
            first = len(trees)
            wanted = most - first if budget is None else min(most - first, max(1, min(first, MOST_AT_ONCE)))
            for tree in parallel(delayed(grow)(k) for k in range(first, first + wanted)):
                trees.append(tree)
                bar.update()
            if budget is not None:
                costs = mean_costs(trees)
                if costs[-1] > budget:
                    break
    if budget is None:
        return GrownTrees(tuple(trees), mean_costs(trees))
    within = int(np.searchsorted(costs, budget, side="right"))
    if within == 0:
        raise InvalidInputError(
            f"budget is {budget:g}, the first tree alone costs {costs[0]:g} on the validation data; raise budget, or grow "
            "smaller trees: raise alpha or min_impurity, lower max_depth"
        )
    return GrownTrees(tuple(trees[:within]), costs[: within + 1])


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
