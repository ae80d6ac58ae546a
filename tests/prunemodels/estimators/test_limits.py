"""Estimators within several limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prunemodels as pm
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
        ({"limits": [4]}, "limits.0. is 4; give a Limit"),
        ({"limits": [pm.Limit(4, "brain")]}, "there is no 'brain' to limit"),
    ]
    for options, message in bad:
        with pytest.raises(pm.errors.InvalidInputError, match=message):
            pm.prune_forest(forest, X_valid, y_valid, costs=costs, **options)
    cascade = pm.exit_path(pm.pruning_path(problem), X_valid, y_valid, n_stages=3, random_state=0)
    with pytest.raises(pm.errors.InvalidInputError, match="limits are about items that splits ask for"):
        pm.evaluate(cascade.at_row(0), X_test, y_test, limits=[pm.Limit(4)])


def test_a_list_of_budgets_has_an_answer_each() -> None:
    """From one path: each is what its budget alone gives."""
    several = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=[10, 3])
    for budget, one in zip((10, 3), several, strict=True):
        alone = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=budget)
        assert one.cost == alone.cost <= budget
        assert one.pruning.error == alone.pruning.error
        assert one.path is several[0].path
    with pytest.raises(pm.errors.InvalidInputError, match="budget is an empty list"):
        pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=[])
