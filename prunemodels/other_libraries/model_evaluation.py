"""Cost and quality of a model of another library, pruned or not, on examples that were not used to prune it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulations.arguments import checked
from formulations.instance.cost_items import EvaluationCost
from prunemodels.forests.costs import Costs
from prunemodels.forests.labels import class_numbers
from prunemodels.other_libraries.boosted import usage_of
from prunemodels.other_libraries.losses import loss_of
from prunemodels.other_libraries.model_forest import ModelForest
from prunemodels.other_libraries.reading import read_model


@dataclass(frozen=True, eq=False)
class ModelEvaluation:
    """Cost, loss and accuracy of a model on labelled examples.

    Parameters
    ----------
    cost
        mean cost of a prediction: per example, in the unit of the prices.
    features
        mean number of distinct features that a prediction asks for.
    loss
        mean loss of the margins (`losses`); NaN for forests of class fractions, which have none.
    error
        share of wrong labels, or mean squared error.
    splits
        splits in all trees.
    n
        number of examples.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> seen = pm.other_libraries.evaluate_model(model, X_test, y_test, costs=costs)
    >>> print(f"cost {seen.cost:.2f}, log loss {seen.loss:.3f}, error {seen.error:.3f}")
    cost 13.80, log loss 0.189, error 0.059
    """

    cost: float
    features: float
    loss: float
    error: float
    splits: int
    n: int


@checked
def evaluate_model(model: Any, X: Any, y: ArrayLike, *, costs: Costs, evaluation_cost: EvaluationCost = 0) -> ModelEvaluation:
    """Predict X with a model and count the cost of the predictions.

    Parameters
    ----------
    model
        a model that `read_model` reads, such as one that ``to_model`` or `prune_model` returned.
    X, y
        examples and labels, preferably ones that nothing was trained or pruned on.
    costs, evaluation_cost
        as in `problem_from_forest`.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError
        as `prune_boosted`.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, y_test, y_train
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> print(f"{pm.other_libraries.evaluate_model(model, X_test, y_test, costs=costs).cost:.2f}")
    13.80
    """
    forest = model if isinstance(model, ModelForest) else read_model(model)
    rows = forest.rows(X)
    margins = forest.margins(rows)
    predicted = forest.predictions(margins)
    if forest.classes is None:
        error = float(np.mean((predicted - class_numbers(None, y, len(rows))) ** 2))
    else:
        error = float(np.mean(predicted != forest.classes[class_numbers(forest.classes, y, len(rows))]))
    loss = np.nan if forest.link == "fractions" else float(np.mean(loss_of(forest, y, len(rows)).values(margins)))
    usage = usage_of(forest, rows, costs, evaluation_cost=evaluation_cost)
    cost, features = (u.cost(forest.ensemble.is_split) for u in (usage, usage.counting_features()))
    return ModelEvaluation(cost, features, loss, error, forest.ensemble.n_splits, len(rows))
