"""The estimators as scikit-learn, this package's curves and its pruning use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from formulations import CostItems
from formulations.errors import InvalidInputError, UnsupportedModelError
from prunemodels.evaluation.curve import tradeoff_curve
from prunemodels.models.boosting.boosted import prune_boosted
from prunemodels.models.libraries.reading import read_model
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from prunemodels.rivals.learner import StagedLearner

FEW: dict[str, Any] = {"n_estimators": 3, "num_leaves": 6, "min_child_samples": 1, "learning_rate": 0.5}
FREE = [CEGBClassifier(lam=0, **FEW)]
PRICED = [CEGBRegressor(**FEW)]
OWN = [CEGBClassifier(engine="own", **FEW), CEGBRegressor(engine="own", **FEW)]

ROWS = "LightGBM makes bins of at least three rows, whatever they weigh: other bins where a row of weight 2 stands twice"
REFUSED = (
    "weights that differ are refused where there is a price to pay: LightGBM's penalties count rows, whatever they weigh. "
    "With the own engine the check passes"
)


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Those of LightGBM's engine; none else."""
    if any(estimator is priced for priced in PRICED):
        return {f"check_sample_weight{kind}": REFUSED for kind in ("s_not_overwritten", "_equivalence_on_dense_data")}
    return {"check_sample_weight_equivalence_on_dense_data": ROWS} if any(estimator is free for free in FREE) else {}


@pytest.mark.slow
@parametrize_with_checks([*FREE, *PRICED, *OWN], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    """Each of scikit-learn's checks passes, but for those of weights with LightGBM's engine."""
    check(estimator)


XC, YC = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
XR, YR = make_regression(200, 6, n_informative=4, noise=10.0, random_state=0)
YR = YR / YR.std()
QUICK: dict[str, Any] = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5, "lam": 0.005}


def fitted(kind: str, engine: Any = "own", **more: Any) -> tuple[Any, Any, Any]:
    """A model of numbers, two or three classes, its examples and labels."""
    X, y = (XR, YR) if kind == "numbers" else (XC, YC if kind == "three" else np.array(["no", "yes"])[(YC > 0).astype(int)])
    model = (CEGBRegressor if kind == "numbers" else CEGBClassifier)(engine=engine, **{**QUICK, **more})
    return model.fit(X, y), X, y


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
def test_stages_end_with_the_model(kind: str, engine: Any) -> None:
    """As many stages as rounds; the last predicts and costs what the model does; costs never fall; it is a staged learner."""
    model, X, y = fitted(kind, engine, evaluation_cost=0.1)
    assert isinstance(model, StagedLearner)
    stages, costs = list(model.staged_predict(X)), model.staged_cost(X)
    assert len(stages) == len(costs) == model.n_iter_ == 6
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    assert costs[-1] == pytest.approx(model.prediction_cost(X).mean())
    assert (np.diff(costs) >= 0).all()
    one = clone(model).set_params(n_estimators=1).fit(X, y)
    np.testing.assert_array_equal(stages[0], one.predict(X))
    assert costs[0] == pytest.approx(one.prediction_cost(X).mean())
    curve = tradeoff_curve(model, X, y)
    assert len(curve) == 6
    assert curve.error[-1] < curve.error[0]


@pytest.mark.parametrize(("kind", "engine"), [("numbers", "own"), ("two", "lightgbm"), ("three", "lightgbm")])
def test_it_can_be_pruned_afterwards(kind: str, engine: Any) -> None:
    """`prune_boosted` takes `forest_`, with the labels as they are: a budget is kept to; LightGBM gets a booster back."""
    model, X, y = fitted(kind, engine, costs=[3, 1, 1, 2, 1, 1], n_estimators=10, num_leaves=8, lam=1e-4)
    budget = 0.8 * model.prediction_cost(X).mean()
    pruned = prune_boosted(model.forest_, X, y, costs=model.costs, budget=budget)
    assert pruned.cost <= budget
    assert pruned.loss < prune_boosted(model.forest_, X, y, costs=model.costs, budget=0).loss
    if engine == "own":
        with pytest.raises(UnsupportedModelError, match="grown here"):
            pruned.to_model()
    else:
        again = read_model(pruned.to_model())
        rows = again.rows(X.astype(np.float32))
        np.testing.assert_allclose(again.margins(rows), pruned.forest.margins(pruned.forest.rows(X), pruned.kept), atol=1e-9)


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
def test_names_of_columns_and_prices(engine: Any) -> None:
    """Prices by name, in any order, go to the columns of that name; columns in another order are refused."""
    table = pd.DataFrame(XR, columns=list("abcdef"))
    costs = {"f": 0, "e": 1, "d": 1, "c": 2, "b": 0.5, "a": 3}
    model = CEGBRegressor(costs, engine=engine, **QUICK).fit(table, YR)
    plain = CEGBRegressor([3, 0.5, 2, 1, 1, 0], engine=engine, **QUICK).fit(XR, YR)
    np.testing.assert_array_equal(model.predict(table), plain.predict(XR))
    np.testing.assert_array_equal(model.prediction_cost(table), plain.prediction_cost(XR))
    assert model.forest_.ensemble.feature_names == tuple("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[list("bacdef")])
    with pytest.raises(InvalidInputError, match="'zz'"):
        CEGBRegressor({**costs, "zz": 1}, engine=engine).fit(table, YR)


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
def test_training_costs_are_not_what_is_paid(engine: Any) -> None:
    """Grown by other prices: the trees are those of the other prices, what is told is the cost at the real ones."""
    real = [5, 1, 1, 1, 1, 1]
    model = CEGBRegressor(real, training_costs=1, engine=engine, **QUICK).fit(XR, YR)
    by_one = CEGBRegressor(1, engine=engine, **QUICK).fit(XR, YR)
    np.testing.assert_array_equal(model.predict(XR), by_one.predict(XR))
    np.testing.assert_allclose(model.prediction_cost(XR) - by_one.prediction_cost(XR), 4 * pays_for(by_one, 0))
    aware = CEGBRegressor(real, engine=engine, **{**QUICK, "lam": 0.05}).fit(XR, YR)
    assert aware.prediction_cost(XR).mean() < model.prediction_cost(XR).mean()


def pays_for(model: CEGBRegressor, feature: int) -> Any:
    """Which rows use a feature: what they pay if it alone has a price."""
    only = clone(model).set_params(costs=[float(f == feature) for f in range(6)])
    only.forest_, only.n_features_in_ = model.forest_, 6
    return only.prediction_cost(XR)


def test_items_paid_once_are_in_the_mean_alone() -> None:
    """`staged_cost` counts them in full, `prediction_cost` leaves them out."""
    costs = CostItems.from_items({"a": 1, "licence": 0.5}, [["a"]] * 5 + [["a", "licence"]], once=["licence"])
    model = CEGBRegressor(costs, engine="own", **{**QUICK, "lam": 1e-6}).fit(XR, YR)
    assert 5 in model.forest_.ensemble.feature
    assert model.staged_cost(XR)[-1] == pytest.approx(model.prediction_cost(XR).mean() + 0.5)


def test_weights_are_rows_that_stand_more_often() -> None:
    """The own engine: a weight of 2 is the row twice, in loss and cost, and one of 0 is no row."""
    weight = np.random.default_rng(0).integers(0, 3, len(YR)).astype(float)
    settings = {**QUICK, "min_child_samples": 1, "lam": 0.01, "evaluation_cost": 0.1}
    weighed = CEGBRegressor(engine="own", **settings).fit(XR, YR, weight)
    rows = np.repeat(np.arange(len(YR)), weight.astype(int))
    repeated = CEGBRegressor(engine="own", **settings).fit(XR[rows], YR[rows])
    np.testing.assert_allclose(weighed.predict(XR), repeated.predict(XR))


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"lam": -1}, "lam is -1"),
        ({"lam": float("nan")}, "lam is nan"),
        ({"engine": "xgboost"}, "engine is 'xgboost'"),
        ({"growth": "depth"}, "growth is 'depth'"),
        ({"n_estimators": 0}, "n_estimators is 0"),
        ({"num_leaves": 1}, "num_leaves is 1"),
        ({"max_depth": 0}, "max_depth is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0"),
        ({"max_bin": 70_000}, "max_bin is 70000"),
        ({"num_leaves": 131_073}, "num_leaves is 131073"),
        ({"n_estimators": 2.5}, "n_estimators is 2.5"),
        ({"costs": [1, 2]}, "costs has 2 prices"),
        ({"training_costs": [1, -1, 1, 1, 1, 1]}, "negative"),
        ({"evaluation_cost": -1}, "evaluation_cost"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], culprit: str) -> None:
    with pytest.raises(InvalidInputError, match=culprit):
        CEGBRegressor(**settings).fit(XR, YR)


def test_labels_and_weights_that_leave_nothing_to_learn() -> None:
    """One class, or no weight at all, is refused; a class of weight 0 is none."""
    with pytest.raises(InvalidInputError, match="one class"):
        CEGBClassifier().fit(XC, np.zeros(len(YC)))
    model = CEGBClassifier(engine="own", **QUICK).fit(XC, YC, (YC > 0).astype(float))
    assert model.classes_.tolist() == [1, 2]
    with pytest.raises(ValueError, match="weight"):
        CEGBClassifier().fit(XC, YC, np.zeros(len(YC)))
