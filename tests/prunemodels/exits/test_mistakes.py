"""Each mistake in cascades is refused with its name, its value, and what to do."""

from __future__ import annotations

from collections.abc import Callable
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
from tests.prunemodels.exits.tables import NoWeights
from tests.prunemodels.exits.test_cascades import NAMES, QUICK, TABLE, X, Y

TREE = DecisionTreeClassifier(max_depth=2)
TWO = [(TREE, [0]), (TREE, None)]


def named(stages: Any = TWO, **options: Any) -> Any:
    """A cascade of these stages."""
    return pm.CascadeClassifier(stages, **{**QUICK, **options})


def sets(estimator: Any = TREE, **options: Any) -> Any:
    """A cascade that finds its sets."""
    return pm.BudgetCascadeClassifier(estimator, **{**QUICK, **options})


NO_ESTIMATOR = "give an unfitted scikit-learn estimator"
MODELS: list[tuple[Any, str]] = [
    (named([]), r"stages is \[\]; give a list of \(estimator, features\) pairs"),
    (named("abc"), "stages is 'abc'; give a list"),
    (named(7), "stages is 7; give a list"),
    (named([TREE]), r"stage 0 is DecisionTreeClassifier.*; give a pair"),
    (named([(TREE, [0]), (TREE,)]), "stage 1 is .*; give a pair"),
    (named([(TREE, [0]), ("tree", [1])]), f"stage 1 has the estimator 'tree'; {NO_ESTIMATOR}, or None"),
    (named([(DecisionTreeClassifier, [1])]), f"stage 0 has the estimator .*; {NO_ESTIMATOR}, or None"),
    (named([(TREE, [0]), (TREE, [6])]), "stage 1 reads 6, which is neither a column nor an item; the columns are"),
    (named([(TREE, [-1])]), "stage 0 reads -1, which is neither a column"),
    (named([(TREE, ["c1", "blood"])]), "stage 0 reads 'blood', which is neither a column nor an item"),
    (named([(TREE, [0.5])]), "stage 0 reads 0.5, which is neither a column"),
    (named([(TREE, [True, False])]), "stage 0 reads True, which is neither a column"),
    (named([(TREE, [])]), "stage 0 is a DecisionTreeClassifier and reads no column; give it some, or None in place of it"),
    (named([(LinearRegression(), None)]), "stage 0 is a LinearRegression; a classifier is needed here"),
    (named([(LinearSVC(), None)]), "stage 0 is a LinearSVC without predict_proba.*CalibratedClassifierCV"),
    (named(budget=-1), "budget is -1"),
    (named(lam="much"), "lam is 'much'; give a number"),
    (named(budget=float("nan")), "budget is nan"),
    (named(budget="much"), "budget is 'much'"),
    (named(lam=-0.5), "lam is -0.5"),
    (named(budget=3, lam=0.1), "budget is 3 and lam is 0.1; give one of them, or none"),
    (named(budget=0.25), "budget is 0.25, and the first stage costs 1; give at least that"),
    (named(choose="best"), "choose is 'best'"),
    (named(n_levels=1), "n_levels is 1; give a number from 2"),
    (named(n_levels=10**9), "n_levels is 1000000000; give a number from 2 to 10,000"),
    (named(doubt="entropy"), "doubt is 'entropy'; give one of"),
    (named(validation_fraction=1.5), "validation_fraction is 1.5; give a number between 0 and 1"),
    (named(costs=[1, 2]), "costs has 2 prices, the forest was trained on 6 features"),
    (named(costs=dict.fromkeys(NAMES[:5], 1)), "costs has no price for 'c5'"),
    (named(costs=-1), "negative"),
    (named(cv=150), "cv is 150, and no class has more than 1[0-4][0-9] examples; give at most as many folds"),
    (sets(n_stages=1), "n_stages is 1; give a number from 2"),
    (sets(n_stages=10**9), "n_stages is 1000000000; give a number from 2 to 10,000"),
    (sets(LinearRegression()), "LinearRegression; a classifier is needed here"),
    (sets("tree"), f"has the estimator 'tree'; {NO_ESTIMATOR}"),
    (sets(DecisionTreeClassifier), NO_ESTIMATOR),
    (sets(LinearSVC()), "a LinearSVC without predict_proba"),
    (sets(costs=[1, 2]), "costs has 2 prices"),
    (sets(budget=-2), "budget is -2"),
    (sets(costs=[5] * 6, budget=2), "budget is 2, and the cheapest feature costs 5; give at least that"),
    (sets(cv=500), "cv is 500, and there are 200 examples; give at most as many folds"),
    (sets(costs={"other": 1}), "costs has a price for 'other', and there is no such feature"),
]


@pytest.mark.parametrize(("model", "words"), MODELS)
def test_stages_and_options_are_refused_before_training(model: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words name the stage or option, its value, and what may stand there; no model is fitted."""
    monkeypatch.setattr(DecisionTreeClassifier, "fit", lambda *_, **__: pytest.fail("a model was fitted"))
    with pytest.raises(InvalidInputError, match=words):
        model.fit(TABLE, Y)


KNOWN = SetStages((DecisionTreeClassifier().fit(X, Y),), (np.arange(6),), CostItems.plain([1] * 6), np.array(["no", "yes"]))
CALLS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: named().fit(X, Y, X_valid=X[:3], y_valid=["no", "perhaps", "yes"]),
        r"y\[\d+\] is the label 'perhaps', the model was trained on \['no', 'yes'\]",
    ),
    (lambda: named().fit(X, ["no"] * 200), "y has one class, 'no'"),
    (lambda: named().fit(X, Y, X_valid=X), "y_valid is missing"),
    (lambda: named().fit(X, Y, y_valid=Y), "X_valid is missing"),
    (lambda: named().fit(X, Y, X_valid=X[:1], y_valid=Y[:1]), "n_samples=1: policies are learned from some rows"),
    # stages that are fitted already
    (
        lambda: pm.CascadeRegressor(KNOWN).fit(X, np.arange(200.0)),
        "the stages are for classification, CascadeRegressor is not; use the other",
    ),
    (lambda: pm.CascadeClassifier(SetStages((), (), KNOWN.items, KNOWN.classes)).fit(X, Y), "there is no stage; give at least"),
    (lambda: pm.CascadeClassifier(KNOWN, doubt="margin").fit(X, Y).predict(X[:0]), "X is empty"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_rows_and_labels_that_do_not_fit(call: Callable[[], Any], words: str) -> None:
    """Of fits and of predictions."""
    with pytest.raises(InvalidInputError, match=words):
        call()


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
