"""A forest in, every optimal pruning out: the whole job on real data, recounted on the pruned scikit-learn forests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

import prunemodels as pm
from proofs_checks import check_path, check_solution
from prunemodels.models.forests.training_rows import FORESTS_DRAW_BY_WEIGHT

DATA = {
    "breast cancer": (load_breast_cancer, RandomForestClassifier(7, criterion="entropy", random_state=0)),
    "wine, three classes": (load_wine, RandomForestClassifier(5, class_weight={0: 1, 1: 2, 2: 3}, random_state=1)),
    "wine, a bag": (load_wine, BaggingClassifier(DecisionTreeClassifier(max_depth=4), 6, max_features=0.5, random_state=2)),
    "wine, extra trees": (load_wine, ExtraTreesClassifier(5, bootstrap=True, max_depth=5, random_state=3)),
    "diabetes": (load_diabetes, RandomForestRegressor(5, max_depth=5, random_state=4)),
}


@pytest.fixture(scope="module", params=DATA)
def job(request: pytest.FixtureRequest) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """A fitted forest, its training data, and a cost sample."""
    load, forest = DATA[request.param]
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    half = len(y) // 2
    return forest.fit(X[:half], y[:half]), X[:half], y[:half], X[half:]


def features_by_row(forest: Any, X: NDArray[Any]) -> list[set[int]]:
    """The features that each row is asked for, by scikit-learn's own decision paths."""
    asked: list[set[int]] = [set() for _ in X]
    columns = getattr(forest, "estimators_features_", [np.arange(X.shape[1])] * len(forest.estimators_))
    for tree, mine in zip(forest.estimators_, columns, strict=True):
        visited = tree.decision_path(X[:, mine]).tocoo()
        for row, node in zip(visited.row, visited.col, strict=True):
            feature = tree.tree_.feature[node]
            if feature >= 0:
                asked[row].add(int(mine[feature]))
    return asked


def tree_errors(forest: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    """Mean over the trees of their weighted in-bag error, by their own predictions."""
    columns = getattr(forest, "estimators_features_", [np.arange(X.shape[1])] * len(forest.estimators_))
    errors = []
    for tree, mine, drawn in zip(forest.estimators_, columns, forest.estimators_samples_, strict=True):
        predicted, truth = tree.predict(X[drawn][:, mine]), y[drawn]
        if hasattr(forest, "classes_"):
            predicted = forest.classes_[predicted.astype(int)] if not isinstance(forest, BaggingClassifier) else predicted
            in_draw = FORESTS_DRAW_BY_WEIGHT or not getattr(forest, "class_weight", None)  # where class weights act
            weights = np.ones(len(drawn)) if in_draw else compute_sample_weight(forest.class_weight, y)[drawn]
            errors.append(np.average(predicted != truth, weights=weights))
        else:
            errors.append(np.mean((predicted - truth) ** 2))
    return float(np.mean(errors))


def test_cost_and_error_are_those_of_the_pruned_forest(job: tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any]]) -> None:
    """Along the path, cost and error recounted by routing examples through the pruned forest equal the reported ones."""
    forest, X, y, X_cost = job
    prices = np.round(np.random.default_rng(1).uniform(0, 10, X.shape[1]), 2)
    path = pm.pruning_path(pm.problem_from_forest(forest, X_cost, costs=prices))
    rows = sorted({0, 1, len(path) // 3, len(path) // 2, len(path) - 2, len(path) - 1})
    for k in rows:
        pruned = pm.apply_pruning(path[k], forest)
        cost = np.mean([sum(prices[list(asked)]) for asked in features_by_row(pruned, X_cost)])
        assert path.cost[k] == pytest.approx(cost, rel=1e-12, abs=1e-12)
        assert path.error[k] == pytest.approx(tree_errors(pruned, X, y), rel=1e-9, abs=1e-9)
        assert sum(tree.tree_.node_count // 2 for tree in pruned.estimators_) == path.n_splits[k]


def test_a_checker_accepts_path_and_cut_on_real_forests() -> None:
    """On a small real forest the independent checker proves every row of the path, and single cuts beside it."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X[:300], y[:300])
    problem = pm.problem_from_forest(forest, X[300:400], costs=1, evaluation_cost=0.05)
    path = pm.pruning_path(problem)
    assert len(path) > 5
    verdict = check_path(path)
    assert verdict, str(verdict)
    for lam in path.lam[1::4]:
        verdict = check_solution(problem, pm.engines.min_cut(problem, float(lam)))
        assert verdict, str(verdict)
