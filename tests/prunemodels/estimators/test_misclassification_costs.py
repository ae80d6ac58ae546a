"""The estimators prune for misclassification costs, where `prune_forest` does on the same parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations.errors import InvalidInputError

X, Y = make_classification(400, 6, n_informative=4, flip_y=0.2, random_state=0)
LABELS = np.array(["ill", "well"])[Y]
C = [[0, 20], [1, 0]]
"""To call an ill patient well costs 20 times as much as the other way round."""
GROWER = RandomForestClassifier(6, max_depth=4, random_state=0)


def mean_cost(model: Any, rows: Any, truth: Any, costs: Any = C) -> float:
    """By hand: the mean of C[true class, predicted class]."""
    place = {label: k for k, label in enumerate(model.classes_)}
    pairs = zip(truth, model.predict(rows), strict=True)
    return float(np.mean([costs[place[t]][place[p]] for t, p in pairs]))


@pytest.mark.parametrize("errors", ["in-bag", "validation"])
def test_a_fit_prunes_as_the_function_does(errors: Any) -> None:
    """On the same forest and validation examples both find the same path, whose measure is the misclassification cost."""
    model = pm.BudgetPrunedForestClassifier(GROWER, 1, budget=2, errors=errors, method="path", misclassification_costs=C)
    model.fit(X[:250], LABELS[:250], X_valid=X[250:], y_valid=LABELS[250:])
    forest = clone(GROWER).fit(X[:250], LABELS[:250])
    given: dict[str, Any] = {"costs": 1, "budget": 2, "errors": errors, "method": "path"}
    result = pm.prune_forest(forest, X[250:], LABELS[250:], misclassification_costs=C, **given)
    assert np.array_equal(model.path_.error, result.path.error)
    assert np.array_equal(model.pruning_.kept, result.pruning.kept)
    assert model.path_.problem.ensemble.measure == "mean misclassification cost"
    plain = pm.prune_forest(forest, X[250:], LABELS[250:], **given)
    assert not np.array_equal(plain.path.error, result.path.error)


def test_cross_validation_scores_by_negative_cost() -> None:
    """The scores of a fold are the negative mean misclassification costs of the forests that its path holds, by hand."""
    given: dict[str, Any] = {"budgets": [1, 3], "cv": [(np.arange(250), np.arange(250, 400))], "random_state": 0}
    model = pm.BudgetPrunedForestClassifierCV(GROWER, 1, misclassification_costs=C, **given).fit(X, LABELS)
    scores = [model.cv_results_["split0_test_score"][k] for k in range(2)]
    by_hand = pm.BudgetPrunedForestClassifierCV(
        GROWER, 1, misclassification_costs=C, scoring=lambda m, rows, y: -mean_cost(m, rows, y), **given
    ).fit(X, LABELS)
    assert scores == pytest.approx([by_hand.cv_results_["split0_test_score"][k] for k in range(2)])
    assert max(scores) < 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            pm.BudgetPrunedForestClassifier(GROWER, budget=2, misclassification_costs=[[0, 1]]),
            r"has shape \(1, 2\); give one row for",
        ),
        (pm.BudgetPrunedForestClassifier(GROWER, budget=2, misclassification_costs=[[0, -1], [1, 0]]), "-1"),
        (
            pm.BudgetPrunedForestClassifier(GROWER, budget=2, objective="ensemble", misclassification_costs=C),
            "objective is 'ensemble', whose loss has no misclassification_costs",
        ),
        (
            pm.BudgetPrunedForestRegressor(RandomForestRegressor(3), budget=2, misclassification_costs=C),
            "misclassification_costs are for classifiers",
        ),
    ],
)
def test_costs_that_do_not_fit(model: Any, message: str) -> None:
    """They are refused before a forest is grown, with what was found."""
    labels = Y.astype(float) if "Regressor" in type(model).__name__ else LABELS
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, labels)
    assert not hasattr(model, "estimator_")


def test_a_fold_without_a_class() -> None:
    """Its forest could not be judged on the rows of that class; the message names the classes that it saw."""
    order = np.argsort(Y, kind="stable")
    model = pm.BudgetPrunedForestClassifierCV(
        GROWER, 1, budgets=[1], misclassification_costs=C, cv=[(order[:100], order[100:])], random_state=0
    )
    with pytest.raises(InvalidInputError, match=r"are for 2 classes, .* has only \['ill'\]; give more"):
        model.fit(X, LABELS)
