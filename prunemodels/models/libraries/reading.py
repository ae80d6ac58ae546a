"""Turn a boosted model, or any model that treelite reads, into a `ModelForest`, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from formulations.errors import UnsupportedModelError
from prunemodels.models.columns import final_step
from prunemodels.models.forests.reading import GRADIENT_BOOSTING, HIST_GRADIENT_BOOSTING, library_of
from prunemodels.models.libraries.catboost_models import read_catboost
from prunemodels.models.libraries.lightgbm_models import read_lightgbm, write_lightgbm
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.sklearn_models import (
    read_gradient_boosting,
    read_hist_gradient_boosting,
    write_gradient_boosting,
    write_hist_gradient_boosting,
)
from prunemodels.models.libraries.treelite_models import forest_of, treelite, write_treelite
from prunemodels.models.libraries.xgboost_models import read_xgboost, write_xgboost


def read_model(model: Any, *, cover: Any = None) -> ModelForest:
    """The trees of a boosted model, or of another library's forest, as arrays.

    Parameters
    ----------
    model
        fitted: scikit-learn's GradientBoosting* and HistGradientBoosting*, a ``Booster`` or estimator of XGBoost or LightGBM, a
        model of CatBoost, which cannot be written back, or a ``treelite.Model``, with which the forests of other libraries are
        read (``treelite.frontend.load_...``). Or a fitted ``Pipeline`` that ends with one. It is not changed.
    cover
        examples, shape (N, n_features), for models that do not say how many training rows were in their leaves: a collapsed split
        predicts the mean of its leaves, weighted by the number of these examples in each.

    Returns
    -------
    ModelForest
        its rows, margins and predictions are those of the library.

    Raises
    ------
    UnsupportedModelError
        for categorical splits, linear leaves, linear boosters, several targets, an `init` that is an estimator, and objectives
        without a loss of bounded curvature (counts, ranking, hinge); the message names it, and the tree and node if there is one.
    NotFittedForestError
        for an estimator that was not fitted.
    ImportError
        if treelite is not installed.

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
        return replace(read_model(final_step(model), cover=cover), pipeline=model)
    library = library_of(model)
    if library == "xgboost":
        return read_xgboost(model, cover)
    if library == "catboost":
        return read_catboost(model)
    if library == "lightgbm":
        return read_lightgbm(model, cover)
    if isinstance(model, GRADIENT_BOOSTING):
        return read_gradient_boosting(model)
    if isinstance(model, HIST_GRADIENT_BOOSTING):
        return read_hist_gradient_boosting(model)
    if library == "treelite" and isinstance(model, treelite().Model):
        return forest_of(model, cover=cover)
    raise UnsupportedModelError(
        f"{type(model).__name__} is not a boosted model of scikit-learn, XGBoost, LightGBM or CatBoost, nor a treelite.Model; "
        "forests of scikit-learn go to problem_from_forest, others through treelite.frontend"
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
    pruned = writer_of(forest.source)(forest, kept)
    return pruned if forest.pipeline is None else copy.deepcopy(forest.pipeline, {id(forest.source): pruned})


def writer_of(model: Any) -> Callable[[ModelForest, NDArray[np.bool_]], Any]:
    """What writes a pruned copy of a model."""
    if isinstance(model, GRADIENT_BOOSTING):
        return write_gradient_boosting
    if isinstance(model, HIST_GRADIENT_BOOSTING):
        return write_hist_gradient_boosting
    return {"xgboost": write_xgboost, "lightgbm": write_lightgbm}.get(library_of(model), write_treelite)
