"""Rows of a sub-forest path are real forests with fewer trees."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations import CostItems
from prunemodels.evaluation.path import evaluate_path
from prunemodels.rivals.baselines.sub_forest import sub_forest_path
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.prunemodels.forest_kinds import fitted, labels, rows, targets
from tests.prunemodels.rivals.baselines.cases import cost_of, hand_forest, keeps, same_rows


def test_hand_forest() -> None:
    """Tree 1 costs 5, tree 0 costs 8: the cheaper one stays longer; errors are of the trees that are left."""
    path = sub_forest_path(hand_forest(), order="cheapest")
    assert same_rows(path, [keeps(0, 2, 5), keeps(5), keeps()])
    assert path.parameter.tolist() == [2, 1, 0]
    assert path.cost.tolist() == [8, 5, 0]
    assert path.error.tolist() == pytest.approx([0.15, 0.2, 0.5])  # (1 + 2) / 20, tree 1 alone 2 / 10, both roots 10 / 20
    assert (path.parameter_name, path.method, path.single_leaves_vote) == ("trees", "cheapest trees", False)
    other = sub_forest_path(hand_forest(), order=[0, 1])
    assert same_rows(other, [keeps(0, 2, 5), keeps(0, 2), keeps()])
    assert other.error.tolist() == pytest.approx([0.15, 0.1, 0.5])
    assert other.method == "fewer trees"


@pytest.mark.parametrize("kind", ["random forest, 3 string labels", "bag, some columns", "extra trees", "regression forest"])
def test_rows_are_the_forests_of_fewer_estimators(kind: str) -> None:
    """Cost and error of every row are those of the forest with the other ``estimators_`` taken out, errors bit for bit."""
    f = fitted(kind)
    problem = pm.problem_from_forest(f.forest, f.X, costs=[1, 2.5, 3, 0, 7.27], evaluation_cost=0.1)
    path = sub_forest_path(problem, random_state=3)
    X = rows(150, seed=9)
    y = labels(X, list(f.forest.classes_), seed=3) if hasattr(f.forest, "classes_") else targets(X, 3)
    seen = evaluate_path(path, X, y)
    kept = np.random.RandomState(3).permutation(problem.ensemble.n_trees)
    assert path.parameter.tolist() == [*range(len(kept), -1, -1)]
    for k in range(len(kept)):
        trees = np.sort(kept[: len(kept) - k])
        forest = copy.deepcopy(f.forest)
        forest.estimators_ = [f.forest.estimators_[t] for t in trees]
        forest.n_estimators = len(trees)
        if hasattr(forest, "estimators_features_"):
            forest.estimators_features_ = [f.forest.estimators_features_[t] for t in trees]
        one = pm.evaluate(forest, X, y, costs=[1, 2.5, 3, 0, 7.27], evaluation_cost=0.1)
        assert seen.error[k] == pytest.approx(one.error, rel=0, abs=0 if hasattr(forest, "classes_") else 1e-14)
        assert seen.cost[k] == pytest.approx(one.cost, abs=1e-10)
    roots = pm.evaluate(pm.apply_pruning(pm.Pruning.all_roots(problem), f.forest), X, y, costs=1)
    assert seen.error[-1] == pytest.approx(roots.error, rel=0, abs=0 if hasattr(f.forest, "classes_") else 1e-14)
    assert seen.cost[-1] == 0


@pytest.mark.parametrize("grow", [RandomForestClassifier, RandomForestRegressor])
def test_error_is_that_of_the_trees_left(grow: Any) -> None:
    """The path's own error is the error of a problem built from the smaller forest."""
    X = rows(120, seed=2)
    y = labels(X, [0, 1, 2])
    forest, errors = grow(4, max_depth=4, random_state=0).fit(X, y), pm.samples.Given(X, y)
    path = sub_forest_path(pm.problem_from_forest(forest, X, costs=1, errors=errors), order=[2, 0, 3, 1])
    for k, trees in enumerate([[0, 1, 2, 3], [0, 2, 3], [0, 2], [2]]):
        smaller = copy.deepcopy(forest)
        smaller.estimators_ = [forest.estimators_[t] for t in trees]
        smaller.n_estimators = len(trees)
        whole = pm.Pruning.unpruned(pm.problem_from_forest(smaller, X, costs=1, errors=errors))
        assert path.error[k] == pytest.approx(whole.error)
        assert path.cost[k] == pytest.approx(whole.cost)


@looped("seed", range(40))
def test_the_cheapest_trees_are_those_that_cost_least_alone(seed: int) -> None:
    """Trees leave in the order of what each costs by itself, the dearest first, with items of all kinds."""
    problem = random_problem(seed)
    ensemble = problem.ensemble
    path = sub_forest_path(problem, order="cheapest")
    alone = [cost_of(problem, ensemble.is_split & (ensemble.tree_of == t)) for t in range(ensemble.n_trees)]
    splitting = [t for t in range(ensemble.n_trees) if ensemble.is_split[ensemble.roots[t]]]
    kept = sorted(splitting, key=lambda t: (alone[t], t))
    assert len(path) == len(kept) + 1
    for k, pruning in enumerate(path):
        assert sorted(set(ensemble.tree_of[pruning.kept].tolist())) == sorted(kept[: len(kept) - k])


def test_a_tree_pays_once_for_what_is_paid_once() -> None:
    """Tree 0 asks for the licence of 6 in both branches, and costs 1 + 6; tree 1 costs 8, so it goes first."""
    branch = Node(2, 1, 0.5, Node(0), Node(0))
    costs = CostItems.from_items({"a": 1, "licence": 6, "c": 8}, [["a"], ["licence"], ["c"]], once=["licence"])
    problem = problem_of([Node(6, 0, 0.5, branch, branch), Node(4, 2, 0.5, Node(1), Node(1))], costs, np.zeros((2, 3)))
    assert sub_forest_path(problem, order="cheapest").cost.tolist() == [15, 7, 0]


def test_single_leaves_are_no_trees_to_drop() -> None:
    """A tree that never was more than a leaf takes no row; it votes before row 0 and at the end."""
    trees = [Node(3), Node(6, 0, 0.5, Node(1), Node(2)), Node(5)]
    problem = problem_of(trees, [2])
    path = sub_forest_path(problem, random_state=0)
    assert path.parameter.tolist() == [1, 0]
    assert path.error.tolist() == pytest.approx([0.3, 14 / 30])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("dearest", "order is 'dearest'; give one of 'random', 'cheapest', a sequence"),
        ([0], r"order is \[0\]; give each of the trees 0 to 1 once"),
        ([0, 0], r"order is \[0, 0\]"),
        ([1, 2], r"order is \[1, 2\]"),
    ],
)
def test_what_is_no_order_is_refused(order: Any, message: str) -> None:
    """Each tree has one place."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        sub_forest_path(hand_forest(), order=order)
