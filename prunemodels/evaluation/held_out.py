"""What a pruning costs on examples that it was not chosen by.

A budget holds exactly on the cost sample, and a pruning is chosen because it holds there. On new examples the mean cost is
another number, mostly a little larger. The mean of rows that are drawn independently from the population, and were not used to
choose the pruning, is an honest estimate of the population's:

    cost = (items paid once: a constant)  +  mean over the rows of x_i,                                         (1)
    x_i  = sum of the prices of the items that row i buys  +  the evaluation of the splits that it meets,     0 <= x_i <= M

where M is what a row would pay that needs every item of the pruned forest and takes the dearest way in each tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from prunemodels.evaluation.mean_bounds import MeanInterval, Method, mean_interval
from prunemodels.forests.costs import Costs, cost_items
from prunemodels.forests.reading import check_columns, read_forest
from prunemodels.forests.surgery import apply_pruning

Evaluation = Price | Sequence[Price] | NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutCost(MeanInterval):
    """The mean cost of a prediction on held-out examples, with its interval.

    Parameters
    ----------
    paid_once
        the part of `mean`, `low` and `high` that items paid once for all examples make: known, without error.
    largest
        the most that one example can cost, besides.
    """

    paid_once: float
    largest: float


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A pruning on held-out examples: what it costs, and with labels how often the forest errs.

    Parameters
    ----------
    error
        of the pruned forest's own predictions: error rate or mean squared error; None without labels.
    """

    pruning: Pruning
    cost: HeldOutCost
    error: MeanInterval | None = None


def held_out_cost(
    pruned: Any,
    X_held_out: Any,
    *,
    costs: Costs | None = None,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Evaluation | None = None,
    confidence: float = 0.95,
    method: Method = "t",
) -> HeldOutCost:
    """Mean cost of a prediction on rows that the pruning was not chosen by, with a confidence interval; see (1).

    Parameters
    ----------
    pruned
        a `Pruning`, or a fitted forest, pruned or not.
    X_held_out
        rows drawn independently from the population: neither the forest's training data nor the cost sample.
    costs, evaluation_cost
        as in `problem_from_forest`. Default: those of the pruning's own problem; a forest needs prices.
    sample_weight
        shape (N,), >= 0: weights of the rows, with ``method="t"`` only.
    method
        ``"t"`` (default): Student's interval, right in the limit. Held-out samples mostly have hundreds of rows, costs are
        bounded, and there it is as short as an honest interval can be. ``"betting"``: holds for every number of rows and every
        distribution, and is longer; take it for few rows, or where few rows are very dear. ``"bernstein"`` and ``"hoeffding"``
        hold as well, and are longer still.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError
        as `problem_from_forest`; and for a confidence outside (0, 1), fewer than two rows, weights with another method
        than ``"t"``.
    """
    on_rows = _on_rows(pruned, X_held_out, costs, sample_weight, evaluation_cost)
    problem = on_rows.problem
    weights = None if (problem.weights == problem.weights[0]).all() else problem.weights
    largest = largest_row_cost(problem, on_rows.kept)
    x = np.minimum(row_costs(on_rows), largest)
    once = float(problem.costs.price[on_rows.bought_once].sum())
    of_rows = mean_interval(x, largest, confidence, method, weights)
    low, mean, high = (once + amount for amount in (of_rows.low, of_rows.mean, of_rows.high))
    return HeldOutCost(mean, of_rows.standard_error, low, high, confidence, method, len(x), once, largest)


def held_out_error(forest: Any, X: Any, y: Any, *, confidence: float = 0.95, method: Method = "t") -> MeanInterval:
    """Share of wrong predictions, or mean squared error, of the forest's own ``predict`` on held-out rows, with an interval.

    Raises
    ------
    InvalidInputError
        for labels that do not fit the rows, and as `held_out_cost`; squared errors have no bound: ``"t"`` is their only method.
    """
    predicted, truth = forest.predict(X), np.asarray(y)
    if truth.shape != predicted.shape:
        raise InvalidInputError(f"y has shape {truth.shape}, X has {len(predicted)} rows: give one label each")
    if is_classifier(forest):
        return mean_interval((predicted != truth).astype(np.float64), 1.0, confidence, method)
    return mean_interval((predicted - truth) ** 2, math.inf, confidence, method)


def hold_out(
    pruning: Pruning,
    forest: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    method: Method = "t",
) -> HeldOut:
    """Cost, and with labels the error, of a pruning on held-out rows, at its problem's prices.

    Parameters
    ----------
    forest
        the forest before pruning; looked at only where there are labels.
    sample_weight
        of the cost, as in `held_out_cost`; errors count all rows alike, as in `evaluate`.
    """
    cost = held_out_cost(pruning, X, sample_weight=sample_weight, confidence=confidence, method=method)
    if y is None:
        return HeldOut(pruning, cost)
    return HeldOut(pruning, cost, held_out_error(apply_pruning(pruning, forest), X, y, confidence=confidence, method=method))


def row_costs(pruning: Pruning) -> NDArray[np.float64]:
    """x_i of (1) for each row of the pruning's problem, shape (N,)."""
    problem = pruning.problem
    paid: NDArray[np.float64] = problem.costs.price @ pruning.bought
    a = np.array([float(price) for price in problem.evaluation])
    if a.any():
        routing, ensemble = problem.routing, problem.ensemble
        for h in np.flatnonzero(pruning.kept & (a[ensemble.feature] > 0)).tolist():
            paid[routing.order[ensemble.tree_of[h], routing.start[h] : routing.stop[h]]] += a[ensemble.feature[h]]
    return paid


def largest_row_cost(problem: PruningProblem, kept: NDArray[np.bool_]) -> float:
    """M of (1): from the pruned trees alone, whatever rows there are."""
    ensemble, costs = problem.ensemble, problem.costs
    needed = {m for f in np.unique(ensemble.feature[kept]).tolist() for m in costs.needs[f]}
    items = sum(float(costs.prices[m]) for m in sorted(needed) if not costs.paid_once[m])
    return items + _dearest_evaluation(ensemble, problem.evaluation, kept)


def _dearest_evaluation(ensemble: Ensemble, evaluation: Sequence[Price], kept: NDArray[np.bool_]) -> float:
    """Sum over the trees of their dearest way from the root to a leaf."""
    a = np.array([float(price) for price in evaluation])
    if not a.any():
        return 0.0
    below = np.zeros(ensemble.n_nodes)
    _climb(kept, a[ensemble.feature], ensemble.left, ensemble.right, below)
    return float(below[ensemble.roots].sum())


@njit(cache=True)
def _climb(kept, price, left, right, below):  # type: ignore[no-untyped-def]
    """The dearest way from each node down to a leaf; children stand behind their parents."""
    for h in range(kept.shape[0] - 1, -1, -1):
        if kept[h]:
            below[h] = price[h] + max(below[left[h]], below[right[h]])


def on_other_rows(problem: PruningProblem, X: Any, sample_weight: ArrayLike | None = None) -> PruningProblem:
    """The same forest, errors and prices with another cost sample."""
    check_columns(X, problem.ensemble.feature_names)
    return PruningProblem.of(problem.usage.on(X, sample_weight), problem.errors)


def _on_rows(
    pruned: Any, X: Any, costs: Costs | None, sample_weight: ArrayLike | None, evaluation_cost: Evaluation | None
) -> Pruning:
    """The pruning, or the forest unpruned, with the held-out rows as cost sample."""
    if isinstance(pruned, Pruning):
        own, kept = pruned.problem, pruned.kept
        ensemble = own.ensemble
        priced = own.costs if costs is None else cost_items(costs, ensemble)
        evaluation = list(own.evaluation) if evaluation_cost is None else evaluation_cost
    else:
        ensemble = read_forest(pruned)
        if costs is None:
            raise InvalidInputError("costs is missing: a forest has no prices; give them, or give the Pruning in its place")
        kept, priced = ensemble.is_split, cost_items(costs, ensemble)
        evaluation = 0 if evaluation_cost is None else evaluation_cost
    check_columns(X, ensemble.feature_names)
    nothing = NodeErrors((ErrorComponent(np.zeros(ensemble.n_nodes), np.ones(ensemble.n_trees)),))
    problem = PruningProblem.build(ensemble, nothing, X, priced, sample_weight=sample_weight, evaluation_cost=evaluation)
    return Pruning(problem, kept)
