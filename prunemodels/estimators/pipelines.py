"""Prune the forest at the end of a pipeline, at the prices of the raw columns that the pipeline reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from formulations.arguments import checked
from formulations.errors import UnsupportedModelError
from formulations.instance.limit import Budget, Limit
from prunemodels.estimators.fitted_forest import prune_forest
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.models.costs import Costs


@checked
def prune_pipeline(
    pipeline: Any,
    X_valid: Any,
    y_valid: Any = None,
    *,
    costs: Costs = 1,
    budget: Budget | None = None,
    limits: Sequence[Limit] | None = None,
    **options: Any,
) -> PrunedForest:
    """Prune the forest at the end of a fitted pipeline; the result's ``estimator`` is a pipeline again.

    A split on a column that the pipeline made, such as ``city=Rome``, needs all raw columns that it is made from. So an example
    pays for a raw column once, as soon as a kept split on its way needs it, whatever the pipeline makes of it.

    Parameters
    ----------
    pipeline
        a fitted ``sklearn.pipeline.Pipeline``, whose last step is a forest that `read_forest` reads. It is not changed.
    X_valid, y_valid
        raw rows like those to be predicted, as ``pipeline.predict`` takes them, and their labels; see `prune_forest`.
    costs
        prices of the raw columns: one number, or one for each column, by name or in their order; a table, or `CostItems`, with
        groups, discounts and what else `prunemodels.models.costs.cost_items` reads.
    budget
        the largest mean cost of the examples of `X_valid`.
    limits
        any number of `Limit` in its place.
    **options
        further arguments of `prune_forest`. An ``evaluation_cost`` for each feature is one for each column that the forest reads.

    Returns
    -------
    PrunedForest
        as of `prune_forest`, of which this is another name for pipelines. Purchases and reports speak of raw columns.

    Raises
    ------
    UnsupportedModelError
        for what is no pipeline, and for a step of which it is not known what its columns are made from. State that in an
        attribute of the fitted step, an entry for each column that it writes:
        ``pipeline["bmi"].made_from_ = {"bmi": ["height", "weight"]}``.
    InvalidInputError, NotFittedForestError, CapacityOverflowError
        as `prune_forest`; and if rows contradict what was stated.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from sklearn.base import clone
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import KBinsDiscretizer
    >>> from prunemodels.example import X_train, X_valid, costs, forest, y_train, y_valid
    >>> bins = KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")
    >>> steps = make_column_transformer((bins, ["radius", "texture"]), remainder="passthrough")
    >>> pipeline = make_pipeline(steps, clone(forest)).fit(X_train, y_train)
    >>> result = pm.prune_pipeline(pipeline, X_valid, y_valid, costs=costs, budget=10)
    >>> [name for name, _ in result.estimator.steps]
    ['columntransformer', 'randomforestclassifier']
    >>> result.purchases().index[:3].tolist()
    ['concavity', 'concave points', 'radius']
    """
    if not isinstance(pipeline, Pipeline):
        raise UnsupportedModelError(f"pipeline is a {type(pipeline).__name__}; give a fitted Pipeline, or take prune_forest")
    return prune_forest(pipeline, X_valid, y_valid, costs=costs, budget=budget, limits=limits, **options)
