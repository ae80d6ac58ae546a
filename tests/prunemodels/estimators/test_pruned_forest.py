"""Estimators that prune on validation examples, and everything that takes a forest takes them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm
from prunemodels.estimators import PrunedForest, prune_forest
from prunemodels.estimators.pruned_forest import feature_usage
from prunemodels.evaluation.path import at_most, evaluate_path, one_se
from prunemodels.example import X_test, X_train, X_valid, costs, forest, y_test, y_train, y_valid
from tests.instances import random_problem, way
from tests.loops import looped


@cache
def cancer() -> tuple[Any, ...]:
    """A small forest and its data: forest, X_valid, y_valid, costs."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_valid, y_train, y_valid = train_test_split(X, y.to_numpy(), random_state=0)
    forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X_train, y_train)
    return forest, X_valid, y_valid, {name: 2.5 if "worst" in name else 1.0 for name in X.columns}


def pruned(**options: Any) -> PrunedForest:
    forest, X, y, costs = cancer()
    return prune_forest(forest, X, y, costs=costs, **options)


@cache
def path() -> pm.PruningPath:
    forest, X, _, costs = cancer()
    return pm.pruning_path(pm.problem_from_forest(forest, X, costs=costs))


def test_a_budget_is_kept_exactly() -> None:
    """The cost on the cost sample is at most the budget in exact numbers; the solution, with its bound, is kept."""
    made = pruned(budget=Fraction(35, 3))
    assert made.solution is not None
    assert made.pruning.exact_cost <= Fraction(35, 3)
    assert made.solution.bound <= made.pruning.error
    assert made.cost == made.pruning.cost == pytest.approx(35 / 3, abs=0.2)
    assert (made.row, made.evaluation) == (None, None)
    np.testing.assert_array_equal(
        made.estimator.predict(cancer()[1]), pm.apply_pruning(made.pruning, cancer()[0]).predict(cancer()[1])
    )


@pytest.mark.parametrize("lam", [0, 0.002, Fraction(1, 100), math.inf])
def test_a_lambda_takes_its_row(lam: Any) -> None:
    """The pruning is the path's at that lambda; no labels are needed."""
    forest, X, _, costs = cancer()
    made = prune_forest(forest, X, costs=costs, lam=lam)
    assert made.row == path().row_at_lam(lam)
    np.testing.assert_array_equal(made.pruning.kept, path().at_lam(lam).kept)
    assert made.solution is None


def test_an_increase_of_the_error_is_kept() -> None:
    """The forest errs at most so much more than the unpruned one on the validation data, and no cheaper row does."""
    forest, X, y, costs = cancer()
    made = pruned(max_error_increase=0.02)
    errors = [pm.evaluate(model, X, y, costs=costs).error for model in (forest, made.estimator)]
    assert errors[1] <= errors[0] + 0.02
    assert made.row == at_most(evaluate_path(path(), X, y), 0.02)
    assert made.evaluation is not None
    assert (made.evaluation.increase[made.row + 1 :] > 0.02).all()


def test_where_no_row_errs_as_little_the_unpruned_forest_stays() -> None:
    """The unpruned forest has no increase at all, so that 0 can always be kept."""
    X = np.arange(8.0).reshape(-1, 1)
    # in-bag the second split of each tree gains nothing and is dropped even at lambda 0; on these labels it was right
    forest = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 0, 1, 1, 0, 0, 0, 0])
    problem = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X, [0] * 8))
    assert pm.pruning_path(problem)[0].n_splits == 0
    made = prune_forest(forest, X, [0, 0, 1, 1, 0, 0, 0, 0], errors=pm.samples.Given(X, [0] * 8), max_error_increase=0)
    assert made.row is None
    assert made.pruning.n_splits == 2
    assert made.evaluation is not None
    assert made.evaluation.unpruned_error == 0


def test_weights_count_in_cost_and_choice() -> None:
    """Weights of the validation examples reach the cost sample, the evaluation, and errors measured there."""
    forest, X, y, costs = cancer()
    w = np.random.default_rng(0).choice([0.0, 1, 4], len(y))
    made = prune_forest(forest, X, y, costs=costs, sample_weight=w, errors="validation")
    problem = pm.problem_from_forest(forest, X, costs=costs, sample_weight=w, errors=pm.samples.Given(X, y, w))
    expected = pm.pruning_path(problem)
    np.testing.assert_array_equal(made.path.level, expected.level)
    assert made.row == one_se(evaluate_path(expected, X, y, sample_weight=w))


@looped("seed", range(25))
def test_feature_usage_is_counted_by_walking(seed: int) -> None:
    """The share of the weight of rows that are asked for a feature somewhere, on random instances with zero weights."""
    problem = random_problem(seed)
    pruning = pm.pruning_path(problem)[0]
    e = problem.ensemble
    X = np.asarray(problem.X)[problem.usage.rows]
    asked = np.zeros((len(X), e.n_features), dtype=bool)
    for i, x in enumerate(X):
        for root in e.roots.tolist():
            asked[i, e.feature[way(e, root, x, pruning.kept)[:-1]]] = True
    assert feature_usage(pruning) == pytest.approx(np.average(asked, axis=0, weights=problem.usage.weights))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 3, "lam": 0.1}, "budget and lam are both given; give one of budget, limits, lam, max_error_increase"),
        ({"budget": -1}, "budget is -1, negative"),
        ({"lam": math.nan}, "lam is nan"),
        ({"max_error_increase": -0.1}, "max_error_increase is -0.1, negative"),
        ({"max_error_increase": math.inf}, "max_error_increase is inf"),
        ({"choose": "best"}, "choose is 'best'"),
        ({"method": "guess", "budget": 3}, "method is 'guess'; give one of 'path', 'best', 'exact'"),
        ({"lam": 0.1, "y_valid": None, "errors": "validation"}, "y_valid is missing: errors='validation' needs the labels"),
        ({"y_valid": None}, "y_valid is missing: without budget and lam the choice needs the labels of X_valid"),
        ({"errors": "in the bag"}, "errors is 'in the bag'"),
    ],
)
def test_what_cannot_be_chosen_is_refused(options: dict[str, Any], message: str) -> None:
    forest, X, y, _ = cancer()
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.prune_forest(forest, X, **{"y_valid": y, **options})


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    """One of each that prunes a forest."""
    few = RandomForestClassifier(4, max_depth=3, random_state=0)
    single = pm.BudgetPrunedForestClassifier(few, costs, budget=12, random_state=0)
    return {"estimator": single.fit(X_train, y_train), "result": pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=6)}


def pruned_forest(model: Any) -> Any:
    return model.estimator if isinstance(model, pm.PrunedForest) else model.estimator_


KINDS = ("estimator", "result")


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_forests_take_them(kind: str, fitted: dict[str, Any]) -> None:
    """Costs and errors are those of the pruned forest."""
    model, pruned = fitted[kind], pruned_forest(fitted[kind])
    assert vars(pm.evaluate(model, X_test, y_test, costs=costs)) == vars(pm.evaluate(pruned, X_test, y_test, costs=costs))
    bought = pm.OnDemandPredictor(model, costs, pm.on_demand.from_table(X_test)).run(X_test.index)
    assert bought.predictions.tolist() == pruned.predict(X_test).tolist()


@pytest.mark.slow_cases("result")
@pytest.mark.parametrize("kind", KINDS)
def test_report(kind: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    """A report needs nothing but the estimator and held-out examples."""
    page = pm.write_report(tmp_path / "report.html", fitted[kind], X_test, y_test, title="Tumours").read_text()
    assert "Tumours" in page
    assert "All checks hold" in page or "optimal" in page


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["skops", "joblib"])
def test_files(kind: str, ending: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    """What is saved and read again is the pruned forest: no rows of the cost sample are in the file."""
    file = tmp_path / f"model.{ending}"
    pm.save_forest(fitted[kind], file)
    again = pm.load_forest(file, trust_pickle=True)
    assert type(again) is RandomForestClassifier
    assert (again.predict_proba(X_test) == pruned_forest(fitted[kind]).predict_proba(X_test)).all()


def test_what_is_not_fitted_is_refused_by_name(tmp_path: Path) -> None:
    """Every door says which estimator, and to fit it."""
    model = pm.BudgetPrunedForestClassifier(budget=3)
    for use in (
        lambda: pm.save_forest(model, tmp_path / "model.skops"),
        lambda: pm.write_report(tmp_path / "report.html", model, X_test, y_test),
    ):
        with pytest.raises(pm.errors.NotFittedForestError, match="the BudgetPrunedForestClassifier is not fitted: call fit"):
            use()
    assert not list(tmp_path.iterdir())


def test_what_users_call_on_forests(fitted: dict[str, Any]) -> None:
    """Leaves, paths and trees are the pruned forest's own; a bag, which has no `apply`, has none here either."""
    model = fitted["estimator"]
    pruned = model.estimator_
    np.testing.assert_array_equal(model.apply(X_test), pruned.apply(X_test))
    assert (model.decision_path(X_test)[0] != pruned.decision_path(X_test)[0]).nnz == 0
    assert model.estimators_ is pruned.estimators_
    assert not hasattr(pm.BudgetPrunedForestClassifier(BaggingClassifier()), "apply")
    assert pm.read_forest(model.unpruned_estimator_).n_splits > pm.read_forest(pruned).n_splits > 0
