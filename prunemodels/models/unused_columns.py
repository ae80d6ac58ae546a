"""A model that is given only the columns that it uses."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from formulations.arguments import checked
from formulations.errors import UnsupportedModelError
from prunemodels.models.columns import final_step
from prunemodels.models.forests.unused_columns import used_columns, with_columns
from prunemodels.models.libraries.dependencies import GRADIENT_BOOSTING, HIST_GRADIENT_BOOSTING, library_of
from prunemodels.models.tree_model import HoldsModel, PrunesTrees, tree_model_of


@checked
def drop_unused(model: Any) -> Any:
    """A copy of the model that predicts from the columns that its splits test, and asks for no others.

    Training fixes the columns that a model is given, and pruning does not change them: a forest that uses 6 of 30 columns still
    demands 30. The copy is of the same class, and its predictions, probabilities, leaves and importances on the columns that
    remain are equal bit for bit. It is for predictions: training it further would need the old columns.

    Parameters
    ----------
    model
        a forest, bag or tree of scikit-learn, see `read_forest`, or a survival forest of scikit-survival; a ``Booster`` or
        estimator of XGBoost or LightGBM; or what holds such a model, such as a result of `prune_forest` or a `BoostedPruning`,
        whose model is then returned. Of a fitted ``Pipeline`` the raw columns are dropped: a first step puts constants in their
        place, which change no prediction.

    Returns
    -------
    object
        the model. Its ``feature_names_in_`` are the columns that remain, if it was trained with names; ``n_features_in_`` is
        their number. A model without splits keeps its first column.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError, InvalidInputError
        as `read_forest`; also for linear boosters, linear leaves, and LightGBM models of pandas categories.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_valid
    >>> cheap = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10).estimator
    >>> slim = pm.drop_unused(cheap)
    >>> cheap.n_features_in_, slim.n_features_in_
    (10, 2)
    >>> columns = list(slim.feature_names_in_)
    >>> bool((slim.predict_proba(X_test[columns]) == cheap.predict_proba(X_test)).all())
    True
    """
    if isinstance(model, HoldsModel):
        return drop_unused(model._fitted_model())
    if isinstance(model, PrunesTrees):
        return drop_unused(model.to_model())
    if isinstance(model, Pipeline):
        return _without_unused(model)
    if isinstance(model, GRADIENT_BOOSTING + HIST_GRADIENT_BOOSTING):
        raise UnsupportedModelError(
            f"columns of a {type(model).__name__} are dropped at the end of a Pipeline with a step before it, such as "
            "make_pipeline(StandardScaler(), model); alone it demands all that it was trained on"
        )
    library = library_of(model)
    if library == "xgboost":
        from prunemodels.models.libraries.unused_columns import xgboost_without_unused

        return xgboost_without_unused(model)
    if library == "lightgbm":
        from prunemodels.models.libraries.unused_columns import lightgbm_without_unused

        return lightgbm_without_unused(model)
    return with_columns(model, used_columns(model))


def _without_unused(pipeline: Pipeline) -> Pipeline:
    """A pipeline that is given only the raw columns that its model's splits are made from."""
    trees = tree_model_of(pipeline, several_outputs=True).ensemble
    if trees.made is None:
        slim = drop_unused(final_step(pipeline))
        return copy.deepcopy(pipeline, {id(final_step(pipeline)): slim})
    tested = np.unique(trees.feature[trees.is_split]).tolist()
    kept = sorted({column for f in tested for column in trees.made.sources[f]}) or [0]
    slim = copy.deepcopy(pipeline)
    first = trees.made.restored(kept)  # type: ignore[attr-defined]
    slim.steps.insert(0, (type(first).__name__.lower(), first))
    return slim
