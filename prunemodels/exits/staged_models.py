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
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from formulations.arguments import checked
from formulations.errors import NotFittedForestError, UnsupportedModelError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.ensemble import Ensemble
from prunemodels.exits.tree_stages import Link, TreeStages, boosting_as_stages
from prunemodels.forests.costs import Costs
from prunemodels.forests.reading import read_forest
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
    cost 6.72, error 0.083
    """
    if isinstance(model, (CEGBClassifier, CEGBRegressor)):
        read, fitted = _cegb, "forest_"
    elif isinstance(model, (GreedyMiserClassifier, GreedyMiserRegressor)):
        read, fitted = _greedy_miser, "ensemble_"
    elif isinstance(model, (GradientBoostingClassifier, GradientBoostingRegressor)):
        read, fitted = _gradient_boosting, "estimators_"
    else:
        raise UnsupportedModelError(f"{type(model).__name__} has no rounds that can be stages; what has: {SUPPORTED}")
    if not hasattr(model, fitted):
        raise NotFittedForestError(f"the {type(model).__name__} is not fitted: call fit(X, y) first")
    trees, parts = read(model)
    classes = getattr(model, "classes_", None)
    task = trees.task if classes is None else "classification"
    own_costs = getattr(model, "costs", None)
    prices = own_costs if costs is None else costs
    a = getattr(model, "evaluation_cost", 0) if evaluation_cost is None else evaluation_cost
    return boosting_as_stages(
        replace(trees, task=task, classes=classes), 1 if prices is None else prices, rounds=rounds, evaluation_cost=a, **parts
    )


def _cegb(model: Any) -> tuple[Ensemble, dict[str, Any]]:
    forest = model.forest_
    round_of = np.arange(forest.ensemble.n_trees) // forest.n_outputs
    return forest.ensemble, {"round_of": round_of, "output_of": forest.output, "base": forest.base, "link": forest.link}


def _greedy_miser(model: Any) -> tuple[Ensemble, dict[str, Any]]:
    link: Link = "identity"
    if isinstance(model, GreedyMiserClassifier):
        link = "clipped" if model.loss == "squared_error" else _link_of(len(model.baseline_))
    parts = {"output_of": model.output_of_tree_, "base": model.baseline_, "link": link}
    return model.ensemble_, {"round_of": model.stage_of_tree_.astype(np.int64), **parts}


def _gradient_boosting(model: Any) -> tuple[Ensemble, dict[str, Any]]:
    """scikit-learn's models; with the exponential loss the margin is half the log-odds."""
    if model.init not in (None, "zero") and not isinstance(model.init_, (DummyClassifier, DummyRegressor)):
        raise UnsupportedModelError(
            f"the {type(model).__name__} starts from a {type(model.init_).__name__}, which reads features of its own; "
            "train it with init=None"
        )
    n_outputs = model.estimators_.shape[1]
    trees = joined([read_forest(tree) for tree in model.estimators_.ravel()])
    scale = 2.0 if getattr(model, "loss", "") == "exponential" else 1.0
    names = getattr(model, "feature_names_in_", None)
    trees = replace(
        trees,
        value=scale * model.learning_rate * trees.value,
        feature_names=None if names is None else tuple(str(name) for name in names),
    )
    output_of = np.tile(np.arange(n_outputs, dtype=np.int32), len(model.estimators_))
    link: Link = "identity" if isinstance(model, GradientBoostingRegressor) else _link_of(n_outputs)
    parts = {"output_of": output_of, "base": scale * _base(model), "link": link}
    return trees, {"round_of": np.arange(trees.n_trees) // n_outputs, **parts}


def _base(model: Any) -> NDArray[np.float64]:
    """The margins before the first round, shape (outputs,): the margins of one row less what the trees add for it."""
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    added = np.array([[tree.tree_.predict(row)[0, 0] for tree in trees] for trees in model.estimators_]).sum(axis=0)
    bare = row if not hasattr(model, "feature_names_in_") else _table(row, model.feature_names_in_)
    margins = model.predict(bare) if isinstance(model, GradientBoostingRegressor) else model.decision_function(bare)
    return np.asarray(np.ravel(margins) - model.learning_rate * added)


def _table(row: NDArray[np.float32], names: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(row.astype(np.float64), columns=list(names))


def _link_of(n_outputs: int) -> Link:
    return "sigmoid" if n_outputs == 1 else "softmax"


def joined(trees: Sequence[Ensemble]) -> Ensemble:
    """Join ensembles of the same columns, one after the other."""
    first = np.cumsum([0] + [tree.n_nodes for tree in trees])

    def children(side: str) -> NDArray[np.int32]:
        below = [getattr(tree, side) for tree in trees]
        return np.concatenate([np.where(b >= 0, b + start, -1) for b, start in zip(below, first, strict=False)]).astype(np.int32)

    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "missing_left", "value")
    }
    starts = np.concatenate([[0], *(tree.tree_start[1:] + start for tree, start in zip(trees, first, strict=False))])
    return replace(trees[0], tree_start=starts, left=children("left"), right=children("right"), **arrays)
