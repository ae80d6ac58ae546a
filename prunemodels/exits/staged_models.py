"""Rounds of boosted models as stages: the first rounds predict, and further rounds are used where they are in doubt.

margin_s(x) = base + sum over the trees of the first rounds_s rounds of x's leaf values                                (1)
value_s(x)  = what the model's own probabilities, or numbers, would be at these margins
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.ensemble import Ensemble
from prunemodels.exits.tree_stages import Link, TreeStages, whole_trees
from prunemodels.models.costs import Costs
from prunemodels.models.forests.reading import GRADIENT_BOOSTING
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.sklearn_models import trees_of_any_loss
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

SUPPORTED = "CEGBClassifier, CEGBRegressor, GreedyMiserClassifier, GreedyMiserRegressor, GradientBoostingClassifier/Regressor"


@checked
def staged_model(
    model: Any, rounds: Sequence[int], *, costs: Costs | None = None, evaluation_cost: EvaluationCost | None = None
) -> TreeStages:
    """The first rounds of a fitted boosted model as stages.

    Parameters
    ----------
    model
        CEGBClassifier, CEGBRegressor, GreedyMiserClassifier, GreedyMiserRegressor, or scikit-learn's GradientBoostingClassifier
        or GradientBoostingRegressor that starts from a constant.
    rounds
        how many rounds each stage has, rising; 0 is the constant that boosting starts from, and costs nothing.
    costs, evaluation_cost
        as in `problem_from_forest`. Default: those that the model was given; for scikit-learn's 1 for each feature, and 0.

    Returns
    -------
    TreeStages
        for `CascadeClassifier` or `CascadeRegressor`.

    Raises
    ------
    UnsupportedModelError
        for any other model, naming its class.
    NotFittedForestError
        if it was not fitted.
    InvalidInputError
        for rounds that do not rise or that the model does not have, and for prices that do not fit.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, X_valid, costs, y_test, y_train, y_valid
    >>> model = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X_train, y_train)
    >>> stages = pm.exits.staged_model(model, [2, 20], costs=costs)
    >>> cascade = pm.CascadeClassifier(stages, budget=8, random_state=0).fit(X_valid, y_valid)
    >>> print(f"cost {cascade.prediction_cost(X_test).mean():.2f}, error {1 - cascade.score(X_test, y_test):.3f}")
    cost 8.64, error 0.053
    """
    if isinstance(model, (CEGBClassifier, CEGBRegressor)):
        read, fitted = lambda: _of_forest(model.forest_), "forest_"
    elif isinstance(model, (GreedyMiserClassifier, GreedyMiserRegressor)):
        read, fitted = lambda: _of_greedy_miser(model), "ensemble_"
    elif isinstance(model, GRADIENT_BOOSTING):
        read, fitted = lambda: _of_forest(trees_of_any_loss(model)), "estimators_"
    else:
        raise UnsupportedModelError(f"{type(model).__name__} has no rounds that can be stages; what has: {SUPPORTED}")
    if not hasattr(model, fitted):
        raise NotFittedForestError.of(model)
    trees, round_of, sums = read()
    classes = getattr(model, "classes_", None)
    task = trees.task if classes is None else "classification"
    own_costs = getattr(model, "costs", None)
    prices = own_costs if costs is None else costs
    a = getattr(model, "evaluation_cost", 0) if evaluation_cost is None else evaluation_cost
    counts = np.asarray(rounds, dtype=np.int64)
    last = int(round_of.max(initial=-1)) + 1
    if not counts.size or counts[0] < 0 or (np.diff(counts) <= 0).any() or counts[-1] > last:
        raise InvalidInputError(f"rounds is {list(rounds)}; give rising numbers from 0 to {last}")
    joins = np.searchsorted(counts, round_of, side="right").astype(np.int32)
    trees = replace(trees, task=task, classes=classes)
    return whole_trees(trees, 1 if prices is None else prices, joins, counts.size, a, **sums)


Rounds = tuple[Ensemble, NDArray[np.int64], dict[str, Any]]
"""The trees of a boosted model, the round that grew each, from 0 on, and how their values become numbers: see `TreeStages`."""


def _of_forest(forest: ModelForest) -> Rounds:
    """Margins times their sharpness, so that links need none."""
    round_of = np.arange(forest.ensemble.n_trees) // forest.n_outputs
    trees = replace(forest.ensemble, value=forest.sharpness * forest.ensemble.value)
    return trees, round_of, {"output_of": forest.output, "base": forest.sharpness * forest.base, "link": forest.link}


def _of_greedy_miser(model: Any) -> Rounds:
    link: Link = "identity"
    if isinstance(model, GreedyMiserClassifier):
        link = "clipped" if model.loss == "squared_error" else "sigmoid" if len(model.baseline_) == 1 else "softmax"
    sums = {"output_of": model.output_of_tree_, "base": model.baseline_, "link": link}
    return model.ensemble_, model.stage_of_tree_.astype(np.int64), sums
