"""Which models are read as trees, and that their predictions and costs are their own."""

from __future__ import annotations

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

import prunemodels as pm
from prunemodels.example import X_test, X_train, X_valid, costs, forest, y_test, y_train, y_valid
from prunemodels.models.tree_model import adds_up, tree_model_of


def test_our_own_estimators_are_evaluated_as_their_forests() -> None:
    """An estimator, its result and the forest that both hold cost and err the same."""
    model = pm.BudgetPrunedForestClassifier(forest, costs, budget=8, random_state=0).fit(X_train, y_train)
    inner, outer = (pm.evaluate(m, X_test, y_test, costs=costs) for m in (model.estimator_, model))
    assert vars(inner) == vars(outer)
    result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=8)
    inner, outer = (pm.evaluate(m, X_test, y_test, costs=costs) for m in (result.estimator, result))
    assert vars(inner) == vars(outer)


@pytest.mark.parametrize("kind", [XGBClassifier, XGBRegressor, LGBMClassifier])
def test_boosted_models_are_evaluated(kind: type) -> None:
    """The error is that of the library's predictions; a model without splits asks for nothing, this one does."""
    quiet = {"verbosity": -1} if kind is LGBMClassifier else {}
    train, test = X_train.to_numpy(), X_test.to_numpy()
    model = kind(n_estimators=5, max_depth=2, n_jobs=1, **quiet).fit(train, y_train)
    seen = pm.evaluate(model, test, y_test, costs=list(costs.values()))
    predicted = model.predict(test)
    wrong = predicted != y_test if hasattr(model, "classes_") else (predicted - y_test) ** 2
    assert seen.error == pytest.approx(float(np.mean(wrong)), rel=1e-5)
    assert seen.splits == tree_model_of(model).ensemble.n_splits > 0
    assert 0 < seen.cost <= sum(costs.values())


def test_the_class_tells_what_is_read_as_a_sum() -> None:
    """Boosted models alone, after the steps of a pipeline, in a wrapper, or read; no forest, wherever it is."""
    X, y = X_train.to_numpy(), y_train
    boosted = HistGradientBoostingClassifier(max_iter=2, max_depth=2).fit(X, y)
    averaged = DecisionTreeClassifier(max_depth=2).fit(X, y)
    for inner in (boosted, averaged):
        models = [inner, Pipeline([("scale", StandardScaler().fit(X)), ("trees", inner)]), FrozenEstimator(inner)]
        models += [FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.3).fit(X, y)]
        models += [pm.read_model(boosted)] if inner is boosted else []
        assert [adds_up(model) for model in models] == [inner is boosted] * len(models)
        assert [tree_model_of(model).forest is not None for model in models] == [inner is boosted] * len(models)


def test_other_models_are_refused_by_name() -> None:
    """A linear model has no trees."""
    with pytest.raises(pm.errors.UnsupportedModelError, match="LogisticRegression cannot be pruned"):
        pm.evaluate(LogisticRegression(), X_test, y_test, costs=costs)
