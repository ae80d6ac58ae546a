"""Turn a model of another library into a `ModelForest`, and back; averaged ones as pruning problems.

An averaged forest predicts the mean of what its trees predict, each on its own: u_t(x) = base + T * (what t adds). The
error of (OBJ) is the mean over the trees of a loss of u_t:

    squares     (y - u_t)^2                       numbers                                             (1)
    log loss    log(1 + exp(a u_t)) - y a u_t     two classes, margins                                (2)
    zero-one    whether u_t's class is wrong      two classes, margins                                (3)

(1) and (2) are convex, so by Jensen's inequality the forest's own loss is at most the trees' mean: the objective bounds the loss
of the forest. (3) is the error that `problem_from_forest` minimises for scikit-learn's forests.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import check_weights, in_order_of
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import route
from prunemodels.models.costs import Costs
from prunemodels.models.forests.error_samples import Given, with_weights_of
from prunemodels.models.forests.problems import check_same_trees
from prunemodels.models.forests.reading import GRADIENT_BOOSTING, HIST_GRADIENT_BOOSTING, final_step, library_of
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.models.libraries.catboost_models import read_catboost
from prunemodels.models.libraries.lightgbm_models import read_lightgbm, write_lightgbm
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.sklearn_models import (
    read_gradient_boosting,
    read_hist_gradient_boosting,
    write_gradient_boosting,
    write_hist_gradient_boosting,
)
from prunemodels.models.libraries.xgboost_models import read_xgboost, write_xgboost
from prunemodels.models.user_columns import pandas_of


def read_model(model: Any, *, like: Any = None) -> ModelForest:
    """The trees of a boosted model, or of another library's forest, as arrays.

    Parameters
    ----------
    model
        fitted: scikit-learn's GradientBoosting* and HistGradientBoosting*, a ``Booster`` or estimator of XGBoost or LightGBM, or
        a model of CatBoost, which cannot be written back. Or a fitted ``Pipeline`` that ends with one. It is not changed.
    like
        a table whose columns have the types that they had in training. LightGBM keeps the categories of a table and not their
        columns; where values come without types, from a file or a supplier, several columns may be meant, and the table decides.

    Returns
    -------
    ModelForest
        its rows, margins and predictions are those of the library.

    Raises
    ------
    UnsupportedModelError
        for linear leaves, linear boosters, several targets, an `init` that is an estimator, and objectives without a loss of
        bounded curvature (counts, ranking, hinge); the message names it, and the tree and node if there is one.
    NotFittedForestError
        for an estimator that was not fitted.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, y_train
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> pm.read_model(model).ensemble
    Ensemble(10 trees, 30 splits, 10 features, regression)
    """
    if isinstance(model, Pipeline):
        return replace(read_model(final_step(model), like=like), pipeline=model)
    forest = _read(model)
    if like is not None and forest.codes is not None:
        forest = replace(forest, codes=forest.codes.like(pandas_of(like)))
    return forest


def _read(model: Any) -> ModelForest:
    """The trees of a model by its class."""
    library = library_of(model)
    readers = {"xgboost": read_xgboost, "catboost": read_catboost, "lightgbm": read_lightgbm}
    if library in readers:
        return readers[library](model)
    if isinstance(model, GRADIENT_BOOSTING):
        return read_gradient_boosting(model)
    if isinstance(model, HIST_GRADIENT_BOOSTING):
        return read_hist_gradient_boosting(model)
    raise UnsupportedModelError(
        f"{type(model).__name__} is not a boosted model of scikit-learn, XGBoost, LightGBM or CatBoost; "
        "forests of scikit-learn go to problem_from_forest"
    )


def write_model(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """The model with the splits `kept`, closed under parents, alone: of the same class and library, or its pipeline with it."""
    if library_of(forest.source) == "catboost":
        raise UnsupportedModelError(
            f"a pruned {type(forest.source).__name__} has no form in CatBoost, whose files hold whole trees; predict with the "
            "pruning itself, on demand with OnDemandPredictor(pruning, costs, acquire)"
        )
    if forest.source is None:
        raise UnsupportedModelError("these trees were grown here, there is no library's model to prune; `predict` works without")
    writers = {"xgboost": write_xgboost, "lightgbm": write_lightgbm}
    by_rounds = isinstance(forest.source, GRADIENT_BOOSTING)
    writer = writers.get(library_of(forest.source), write_gradient_boosting if by_rounds else write_hist_gradient_boosting)
    pruned = writer(forest, kept)
    return pruned if forest.pipeline is None else copy.deepcopy(forest.pipeline, {id(forest.source): pruned})


TreeLoss = Literal["squares", "log_loss", "zero_one"]

LOSSES: dict[str, tuple[TreeLoss, ...]] = {
    "identity": ("squares",),
    "sigmoid": ("log_loss", "zero_one"),
}
"""The losses of each link, the default first."""


@checked
def problem_from_model(
    model: Any,
    X: Any,
    *,
    costs: Costs,
    errors: Given,
    tree_loss: TreeLoss | None = None,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: EvaluationCost = 0,
) -> PruningProblem:
    """Set up the pruning of an averaged forest of another library: all solvers, paths and budgets apply to it.

    Parameters
    ----------
    model
        an averaged forest that `read_model` reads: XGBRF*, LightGBM's ``boosting_type="rf"``; or a
        fitted ``Pipeline`` that ends with one.
    X
        the cost sample, as in `problem_from_forest`.
    errors
        labelled examples; they are needed because other libraries do not record which rows a tree was grown on.
    tree_loss
        (1), (2) or (3); default: squares for numbers, log loss for margins.
    costs, sample_weight, evaluation_cost
        as in `problem_from_forest`.

    Returns
    -------
    PruningProblem
        its ``X`` are the float32 rows of `ModelForest.rows`. Convert other examples in the same way before they meet the problem.
        For a pipeline they are raw rows, as for `prune_forest`.

    Raises
    ------
    UnsupportedModelError
        for boosted ensembles and for models with one tree for each class, whose trees predict nothing by themselves: see
        `prune_boosted`.
    InvalidInputError, CapacityOverflowError, NotFittedForestError
        each says which argument, which value, and what to do.

    Examples
    --------
    >>> from xgboost import XGBRFClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, y_train, y_valid
    >>> model = XGBRFClassifier(n_estimators=10, max_depth=3, n_jobs=1, random_state=0).fit(X_train, y_train)
    >>> pm.other_libraries.problem_from_model(model, X_valid, costs=costs, errors=pm.samples.Given(X_valid, y_valid))
    PruningProblem(Ensemble(10 trees, 62 splits, 10 features, regression), 150 cost rows, 4,317 usage arcs)
    """
    forest = model if isinstance(model, ModelForest) else read_model(model)
    ensemble = _own_predictions(forest)
    kinds = LOSSES[forest.link]
    if tree_loss is not None and tree_loss not in kinds:
        raise InvalidInputError(f"tree_loss is {tree_loss!r}; for {forest.link} leaves it is one of {', '.join(kinds)}")
    errors = with_weights_of(errors, X, sample_weight, forest.rows)
    rows = forest.rows(errors.X, "errors: X")
    weight = check_weights(errors.sample_weight, len(rows), "errors: sample_weight", errors.X)
    y = class_numbers(forest.classes, errors.y, len(rows))
    routing = route(ensemble, rows)
    kind = tree_loss or kinds[0]
    if forest.link == "sigmoid":
        sums = [routing.node_sums(ensemble, w) for w in (weight, weight * y)]
        e = _margin_errors(ensemble.value[:, 0], forest.sharpness, kind, *sums)
        component = ErrorComponent(e, np.full(ensemble.n_trees, weight.sum()), source=f"given, {kind}")
    else:
        component = errors_on_sample(ensemble, routing, y, weight)
    return PruningProblem.build(
        replace(ensemble, made=forest.made),
        NodeErrors((component,)),
        forest.rows(X) if forest.made is None else X,
        forest.items(costs),
        sample_weight=in_order_of(X, sample_weight, "sample_weight"),
        evaluation_cost=forest.per_feature(evaluation_cost),
    )


@checked
def prune_model(pruning: Pruning, model: Any) -> Any:
    """The pruned forest, of the class of the given one: it predicts, saves and loads like any model of its library.

    Parameters
    ----------
    pruning
        a pruning of a problem that `problem_from_model` set up.
    model
        the model that it was set up from, or an equal one. It is not changed.

    Raises
    ------
    InvalidInputError
        if the model's trees are not those of the pruning's problem.

    Examples
    --------
    >>> from xgboost import XGBRFClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, X_valid, costs, y_train, y_valid
    >>> model = XGBRFClassifier(n_estimators=10, max_depth=3, n_jobs=1, random_state=0).fit(X_train, y_train)
    >>> errors = pm.samples.Given(X_valid, y_valid)
    >>> problem = pm.other_libraries.problem_from_model(model, X_valid, costs=costs, errors=errors)
    >>> cheap = pm.prune_model(pm.solve(problem, budget=8).pruning, model)
    >>> type(cheap).__name__, cheap.predict(X_test[:3])
    ('XGBRFClassifier', array([0, 1, 1]))
    """
    forest = model if isinstance(model, ModelForest) else read_model(model)
    check_same_trees(pruning.problem.ensemble, forest.ensemble, "model")
    return write_model(forest, pruning.kept)


def _own_predictions(forest: ModelForest) -> Any:
    """The ensemble whose values are u_t; refuses forests whose trees have none."""
    if not forest.averaged or forest.link not in LOSSES:
        why = "its trees add up" if not forest.averaged else "each of its trees speaks for one class only"
        raise UnsupportedModelError(f"the model is not a mean of trees that predict on their own: {why}; use prune_boosted")
    return replace(forest.ensemble, value=forest.base + forest.ensemble.n_trees * forest.ensemble.value)


def _margin_errors(
    u: NDArray[np.float64], sharpness: float, kind: TreeLoss, weight: NDArray[np.float64], ones: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(2) or (3) of every node; `weight` is the weight of its rows, `ones` that of its rows of the second class."""
    zeros = np.maximum(weight - ones, 0.0)
    if kind == "zero_one":
        return np.asarray(np.where(u > 0, zeros, np.maximum(ones, 0.0)))
    z = sharpness * u
    return np.asarray(np.maximum(zeros * np.logaddexp(0.0, z) + np.maximum(ones, 0.0) * np.logaddexp(0.0, -z), 0.0))
