"""Build the instance from a fitted forest, examples and prices."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.long_steps import timed_step
from prunemodels.models.columns import final_step
from prunemodels.models.costs import Costs, cost_items
from prunemodels.models.forests.error_samples import Errors, InBag
from prunemodels.models.forests.reading import check_columns, read_trees

LOG = logging.getLogger(__name__)


@checked
def problem_from_forest(
    forest: Any,
    X: Any,
    *,
    costs: Costs,
    errors: Errors | Literal["in-bag"] = "in-bag",
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    misclassification_costs: ArrayLike | None = None,
) -> PruningProblem:
    """Set up the pruning of a fitted scikit-learn forest.

        minimise  error + lam * cost                                                                     (OBJ)

    Error is the mean over the trees of their error on the error sample: an error rate, or for a regression the mean of what the
    trees' criterion measures (squared error, absolute error, Poisson deviance), or for survival trees the integrated Brier score;
    ``problem.ensemble.measure`` says which. Cost is the mean over the examples of X of the prices of the features that they need,
    each paid once per example, however many trees use it.

    Parameters
    ----------
    forest
        a fitted RandomForest*, ExtraTrees*, Bagging* of decision trees, or DecisionTree*; a RandomSurvivalForest,
        ExtraSurvivalTrees or SurvivalTree of scikit-survival; or a fitted `Pipeline` that ends with one. It is not changed. If it
        has several outputs, the error is the mean over them.
    X
        the cost sample: examples like those to be predicted, shape (N, n_features); labels are not needed. BP16 uses a validation
        set. Examples that the trees were grown on may look cheaper or dearer than new ones. For files and tables larger than
        memory, use `problem_from_table`.
    costs
        prices, see `prunemodels.models.costs.cost_items`: numbers in the forest's order, or by name, or `CostItems`. For a
        pipeline they are those of its raw columns.
    errors
        where the nodes' errors are measured: ``"in-bag"`` (default: what the trees store), `InBag`, `OutOfBag`, `Given`, `Blend`.
        Survival trees store no errors, so they need data: ``InBag(X_train, y_train)``, for example.
    sample_weight
        omega, shape (N,), >= 0: weights of the cost sample.
    evaluation_cost
        a >= 0: price of evaluating one split for one example; one number, or one for each feature.
    misclassification_costs
        for a classifier, C[true class, predicted class], shape (K, K), each >= 0, in the order of ``forest.classes_``. The error
        is then the mean misclassification cost; trees and forest predict as before. Default: each wrong prediction costs 1.

    Returns
    -------
    PruningProblem

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        the message names the argument, its value, and the remedy.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, forest, y_train
    >>> pm.problem_from_forest(forest, X_valid, costs=costs)
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    >>> pm.problem_from_forest(forest, X_valid, costs=1, errors=pm.samples.OutOfBag(X_train, y_train))
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)

    To miss a malignant tumour (class 0) costs ten times as much as a false alarm:

    >>> dear = pm.problem_from_forest(forest, X_valid, costs=costs, misclassification_costs=[[0, 10], [1, 0]])
    >>> dear.ensemble.measure
    'mean misclassification cost'
    """
    ensemble = read_trees(forest)
    if misclassification_costs is not None:
        ensemble = ensemble.under_costs(misclassification_costs)
    check_columns(X, ensemble.names_to_check)
    if isinstance(errors, str):
        errors = InBag()
    items = cost_items(costs, ensemble)
    with timed_step(LOG, "problem of %s", ensemble):
        node_errors = errors.measure(final_step(forest), ensemble)
        return PruningProblem.build(ensemble, node_errors, X, items, sample_weight=sample_weight, evaluation_cost=evaluation_cost)
