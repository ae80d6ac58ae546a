"""The estimators grow, prune and predict, and work wherever scikit-learn's do."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import prunemodels as pm
from prunemodels.estimators import BudgetPrunedForestClassifier, BudgetPrunedForestRegressor
from prunemodels.evaluation.path import evaluate_path, knee, one_se
from prunemodels.models.forests.training_rows import VERSION

SMALL = RandomForestClassifier(8, max_depth=6, random_state=1)


@cache
def cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.where(y == 1, "benign", "malignant")


def fit(**parameters: Any) -> BudgetPrunedForestClassifier:
    return BudgetPrunedForestClassifier(**{"estimator": SMALL, "random_state": 0, **parameters}).fit(*cancer())


def test_a_budget() -> None:
    """The cost on the cost sample is at most the budget; what is fitted is a pruned scikit-learn forest with all its pieces."""
    X, y = cancer()
    model = fit(budget=5)
    assert type(model.estimator_) is RandomForestClassifier
    assert model.solution_ is not None
    assert model.solution_.pruning is model.pruning_
    assert model.pruning_.exact_cost <= 5
    assert model.cost_ == model.pruning_.cost
    assert model.feature_usage_.sum() == pytest.approx(model.cost_)
    assert model.evaluation_ is None
    assert model.classes_.tolist() == ["benign", "malignant"]
    assert model.n_features_in_ == 30
    assert model.feature_names_in_.tolist() == X.columns.tolist() == model.estimator_.feature_names_in_.tolist()
    assert set(model.predict(X)) == set(y)
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), model.estimator_.predict_log_proba(X))
    np.testing.assert_array_equal(model.feature_importances_, model.estimator_.feature_importances_)
    assert model.score(X, y) == (model.predict(X) == y).mean() > 0.9
    assert model.path_.certificate is None


def test_the_forest_sees_the_rest() -> None:
    """The validation part, 30 % of each class, is the cost sample; the forest is the one fitted on the other rows."""
    X, y = cancer()
    model = fit(lam=0.0)
    valid = model.path_.problem.X
    assert isinstance(valid, np.ndarray)
    n = [int((y == c).sum()) for c in model.classes_]
    assert len(valid) == sum(round(0.3 * k) for k in n)
    known = {tuple(row): k for k, row in enumerate(X.to_numpy(np.float32).tolist())}
    rows = np.array([known[tuple(row)] for row in valid.tolist()])
    assert [(y[rows] == c).sum() for c in model.classes_] == [round(0.3 * k) for k in n]
    rest = np.setdiff1d(np.arange(len(y)), rows)
    forest = clone(SMALL).fit(X.iloc[rest].astype(np.float32), y[rest])
    expected = pm.problem_from_forest(forest, X.iloc[rows], costs=1)
    np.testing.assert_array_equal(model.path_.problem.ensemble.threshold, expected.ensemble.threshold)
    np.testing.assert_array_equal(model.path_.level, pm.pruning_path(expected).level)


@pytest.mark.parametrize("part", ["random", "given"])
def test_rules_choose_on_the_validation_part(part: str) -> None:
    """one_se (the default) and knee take the rows that they take on the evaluation of the part set aside, or given."""
    X, y = cancer()
    more = {} if part == "random" else {"X_valid": X[400:], "y_valid": y[400:]}
    models = [
        BudgetPrunedForestClassifier(SMALL, choose=rule, random_state=0).fit(X[:400], y[:400], **more)
        for rule in ("one_se", "knee")
    ]
    for model, rule in zip(models, (one_se, knee), strict=True):
        assert model.evaluation_ is not None
        np.testing.assert_array_equal(model.pruning_.kept, model.path_[rule(model.evaluation_)].kept)
    if part == "given":
        assert models[0].evaluation_ is not None
        np.testing.assert_array_equal(models[0].evaluation_.error, evaluate_path(models[0].path_, X[400:], y[400:]).error)
        assert models[0].path_.problem.usage.n_rows == len(X) - 400
        assert models[0].path_.problem.errors.components[0].weight[0] == 400  # all given rows are trained on


@pytest.mark.parametrize("errors", ["in-bag", "out-of-bag", "validation"])
def test_where_errors_are_measured(errors: Any) -> None:
    """Each choice gives the node errors of its error sample."""
    X, y = cancer()
    X32 = X.astype(np.float32)
    model = BudgetPrunedForestClassifier(SMALL, lam=0.001, errors=errors).fit(X[:400], y[:400], X_valid=X[400:], y_valid=y[400:])
    forest = clone(SMALL).fit(X32[:400], y[:400])
    sample = {
        "in-bag": pm.samples.InBag(X32[:400], y[:400]),
        "out-of-bag": pm.samples.OutOfBag(X32[:400], y[:400]),
        "validation": pm.samples.Given(X32[400:], y[400:]),
    }[errors]
    expected = pm.problem_from_forest(forest, X32[400:], costs=1, errors=sample)
    np.testing.assert_allclose(model.path_.problem.node_error, expected.node_error, atol=1e-15)


def test_weights_of_zero_take_no_part() -> None:
    """Rows of weight 0 change neither the split nor the forest nor the choice; other weights count everywhere."""
    X, y = cancer()
    w = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(y))
    model = BudgetPrunedForestClassifier(SMALL, random_state=0).fit(X, y, sample_weight=w)
    kept = w > 0
    other = BudgetPrunedForestClassifier(SMALL, random_state=0).fit(X[kept], y[kept], sample_weight=w[kept])
    np.testing.assert_array_equal(model.path_.level, other.path_.level)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert set(model.path_.problem.usage.weights) == {1.0, 3.0}
    plain = BudgetPrunedForestClassifier(SMALL, random_state=0).fit(X[kept], y[kept])
    assert not np.array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_missing_values_pass_where_the_forest_takes_them() -> None:
    """NaN goes through, in tables too, where scikit-learn would write into a float32 table's read-only view."""
    X, y = cancer()
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = BudgetPrunedForestClassifier(SMALL, budget=5, random_state=0).fit(holes, y)
    assert model.score(holes, y) > 0.85
    assert sklearn.utils.get_tags(BudgetPrunedForestClassifier()).input_tags.allow_nan


@pytest.mark.skipif(VERSION < (1, 9), reason="scikit-learn 1.6 to 1.8 see no column names in tables of polars 2")
def test_costs_by_name_in_pandas_and_polars() -> None:
    """Prices by name find their columns; polars tables give what pandas tables give, also in predict."""
    X, y = cancer()
    costs = {name: 2.5 if "worst" in name else 1.0 for name in reversed(X.columns)}
    polar = pl.DataFrame({name: X[name].to_numpy() for name in X.columns})
    models = [BudgetPrunedForestClassifier(SMALL, costs, budget=6, random_state=0).fit(table, y) for table in (X, polar)]
    assert models[0].cost_ == models[1].cost_ <= 6
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(polar))
    assert [float(p) for p in models[1].path_.problem.costs.prices] == [costs[name] for name in X.columns]


def test_random_states() -> None:
    """The forest's own is respected; without one it comes from the estimator's, and the same number gives the same model."""
    X, y = cancer()
    given = fit(lam=0.0)
    assert given.estimator_.random_state == 1
    free = [
        BudgetPrunedForestClassifier(RandomForestClassifier(3), lam=0.0, random_state=seed).fit(X, y).predict_proba(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(free[0], free[1])
    assert not np.array_equal(free[0], free[2])
    assert SMALL.get_params()["random_state"] == 1
    assert not hasattr(SMALL, "estimators_")


@pytest.mark.slow
def test_in_meta_estimators() -> None:
    """Grid search over budgets, cross-validation, calibration, and a pipeline that sets its output, all work."""
    X, y = cancer()
    model = BudgetPrunedForestClassifier(RandomForestClassifier(5, max_depth=4), random_state=0)
    search = GridSearchCV(model, {"budget": [1, 4], "estimator__max_depth": [2, 4]}, cv=2).fit(X, y)
    assert search.best_estimator_.cost_ <= search.best_params_["budget"]
    assert cross_val_score(model.set_params(budget=4), X, y, cv=2).min() > 0.85
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    pipeline = make_pipeline(StandardScaler(), clone(model)).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert pipeline.score(X, y) > 0.85


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "cost"])
def test_a_grid_search_over_budgets(scoring: Any) -> None:
    """A candidate's score is that of a model fitted on the fold by hand, whichever scorer; budgets may be fractions."""
    X, y = cancer()
    costs = {name: 2.5 if "worst" in name else 1.0 for name in X.columns}
    budgets = [1, 2.5, Fraction(9)]
    single = BudgetPrunedForestClassifier(SMALL, costs, method="path", random_state=0)
    score = (lambda model, rows, labels: -pm.evaluate(model, rows, labels, costs=costs).cost) if scoring == "cost" else scoring
    splits = list(StratifiedKFold(3).split(X, y))
    search = GridSearchCV(single, {"budget": budgets}, cv=splits, scoring=score).fit(X, y)
    train, test = splits[1]
    for j, budget in enumerate(budgets):
        one = clone(single).set_params(budget=budget).fit(X.iloc[train], y[train])
        by_hand = check_scoring(one, score)(one, X.iloc[test], y[test])
        assert search.cv_results_["split1_test_score"][j] == pytest.approx(by_hand)
        assert one.cost_ <= budget
    np.testing.assert_array_equal(search.predict(X), clone(single).set_params(**search.best_params_).fit(X, y).predict(X))


@pytest.mark.parametrize("errors", ["in-bag", "validation"])
def test_a_fit_prunes_as_the_function_does(errors: Any) -> None:
    """On the same forest and validation examples both find the same path, whose measure is the misclassification cost."""
    X, y = cancer()
    rows = X.to_numpy(np.float32)
    given: dict[str, Any] = {"costs": 1, "budget": 2, "errors": errors, "method": "path"}
    model = BudgetPrunedForestClassifier(SMALL, **given, misclassification_costs=C)
    model.fit(rows[:400], y[:400], X_valid=rows[400:], y_valid=y[400:])
    forest = clone(SMALL).fit(rows[:400], y[:400])
    result = pm.prune_forest(forest, rows[400:], y[400:], misclassification_costs=C, **given)
    assert np.array_equal(model.path_.error, result.path.error)
    assert np.array_equal(model.pruning_.kept, result.pruning.kept)
    assert model.path_.problem.ensemble.measure == "mean misclassification cost"
    plain = pm.prune_forest(forest, rows[400:], y[400:], **given)
    assert not np.array_equal(plain.path.error, result.path.error)


def test_validation_data_are_routed_through_a_pipeline() -> None:
    """With metadata routing, a pipeline transforms X_valid as it transforms X, and hands both on."""
    X, y = cancer()
    with sklearn.config_context(enable_metadata_routing=True):
        model = BudgetPrunedForestClassifier(SMALL, budget=5).set_fit_request(
            X_valid=True, y_valid=True, sample_weight_valid=True
        )
        pipeline = Pipeline([("scale", StandardScaler()), ("forest", model)], transform_input=["X_valid"])
        w = np.ones(169)
        pipeline.fit(X[:400], y[:400], X_valid=X[400:], y_valid=y[400:], sample_weight_valid=w)
    scaled = StandardScaler().fit(X[:400]).transform(X[400:])
    used = pipeline[-1].path_.problem
    np.testing.assert_array_equal(np.asarray(used.X), scaled.astype(np.float32))


INVALID, UNSUPPORTED = pm.errors.InvalidInputError, pm.errors.UnsupportedModelError
C = [[0, 20], [1, 0]]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"budget": 3, "lam": 1}, INVALID, "budget and lam are both given"),
        ({"budget": 2, "misclassification_costs": [[0, 1]]}, INVALID, r"has shape \(1, 2\); give one row for"),
        ({"budget": 2, "misclassification_costs": [[0, -1], [1, 0]]}, INVALID, "-1"),
        ({"errors": "training"}, INVALID, "errors is 'training'; give one of 'in-bag', 'out-of-bag', 'validation'"),
        ({"validation_fraction": 1.0}, INVALID, "validation_fraction is 1.0; give a number between 0 and 1"),
        ({"validation_fraction": None}, INVALID, "the choice needs labelled examples"),
        ({"validation_fraction": None, "lam": 1, "errors": "validation"}, INVALID, "on validation examples: set"),
        ({"estimator": HistGradientBoostingClassifier()}, UNSUPPORTED, "HistGradientBoostingClassifier cannot be"),
        ({"estimator": make_pipeline(SMALL)}, UNSUPPORTED, "estimator is a Pipeline; put the Budget"),
        ({"estimator": LinearRegression()}, UNSUPPORTED, "LinearRegression cannot be pruned"),
        ({"estimator": RandomForestRegressor()}, UNSUPPORTED, "prunes a classifier, estimator is a RandomForestRegressor"),
        ({"costs": [1, 2]}, INVALID, "costs has 2 prices, the forest was trained on 30 features"),
        ({"costs": {"mean radius": 1}}, INVALID, "costs has no price for 'mean texture'"),
        ({"costs": pm.CostItems.plain([1, 2])}, INVALID, "costs has prices for 2 features"),
        ({"evaluation_cost": -1}, INVALID, "evaluation_cost is -1, negative"),
    ],
)
def test_parameters_are_refused_before_a_forest_is_grown(
    parameters: dict[str, Any], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was found and the remedy; nothing is left behind."""
    monkeypatch.setattr(RandomForestClassifier, "fit", lambda *_, **__: pytest.fail("a forest was grown"))
    with pytest.raises(error, match=message):
        fit(**parameters)


def test_data_are_refused() -> None:
    """Several outputs, validation data that do not fit, and half of them, are refused by name."""
    X, y = cancer()
    model = BudgetPrunedForestClassifier(SMALL, budget=3)
    with pytest.raises(pm.errors.InvalidInputError, match=r"y has 2 outputs \(multi-output\); fit one estimator for each column"):
        model.fit(X, np.stack([y, y], axis=1))
    with pytest.raises(pm.errors.InvalidInputError, match="X_valid is missing"):
        model.fit(X, y, y_valid=y)
    with pytest.raises(pm.errors.InvalidInputError, match="y_valid has 3 labels, X_valid has 169 rows"):
        model.fit(X[:400], y[:400], X_valid=X[400:], y_valid=y[:3])
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(X, y, X_valid=X.rename(columns={"mean radius": "radius"}))
    with pytest.raises(pm.errors.InvalidInputError, match="without budget and lam the choice needs labelled examples"):
        clone(model).set_params(budget=None).fit(X, y, X_valid=X)
    with pytest.raises(ValueError, match="at least one non-zero number"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(pm.errors.InvalidInputError, match=r"n_samples=2 at validation_fraction=0\.1 leave no example"):
        clone(model).set_params(validation_fraction=0.1).fit(X[:2], y[:2])
    with pytest.raises(pm.errors.InvalidInputError, match="misclassification_costs are for classifiers"):
        BudgetPrunedForestRegressor(lam=1, misclassification_costs=C).fit(X[:50], np.arange(50.0))
    with pytest.raises(ValueError, match="NaN"):
        BudgetPrunedForestRegressor(lam=1).fit(X[:50], np.arange(50.0), X_valid=X[50:52], y_valid=[1, np.nan])
