"""Cost and error of forests, prunings and paths on a table larger than memory.

Each function does what the function of the same name without ``_on_table`` does. Counts are summed over chunks, so error rates,
and costs of rows of weight 1, are the same bit for bit; other sums agree up to rounding. For intervals and squared errors the
loss and the cost of each row stay in memory, 8 bytes each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import Share, checked
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.bill import Bill
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.usage import Usage
from prunemodels.evaluation.held_out import HeldOut, mean_cost
from prunemodels.evaluation.mean_bounds import MeanInterval, Method, mean_interval
from prunemodels.evaluation.path import PathEvaluation, Vote, evaluate_path
from prunemodels.judging.evaluate import Evaluation
from prunemodels.models.costs import Costs, cost_items
from prunemodels.models.forests.labels import forest_losses
from prunemodels.models.forests.reading import read_forest
from prunemodels.models.forests.surgery import apply_pruning
from prunemodels.models.tree_model import fitted_model
from prunemodels.tables.reading import Column, Reader, RowBlock, labels_of, weights_of
from prunemodels.tables.rows_in_turn import RowsInTurn
from prunemodels.tables.table import Table, as_chunked


@checked
def evaluate_on_table(
    forest: Any,
    table: Table,
    y: Column,
    *,
    costs: Costs,
    evaluation_cost: EvaluationCost = 0,
    progress: bool = False,
) -> Evaluation:
    """`evaluate` on a table that may be larger than memory.

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
        mean cost and number of features of a prediction, error, splits, and number of rows.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, BrokenFileError, InterruptedSolveError
        as `problem_from_table`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest, y_test
    >>> table = pm.tables.ChunkedTable(X_test.assign(label=y_test), chunk_rows=50)
    >>> seen = pm.tables.evaluate_on_table(forest, table, "label", costs=costs)
    >>> print(f"cost {seen.cost:.2f}, {seen.features:.1f} features, error {seen.error:.3f}")
    cost 16.45, 8.4 features, error 0.053
    """
    forest = fitted_model(forest)
    ensemble = read_forest(forest)
    items, evaluation = cost_items(costs, ensemble), list(evaluation_prices(evaluation_cost, ensemble))
    chunked = as_chunked(table)
    bills: list[Bill] = []
    losses: list[NDArray[Any]] = []

    def add(block: RowBlock) -> None:
        usage = Usage.build(ensemble, items, block.rows, evaluation_cost=evaluation)
        more = [u.bill(ensemble.is_split) for u in (usage, usage.counting_features())]
        bills[:] = [a + b for a, b in zip(bills, more, strict=True)] if bills else more
        losses.append(_losses(forest, ensemble, block, chunked.source.name))

    n = Reader(chunked, ensemble, y=y, progress=progress).each("evaluating", add)
    cost, features = (bill.cost for bill in bills)
    return Evaluation(
        cost, features, float(np.mean(np.concatenate(losses))), ensemble.n_splits, n, ensemble.task, ensemble.measure
    )


@checked
def evaluate_path_on_table(
    path: NestedPrunings,
    table: Table,
    y: Column,
    *,
    sample_weight: Column = None,
    vote: Vote = "mean",
    progress: bool = False,
) -> PathEvaluation:
    """`evaluate_path` on a table that may be larger than memory: the same numbers, bit for bit.

    The table is read three times, so iterators are refused. Labels and weights stay in memory, about 40 bytes a row.

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
        as `evaluate_path` and `problem_from_table`; and for a table that can be read only once.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, y_test
    >>> table = pm.tables.ChunkedTable(X_test.assign(label=y_test), chunk_rows=50)
    >>> seen = pm.tables.evaluate_path_on_table(path, table, "label")
    >>> print(f"least error {seen.error[seen.best]:.3f}, at cost {seen.cost[seen.best]:.2f}")
    least error 0.053, at cost 15.03
    """
    ensemble = path.problem.ensemble
    chunked = as_chunked(table)
    if not chunked.source.again:
        raise InvalidInputError(
            f"{chunked.source.name} can be read only once, but a path needs several passes; give a file, or a function "
            "that returns the chunks"
        )
    labels: list[NDArray[Any]] = []
    weights: list[NDArray[np.float64]] = []

    def keep(block: RowBlock) -> None:
        labels.append(labels_of(block))
        if block.weight is not None:
            weights.append(block.weight)

    reader = Reader(chunked, ensemble, y=y, weight=sample_weight, progress=progress)
    n = reader.without_features().each("reading labels", keep)
    w = weights_of(weights, chunked.source.name) if weights else None
    X = RowsInTurn(reader.without_labels(progress=progress), n)
    try:
        return evaluate_path(path, X, np.concatenate(labels), sample_weight=w, vote=vote)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while evaluating the path; nothing was kept") from stop


@checked
def hold_out_on_table(
    pruning: Pruning,
    forest: Any,
    table: Table,
    y: Column = None,
    *,
    sample_weight: Column = None,
    confidence: Share = 0.95,
    method: Method = "t",
    progress: bool = False,
) -> HeldOut:
    """`hold_out` on a table that may be larger than memory: cost and, with labels, error of a pruning, with intervals.

    Parameters
    ----------
    pruning, forest, confidence, method
        as in `hold_out`.
    table, progress
        as in `problem_from_table`.
    y, sample_weight
        the name of a column, or an array with one entry a row. Weights apply to the cost only, as in `hold_out`. Without labels
        only the cost is measured.

    Returns
    -------
    HeldOut
        the cost and, with labels, the error, each with its interval.

    Raises
    ------
    InvalidInputError, BrokenFileError, InterruptedSolveError
        as `hold_out` and `problem_from_table`.
    UnsupportedModelError
        with labels, for trees with several outputs, and survival trees.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, path, y_test
    >>> table = pm.tables.ChunkedTable(X_test.assign(label=y_test), chunk_rows=50)
    >>> seen = pm.tables.hold_out_on_table(path.at_lam(0.01), forest, table, "label")
    >>> print(f"cost {seen.cost.mean:.2f} ({seen.cost.low:.2f} to {seen.cost.high:.2f})")
    cost 13.35 (13.08 to 13.61)
    """
    usage, kept = pruning.problem.usage, pruning.kept
    ensemble = usage.ensemble
    if y is not None:
        ensemble.check_one_output("hold_out_on_table")
        ensemble.check_no_curves("hold_out_on_table")
    pruned, chunked = None if y is None else apply_pruning(pruning, forest), as_chunked(table)
    paid, weights, losses = [], [], []

    def add(block: RowBlock) -> None:
        weight = block.weights
        counted = weight > 0
        paid.append(usage.on(block.rows).row_costs(kept)[counted])
        weights.append(weight[counted])
        if pruned is not None:
            losses.append(_losses(pruned, ensemble, block, chunked.source.name))

    Reader(chunked, ensemble, y=y, weight=sample_weight, progress=progress).each("counting costs", add)
    cost = mean_cost(usage, kept, np.concatenate(paid), weights_of(weights, chunked.source.name), confidence, method)
    if pruned is None:
        return HeldOut(pruning, cost)
    error: MeanInterval = mean_interval(np.concatenate(losses), ensemble.loss.largest, confidence, method)
    return HeldOut(pruning, cost, error)


def _losses(forest: Any, ensemble: Ensemble, block: RowBlock, source: str) -> NDArray[np.float64]:
    """The loss of each prediction."""
    names = ensemble.feature_names
    rows = block.rows if names is None else pd.DataFrame(block.rows, columns=list(names))
    return forest_losses(forest, rows, labels_of(block), ensemble.loss, lambda i: f"{source}, row {block.first + i + 1:,}: y")
