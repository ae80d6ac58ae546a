"""Budgets and lambdas by cross-validation, and by costs of mistakes."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.estimators import (
    BudgetPrunedForestClassifier,
    BudgetPrunedForestClassifierCV,
    BudgetPrunedForestRegressor,
    BudgetPrunedForestRegressorCV,
    growing,
)
from prunemodels.estimators.cross_validation import Candidates, choose_candidate, results

SMALL = RandomForestClassifier(6, max_depth=5, random_state=1)
TARGETS = RandomForestRegressor(6, max_depth=4, random_state=1)


@cache
def cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.where(y == 1, "benign", "malignant")


@cache
def diabetes() -> tuple[Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    return X, y / 100


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss"])
def test_scores_are_those_of_a_grid_search(scoring: Any) -> None:
    """The same budgets, folds and random state score alike, and the refitted models predict alike."""
    X, y = cancer()
    budgets = [1, 2.5, 4, 9]
    ours = BudgetPrunedForestClassifierCV(SMALL, budgets=budgets, cv=3, scoring=scoring, random_state=0).fit(X, y)
    single = BudgetPrunedForestClassifier(SMALL, method="path", random_state=0)
    theirs = GridSearchCV(single, {"budget": budgets}, cv=3, scoring=scoring).fit(X, y)
    for k in range(3):
        np.testing.assert_allclose(ours.cv_results_[f"split{k}_test_score"], theirs.cv_results_[f"split{k}_test_score"])
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-15)
    assert ours.cv_results_["budget"].tolist() == ours.budgets_.tolist() == budgets
    if theirs.cv_results_["rank_test_score"].tolist().count(1) == 1:
        assert ours.budget_ == theirs.best_params_["budget"]
    one = clone(single).set_params(budget=ours.budget_).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))
    assert (ours.cost_, ours.cost_ <= ours.budget_) == (one.cost_, True)


def test_lambdas_of_a_regressor_are_those_of_a_grid_search() -> None:
    """The same for lambdas and squared errors, with weights in training and scoring."""
    X, y = diabetes()
    lams = [0.0, Fraction(1, 100), 0.05, math.inf]
    ours = BudgetPrunedForestRegressorCV(TARGETS, lams=lams, cv=KFold(3), random_state=0).fit(X, y)
    single = BudgetPrunedForestRegressor(TARGETS, random_state=0)
    theirs = GridSearchCV(single, {"lam": lams}, cv=KFold(3), scoring="neg_mean_squared_error").fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert ours.lam_ == theirs.best_params_["lam"]
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert not hasattr(ours, "budgets_")
    assert ours.solution_ is None


def test_costs_are_those_of_the_held_out_fold() -> None:
    """`test_cost` is what the fold's rows pay in the forest of its budget."""
    X, y = cancer()
    costs = {name: 2.5 if "worst" in name else 1.0 for name in X.columns}
    splits = list(KFold(2).split(X))
    ours = BudgetPrunedForestClassifierCV(SMALL, costs, budgets=[3, 6], cv=splits, random_state=0).fit(X, y)
    for k, (train, test) in enumerate(splits):
        for j, budget in enumerate([3, 6]):
            one = BudgetPrunedForestClassifier(SMALL, costs, budget=budget, method="path", random_state=0)
            one.fit(X.iloc[train], y[train])
            seen = pm.evaluate(one.estimator_, X.iloc[test], y[test], costs=costs)
            assert ours.cv_results_[f"split{k}_test_cost"][j] == pytest.approx(seen.cost)
            assert ours.cv_results_[f"split{k}_test_score"][j] == pytest.approx(1 - seen.error)


def test_one_forest_and_one_path_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many budgets are tried, each fold grows one forest, and computes one path; and once more at the end."""
    X, y = cancer()
    grown, paths = [], []
    fit, path = RandomForestClassifier.fit, growing.pruning_path
    monkeypatch.setattr(RandomForestClassifier, "fit", lambda self, *a, **k: grown.append(1) or fit(self, *a, **k))
    monkeypatch.setattr(growing, "pruning_path", lambda *a, **k: paths.append(1) or path(*a, **k))
    model = BudgetPrunedForestClassifierCV(SMALL, budgets=50, cv=3, random_state=0).fit(X, y)
    assert (len(grown), len(paths)) == (4, 4)
    assert len(model.budgets_) == 50


def test_budgets_chosen_automatically() -> None:
    """A number of budgets is spread evenly up to the dearest breakpoint's cost, 20 by default."""
    X, y = cancer()
    model = BudgetPrunedForestClassifierCV(SMALL, cv=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.budgets_, np.arange(1, 21) / 20 * model.path_.cost[0])
    assert model.path_.row_at_cost(model.budgets_[-1]) == 0
    assert model.budget_ in model.budgets_
    assert model.best_index_ == model.budgets_.tolist().index(model.budget_)


@pytest.mark.parametrize("rule", ["best", "one_se", "knee"])
def test_each_rule_refits_its_choice(rule: Any) -> None:
    """The model fitted on all rows has the budget of the rule's index, whichever rule that is."""
    X, y = cancer()
    model = BudgetPrunedForestClassifierCV(SMALL, cv=3, choose=rule, random_state=0).fit(X, y)
    index = {"best": model.best_index_, "one_se": model.one_se_index_, "knee": model.knee_index_}[rule]
    assert model.budget_ == model.budgets_[index]
    assert model.one_se_index_ <= model.best_index_


def test_the_last_fit_spends_a_budget_that_falls_between_distant_rows() -> None:
    """Dear features that all trees share: the best breakpoint within 100 costs 10, and would be taken in silence."""
    X, y = cancer()
    costs = [100 if f % 3 == 0 else 1 for f in range(X.shape[1])]
    forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    model = BudgetPrunedForestClassifierCV(forest, costs, budgets=[100], cv=2, random_state=0).fit(X, y)
    assert model.path_.spends_little(model.path_.row_at_cost(100), 100)
    assert 50 < model.cost_ <= 100
    assert model.solution_.error < model.path_.error[model.path_.row_at_cost(100)]


CANDIDATES = Candidates("budget", (1, 2, 3, 4))
# mean scores .60 .775 .80 .80; against candidate 2, the cheaper of the best: .20 .025 0 0, in folds .1 .3, .02 .03, 0, .1 -.1
FOLDS = np.array([[[0.60, 0.68, 0.70, 0.60], [1, 2, 3, 4]], [[0.60, 0.87, 0.90, 1.00], [1, 2, 3, 4]]])


def test_the_rules_by_hand() -> None:
    """Best: candidate 2, cheaper than 3. One se: 1 falls short by .025, se .005; 0 by .2, se .1: candidate 2 again. Knee: 1."""
    assert choose_candidate("best", CANDIDATES, FOLDS) == 2
    assert choose_candidate("one_se", CANDIDATES, FOLDS) == 2
    assert choose_candidate("knee", CANDIDATES, FOLDS) == 1


def test_one_se_looks_at_differences_within_folds() -> None:
    """Candidate 0 falls short by .1 and -.06: mean .02, se .08; that the folds differ by .5 does not matter to candidate 1."""
    folds = np.array([[[0.4, 0.49, 0.5], [0, 1, 2]], [[1.06, 0.98, 1.0], [0, 1, 2]]])
    candidates = Candidates("budget", (1, 2, 3))
    assert choose_candidate("best", candidates, folds) == 2
    assert choose_candidate("one_se", candidates, folds) == 0
    steady = np.array([[[0.4, 0.48, 0.5], [0, 1, 2]], [[0.9, 0.98, 1.0], [0, 1, 2]]])
    assert choose_candidate("one_se", candidates, steady) == 2  # .02 short in both folds: se 0


def test_a_larger_lambda_is_cheaper() -> None:
    """Of equal scores the largest lambda, and the smallest budget, is taken, in whatever order they are given."""
    same = np.array([[[0.5, 0.7, 0.7], [0, 0, 0]]])
    assert choose_candidate("best", Candidates("lam", (0.5, 0.1, 0.2)), same) == 2
    assert choose_candidate("best", Candidates("budget", (0.5, 0.1, 0.2)), same) == 1


def test_results_by_hand() -> None:
    """Means, population standard deviations as in scikit-learn, ranks with ties, one entry a candidate."""
    table = results(CANDIDATES, FOLDS)
    np.testing.assert_allclose(table["mean_test_score"], [0.6, 0.775, 0.8, 0.8])
    np.testing.assert_allclose(table["std_test_score"], [0, 0.095, 0.1, 0.2], atol=1e-15)
    assert table["rank_test_score"].tolist() == [4, 3, 1, 1]
    assert table["split1_test_cost"].tolist() == table["mean_test_cost"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"budgets": [1], "lams": [1]}, pm.errors.InvalidInputError, "budgets and lams are both given"),
        ({"budgets": 0}, pm.errors.InvalidInputError, "budgets is 0; give how many to try"),
        ({"lams": []}, pm.errors.InvalidInputError, "lams is empty"),
        ({"budgets": [1, -2]}, pm.errors.InvalidInputError, r"budgets\[1\] is -2, negative"),
        ({"budgets": [math.inf]}, pm.errors.InvalidInputError, r"budgets\[0\] is inf"),
        ({"budgets": "many"}, pm.errors.InvalidInputError, "budgets is 'many'"),
        ({"lams": 2.5}, pm.errors.InvalidInputError, "lams is 2.5"),
        ({"choose": "median"}, pm.errors.InvalidInputError, "choose is 'median'; give one of 'best', 'one_se', 'knee'"),
        ({"errors": "validation", "validation_fraction": None}, pm.errors.InvalidInputError, "on validation examples: set"),
        ({"costs": [1]}, pm.errors.InvalidInputError, "costs has 1 prices"),
        ({"scoring": "guess"}, ValueError, "guess"),
    ],
)
def test_parameters_are_refused_before_a_forest_is_grown(
    parameters: dict[str, Any], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RandomForestClassifier, "fit", lambda *_, **__: pytest.fail("a forest was grown"))
    with pytest.raises(error, match=message):
        BudgetPrunedForestClassifierCV(**{"estimator": SMALL, **parameters}).fit(*cancer())


def test_one_se_needs_folds() -> None:
    """With a single split there is no standard error: the rule is refused, the others are not."""
    X, y = cancer()
    split = [(np.arange(400), np.arange(400, 569))]
    with pytest.raises(pm.errors.InvalidInputError, match="choose is 'one_se', which needs at least 2 folds"):
        BudgetPrunedForestClassifierCV(SMALL, budgets=[3], cv=split, choose="one_se").fit(X, y)
    assert BudgetPrunedForestClassifierCV(SMALL, budgets=[3], cv=split).fit(X, y).one_se_index_ is None


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


def test_a_fold_without_a_class() -> None:
    """Its forest could not be judged on the rows of that class; the message names the classes that it saw."""
    order = np.argsort(Y, kind="stable")
    model = pm.BudgetPrunedForestClassifierCV(
        GROWER, 1, budgets=[1], misclassification_costs=C, cv=[(order[:100], order[100:])], random_state=0
    )
    with pytest.raises(InvalidInputError, match=r"are for 2 classes, .* has only \['ill'\]; give more"):
        model.fit(X, LABELS)
