"""``objective="ensemble"``: the forest's own loss, within the budget, and never behind the path of the trees' errors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV

import prunemodels as pm
from prunemodels.estimators import BudgetPrunedForestClassifier, BudgetPrunedForestRegressor, prune_forest

SMALL = RandomForestClassifier(8, max_depth=5, random_state=1)


@cache
def wine() -> tuple[Any, Any, Any, Any]:
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    return X[:90], y[:90], X[90:], y[90:]


def brier(forest: Any, X: Any, y: Any) -> float:
    """Mean squared error of the class fractions, summed over the classes."""
    return float(((forest.predict_proba(X) - np.eye(3)[y]) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("budget", [3, 5, 8.5])
def test_a_budget_for_the_forests_loss(budget: float) -> None:
    """The cost is within the budget, the Brier score at most that of every row of the path within it."""
    X, y, X_valid, y_valid = wine()
    forest = SMALL.fit(X, y)
    made = prune_forest(forest, X_valid, y_valid, budget=budget, objective="ensemble")
    assert made.pruning.exact_cost <= budget
    assert made.solution is None
    assert made.row is None
    assert made.ensemble is not None
    assert made.path is made.ensemble.tree_path
    rows = [brier(pm.apply_pruning(p, forest), X_valid, y_valid) for p in made.path if p.exact_cost <= budget]
    ours = brier(made.estimator, X_valid, y_valid)
    assert ours <= min(rows) + 1e-9
    assert ours >= made.ensemble.bound_at_cost(budget) - 1e-9


def test_a_lambda_for_the_forests_loss() -> None:
    """Loss + lam * cost is at most that of every row of the path; lam is loss per unit of cost."""
    X, y, X_valid, y_valid = wine()
    forest = SMALL.fit(X, y)
    for lam in (0.001, 0.01, 0.05):
        made = prune_forest(forest, X_valid, y_valid, lam=lam, objective="ensemble")
        ours = brier(made.estimator, X_valid, y_valid) + lam * made.cost
        rows = [brier(pm.apply_pruning(p, forest), X_valid, y_valid) + lam * p.cost for p in made.path]
        assert ours <= min(rows) + 1e-9


@pytest.mark.parametrize("errors", [None, "validation", "out-of-bag"])
def test_the_estimator_measures_where_it_is_told(errors: Any) -> None:
    """Losses are measured on the validation examples by default, or on the rows that the trees did not draw."""
    X, y, X_valid, y_valid = wine()
    model = BudgetPrunedForestClassifier(SMALL, budget=4, objective="ensemble", errors=errors, random_state=0)
    model.fit(X, y, X_valid=X_valid, y_valid=y_valid)
    assert model.ensemble_path_.problem.source == ("out-of-bag" if errors == "out-of-bag" else "given")
    assert model.path_ is model.ensemble_path_.tree_path
    assert model.cost_ <= 4
    assert model.evaluation_ is None
    assert model.predict(X_valid).shape == y_valid.shape


def test_weights_reach_the_loss() -> None:
    """Validation weights weigh losses and costs: those of weight 0 are left out."""
    X, y, X_valid, y_valid = wine()
    w = (np.arange(len(y_valid)) % 2).astype(float)
    forest = SMALL.fit(X, y)
    weighed = prune_forest(forest, X_valid, y_valid, budget=4, objective="ensemble", sample_weight=w)
    alone = prune_forest(forest, X_valid[w > 0], y_valid[w > 0], budget=4, objective="ensemble")
    np.testing.assert_array_equal(weighed.pruning.kept, alone.pruning.kept)


def test_the_trees_objective_has_no_ensemble_path() -> None:
    """The attribute is there, and empty."""
    X, y, _, _ = wine()
    assert BudgetPrunedForestClassifier(SMALL, lam=0.01, random_state=0).fit(X, y).ensemble_path_ is None


def test_a_regressor() -> None:
    """Squared error of the forest's mean, within the budget."""
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(6, max_depth=4, random_state=0)
    model = BudgetPrunedForestRegressor(forest, budget=3, objective="ensemble", random_state=0).fit(X, y)
    assert model.pruning_.cost <= 3
    assert model.ensemble_path_.loss.min() > 0


def test_a_search_over_objectives() -> None:
    """GridSearchCV tries both."""
    X, y, _, _ = wine()
    model = BudgetPrunedForestClassifier(SMALL, budget=4, random_state=0)
    search = GridSearchCV(model, {"objective": ["trees", "ensemble"]}, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
