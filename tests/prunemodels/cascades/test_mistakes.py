"""Each mistake in cascades, their stages and their paths is refused with its name, its value, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems
from formulations.errors import InvalidInputError
from prunemodels.cascades import forest_exits
from prunemodels.stages.set_stages import SetStages
from prunemodels.stages.stages import StageTable, table_of
from prunemodels.stages.table_preparation import TableColumns
from prunemodels.stages.tree_stages import prunings_as_stages
from tests.prunemodels.cascade_cases import case
from tests.prunemodels.cascades import test_any_table as raw
from tests.prunemodels.cascades.tables import NoWeights
from tests.prunemodels.cascades.test_cascades import NAMES, QUICK, TABLE, X, Y
from tests.prunemodels.cascades.test_exit_path import trained
from tests.prunemodels.cascades.test_learning import two_stages
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.on_demand import test_pipelines
from tests.prunemodels.stages.test_tree_stages import kept_whole

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
    (
        named([(TREE, ["c1", "blood"])], costs=CostItems.grouped(["blood"] * 6, {"blood": 1})),
        "stage 0 reads 'blood', which is an item beside columns: name columns alone, or items alone",
    ),
    (named([(TREE, slice(0, 2))]), r"stage 0 reads slice\(0, 2, None\), which is neither a column"),
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
    (named(validation_fraction="half"), "validation_fraction is 'half'; give a number"),
    (named(stack="no"), "stack is 'no'; give True or False"),
    (named(n_jobs="all"), "n_jobs is 'all'; give a whole number"),
    (sets(n_stages=2.5), "n_stages is 2.5; give a whole number"),
    (sets(verbose="much"), "verbose is 'much'; give"),
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


@cache
def exit_arguments(kind: str) -> dict[str, Any]:
    """A path with rows and labels for `exit_path`."""
    if kind != "pipeline":
        _, path, rows, labels = trained(kind, "plain")
        return {"path": path, "X": rows, "y": labels}
    (pipe, items), rows, labels = test_pipelines.random_pipeline(0), test_pipelines.X, test_pipelines.y
    problem = pm.problem_from_forest(pipe, rows, costs=items, errors=pm.samples.Given(rows, labels))
    return {"path": pm.pruning_path(problem), "X": rows, "y": labels}


FEW_LEVELS = "give a number from 2 to 10,000"


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("two", {"n_stages": 1}, f"n_stages is 1; {FEW_LEVELS}"),
        ("two", {"n_stages": 10**9}, f"n_stages is 1000000000; {FEW_LEVELS}"),
        ("two", {"n_levels": 1}, f"n_levels is 1; {FEW_LEVELS}"),
        ("two", {"n_levels": 10**9}, f"n_levels is 1000000000; {FEW_LEVELS}"),
        ("two", {"doubt": "entropy"}, "doubt is 'entropy'; give one of 'auto', 'margin', 'learned'"),
        ("two", {"y": ["no", "perhaps"] * 60}, r"y\[1\] is the label 'perhaps', the model was trained on"),
        ("two", {"y": ["no"]}, r"y has shape \(1,\), X has 120 rows"),
        ("two", {"sample_weight": [1.0]}, "sample_weight"),
        ("two", {"sample_weight": [-1.0] * 120}, "sample_weight"),
        ("two", {"sample_weight": [1.0] + [0.0] * 119}, "n_samples=1: policies are learned from some rows"),
        ("numbers", {"doubt": "margin"}, "doubt is 'margin', which numbers do not have; give 'learned' or 'auto'"),
        ("numbers", {"y": [0.0, np.nan] * 60}, r"y\[1\] is nan; targets must be finite"),
        ("pipeline", {"X": test_pipelines.X.drop(columns="city")}, "step 'columntransformer' .* refuses the rows: .*city"),
        ("pipeline", {"y": np.full(len(test_pipelines.X), "no such label")}, "no such label"),
        ("pipeline", {"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_exit_path_refuses(kind: str, changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, labels, weights and options, before a pruning is computed."""
    given = exit_arguments(kind)
    monkeypatch.setattr(forest_exits, "path_stages", lambda *_: pytest.fail("work was done"))
    with pytest.raises(InvalidInputError, match=words):
        pm.exit_path(**{**given, **changes})


@cache
def nested() -> tuple[Any, Any, Any]:
    """A path of a small forest, its ensemble, and all its splits."""
    path = trained("two", "plain")[1]
    return path, path.problem.ensemble, path.problem.ensemble.is_split


def stages(*kept: Any) -> Any:
    """Prunings as stages; the places that are named are left out of the whole forest."""
    path, ensemble, whole = nested()
    return prunings_as_stages(path, [whole & ~np.isin(np.arange(ensemble.n_nodes), without) for without in kept])


def stage_table(**changes: Any) -> StageTable:
    """Two stages and four rows, of which something is wrong."""
    return replace(two_stages()[0], **changes)


def as_read(train: Any, test: Any = None) -> Any:
    """A column is learned from and read."""
    return TableColumns().fit(pd.DataFrame({"c": train})).transform(pd.DataFrame({"c": test}))


def of_people(estimator: Any = None, **changes: Any) -> Any:
    """A cascade over raw columns with one of them changed."""
    return pm.BudgetCascadeClassifier(estimator, **raw.QUICK).fit(raw.X.assign(**changes), raw.Y)


@cache
def of_table() -> Any:
    """A cascade over raw columns."""
    stages = [(None, []), (pm.cascades.prepared(raw.BOOSTED, "boosted"), None)]
    return pm.CascadeClassifier(stages, **raw.QUICK).fit(raw.X, raw.Y)


OF_TOWN = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"])), LogisticRegression())
KNOWN = SetStages((DecisionTreeClassifier().fit(X, Y),), (np.arange(6),), CostItems.plain([1] * 6), np.array(["no", "yes"]))
CALLS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: named().fit(X, Y, X_valid=X[:3], y_valid=["no", "perhaps", "yes"]),
        r"y\[\d+\] is the label 'perhaps', the model was trained on \['no', 'yes'\]",
    ),
    (lambda: named().fit(X, ["no"] * 200), "y has one class, 'no'"),
    (lambda: named().fit(X, Y, X_valid=X), "y_valid is missing"),
    (lambda: named().fit(X, Y, y_valid=Y), "X_valid is missing"),
    (lambda: named().fit(X, Y, sample_weight_valid=np.ones(9)), "X_valid is missing: sample_weight_valid is given"),
    (lambda: named().fit(X, Y, groups_valid=np.ones(9)), "X_valid is missing: groups_valid is given"),
    (lambda: named().fit(X, Y, X_valid=X[:1], y_valid=Y[:1]), "n_samples=1: policies are learned from some rows"),
    # stages that are fitted already
    (
        lambda: pm.CascadeRegressor(KNOWN).fit(X, np.arange(200.0)),
        "the stages are for classification, CascadeRegressor is not; use the other",
    ),
    (lambda: pm.CascadeClassifier(KNOWN).fit(X, Y, X_valid=X, y_valid=Y), "X_valid is for stages that the cascade fits"),
    (lambda: pm.CascadeClassifier(SetStages((), (), KNOWN.items, KNOWN.classes)).fit(X, Y), "there is no stage; give at least"),
    (lambda: pm.CascadeClassifier(KNOWN, doubt="margin").fit(X, Y).predict(X[:0]), "X is empty"),
    # goals of a path
    (lambda: case("prunings").path.row_at_cost(-1.0), "budget is -1"),
    (lambda: case("prunings").cascade.at_cost(float("nan")), "budget is nan"),
    # stages that are not nested, and tables of stages
    (lambda: stages([], np.arange(999)), "not nested: split 0 is kept at stage 0 and not at stage 1"),
    (lambda: stages([0], []), "split 1 is kept from stage 0 on, its parent from stage 1"),
    (lambda: table_of(stages(), trained("two", "plain")[2]), "there is no stage; give at least one"),
    (
        lambda: stage_table(cost=two_stages()[0].cost[::-1]),
        "not nested: row 0 has bought for 1 by stage 0 and for 0 by stage 1; each stage must keep",
    ),
    (lambda: stage_table(once=np.array([1.0, 0.0])), "not nested: what is paid once is 1 by stage 0 and 0 by stage 1"),
    (lambda: stage_table(cost=np.array([[0.0] * 4, [1, 1, np.nan, 3]])), "row 2 has bought for nan by stage 1; give finite"),
    (lambda: stage_table(value=np.full((2, 4, 2), np.nan)), "stage 0 predicts nan for row 0"),
    # columns in another order, for what a stage costs and what it says
    *(
        (lambda ask=ask: ask(fitted("random forest, named features")), "X has the column 'e' in place 0")
        for ask in (
            lambda model: kept_whole(pm.read_forest(model.forest)).costs(model.X[list("edcba")]),
            lambda model: kept_whole(pm.read_forest(model.forest)).output(0, model.X[list("edcba")]),
        )
    ),
    # raw columns
    (lambda: of_people(age=np.inf), "the column 'age' is infinite in the row 0; clip it"),
    (lambda: of_table().predict(raw.X.assign(age=np.inf)), "the column 'age' is infinite in the row 0; clip it"),
    (lambda: of_people(age=1j), "the column 'age' holds complex numbers"),
    (lambda: of_people(OF_TOWN), "estimator names the column 'town' in its transformer 'onehotencoder'"),
    (lambda: sets().fit(pd.concat([raw.X, raw.X[["city"]]], axis=1), raw.Y), "X has the column 'city' more than once"),
    (lambda: sets().fit(raw.X[["age", "age"]], raw.Y), "X has the column 'age' more than once"),
    (lambda: of_table().predict(raw.X.to_numpy()), "X is a ndarray, the cascade was trained on a table; give one with"),
    (
        lambda: of_table().predict(raw.X.astype({"age": object}).assign(age="old")),
        "'age' holds 'old' in the row 0, in training it held float64",
    ),
    (lambda: as_read([1.0, 2.0], ["many", 1]), "'c' holds 'many' in the row 0, in training it held numbers; give such a value"),
    (lambda: as_read(["2024-01-01"] * 2, ["2024-02-01", "soon"]), "'c' holds 'soon' in the row 1, in training it held dates"),
    (lambda: as_read([1j, 2j]), "'c' holds complex numbers"),
    (lambda: as_read([[1], [2]]), r"'c' holds \[1\]; give a number, a word or a date"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], words: str) -> None:
    """Rows, labels, stages and goals, of fits and of predictions."""
    with pytest.raises(pm.errors.PruneModelsError, match=words):
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
