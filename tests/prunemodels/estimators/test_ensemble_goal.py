"""``objective="ensemble"``: the forest's own loss, within the budget, and never behind the path of the trees' errors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.estimators import BudgetPrunedForestClassifier, prune_forest

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
