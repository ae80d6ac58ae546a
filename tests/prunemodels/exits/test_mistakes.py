"""Each mistake in cascades is refused with its name, its value, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems
from formulations.errors import InvalidInputError
from prunemodels.exits.set_stages import SetStages
from tests.prunemodels.exits.spies import NoWeights
from tests.prunemodels.exits.test_cascades import NAMES, QUICK, TABLE, X, Y

TREE = DecisionTreeClassifier(max_depth=2)
TWO = [(TREE, [0]), (TREE, None)]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([], r"stages is \[\]; give a list of \(estimator, features\) pairs"),
        ("abc", "stages is 'abc'; give a list"),
        (7, "stages is 7; give a list"),
        ([TREE], r"stage 0 is DecisionTreeClassifier.*; give a pair"),
        ([(TREE, [0]), (TREE,)], "stage 1 is .*; give a pair"),
        ([(TREE, [0]), ("tree", [1])], "stage 1 has the estimator 'tree'; give an unfitted scikit-learn estimator, or None"),
        ([(DecisionTreeClassifier, [1])], "stage 0 has the estimator .*; give an unfitted scikit-learn estimator, or None"),
        ([(TREE, [0]), (TREE, [6])], "stage 1 reads 6, which is neither a column nor an item; the columns are"),
        ([(TREE, [-1])], "stage 0 reads -1, which is neither a column"),
        ([(TREE, ["c1", "blood"])], "stage 0 reads 'blood', which is neither a column nor an item"),
        ([(TREE, [0.5])], "stage 0 reads 0.5, which is neither a column"),
        ([(TREE, [True, False])], "stage 0 reads True, which is neither a column"),
        ([(TREE, [])], "stage 0 is a DecisionTreeClassifier and reads no column; give it some, or None in place of it"),
        ([(LinearRegression(), None)], "stage 0 is a LinearRegression; a classifier is needed here"),
        ([(TREE, None), (LinearSVC(), None)], "stage 1 is a LinearSVC without predict_proba.*CalibratedClassifierCV"),
    ],
)
def test_stages_that_are_none(stages: Any, message: str) -> None:
    """The stage is named, and what stands there."""
    with pytest.raises(InvalidInputError, match=message):
        pm.CascadeClassifier(stages, **QUICK).fit(TABLE, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget is -1"),
        ({"lam": "much"}, "lam is 'much'; give a number"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"budget": "much"}, "budget is 'much'"),
        ({"lam": -0.5}, "lam is -0.5"),
        ({"budget": 3, "lam": 0.1}, "budget is 3 and lam is 0.1; give one of them, or none"),
        ({"budget": 0.25}, "budget is 0.25, and the first stage costs 1; give at least that"),
        ({"choose": "best"}, "choose is 'best'"),
        ({"n_levels": 1}, "n_levels is 1; give a number from 2"),
        ({"n_levels": 10**9}, "n_levels is 1000000000; give a number from 2 to 10,000"),
        ({"doubt": "entropy"}, "doubt is 'entropy'"),
        ({"validation_fraction": 1.5}, "validation_fraction is 1.5; give a number between 0 and 1"),
        ({"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 6 features"),
        ({"costs": dict.fromkeys(NAMES[:5], 1)}, "costs has no price for 'c5'"),
        ({"costs": -1}, "negative"),
        ({"cv": 150}, "cv is 150, and no class has more than 1[0-4][0-9] examples; give at most as many folds"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    """The option is named, its value, and what may stand there; a budget below the first stage says the least possible."""
    with pytest.raises(InvalidInputError, match=message):
        pm.CascadeClassifier(TWO, **{**QUICK, **options}).fit(TABLE, Y)


def test_labels_that_the_stages_do_not_know() -> None:
    """A class that is only among the validation rows, one class alone, and no labels for the validation rows."""
    model = pm.CascadeClassifier(TWO, **QUICK)
    with pytest.raises(InvalidInputError, match=r"y\[\d+\] is the label 'perhaps', the model was trained on \['no', 'yes'\]"):
        model.fit(X, Y, X_valid=X[:3], y_valid=["no", "perhaps", "yes"])
    with pytest.raises(InvalidInputError, match="y has one class, 'no'"):
        model.fit(X, ["no"] * 200)
    with pytest.raises(InvalidInputError, match="y_valid is missing"):
        model.fit(X, Y, X_valid=X)
    with pytest.raises(InvalidInputError, match="X_valid is missing"):
        model.fit(X, Y, y_valid=Y)
    with pytest.raises(InvalidInputError, match="n_samples=1: policies are learned from some rows"):
        model.fit(X, Y, X_valid=X[:1], y_valid=Y[:1])


def test_weights_for_an_estimator_that_takes_none() -> None:
    """Stage and class are named; equal weights are none, and pass."""
    model = pm.CascadeClassifier([(TREE, [0]), (NoWeights(max_depth=2), None)], lam=0.01, **QUICK)
    model.fit(X, Y, np.ones(200))
    with pytest.raises(
        InvalidInputError, match="stage 1 is a NoWeights, whose fit takes no sample_weight; leave the weights out"
    ):
        model.fit(X, Y, np.arange(200) + 1.0)


def test_missing_values_for_an_estimator_that_takes_none() -> None:
    """NaN is refused before anything is fitted where a stage does not take it; where all do, it passes."""
    holes = X.copy()
    holes[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        pm.CascadeClassifier([(LogisticRegression(), [0]), (TREE, None)], **QUICK).fit(holes, Y)
    model = pm.CascadeClassifier(TWO, lam=0.01, **QUICK).fit(holes, Y)
    assert model.predict(holes).shape == (200,)


def test_columns_in_another_order() -> None:
    """As everywhere in scikit-learn."""
    model = pm.CascadeClassifier(TWO, lam=0.01, **QUICK).fit(TABLE, Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(TABLE[NAMES[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(TABLE[NAMES[:5]])
    with pytest.raises(ValueError, match="5 features"):
        pm.CascadeClassifier(TWO, lam=0.01, **QUICK).fit(X, Y).predict(X[:, :5])


def test_fitted_stages_that_do_not_fit_the_cascade() -> None:
    """Stages of classes in a regressor, none at all, and rows that are none."""
    model = DecisionTreeClassifier().fit(X, Y)
    stages = SetStages((model,), (np.arange(6),), CostItems.plain([1] * 6), np.array(["no", "yes"]))
    with pytest.raises(InvalidInputError, match="the stages are for classification, CascadeRegressor is not; use the other"):
        pm.CascadeRegressor(stages).fit(X, np.arange(200.0))
    with pytest.raises(InvalidInputError, match="there is no stage; give at least one"):
        pm.CascadeClassifier(SetStages((), (), stages.items, stages.classes)).fit(X, Y)
    fitted = pm.CascadeClassifier(stages, doubt="margin").fit(X, Y)
    with pytest.raises(InvalidInputError, match="X is empty"):
        fitted.predict(X[:0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_stages": 1}, "n_stages is 1; give a number from 2"),
        ({"n_stages": 10**9}, "n_stages is 1000000000; give a number from 2 to 10,000"),
        ({"estimator": LinearRegression()}, "LinearRegression; a classifier is needed here"),
        ({"estimator": "tree"}, "has the estimator 'tree'; give an unfitted scikit-learn estimator"),
        ({"estimator": DecisionTreeClassifier}, "give an unfitted scikit-learn estimator"),
        ({"estimator": LinearSVC()}, "a LinearSVC without predict_proba"),
        ({"costs": [1, 2]}, "costs has 2 prices"),
        ({"budget": -2}, "budget is -2"),
    ],
)
def test_budget_cascades_have_the_same_manners(options: dict[str, Any], message: str) -> None:
    """Their options are refused likewise."""
    with pytest.raises(InvalidInputError, match=message):
        pm.BudgetCascadeClassifier(**{"estimator": TREE, **QUICK, **options}).fit(X, Y)
