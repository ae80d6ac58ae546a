"""A model that is given only the columns that it uses."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from formulations.arguments import checked
from formulations.errors import UnsupportedModelError
from prunemodels.forests.unused_columns import used_columns, with_columns
from prunemodels.other_libraries.dependencies import library_of
from prunemodels.tree_models.tree_model import HoldsModel


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
        estimator of XGBoost or LightGBM; or what holds such a model, a result of `prune_forest` or a fitted
        `BudgetPrunedForestClassifier`, whose model is then returned.

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
    if isinstance(model, Pipeline):
        raise UnsupportedModelError(
            "model is a Pipeline, whose steps demand the columns that they were fitted on; take drop_unused of its last step, or "
            "fit the pipeline again on the raw columns that PrunedForest.purchases still shows"
        )
    library = library_of(model)
    if library == "xgboost":
        from prunemodels.other_libraries.unused_columns import xgboost_without_unused

        return xgboost_without_unused(model)
    if library == "lightgbm":
        from prunemodels.other_libraries.unused_columns import lightgbm_without_unused

        return lightgbm_without_unused(model)
    return with_columns(model, used_columns(model))
