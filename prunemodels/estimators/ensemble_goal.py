"""Prune for the forest's own loss, at a lambda or within a budget: ``objective="ensemble"``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from prunemodels.ensemble_loss.objective import ensemble_path
from prunemodels.estimators.goal import Goal
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.models.costs import Costs
from prunemodels.models.forests.error_samples import ErrorSample, Given, OutOfBag
from prunemodels.models.forests.problems import apply_pruning


def prune_for_loss(
    goal: Goal,
    forest: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs,
    errors: ErrorSample,
    sample_weight: ArrayLike | None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64],
) -> PrunedForest:
    """Search prunings for the forest's loss at the goal's lambda, or near its budget, and return the best one found.

    Parameters
    ----------
    goal
        a goal with a budget or a lambda; the lambda is loss per unit of cost.
    X, y, sample_weight
        the cost sample, its labels if they are known, and its weights.
    errors
        where the loss is measured: `Given` or `OutOfBag`.

    Raises
    ------
    InvalidInputError
        for any other error sample.
    """
    if not isinstance(errors, Given | OutOfBag):
        raise in_bag_refusal(errors)
    budgets = [limit.at_most for limit in goal.limits]
    path = ensemble_path(
        forest,
        X,
        None,
        costs=costs,
        errors=errors,
        lams=10 if goal.lam is None else [float(goal.lam)],
        budgets=budgets,
        sample_weight=sample_weight,
        evaluation_cost=evaluation_cost,
        time_limit=math.inf if goal.time_limit is None else goal.time_limit,
    )
    if budgets:
        pruning = path.at_cost(budgets[0])
    else:
        assert goal.lam is not None  # `Goal.of` has checked it
        pruning = path.at_lam(goal.lam)
    pruned = apply_pruning(pruning, forest)
    return PrunedForest(pruned, pruning, path.tree_path, None, None, None, path, forest, y, held_out=isinstance(errors, OutOfBag))


def in_bag_refusal(errors: object) -> InvalidInputError:
    """The error for an error sample that the forest was grown on."""
    return InvalidInputError(
        f"objective is 'ensemble', errors is {errors!r}; set errors to 'validation' or 'out-of-bag': the loss is too small on "
        "rows that the trees were grown on"
    )
