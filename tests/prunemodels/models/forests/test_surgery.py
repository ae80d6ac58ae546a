"""A pruning becomes a forest and is read back from it, prices included."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations.errors import InvalidInputError
from formulations.instance.routing import as_rows
from prunemodels.models.costs import ATTRIBUTE
from prunemodels.models.forests.problems import pruning_from_forest
from tests.instances import way
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning, rows, targets


def pruned_case(kind, keep="some", seed=0):
    """The fitted case, a pruning of it, and the forest that it makes."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    makers = {"some": lambda p: random_pruning(p, seed), "all": pm.Pruning.unpruned, "none": pm.Pruning.all_roots}
    pruning = makers[keep](problem)
    return case, pruning, pm.apply_pruning(pruning, case.forest)


def walk(pruning, X):
    """The mean over the trees of the value where a walk over kept splits alone ends: shape (N, K)."""
    ensemble, X32 = pruning.problem.ensemble, as_rows(X, pruning.problem.ensemble.n_features)
    mean = np.zeros((len(X32), ensemble.value.shape[1]))
    for i, row in enumerate(X32):
        for root in ensemble.roots:
            mean[i] += ensemble.value[way(ensemble, root, row, pruning.kept)[-1]] / ensemble.n_trees
    return mean


def answer(forest, X):
    """Class probabilities, or predictions as a column."""
    X = np.asarray(X) if not hasattr(forest, "feature_names_in_") else X
    return forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X)[:, None]


def sample(case):
    """The training rows, or, where the forest takes missing values, new rows with some."""
    return case.X if hasattr(case.X, "columns") else rows(70, seed=4, missing=0.15)


@pytest.mark.slow_cases("all", "some")
@pytest.mark.parametrize("keep", ["some", "all", "none"])
@looped("kind", KINDS)
def test_predictions_are_those_of_a_walk_over_kept_splits(kind, keep):
    """``predict_proba`` and ``predict`` of the pruned forest are what walking over the kept splits gives."""
    case, pruning, pruned = pruned_case(kind, keep)
    X = sample(case)
    expected = walk(pruning, X)
    np.testing.assert_allclose(answer(pruned, X), expected, atol=1e-12)
    if hasattr(pruned, "classes_"):
        top = np.sort(expected, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-9  # predict breaks ties by rounding errors
        np.testing.assert_array_equal(pruned.predict(X)[clear], pruned.classes_[expected.argmax(axis=1)][clear])
    if keep == "all":
        np.testing.assert_array_equal(answer(pruned, X), answer(case.forest, X))


@looped("kind", KINDS)
def test_given_forest_is_not_changed(kind):
    """The given forest pickles to the same bytes before and after, and nothing done to the pruned one reaches it."""
    case = fitted(kind)
    before = pickle.dumps(case.forest)
    _, _, pruned = pruned_case(kind, "none")
    assert pickle.dumps(case.forest) == before
    changes = {"random_state": 99} if "estimator__max_depth" not in pruned.get_params() else {"estimator__max_depth": 1}
    pruned.set_params(**changes)
    if hasattr(pruned, "classes_"):
        pruned.classes_[:] = pruned.classes_[0]
    assert pickle.dumps(case.forest) == before


@looped("kind", KINDS)
def test_fitted_attributes_stay(kind):
    """Everything that ``fit`` sets is still there, and equal where it does not describe the trees; prices are added."""
    case, _, pruned = pruned_case(kind)
    assert set(vars(pruned)) == {*vars(case.forest), ATTRIBUTE}
    assert type(pruned) is type(case.forest)
    for name in ("n_features_in_", "n_outputs_", "classes_", "feature_names_in_", "n_classes_"):
        if hasattr(case.forest, name):
            np.testing.assert_array_equal(getattr(pruned, name), getattr(case.forest, name))
    if hasattr(case.forest, "estimators_samples_"):
        for mine, theirs in zip(pruned.estimators_samples_, case.forest.estimators_samples_, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_stump_by_hand():
    """A tree of two splits pruned to its root says what the root's examples say."""
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["a", "b", "c", "c"]
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    problem = pm.problem_from_forest(tree, X, costs=1)
    only_root = problem.ensemble.parent < 0
    pruned = pm.apply_pruning(pm.Pruning(problem, only_root), tree)
    # the root splits on the first column (the other one separates less), a and b share its left child: the first wins
    assert pruned.tree_.feature.tolist() == [0, -2, -2]
    assert pruned.predict(X).tolist() == ["a", "a", "c", "c"]
    assert pm.apply_pruning(pm.Pruning.all_roots(problem), tree).predict(X).tolist() == ["c"] * 4


@pytest.mark.parametrize("change", [{"n_estimators": 5}, {"max_depth": 2}, {"random_state": 1}, "targets"], ids=str)
def test_another_forest_is_refused(change):
    """A pruning fits the forest of its problem and no other: not even trees of the same shape that predict something else."""
    case = fitted("regression forest")
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    other = clone(case.forest)
    other = other.fit(case.X, 3 * case.y) if change == "targets" else other.set_params(**change).fit(case.X, case.y)
    with pytest.raises(pm.errors.InvalidInputError, match="the forest has other trees"):
        pm.apply_pruning(pm.Pruning.unpruned(problem), other)


@pytest.mark.parametrize("keep", ["some", "all", "none"])
@looped("kind", KINDS)
def test_back_and_forth(kind, keep):
    """Every kind of forest, pruned by `apply_pruning`, tells the pruning again, split by split."""
    _, pruning, pruned = pruned_case(kind, keep)
    again = pruning_from_forest(pruning.problem, pruned)
    assert pm.read_forest(pruned).n_splits == pruning.n_splits
    np.testing.assert_array_equal(again.kept, pruning.kept)


def test_another_pruners_work_is_read():
    """A single tree pruned by scikit-learn's own cost-complexity pruning is a pruning of the full tree."""
    X = rows(150, seed=2)
    y = targets(X) > np.median(targets(X))
    full = DecisionTreeClassifier(random_state=0).fit(X, y)
    small = DecisionTreeClassifier(random_state=0, ccp_alpha=0.02).fit(X, y)
    problem = pm.problem_from_forest(full, X, costs=1)
    pruning = pruning_from_forest(problem, small)
    assert 0 < pruning.n_splits == small.tree_.node_count // 2 < full.tree_.node_count // 2
    np.testing.assert_array_equal(pm.apply_pruning(pruning, full).predict(X), small.predict(X))


def test_the_first_node_that_differs_is_named():
    """Another threshold, feature, prediction, number of trees, a split grown on: each is refused with tree and node."""
    case, pruning, pruned = pruned_case("random forest", seed=3)
    forest, problem = case.forest, pruning.problem
    wrong = copy.deepcopy(pruned)
    wrong.estimators_[1].tree_.threshold[0] += 1
    with pytest.raises(pm.errors.InvalidInputError, match="node 0 of the pruned forest's tree 1 has another threshold"):
        pruning_from_forest(problem, wrong)
    wrong = copy.deepcopy(pruned)
    wrong.estimators_[2].tree_.value[-1] = wrong.estimators_[2].tree_.value[-1, :, ::-1]
    last = wrong.estimators_[2].tree_.node_count - 1
    with pytest.raises(pm.errors.InvalidInputError, match=f"node {last} of the pruned forest's tree 2 has another prediction"):
        pruning_from_forest(problem, wrong)
    wrong = copy.deepcopy(pruned)
    wrong.estimators_ = wrong.estimators_[:2]
    with pytest.raises(pm.errors.InvalidInputError, match="the pruned forest has 2 trees, the problem's 4"):
        pruning_from_forest(problem, wrong)
    small = pm.problem_from_forest(pm.apply_pruning(pm.Pruning.all_roots(problem), forest), rows(5, seed=0), costs=1)
    with pytest.raises(pm.errors.InvalidInputError, match="has another split than the node in its place"):
        pruning_from_forest(small, forest)


RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 4)), columns=list("abcd"))
Y = (X["a"] * X["b"] + X["c"] > 0).to_numpy().astype(int)
COSTS = pm.CostItems.from_items(
    {"one": 2.5, "lot": 0.1, "licence": 3}, [["one"], ["one", "lot"], ["lot"], ["licence"]], once=["licence"]
)


@pytest.mark.parametrize("ending", ["skops", "joblib"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_loaded_model_knows_what_it_costs(tmp_path: Path, ending: str, piped: bool) -> None:
    """Forest and pipeline, evaluated and asked on demand without prices, cost what they cost with them."""
    grown: Any = RandomForestClassifier(5, max_depth=4, random_state=0)
    model = make_pipeline(StandardScaler(), grown).fit(X[:60], Y[:60]) if piped else grown.fit(X[:60], Y[:60])
    pruned = pm.prune_forest(model, X[60:], Y[60:], costs=COSTS, lam=0.01, evaluation_cost=0.01)
    pm.save_forest(pruned.estimator, tmp_path / f"f.{ending}")
    loaded = pm.load_forest(tmp_path / f"f.{ending}", trust_pickle=ending == "joblib")
    told = pm.evaluate(loaded, X, Y, costs=COSTS, evaluation_cost=0.01)
    assert pm.evaluate(loaded, X, Y).cost == told.cost > 0
    on_demand = pm.OnDemandPredictor(loaded, acquire=pm.on_demand.from_table(X)).run(X.index)
    assert on_demand.mean_cost == pytest.approx(told.cost)


def test_prices_of_other_columns_are_not_used() -> None:
    """A model that was given fewer columns since, and one that was never pruned, ask for prices; damaged ones are refused."""
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X[:60], Y[:60])
    message = "costs is None, and the forest was not pruned with prices"
    with pytest.raises(InvalidInputError, match=message):
        pm.evaluate(forest, X, Y)
    pruned = pm.prune_forest(forest, X[60:], Y[60:], costs=COSTS, lam=0.3).estimator
    smaller = pm.drop_unused(pruned)
    assert smaller.n_features_in_ < 4
    with pytest.raises(InvalidInputError, match=message):
        pm.evaluate(smaller, X[list(smaller.feature_names_in_)], Y)
    setattr(pruned, ATTRIBUTE, {"names": ["one"]})
    with pytest.raises(InvalidInputError, match="the prices that the model holds are damaged"):
        pm.evaluate(pruned, X, Y)
