"""Set up the problem of pruning for the forest's own loss, from a fitted forest and labelled examples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import Price
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.ensemble_loss import NO_VOTE, EnsembleProblem, ExampleLoss, MeanLogLoss, Squares
from formulations.instance.node_errors import NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of, leaves_of, route
from prunemodels.models.columns import final_step
from prunemodels.models.costs import Costs, cost_items
from prunemodels.models.forests.error_samples import ErrorSample, Given, InBag, OutOfBag, with_weights_of
from prunemodels.models.forests.labels import class_numbers
from prunemodels.models.forests.reading import check_columns, read_forest
from prunemodels.models.forests.training_rows import out_of_bag

LossName = Literal["brier", "log_loss", "squared_error"]


def ensemble_problem(
    forest: Any,
    X: Any,
    *,
    costs: Costs,
    errors: Given | OutOfBag,
    loss: LossName | None = None,
    smoothing: float = 0.5,
    tree_errors: ErrorSample | None = None,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
) -> EnsembleProblem:
    """Set up the pruning of a fitted forest for the loss of its own predictions.

        minimise  loss of the forest + lam * cost

    Parameters
    ----------
    forest
        as for `problem_from_forest`.
    X
        the cost sample, as there.
    costs, sample_weight, evaluation_cost
        as there.
    errors
        where the forest's loss is measured: ``Given(X, y)``, preferably with examples that the forest was not grown on; or
        ``OutOfBag(X, y)`` with its training data: each tree votes on the examples that it did not draw.
    loss
        ``"brier"`` (default of classifiers: the mean squared error of the class fractions; with two classes, of the fraction of
        one of them), ``"log_loss"``, or ``"squared_error"`` (the only loss of regressors).
    smoothing
        of the log loss, > 0: this number of votes is added to each class before the logarithm is taken; each tree has one vote.
    tree_errors
        where the errors of single trees are measured, for the per-tree path from which the search starts. Default: in-bag, as for
        `problem_from_forest`; if the trees store no errors, on `errors`.

    Returns
    -------
    EnsembleProblem
    """
    ensemble = read_forest(forest)
    check_columns(X, ensemble.names_to_check)
    if not isinstance(errors, Given | OutOfBag):
        raise InvalidInputError(
            f"errors is {errors!r}; give Given(X, y) or OutOfBag(X, y): the loss of a forest needs labelled examples"
        )
    errors = with_weights_of(errors, X, sample_weight, partial(features_of, ensemble))
    measure = _loss_of(ensemble, loss, smoothing)
    leaf, labels, weights = _votes(forest, ensemble, errors)
    first, target = _compared(ensemble, measure, labels)
    trees = PruningProblem.build(
        ensemble,
        _tree_errors(final_step(forest), ensemble, tree_errors, errors),
        X,
        cost_items(costs, ensemble),
        sample_weight=sample_weight,
        evaluation_cost=evaluation_cost,
    )
    source = "given" if isinstance(errors, Given) else "out-of-bag"
    return EnsembleProblem(trees, leaf, first, target, weights, measure, source)


def _loss_of(ensemble: Ensemble, name: str | None, smoothing: float) -> ExampleLoss:
    """The loss of that name; None: the default of the task."""
    known = ("squared_error",) if ensemble.task == "regression" else ("brier", "log_loss")
    if name is not None and name not in known:
        raise InvalidInputError(f"loss is {name!r}; for {ensemble.task} give {' or '.join(map(repr, known))}")
    if name != "log_loss":
        return Squares()
    if not (smoothing > 0 and np.isfinite(smoothing)):
        raise InvalidInputError(f"smoothing is {smoothing!r}; give a number of votes > 0: the logarithm of 0 is infinite")
    return MeanLogLoss(smoothing / ensemble.n_trees, ensemble.value.shape[1])


def _votes(
    forest: Any, ensemble: Ensemble, errors: Given | OutOfBag
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
    """Leaves, labels and weights of the examples that have positive weight and on which some tree votes."""
    if errors.X is None or errors.y is None:
        raise InvalidInputError("errors: give both X and y")
    check_columns(errors.X, ensemble.names_to_check, "errors: X")
    rows = features_of(ensemble, errors.X, "errors: X")
    labels = class_numbers(ensemble.classes, errors.y, rows.shape[0], "errors: y")
    weights = check_weights(errors.sample_weight, rows.shape[0], "errors: sample_weight", errors.X)
    leaf = leaves_of(ensemble, rows)
    if isinstance(errors, OutOfBag):
        leaf[~out_of_bag(final_step(forest), ensemble, route(ensemble, rows), labels)] = NO_VOTE
    counts = (weights > 0) & (leaf != NO_VOTE).any(axis=0)
    if not counts.any():
        raise InvalidInputError("errors: every tree drew every row of positive weight, so none is out of bag; use Given(X, y)")
    return np.ascontiguousarray(leaf[:, counts]), labels[counts], weights[counts]


def _compared(ensemble: Ensemble, loss: ExampleLoss, labels: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """`first` and `target` of `EnsembleProblem`."""
    n_rows, n_classes = len(labels), ensemble.value.shape[1]
    if isinstance(loss, MeanLogLoss):
        return labels.astype(np.int32), np.ones((n_rows, 1))
    if ensemble.task == "regression":
        return np.zeros(n_rows, dtype=np.int32), labels[:, None].astype(np.float64)
    if n_classes == 2:
        return np.ones(n_rows, dtype=np.int32), (labels == 1)[:, None].astype(np.float64)
    return np.zeros(n_rows, dtype=np.int32), (labels[:, None] == np.arange(n_classes)).astype(np.float64)


def _tree_errors(forest: Any, ensemble: Ensemble, sample: ErrorSample | None, errors: Given | OutOfBag) -> NodeErrors:
    """Errors of single trees: on `sample`, else in-bag if the trees store them, else on `errors`."""
    if sample is not None:
        return sample.measure(forest, ensemble)
    try:
        return InBag().measure(forest, ensemble)
    except UnsupportedModelError:
        return errors.measure(forest, ensemble)
