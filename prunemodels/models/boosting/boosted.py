"""Pruning boosted ensembles: one lambda, a budget, or a whole trade-off.

Every pruning that the search visits goes into one pool. The answer for a lambda or a budget is the pool's best (`search`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.solution import Solver
from formulations.arguments import Count, Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost, exact
from formulations.instance.cost_sample import in_order_of
from formulations.instance.usage import Usage
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning, warn_if_empty
from prunemodels.models.boosting.search import BoostedSearch
from prunemodels.models.costs import Costs
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import loss_of
from solvers import price_sharing


@checked
def prune_boosted(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: Costs,
    lam: float | None = None,
    budget: float | None = None,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: EvaluationCost = 0,
    rounds: Count = 30,
    solver: Solver = price_sharing,
    time_limit: Seconds = math.inf,
) -> BoostedPruning:
    """Prune an ensemble whose trees add up, so that its loss and its cost are low together.

        minimise  loss + lam * cost,      or      loss  subject to  cost <= budget                        (1)

    Loss is the ensemble's own mean loss on X and y: log loss for classes, squared error for numbers; cost as in
    `problem_from_forest`. The answer is not proven optimal for (1) (see `descent` for what is), but it is never worse than

    - the model's first rounds, for any number of them (not of averaged forests, such as XGBRF* and LightGBM's
      ``boosting_type="rf"``, whose first trees alone are another mean: these are compared with the model itself);
    - the model, or some of its first rounds, without one cost item, or without one item after the other (the least loss per
      cost saved first);
    - the results of the same descents from some of the model's first rounds.

    Parameters
    ----------
    model
        a model that `read_model` reads, or what it returned; or a fitted ``Pipeline`` that ends with one, which then is what the
        answer's ``to_model`` gives back. It is not changed.
    X, y
        labelled examples that the model was not trained on, as for early stopping: loss and cost are measured on them. Raw rows
        for a pipeline.
    costs, evaluation_cost
        as in `problem_from_forest`; for a pipeline the prices are those of its raw columns, see `prune_forest`.
    lam, budget
        one of them: loss per unit of cost, or the cost per example that must not be exceeded on X. Either way the search goes
        along a trade-off as `boosted_path` does; for a budget it then bisects lambda.
    sample_weight
        weights of the rows, in the loss and in the cost.
    rounds
        largest number of steps of one descent.
    solver
        an exact engine of ``SOLVERS`` for each step's pruning problem.
    time_limit
        seconds, checked before each pruning problem is solved; after them the answer is the best so far.

    Returns
    -------
    BoostedPruning

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        each says which argument, which value, and what to do.

    Warns
    -----
    RuntimeWarning
        if the budget is above 0 and the answer is the pruning without splits, which predicts the same for all rows; the warning
        names the cost of the cheapest pruning with a split.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, y_train, y_valid
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> pruned = pm.prune_boosted(model, X_valid, y_valid, costs=costs, budget=10)
    >>> print(f"cost {pruned.cost:.2f}, {pruned.n_splits} splits")
    cost 7.95, 21 splits
    >>> cheap = pruned.to_model()  # an XGBClassifier
    """
    if (lam is None) == (budget is None):
        raise InvalidInputError(f"lam is {lam} and budget is {budget}: give one of them")
    number = exact(lam if budget is None else budget, "lam" if budget is None else "budget")
    search = _search(model, X, y, costs, sample_weight, evaluation_cost, rounds, solver, time_limit)
    if budget is None:
        return search.at(float(number))
    lams = search.grid()
    search.sweep(lams)
    found = search.within(float(number), lams)
    return warn_if_empty(found, float(number), search.pool.visited)


@checked
def boosted_path(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: Costs,
    lams: Sequence[float] | int = 15,
    budgets: Sequence[float] = (),
    sample_weight: ArrayLike | None = None,
    evaluation_cost: EvaluationCost = 0,
    rounds: Count = 30,
    solver: Solver = price_sharing,
    time_limit: Seconds = math.inf,
) -> BoostedPath:
    """The trade-off of loss and cost of an ensemble whose trees add up.

    Parameters
    ----------
    model, X, y, costs, sample_weight, evaluation_cost, rounds, solver, time_limit
        as in `prune_boosted`.
    lams
        the lambdas, or their number: then 0 and a geometric grid around (loss of the bare roots - loss of the model) / (cost of
        the model).

    budgets
        costs per example; the search also looks for a good pruning within each.

    Returns
    -------
    BoostedPath
        the prunings that no other one visited beats in both loss and cost.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        see `prune_boosted`.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, y_train, y_valid
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> found = pm.other_libraries.boosted_path(model, X_valid, y_valid, costs=costs, lams=4)
    >>> print(f"cost {found.at_cost(12).cost:.2f}, unpruned {found.unpruned.cost:.2f}")
    cost 12.00, unpruned 13.83
    """
    limits = [float(exact(budget, f"budgets[{k}]")) for k, budget in enumerate(budgets)]
    search = _search(model, X, y, costs, sample_weight, evaluation_cost, rounds, solver, time_limit)
    if isinstance(lams, int):
        if lams < 1:
            raise InvalidInputError(f"lams is {lams}; give at least one lambda, or how many")
        return search.path(search.grid(lams), limits)
    if not len(lams):
        raise InvalidInputError("lams is empty; give at least one lambda, or how many")
    return search.path([float(exact(lam, f"lams[{k}]")) for k, lam in enumerate(lams)], limits)


def _search(
    model: Any,
    X: Any,
    y: ArrayLike,
    costs: Costs,
    sample_weight: ArrayLike | None,
    evaluation_cost: EvaluationCost,
    rounds: int,
    solver: Solver,
    time_limit: float,
) -> BoostedSearch:
    """Set up the search, with its seeds in the pool."""
    forest = model if isinstance(model, ModelForest) else read_model(model)
    if forest.made is not None:
        forest.made.check(X)
    rows = forest.rows(X)
    loss_of_all = loss_of(forest, y, len(rows))  # checks all labels, also of rows without weight
    usage = usage_of(forest, rows, costs, in_order_of(X, sample_weight, "sample_weight"), evaluation_cost)
    weightless = len(usage.rows) < len(rows)
    loss = loss_of(forest, np.asarray(y)[usage.rows], usage.n_rows) if weightless else loss_of_all
    return BoostedSearch(forest, usage, loss, rounds, solver, time_limit)


def usage_of(
    forest: ModelForest,
    rows: NDArray[np.float32],
    costs: Costs,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: EvaluationCost = 0,
) -> Usage:
    """What predictions of a model's trees cost on some rows."""
    items = forest.items(costs)
    evaluation = forest.per_feature(evaluation_cost)
    return Usage.build(forest.ensemble, items, rows, sample_weight=sample_weight, evaluation_cost=evaluation)
