"""What forests, prunings and paths cost and how often they err on a table larger than memory.

Each does what the function of the same name without ``_on_table`` does. Counts are added up over chunks, so costs of rows of
weight 1 and error rates are the same bit for bit; other sums agree up to rounding. What stays of a row is its loss and its cost
where an interval or a squared error is asked for, 8 bytes each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import Routing, route
from formulations.instance.usage_arcs import charges_of, highest_user
from prunemodels.evaluation.forest import Evaluation
from prunemodels.evaluation.held_out import HeldOut, HeldOutCost, largest_row_cost, row_costs
from prunemodels.evaluation.mean_bounds import MeanInterval, Method, mean_interval
from prunemodels.evaluation.path import PathEvaluation, Vote, evaluate_path
from prunemodels.forests.costs import Costs, cost_items
from prunemodels.forests.reading import read_forest
from prunemodels.forests.surgery import apply_pruning
from prunemodels.tables.reading import Column, Part, Reader, labels_of, weights_of
from prunemodels.tables.rows_in_turn import RowsInTurn
from prunemodels.tables.table import Table, as_chunked


def evaluate_on_table(
    forest: Any,
    table: Table,
    y: Column,
    *,
    costs: Costs,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    progress: bool = False,
) -> Evaluation:
    """`evaluate` on a table that need not fit into memory.

    Parameters
    ----------
    forest, costs, evaluation_cost
        as in `evaluate`.
    table, progress
        as in `problem_from_table`.
    y
        the name of the column of labels, or an array with one label a row.

    Returns
    -------
    Evaluation
        mean cost and features of a prediction, error, splits, and how many rows there were.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, BrokenFileError, InterruptedSolveError
        as `problem_from_table`.
    """
    ensemble = read_forest(forest)
    bill = _Bill(ensemble, cost_items(costs, ensemble), evaluation_prices(evaluation_cost, ensemble))
    count = _Bill(ensemble, cost_items(1, ensemble), evaluation_prices(0, ensemble))
    losses: list[NDArray[Any]] = []

    def add(part: Part) -> None:
        routing = route(ensemble, part.rows)
        bill.add(routing)
        count.add(routing)
        losses.append(_losses(forest, ensemble, part))

    n = Reader(as_chunked(table), ensemble, y=y, progress=progress).each("evaluating", add)
    return Evaluation(bill.mean(n), count.mean(n), float(np.mean(np.concatenate(losses))), ensemble.n_splits, n)


def evaluate_path_on_table(
    path: NestedPrunings,
    table: Table,
    y: Column,
    *,
    sample_weight: Column = None,
    vote: Vote = "mean",
    progress: bool = False,
) -> PathEvaluation:
    """`evaluate_path` on a table that need not fit into memory: the same numbers, bit for bit.

    The table is gone through three times, so iterators will not do; labels and weights stay in memory, some 40 bytes a row.

    Parameters
    ----------
    path, vote
        as in `evaluate_path`.
    table, progress
        as in `problem_from_table`.
    y, sample_weight
        the name of a column, or an array with one entry a row.

    Returns
    -------
    PathEvaluation
        cost and error of every pruning of the path.

    Raises
    ------
    InvalidInputError, BrokenFileError, InterruptedSolveError
        as `evaluate_path` and `problem_from_table`; and for a table that can be gone through once only.
    """
    ensemble = path.problem.ensemble
    chunked = as_chunked(table)
    if not chunked.source.again:
        raise InvalidInputError(
            f"{chunked.source.name} can be gone through once only, a path needs several passes; give a function that returns "
            "them, or a file"
        )
    labels: list[NDArray[Any]] = []
    weights: list[NDArray[np.float64]] = []

    def keep(part: Part) -> None:
        labels.append(labels_of(part))
        if part.weight is not None:
            weights.append(part.weight)

    reader = Reader(chunked, ensemble, y=y, weight=sample_weight, progress=progress)
    n = reader.without_features().each("reading labels", keep)
    w = weights_of(weights, chunked.source.name) if weights else None
    X = RowsInTurn(reader.without_labels(progress=progress), n)
    try:
        return evaluate_path(path, X, np.concatenate(labels), sample_weight=w, vote=vote)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while evaluating the path; nothing was kept") from stop


def hold_out_on_table(
    pruning: Pruning,
    forest: Any,
    table: Table,
    y: Column = None,
    *,
    sample_weight: Column = None,
    confidence: float = 0.95,
    method: Method = "t",
    progress: bool = False,
) -> HeldOut:
    """`hold_out` on a table that need not fit into memory: cost, and with labels the error, of a pruning, with intervals.

    Parameters
    ----------
    pruning, forest, confidence, method
        as in `hold_out`.
    table, progress
        as in `problem_from_table`.
    y, sample_weight
        the name of a column, or an array with one entry a row; weights count in the cost, as in `hold_out`. Without labels only
        the cost is measured.

    Returns
    -------
    HeldOut
        the cost with its interval, and the error with its own.

    Raises
    ------
    InvalidInputError, BrokenFileError, InterruptedSolveError
        as `hold_out` and `problem_from_table`.
    """
    problem = pruning.problem
    ensemble = problem.ensemble
    pruned = None if y is None else apply_pruning(pruning, forest)
    paid, weights, losses = [], [], []
    once = np.zeros(problem.costs.n_items, dtype=bool)

    def add(part: Part) -> None:
        on_rows = Pruning(_on_rows(ensemble, problem.costs, problem.evaluation, part.rows), pruning.kept)
        weight = np.ones(len(part.rows)) if part.weight is None else part.weight
        counted = weight > 0
        paid.append(row_costs(on_rows)[counted])
        weights.append(weight[counted])
        once[on_rows.bought_once] = True
        if pruned is not None:
            losses.append(_losses(pruned, ensemble, part).astype(np.float64))

    chunked = as_chunked(table)
    Reader(chunked, ensemble, y=y, weight=sample_weight, progress=progress).each("counting costs", add)
    x, w = np.concatenate(paid), weights_of(weights, chunked.source.name)
    largest, for_all = largest_row_cost(problem, pruning.kept), float(problem.costs.price[once].sum())
    of_rows = mean_interval(np.minimum(x, largest), largest, confidence, method, None if (w == w[0]).all() else w)
    low, mean, high = (for_all + amount for amount in (of_rows.low, of_rows.mean, of_rows.high))
    cost = HeldOutCost(mean, of_rows.standard_error, low, high, confidence, method, len(x), for_all, largest)
    if pruned is None:
        return HeldOut(pruning, cost)
    most = 1.0 if ensemble.task == "classification" else math.inf
    error: MeanInterval = mean_interval(np.concatenate(losses), most, confidence, method)
    return HeldOut(pruning, cost, error)


class _Bill:
    """What all rows together ask an unpruned forest for, as counts."""

    def __init__(self, ensemble: Ensemble, items: CostItems, evaluation: Sequence[Price]) -> None:
        self._ensemble, self._items, self._evaluation = ensemble, items, evaluation
        self._charges = charges_of(ensemble, items)
        self._splits = np.flatnonzero(ensemble.is_split).astype(np.int32)
        self._buyers = np.zeros(items.n_items)
        self._once = np.zeros(items.n_items, dtype=bool)
        self._reached = np.zeros(ensemble.n_nodes)

    def add(self, routing: Routing) -> None:
        """Count some rows more."""
        once, kept = self._items.paid_once, self._ensemble.is_split.astype(np.int8)
        paid = highest_user(self._charges, routing, self._ensemble.tree_of, once, self._splits, kept) > 0
        self._buyers += paid[: -once.size].reshape(once.size, -1).sum(axis=1)
        self._once |= paid[-once.size :]
        self._reached += routing.counts()

    def mean(self, n: int) -> float:
        """The mean cost of n rows, by the formulas of `Pruning.cost`."""
        features = (self._items.price * self._buyers / float(n)).sum() + self._items.price[self._once].sum()
        a = np.array([float(price) for price in self._evaluation])
        splits = self._ensemble.is_split
        asked = (a[self._ensemble.feature] * self._reached / float(n))[splits].sum() if a.any() else 0.0
        return float(features) + float(asked)


def _on_rows(ensemble: Ensemble, items: CostItems, evaluation: Sequence[Price], rows: NDArray[np.float32]) -> PruningProblem:
    """An instance of one chunk, without errors."""
    nothing = NodeErrors((ErrorComponent(np.zeros(ensemble.n_nodes), np.ones(ensemble.n_trees)),))
    return PruningProblem.build(ensemble, nothing, rows, items, evaluation_cost=list(evaluation))


def _losses(forest: Any, ensemble: Ensemble, part: Part) -> NDArray[Any]:
    """Whether each prediction is wrong, or its squared error."""
    names, truth = ensemble.feature_names, labels_of(part)
    predicted = forest.predict(part.rows if names is None else pd.DataFrame(part.rows, columns=list(names)))
    return np.asarray(predicted != truth if ensemble.task == "classification" else (predicted - truth) ** 2)
