"""A pruned forest back into the pruning that made it."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.models.forests.problems import pruning_from_forest
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning, rows, targets


@pytest.mark.parametrize("keep", ["some", "all", "none"])
@looped("kind", KINDS)
def test_back_and_forth(kind, keep):
    """Every kind of forest, pruned by `apply_pruning`, tells the pruning again, split by split."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    makers = {"some": lambda p: random_pruning(p, 0), "all": pm.Pruning.unpruned, "none": pm.Pruning.all_roots}
    pruning = makers[keep](problem)
    again = pruning_from_forest(problem, pm.apply_pruning(pruning, case.forest))
    np.testing.assert_array_equal(again.kept, pruning.kept)


@pytest.fixture
def case():
    """A small forest, its problem and a pruned copy."""
    X, y = rows(120, seed=1), (rows(120, seed=1)[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, y)
    problem = pm.problem_from_forest(forest, X, costs=1)
    return forest, problem, pm.apply_pruning(random_pruning(problem, 3), forest)


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


def test_the_first_node_that_differs_is_named(case):
    """Another threshold, feature, prediction, number of trees, a split grown on: each is refused with tree and node."""
    forest, problem, pruned = case
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
    with pytest.raises(pm.errors.InvalidInputError, match="the pruned forest has 2 trees, the problem's 3"):
        pruning_from_forest(problem, wrong)
    small = pm.problem_from_forest(pm.apply_pruning(pm.Pruning.all_roots(problem), forest), rows(5, seed=0), costs=1)
    with pytest.raises(pm.errors.InvalidInputError, match="has another split than the node in its place"):
        pruning_from_forest(small, forest)
