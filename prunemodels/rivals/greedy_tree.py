"""BRF15's Algorithm 1: GreedyTree, which grows one tree by splits of least risk (lines 8-18), until the budget is spent (2-7).

Line 10 stops where F(S) = 0. Here a node is a leaf if F(S) <= min_impurity, at the largest depth, or if no stump has a gain.

Rows are sorted by each feature once for the forest. A tree takes the rows that it drew, and each split divides them, keeping
their order. So a pass over a node's sorted rows sees all stumps of a feature, without sorting again.

    T <- no tree;  while the mean cost of T on the validation data <= B:  T <- T and a tree;  return T without its last tree   (1)

The cost never falls as trees are added, so (1) returns the largest of the forests T_1, T_2 ... within the budget. Given their
seeds, trees are independent of each other. So they are grown a few at a time, and the cost is then computed tree by tree. The
result is that of (1), whatever the number of threads.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from tqdm import tqdm

from formulations.compiled import njit
from formulations.errors import InvalidInputError
from prunemodels.models.labelled_samples import Sample
from prunemodels.rivals.sklearn_trees import ClassificationTree
from prunemodels.rivals.stumps import SplitPrices, SplitRule, _best_stump, _impurity, _mark_paid


class TrainingTable(NamedTuple):
    """The examples of one tree, as compiled code reads them."""

    X: NDArray[np.float32]  # float32, shape (F, N): one row for each feature.
    y: NDArray[np.int64]  # int64, shape (N,): class indices.
    weight: NDArray[np.float64]  # float64, shape (N,): weight of each example; 0: the tree did not draw it.
    # float64, shape (N,): how many examples each row stands for in the count that decides the number of stumps.
    size: NDArray[np.float64]


def sorted_rows(X: NDArray[np.float32]) -> NDArray[np.int32]:
    """The rows sorted by each feature, int32, shape (F, N); X has one row for each feature."""
    return np.stack([np.argsort(x, kind="stable").astype(np.int32) for x in X])


def grow_tree(
    table: TrainingTable, order: NDArray[np.int32], n_classes: int, rule: SplitRule, prices: SplitPrices, seed: int
) -> ClassificationTree:
    """Grow one tree on examples with its weights, whose `sorted_rows` are `order`; the seed is for random stumps and features."""
    state = np.array([seed], dtype=np.uint64)
    rows = _drawn_rows(order, table.weight)
    return ClassificationTree(*_grow(table, rows, n_classes, rule, prices, state))


@njit(cache=True, nogil=True)
def _drawn_rows(order, weight):  # type: ignore[no-untyped-def]
    """The rows of positive weight, in each feature's order."""
    drawn = np.empty((order.shape[0], np.count_nonzero(weight)), dtype=np.int32)
    for t in range(order.shape[0]):
        k = 0
        for i in order[t]:
            if weight[i] > 0.0:
                drawn[t, k] = i
                k += 1
    return drawn


@njit(cache=True, nogil=True)
def _grow(table, order, n_classes, rule, prices, state):  # type: ignore[no-untyped-def]
    n_features, n = order.shape
    most = 2 * n - 1
    links = np.full((4, most), -1, dtype=np.int32)
    left, right, feature, parent = links[0], links[1], links[2], links[3]
    depth, n_rows = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    threshold, counts = np.zeros(most), np.zeros((most, n_classes))
    stack = np.empty((n + 1, 3), dtype=np.int64)  # parent, first and last row of nodes to come
    stack[0, 0], stack[0, 1], stack[0, 2] = -1, 0, n
    paid, features = np.zeros(prices.price.size, dtype=np.bool_), np.arange(n_features)
    drawn, goes_left, spare = np.zeros(n, dtype=np.bool_), np.zeros(table.y.size, dtype=np.bool_), np.empty(n, dtype=np.int32)
    stack_size, n_nodes = 1, 0
    while stack_size > 0:
        stack_size -= 1
        above, begin, end = stack[stack_size, 0], stack[stack_size, 1], stack[stack_size, 2]
        h = n_nodes
        n_nodes += 1
        parent[h], n_rows[h] = above, end - begin
        if above >= 0:
            depth[h] = depth[above] + 1
            if left[above] < 0:
                left[above] = h
            else:
                right[above] = h
        n_examples = _count(table, order[0, begin:end], counts[h])
        if depth[h] >= rule.max_depth or _impurity(counts[h], rule.measure, rule.alpha, rule.power) <= rule.min_impurity:
            continue
        _mark_paid(h, parent, feature, prices, paid)
        t, place = _best_stump(table, order, begin, end, counts[h], n_examples, paid, rule, prices, features, drawn, state)
        if t < 0:
            continue
        feature[h], threshold[h] = t, _between(table.X[t, order[t, place]], table.X[t, order[t, place + 1]])
        _part(order, t, begin, place + 1, end, goes_left, spare)
        stack[stack_size, 0], stack[stack_size, 1], stack[stack_size, 2] = h, place + 1, end
        stack[stack_size + 1, 0], stack[stack_size + 1, 1], stack[stack_size + 1, 2] = h, begin, place + 1
        stack_size += 2
    k = n_nodes
    return left[:k].copy(), right[:k].copy(), feature[:k].copy(), threshold[:k].copy(), counts[:k].copy(), n_rows[:k].copy()


@njit(cache=True, nogil=True)
def _count(table, rows, counts):  # type: ignore[no-untyped-def]
    """Add up the class counts; returns the number of examples."""
    n_examples = 0.0
    for i in rows:
        counts[table.y[i]] += table.weight[i]
        n_examples += table.size[i]
    return n_examples


@njit(cache=True, nogil=True)
def _between(low, high):  # type: ignore[no-untyped-def]
    """The middle of two float32 numbers as float64: float32 values <= it are those <= low, as in scikit-learn's routing."""
    middle = np.float64(low) / 2.0 + np.float64(high) / 2.0
    return middle if middle < np.float64(high) else np.float64(low)


@njit(cache=True, nogil=True)
def _part(order, t, begin, middle, end, goes_left, spare):  # type: ignore[no-untyped-def]
    """Divide the rows begin ... end in every feature's order: first those that feature t has before `middle`."""
    for k in range(begin, end):
        goes_left[order[t, k]] = k < middle
    for s in range(order.shape[0]):
        if s == t:
            continue
        # stable: rows of the left side move up in place, those of the right one wait in `spare`
        to_left, to_right = begin, 0
        for k in range(begin, end):
            i = order[s, k]
            if goes_left[i]:
                order[s, to_left] = i
                to_left += 1
            else:
                spare[to_right] = i
                to_right += 1
        order[s, middle:end] = spare[:to_right]


Grow = Callable[[int], ClassificationTree]
MeanCosts = Callable[[Sequence[ClassificationTree]], NDArray[np.float64]]


def grow_within(
    grow: Grow, mean_costs: MeanCosts, most: int, budget: float | None, *, n_jobs: int | None = None, verbose: int = 0
) -> tuple[list[ClassificationTree], NDArray[np.float64]]:
    """(1), with at most `most` trees: those within the budget, and the mean cost after each and after the first one beyond it.

    `grow`: grows the tree of a given number, from 0 on. `mean_costs`: computes, for a sequence of trees, the mean cost of a
    prediction by the first, by the first two, and so on. `budget`: B; None: no limit.
    """
    trees: list[ClassificationTree] = []
    costs: NDArray[np.float64] = np.zeros(0)
    bar = tqdm(total=most, desc="growing trees", unit="tree", file=sys.stderr, leave=False, disable=verbose <= 0)
    with bar, Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator") as parallel:
        while len(trees) < most:
            # one tree, then one, two, four, eight at a time, so that a small budget wastes little; without a budget, all at once
            first = len(trees)
            wanted = most - first if budget is None else min(most - first, max(1, min(first, 8)))
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
