"""Averaged forests of other libraries as pruning problems."""

from __future__ import annotations

import numpy as np
import pytest
import treelite
import xgboost
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import InvalidInputError, UnsupportedModelError
from proofs_checks import check_path
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.boosting.boosted import prune_boosted
from prunemodels.models.forests.error_samples import Given
from prunemodels.models.libraries.averaged import prune_model
from prunemodels.models.libraries.reading import read_model
from prunemodels.other_libraries import problem_from_model
from solvers import brute_force
from tests.prunemodels.models.libraries.models import (
    X2,
    X3,
    XR,
    Y2,
    Y3,
    YR,
    lightgbm_models,
    margins_by_walking,
    some_pruning,
    treelite_models,
    xgboost_models,
)

BINARY = [("xgboost", "forest, two classes"), ("lightgbm", "forest, two classes")]
MODELS = {"xgboost": xgboost_models, "lightgbm": lightgbm_models}


@pytest.mark.parametrize(("library", "name"), BINARY)
@pytest.mark.parametrize("loss", ["log_loss", "zero_one"])
def test_errors_are_the_trees_mean_loss(library: str, name: str, loss: str) -> None:
    """Error of any pruning = mean over trees and rows of the loss of each tree's own margin, taken by brute force."""
    model, X, y = MODELS[library]()[name]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    problem = problem_from_model(model, X[:50], errors=Given(X, y, weight), costs=1, tree_loss=loss)
    forest = read_model(model)
    for seed, keep in ((0, 0.0), (1, 0.7), (2, 1.0)):
        kept = some_pruning(forest.ensemble, seed, keep)
        losses = []
        for t in range(forest.ensemble.n_trees):
            value = forest.ensemble.value[:, 0] * forest.ensemble.n_trees
            ends = np.empty(len(X), dtype=int)
            for i, x in enumerate(forest.rows(X).astype(float)):
                h = int(forest.ensemble.roots[t])
                while kept[h]:
                    f = forest.ensemble.feature[h]
                    left = forest.ensemble.missing_left[h] if np.isnan(x[f]) else x[f] <= forest.ensemble.threshold[h]
                    h = int((forest.ensemble.left if left else forest.ensemble.right)[h])
                ends[i] = h
            u = forest.base[0] + value[ends]
            losses.append(np.logaddexp(0, u) - y * u if loss == "log_loss" else (u > 0) != y)
        expected = np.average(np.mean(losses, axis=0), weights=weight)
        assert pm.Pruning(problem, kept).error == pytest.approx(expected, rel=1e-9)


def test_the_log_loss_bounds_the_forest_s_own() -> None:
    """Jensen: for every pruning on the path the forest's log loss on the error sample is at most the trees' mean."""
    model, X, y = xgboost_models()["forest, two classes"]
    problem = problem_from_model(model, X, errors=Given(X, y), costs=1)
    for pruning in pm.pruning_path(problem):
        assert evaluate(prune_model(pruning, model), X, y, costs=1).loss <= pruning.error + 1e-9


def test_everything_applies_to_such_a_problem() -> None:
    """Paths with certificates, budgets and single cuts: the same problem as of any forest."""
    model, X, y = xgboost_models()["forest, two classes"]
    problem = problem_from_model(model, X, errors=Given(X, y), costs=[1, 2, 3, 4, 5, 6])
    path = pm.pruning_path(problem)
    assert check_path(path).holds
    assert pm.solve(problem, budget=6.0).pruning.cost <= 6.0
    assert pm.engines.min_cut(problem, 0.01).value == pytest.approx(path.at_lam(0.01).value(0.01))
    small = xgboost.XGBRFClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X2, Y2)
    tiny = problem_from_model(small, X2, errors=Given(X2, Y2), costs=1)
    assert brute_force(tiny, 0.02).value == pytest.approx(pm.engines.min_cut(tiny, 0.02).value, rel=1e-12)


def test_class_fractions_are_scikit_learn_s_problem() -> None:
    """A forest through treelite gives the problem that problem_from_forest gives of the forest itself, error for error."""
    X = X3.astype(np.float32).astype(np.float64)  # treelite compares doubles, scikit-learn float32: the same here
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, Y3)
    model = treelite.sklearn.import_model(forest)
    ours = pm.pruning_path(problem_from_model(model, X, errors=Given(X, Y3), costs=1))
    theirs = pm.pruning_path(pm.problem_from_forest(forest, X, costs=1, errors=Given(X, Y3)))
    assert np.allclose(ours.cost, theirs.cost)
    assert np.allclose(ours.error, theirs.error)


def test_pruned_treelite_forests_predict() -> None:
    """prune_model of a treelite forest is a treelite model whose predictions are the pruning's."""
    model, X, y = treelite_models()["mean of numbers"]
    path = pm.pruning_path(problem_from_model(model, X, errors=Given(X, y), costs=1))
    pruning = path.at_cost(3.0)
    forest = read_model(model)
    predicted = treelite.gtil.predict(prune_model(pruning, model), X)[:, 0, 0]
    assert np.allclose(predicted, margins_by_walking(forest, forest.rows(X), pruning.kept)[:, 0], rtol=1e-12)


def test_what_has_no_error_of_its_own_is_refused() -> None:
    """Boosting, one tree a class, losses that do not fit, other models' prunings: refused with the remedy."""
    boosted, X, y = xgboost_models()["two classes"]
    with pytest.raises(UnsupportedModelError, match="its trees add up; use prune_boosted"):
        problem_from_model(boosted, X, errors=Given(X, y), costs=1)
    classes, X, y = xgboost_models()["forest, three classes"]
    with pytest.raises(UnsupportedModelError, match="speaks for one class only; use prune_boosted"):
        problem_from_model(classes, X, errors=Given(X, y), costs=1)
    numbers = xgboost_models()["forest, numbers"][0]
    with pytest.raises(InvalidInputError, match="tree_loss is 'log_loss'; for identity leaves it is one of squares"):
        problem_from_model(numbers, XR, errors=Given(XR, YR), costs=1, tree_loss="log_loss")
    pruning = pm.Pruning.unpruned(problem_from_model(numbers, XR, errors=Given(XR, YR), costs=1))
    with pytest.raises(InvalidInputError, match="give the model that the problem was built from"):
        prune_model(pruning, classes)
    fractions = treelite_models()["class fractions"][0]
    with pytest.raises(InvalidInputError, match="prune it with problem_from_model"):
        prune_boosted(fractions, X3, Y3, costs=1, lam=0)
    assert np.isnan(evaluate(fractions, X3, Y3, costs=1).loss)
    assert evaluate(fractions, X3, Y3, costs=1).error < 0.3
