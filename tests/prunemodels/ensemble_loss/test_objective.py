"""Pruning a real forest for its own loss: what is promised is what the pruned forest does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import brier_score_loss, log_loss, mean_squared_error
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.ensemble_loss import objective as ensemble_objective
from prunemodels.ensemble_loss.objective import ensemble_path, solve_ensemble_path
from prunemodels.ensemble_loss.path import EnsemblePath
from prunemodels.ensemble_loss.samples import ensemble_problem
from solvers.brute_force import all_prunings


def halves(load):  # type: ignore[no-untyped-def]
    """Shuffled data in a part to grow on and a part to prune on."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    n = len(y) // 2
    return X[:n], y[:n], X[n:], y[n:]


@pytest.fixture(scope="module")
def cancer() -> tuple[RandomForestClassifier, np.ndarray, np.ndarray, EnsemblePath]:
    """A forest on two classes, its validation data, and its path."""
    X, y, X_valid, y_valid = halves(load_breast_cancer)
    forest = RandomForestClassifier(15, max_depth=5, random_state=0).fit(X, y)
    return forest, X_valid, y_valid, ensemble_path(forest, X_valid, y_valid, costs=1, lams=5, budgets=[6.5, 9.0, 12.0])


def test_the_loss_is_scikit_learns_brier_score(cancer) -> None:  # type: ignore[no-untyped-def]
    """Of two classes the score of one; each row's loss is that of the pruned forest's own fractions, its cost the real one."""
    forest, X, y, path = cancer
    for k in range(len(path)):
        pruned = pm.apply_pruning(path[k], forest)
        assert path.loss[k] == pytest.approx(brier_score_loss(y, pruned.predict_proba(X)[:, 1]), rel=1e-12)
        assert path.cost[k] == pytest.approx(pm.evaluate(pruned, X, y, costs=1).cost)


def test_other_losses_are_scikit_learns_too() -> None:
    """Log loss of smoothed fractions, the Brier score of three classes with string labels, and squared error with weights."""
    X, y, X_valid, y_valid = halves(load_wine)
    names = np.array(["red", "rose", "white"])
    forest = ExtraTreesClassifier(9, max_depth=4, random_state=0).fit(X, names[y])
    for loss in ("log_loss", "brier"):
        path = ensemble_path(forest, X_valid, names[y_valid], costs=1, lams=[0.01], loss=loss, smoothing=2.0)
        F = pm.apply_pruning(path[0], forest).predict_proba(X_valid)
        assert path.solutions[0].relative_gap < 0.05
        if loss == "log_loss":
            expected = log_loss(names[y_valid], (F * 9 + 2.0) / (9 + 3 * 2.0), labels=names)
        else:
            expected = brier_score_loss(names[y_valid], F, labels=names)
        assert path.loss[0] == pytest.approx(expected, rel=1e-12)
    X, y, X_valid, y_valid = halves(load_diabetes)
    grown = RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, y)
    weights = np.random.default_rng(1).integers(0, 3, len(y_valid)).astype(float)
    path = ensemble_path(grown, X_valid, y_valid, costs=1, lams=[100.0], sample_weight=weights)
    predicted = pm.apply_pruning(path[0], grown).predict(X_valid)
    assert path.loss[0] == pytest.approx(mean_squared_error(y_valid, predicted, sample_weight=weights))


def test_out_of_bag_votes_are_scikit_learns() -> None:
    """The unpruned forest's out-of-bag loss is that of ``oob_decision_function_``; rows that every tree drew are left out."""
    X, y, X_valid, _ = halves(load_breast_cancer)
    with pytest.warns(UserWarning, match="out-of-bag|OOB"):
        forest = RandomForestClassifier(4, oob_score=True, random_state=0).fit(X, y)
    problem = ensemble_problem(forest, X_valid, costs=1, errors=pm.samples.OutOfBag(X, y))
    F, judged = forest.oob_decision_function_[:, 1], forest.oob_decision_function_.sum(axis=1) > 0
    assert problem.n_rows == judged.sum() < len(y)
    unpruned = problem.of_pruning(pm.Pruning.unpruned(problem.problem))
    assert np.allclose(unpruned[:, 0], F[judged])
    assert problem.loss_of(unpruned) == pytest.approx(brier_score_loss(y[judged], F[judged]))
    assert "out-of-bag rows" in repr(problem)


def test_never_worse_than_the_per_tree_path(cancer) -> None:  # type: ignore[no-untyped-def]
    """At every lambda and every budget the per-tree path's rows have no less loss, each computed alone."""
    _, _, _, path = cancer
    problem, trees = path.problem, path.tree_path
    assert len(trees) > 10
    loss = np.array([problem.loss_of(problem.of_pruning(row)) for row in trees])
    assert np.allclose(loss, path.candidates[0].loss[: len(trees)])
    for k, lam in enumerate(path.lam):
        assert path.solutions[k].value <= (loss + lam * trees.cost).min() + 1e-12
    for lam in (0.0, 0.004, 0.03, 1.0):
        found = path.at_lam(lam)
        assert problem.loss_of(problem.of_pruning(found)) + lam * found.cost <= (loss + lam * trees.cost).min() + 1e-12
    for budget in (0.0, 2.0, 6.5, 11.0, 1e6):
        found = path.at_cost(budget)
        assert found.exact_cost <= budget
        assert problem.loss_of(problem.of_pruning(found)) <= loss[trees.cost <= budget].min() + 1e-12


def test_a_budget_that_was_named_is_nearly_met() -> None:
    """With `budgets` lambdas are added, and the answer within the budget is better than without."""
    X, y, X_valid, y_valid = halves(load_breast_cancer)
    forest = RandomForestClassifier(15, random_state=0).fit(X, y)
    few = ensemble_path(forest, X_valid, y_valid, costs=1, lams=[0.05])
    path = ensemble_path(forest, X_valid, y_valid, costs=1, lams=[0.05], budgets=[7.0, 0.0])
    assert len(few) == 1 < len(path) <= 1 + 2 * ensemble_objective.REFINEMENTS
    assert (np.diff(path.lam) > 0).all()
    assert few.at_cost(7.0).cost < path.at_cost(7.0).cost <= 7.0
    assert path.at_cost(7.0).cost >= 0.98 * 7.0
    near, far = (p.problem.loss_of(p.problem.of_pruning(p.at_cost(7.0))) for p in (path, few))
    assert near < far


def test_bounds_hold_for_all_prunings_of_a_small_forest() -> None:
    """Listed: no pruning within a budget has a loss below `bound_at_cost`, none at a lambda a value below `bound`."""
    X, y, X_valid, y_valid = halves(load_wine)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    path = ensemble_path(forest, X_valid, y_valid, costs=1, lams=6)
    trees = path.problem.problem
    everything = [pm.Pruning(trees, kept) for kept in all_prunings(trees).kept]
    loss = np.array([path.problem.loss_of(path.problem.of_pruning(p)) for p in everything])
    cost = np.array([p.cost for p in everything])
    for k, lam in enumerate(path.lam):
        assert path.bound[k] <= (loss + lam * cost).min() + 1e-12
    tight = 0
    for budget in np.linspace(0, cost.max(), 9):
        bound = path.bound_at_cost(budget)
        assert bound <= loss[cost <= budget].min() + 1e-12
        tight += bound > 0.5 * loss[cost <= budget].min()
    assert tight >= 5


def test_the_table_of_a_path(cancer) -> None:  # type: ignore[no-untyped-def]
    """Bounds are below values, values are loss + lambda * cost, lambdas ascend."""
    _, _, _, path = cancer
    frame = path.to_frame()
    assert list(frame.columns) == ["lambda", "cost", "loss", "value", "bound", "splits"]
    assert (frame["bound"] <= frame["value"]).all()
    assert np.allclose(frame["value"], frame["loss"] + frame["lambda"] * frame["cost"])
    assert "EnsemblePath(" in repr(path)
    assert frame["lambda"].is_monotonic_increasing


def test_frames_are_read_by_name_and_labels_may_be_words() -> None:
    """A table with names, costs by name, missing values, evaluation prices: the numbers are those of the plain array."""
    X, y, X_valid, y_valid = halves(load_breast_cancer)
    X[::7, 3] = np.nan
    names = [f"f{k}" for k in range(X.shape[1])]
    words = np.array(["no", "yes"])
    table = pd.DataFrame(X_valid, columns=names)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(pd.DataFrame(X, columns=names), words[y])
    prices = {name: 1.0 + (k % 3) for k, name in enumerate(names)}
    path = ensemble_path(forest, table, words[y_valid], costs=prices, lams=[0.01], evaluation_cost=0.01)
    plain = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    same = ensemble_path(plain, X_valid, y_valid, costs=list(prices.values()), lams=[0.01], evaluation_cost=0.01)
    assert path.loss[0] == same.loss[0]
    assert path.cost[0] == same.cost[0]
    assert path[0].evaluation_cost > 0


def test_where_the_trees_store_no_errors_the_sample_serves() -> None:
    """Trees that constraints clipped store no in-bag errors: the per-tree path takes the error sample's, or the one given."""
    X, y, X_valid, y_valid = halves(load_diabetes)
    forest = RandomForestRegressor(3, max_depth=2, monotonic_cst=[0, 0, 1] + [0] * 7, random_state=0).fit(X, y)
    sample = pm.samples.Given(X_valid, y_valid)
    assert ensemble_problem(forest, X_valid, costs=1, errors=sample).problem.errors.source == "given"
    blend = ensemble_problem(forest, X_valid, costs=1, errors=sample, tree_errors=pm.samples.InBag(X, y))
    assert blend.problem.errors.source == "in-bag"
    squared = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, y)
    assert ensemble_problem(squared, X_valid, costs=1, errors=sample).problem.errors.source == "in-bag"


def test_a_single_tree_and_a_forest_of_leaves() -> None:
    """One tree is a forest; with nothing to prune there is one answer, at lambda 0."""
    X, y, X_valid, y_valid = halves(load_breast_cancer)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    path = ensemble_path(tree, X_valid, y_valid, costs=1, lams=4)
    assert path.loss.min() < path.candidates[0].loss[-1]
    leaf = RandomForestClassifier(2, max_depth=1, min_samples_leaf=len(y), random_state=0).fit(X, y)
    nothing = ensemble_path(leaf, X_valid, y_valid, costs=1)
    assert nothing.lam.tolist() == [0.0]
    assert nothing.at_cost(0).n_splits == 0
    one_class = RandomForestClassifier(2, random_state=0).fit(X[y == 1], y[y == 1])
    assert ensemble_path(one_class, X[y == 1], y[y == 1], costs=1).loss.tolist() == [0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "loss is 'hinge'; give one of 'brier', 'log_loss'"),
        ({"loss": "squared_error"}, "for classification"),
        ({"loss": "log_loss", "smoothing": 0.0}, "smoothing is 0.0"),
        ({"loss": "log_loss", "smoothing": float("nan")}, "smoothing is nan"),
        ({"errors": pm.samples.InBag()}, "errors is an InBag; give a Given, an OutOfBag or None"),
        ({"errors": pm.samples.Given(None, None)}, "give both X and y"),
        ({"errors": pm.samples.OutOfBag(np.zeros((3, 13)), np.zeros(3))}, "trained on 89"),
        ({"lams": []}, "lams is empty"),
        ({"lams": 0}, "lams is 0"),
        ({"lams": [-1.0]}, "lams"),
        ({"budgets": [-1.0]}, "budgets"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    """Each by name, value and remedy."""
    X, y, X_valid, y_valid = halves(load_wine)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        ensemble_path(forest, X_valid, y_valid, costs=1, **options)  # type: ignore[arg-type]


def test_bad_labels_and_budgets_are_refused() -> None:
    """Unknown labels, labels for other rows, trees without out-of-bag rows, and budgets that nothing meets."""
    X, y, X_valid, y_valid = halves(load_wine)
    forest = RandomForestClassifier(3, max_depth=2, bootstrap=False, random_state=0).fit(X, y)
    with pytest.raises(pm.errors.InvalidInputError, match="label 7"):
        ensemble_path(forest, X_valid, np.full(len(y_valid), 7), costs=1)
    with pytest.raises(pm.errors.InvalidInputError, match="give one label each"):
        ensemble_path(forest, X_valid, y_valid[:-1], costs=1)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    with pytest.raises(pm.errors.InvalidInputError, match="none is out of bag"):
        ensemble_path(forest, X_valid, y_valid, costs=1, errors=pm.samples.OutOfBag(X, y))
    with pytest.raises(pm.errors.InvalidInputError, match="none is out of bag"):
        ensemble_path(tree, X_valid, y_valid, costs=1, errors=pm.samples.OutOfBag(X, y))
    regressor = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, y)
    with pytest.raises(pm.errors.InvalidInputError, match="for regression give 'squared_error'"):
        ensemble_path(regressor, X_valid, y_valid, costs=1, loss="brier")
    path = ensemble_path(forest, X_valid, y_valid, costs=1, lams=[0.1])
    for budget in (-1.0, float("nan")):
        with pytest.raises(pm.errors.InvalidInputError, match="budget is"):
            path.at_cost(budget)
    problem = ensemble_problem(forest, X_valid, costs=1, errors=pm.samples.Given(X_valid, y_valid))
    assert solve_ensemble_path(problem, lams=[0.1]).loss == path.loss


def test_a_time_limit_leaves_an_answer(cancer) -> None:  # type: ignore[no-untyped-def]
    """Without time one lambda is answered, by one step, and named budgets are still within."""
    forest, X, y, _ = cancer
    path = ensemble_path(forest, X, y, costs=1, lams=5, budgets=[6.5], time_limit=0.0)
    assert len(path) == 1
    assert path.solutions[0].stats["iterations"] == 1
    assert path.at_cost(6.5).cost <= 6.5
