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

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from tqdm import tqdm

from formulations.errors import InvalidInputError
from prunemodels.models.labelled_samples import Sample
from prunemodels.rivals.budget_rf.greedy_tree import TrainingTable, grow_tree, sorted_rows
from prunemodels.rivals.budget_rf.stumps import SplitPrices, SplitRule
from prunemodels.rivals.sklearn_trees import ClassificationTree

Grow = Callable[[int], ClassificationTree]
MeanCosts = Callable[[Sequence[ClassificationTree]], NDArray[np.float64]]

MOST_AT_ONCE = 8
"""Largest number of trees that are grown before the cost is computed again."""


def grow_within(
    grow: Grow, mean_costs: MeanCosts, most: int, budget: float | None, *, n_jobs: int | None = None, verbose: int = 0
) -> tuple[list[ClassificationTree], NDArray[np.float64]]:
    """(1), with at most `most` trees: those within the budget, and the mean cost after each and after the first one beyond it.

    Parameters
    ----------
    grow
        grows the tree of a given number, from 0 on.
    mean_costs
        computes, for a sequence of trees, the mean cost of a prediction by the first, by the first two, and so on.
    budget
        B; None: no limit.

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
        return trees, mean_costs(trees)
    within = int(np.searchsorted(costs, budget, side="right"))
    if within == 0:
        raise InvalidInputError(
            f"budget is {budget:g}, the first tree alone costs {costs[0]:g} on the validation data; raise budget, or grow "
            "smaller trees: raise alpha or min_impurity, lower max_depth"
        )
    return trees[:within], costs[: within + 1]


def tree_grower(train: Sample, forest: RandomForestClassifier, rule: SplitRule, prices: SplitPrices) -> Grow:
    """The function that grows the k-th tree, on the rows that scikit-learn drew for the k-th stump of `forest_to_fill`."""
    columns = np.ascontiguousarray(train.X.T)
    order, y = sorted_rows(columns), np.searchsorted(forest.classes_, np.asarray(train.y))
    ones = np.ones(len(train))

    def grow(number: int) -> ClassificationTree:
        estimator = forest.estimators_[number]
        weight, size = train.weights, ones
        if forest.bootstrap:
            alone = copy.copy(forest)  # to draw for this tree only: the forest lists the draws of all its trees at once
            alone.estimators_ = [estimator]
            weight = size = np.bincount(alone.estimators_samples_[0], minlength=len(train)).astype(np.float64)
        table = TrainingTable(columns, y, weight, size)
        return grow_tree(table, order, len(forest.classes_), rule, prices, int(estimator.random_state))

    return grow
