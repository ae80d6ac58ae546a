"""A pruning becomes a forest and is read back from it, prices included; what examples pay, stage by stage."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems, Ensemble
from formulations.errors import InvalidInputError
from formulations.instance import usage
from formulations.instance.routing import as_rows
from prunemodels.models import costs as stages
from prunemodels.models.costs import ATTRIBUTE, example_costs, staged_costs
from prunemodels.models.forests.problems import pruning_from_forest
from tests.instances import Node, ensemble_of, random_problem, way
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


def three_trees() -> Ensemble:
    """Feature 0, then 1 on the right; feature 1; feature 0, then 2 on the left. All ask whether x > 0."""
    leaf = Node(0)
    trees = [
        Node(0, 0, 0.0, leaf, Node(0, 1, 0.0, leaf, leaf)),
        Node(0, 1, 0.0, leaf, leaf),
        Node(0, 0, 0.0, Node(0, 2, 0.0, leaf, leaf), leaf),
    ]
    return ensemble_of(trees, 3)[0]


ROWS = [[0, 0, 0], [1, 0, 0]]
ITEMS = CostItems.from_items({"a": 1, "b": 10, "c": 100, "licence": 1000}, [["a"], ["b"], ["c", "licence"]], once=["licence"])


def test_two_examples_by_hand() -> None:
    """Example 0 asks for features 0 | 1 | 0 and 2, example 1 for 0 and 1 | 1 | 0; 1, 10, 100, and 1000 once for feature 2."""
    ensemble = three_trees()
    assert example_costs(ensemble, ROWS, ITEMS).tolist() == [111, 11]
    assert staged_costs(ensemble, ROWS, ITEMS).tolist() == [6, 11, 1061]  # (1 + 11) / 2, (11 + 11) / 2, (111 + 11) / 2 + 1000
    assert staged_costs(ensemble, ROWS, ITEMS, sample_weight=[3, 1]).tolist() == [3.5, 11, 1086]
    assert staged_costs(ensemble, ROWS, ITEMS, stage=[1, 0, 1]).tolist() == [10, 1061]
    assert staged_costs(ensemble, ROWS, ITEMS, stage=[1, 3, 1]).tolist() == [0, 1056, 1056, 1061]  # nothing in 0 and in 2
    # example 0 passes two splits on feature 0, one on 1, one on 2; example 1 two on 0 and two on 1
    split_prices = [0.5, 0.25, 4]
    assert example_costs(ensemble, ROWS, 0, evaluation_cost=split_prices).tolist() == [1 + 0.25 + 4, 1 + 0.5]
    staged = staged_costs(ensemble, ROWS, 0, evaluation_cost=split_prices, sample_weight=[1, 3])
    assert staged.tolist() == pytest.approx([(0.5 + 3 * 0.75) / 4, (0.75 + 3 * 1) / 4, (5.25 + 3 * 1.5) / 4])


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_costs_are_those_of_a_walk(seed: int) -> None:
    """Whatever the items, weights and stages: each example pays the items on its ways once, and each split that it passes."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed)
    ensemble, items = problem.ensemble, problem.costs
    X = rng.integers(0, 5, (7, ensemble.n_features)).astype(float)
    stage, w = rng.integers(0, 4, ensemble.n_trees), rng.choice([0, 0.5, 2], 7)
    w[0] = 1
    evaluation = rng.choice([0, 0.1, 1], ensemble.n_features)
    expected = []
    for s in range(int(stage.max()) + 1):
        trees = np.flatnonzero(stage <= s)
        asked = [[int(ensemble.feature[h]) for root in ensemble.roots[trees] for h in way(ensemble, root, x)[:-1]] for x in X]
        bought = [{m for f in features for m in items.needs[f] if not items.paid_once[m]} for features in asked]
        paid = np.array(
            [sum(items.price[m] for m in b) + sum(evaluation[f] for f in a) for a, b in zip(asked, bought, strict=True)]
        )
        splits = ensemble.feature[np.isin(ensemble.tree_of, trees) & ensemble.is_split]
        for_all = {m for f in splits for m in items.needs[f] if items.paid_once[m]}
        expected.append(np.average(paid, weights=w) + sum(items.price[m] for m in for_all))
    options: dict[str, Any] = {"evaluation_cost": evaluation}
    np.testing.assert_allclose(example_costs(ensemble, X, items, **options), paid, atol=1e-12)
    staged = staged_costs(ensemble, X, items, stage=stage, sample_weight=w, **options)
    np.testing.assert_allclose(staged, expected, atol=1e-12)


def test_blocks_of_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken in blocks of a few rows, from a dense or a sparse matrix, the examples pay the same."""
    f = fitted("random forest, 3 string labels")
    ensemble = pm.read_forest(f.forest)
    items = CostItems.from_items({"a": 2, "b": 3, "licence": 5}, [["a"], ["a", "b"], ["b"], ["licence"], ["a"]], ["licence"])
    w = np.linspace(0, 1, len(f.X))

    def both(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return (
            example_costs(ensemble, X, items, evaluation_cost=0.5),
            staged_costs(ensemble, X, items, evaluation_cost=0.5, sample_weight=w),
        )

    whole = both(f.X)
    routed = []
    route = usage.route
    monkeypatch.setattr(stages, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(usage, "route", lambda e, block: routed.append(len(block)) or route(e, block))
    for table in (f.X, sparse.csc_matrix(f.X), f.X.tolist()):
        for parts, expected in zip(both(table), whole, strict=True):
            np.testing.assert_allclose(parts, expected, atol=1e-12)
    assert max(routed) < 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage": [0, 1]}, r"stage has shape \(2,\); give one number >= 0 for each of 3 trees"),
        ({"stage": [0, 1, -1]}, r"stage has shape \(3,\); give one number >= 0"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\), there are 2 examples"),
        ({"sample_weight": [0, 0]}, "sample_weight is 0 everywhere"),
        ({"X": [[0, 0]]}, "X has 2 columns, the forest was trained on 3 features"),
        ({"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 3 features"),
        ({"evaluation_cost": [1, 2]}, "evaluation_cost has 2 prices"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    arguments = {"X": ROWS, "costs": 1, **change}
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        staged_costs(three_trees(), arguments.pop("X"), arguments.pop("costs"), **arguments)
