"""What a forest, pruned or not, costs and how often it errs on examples that were not used to prune it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.cost_items import Price
from formulations.errors import InvalidInputError
from formulations.node_errors import ErrorComponent, NodeErrors
from formulations.problem import PruningProblem
from formulations.pruning import Pruning
from prunemodels.costs import Costs, cost_items
from prunemodels.forests import check_columns, read_forest


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Cost and accuracy of a forest on labelled examples.

    Parameters
    ----------
    cost
        mean cost of a prediction, evaluation of splits included: per example, in the unit of the prices.
    features
        mean number of distinct features that a prediction asks for.
    error
        share of wrong predictions (classification), or mean squared error, of the forest's own ``predict``.
    splits
        splits in all trees.
    n
        number of examples.
    """

    cost: float
    features: float
    error: float
    splits: int
    n: int


def evaluate(
    forest: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
) -> Evaluation:
    """Predict X with a scikit-learn forest and count what it asks for on the way.

    Parameters
    ----------
    forest
        a fitted forest, e.g. one that `apply_pruning` returned.
    X, y
        examples and labels, best ones that nothing was trained or pruned on.
    costs, evaluation_cost
        as in `problem_from_forest`.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError
        as `problem_from_forest`.
    """
    ensemble = read_forest(forest)
    check_columns(X, ensemble.feature_names)
    nothing = NodeErrors((ErrorComponent(np.zeros(ensemble.n_nodes), np.ones(ensemble.n_trees)),))
    priced = PruningProblem.build(ensemble, nothing, X, cost_items(costs, ensemble), evaluation_cost=evaluation_cost)
    counted = PruningProblem.build(ensemble, nothing, X, cost_items(1, ensemble))
    predicted, truth = forest.predict(X), np.asarray(y)
    if truth.shape != predicted.shape:
        raise InvalidInputError(f"y has shape {truth.shape}, X has {len(predicted)} rows: give one label each")
    wrong = predicted != truth if ensemble.task == "classification" else (predicted - truth) ** 2
    error = float(np.mean(wrong))
    return Evaluation(Pruning.unpruned(priced).cost, Pruning.unpruned(counted).cost, error, ensemble.n_splits, len(truth))
