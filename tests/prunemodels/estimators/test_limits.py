"""Estimators within several limits, and for the forest's own loss."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.estimators import BudgetPrunedForestClassifier, prune_forest
from prunemodels.example import X_test, X_train, X_valid, costs, forest, problem, y_test, y_train, y_valid

LIMITS = [pm.Limit(10), pm.Limit(0.3, "texture"), pm.Limit(9, rows=np.arange(60), name="first"), pm.Limit(20, "splits")]


@pytest.fixture(scope="module")
def result() -> pm.PrunedForest:
    """The example's forest within four limits."""
    return pm.prune_forest(forest, X_valid, y_valid, costs=costs, limits=LIMITS)


def test_a_forest_is_pruned_within_limits(result: pm.PrunedForest) -> None:
    """The pruning is that of `solve`; the card tells the uses; the limits' own budget is the plot's."""
    expected = pm.solve(problem, limits=LIMITS)
    assert np.array_equal(result.pruning.kept, expected.pruning.kept)
    assert result.solution is not None
    assert result.solution.budget == 10
    assert result.validation is not None
    assert [use.limit for use in result.validation.uses] == LIMITS[1:]
    assert "Limits met: cost" in str(result)
    assert result.plot() is not None


@pytest.mark.parametrize("budget", [0, 4.3, 10, 16])
def test_a_budget_is_one_limit(budget: float) -> None:
    """The same pruning, error, bound, relaxation, and card."""
    one = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=budget)
    other = pm.prune_forest(forest, X_valid, y_valid, costs=costs, limits=[pm.Limit(budget)])
    assert np.array_equal(one.pruning.kept, other.pruning.kept)
    assert isinstance(one.solution, type(other.solution))
    for name in ("budget", "error", "bound", "gap"):
        assert getattr(one.solution, name) == getattr(other.solution, name)
    assert str(one) == str(other)


def test_masks_say_nothing_of_other_rows(result: pm.PrunedForest) -> None:
    """`evaluate` leaves the group of the cost sample's rows out, unless a mask of the new rows is given."""
    seen = result.evaluate(X_test, y_test)
    assert [use.limit.title for use in seen.uses] == ["texture", "splits"]
    group = pm.Limit(9, rows=np.arange(50))
    (use,) = result.evaluate(X_test, y_test, limits=[group]).uses
    assert use.use == pytest.approx(pm.evaluate(result, X_test[:50], y_test[:50], costs=costs).cost)


def test_estimators_take_limits() -> None:
    """The pruning keeps to them on its cost sample, and a clone fits to the same."""
    from sklearn.base import clone

    limits = [pm.Limit(8), pm.Limit(0.5, "radius")]
    model = pm.BudgetPrunedForestClassifier(forest, costs, limits=limits, random_state=0).fit(X_train, y_train)
    assert [use <= most for _, use, most in model.solution_.kept_to()] == [True, True]
    again = clone(model).fit(X_train, y_train)
    assert np.array_equal(again.pruning_.kept, model.pruning_.kept)


def test_pipelines_take_limits() -> None:
    """Limits of raw columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), pm.BudgetPrunedForestClassifier(forest, random_state=0)._forest())
    pipeline.fit(X_train, y_train)
    found = pm.prune_forest(pipeline, X_valid, y_valid, costs=costs, limits=[pm.Limit(0, "radius"), pm.Limit(9)])
    assert found.purchases().loc["radius", "after"] == 0
    assert found.cost <= 9


def test_bad_limits_are_named() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"limits": []}, "limits is empty; give at least one"),
        ({"limits": [pm.Limit(4)], "budget": 3}, "budget and limits are both given"),
        ({"limits": [pm.Limit(4, "splits")], "objective": "ensemble"}, "knows one limit of the mean cost"),
        ({"limits": [4]}, "limits.0. is 4; give a Limit"),
        ({"limits": [pm.Limit(4, "brain")]}, "there is no 'brain' to limit"),
    ]
    for options, message in bad:
        with pytest.raises(pm.errors.InvalidInputError, match=message):
            pm.prune_forest(forest, X_valid, y_valid, costs=costs, **options)
    cascade = pm.exit_path(pm.pruning_path(problem), X_valid, y_valid, n_stages=3, random_state=0)
    with pytest.raises(pm.errors.InvalidInputError, match="limits are about items that splits ask for"):
        pm.evaluate(cascade.at_row(0), X_test, y_test, limits=[pm.Limit(4)])


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
