"""The estimators as scikit-learn, this package's curves and its pruning use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from formulations import CostItems
from formulations.errors import UnsupportedModelError
from prunemodels.models.boosting.boosted import prune_boosted
from prunemodels.models.costs import example_costs
from prunemodels.models.libraries.reading import read_model
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor

XC, YC = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
XR, YR = make_regression(200, 6, n_informative=4, noise=10.0, random_state=0)
YR = YR / YR.std()
QUICK: dict[str, Any] = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5, "lam": 0.005}


def fitted(kind: str, engine: Any = "own", **more: Any) -> tuple[Any, Any, Any]:
    """A model of numbers, two or three classes, its examples and labels."""
    X, y = (XR, YR) if kind == "numbers" else (XC, YC if kind == "three" else np.array(["no", "yes"])[(YC > 0).astype(int)])
    model = (CEGBRegressor if kind == "numbers" else CEGBClassifier)(engine=engine, **{**QUICK, **more})
    return model.fit(X, y), X, y


@pytest.mark.slow
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
def test_training_costs_are_not_what_is_paid(engine: Any) -> None:
    """Grown by other prices: the trees are those of the other prices, what is told is the cost at the real ones."""
    real = [5, 1, 1, 1, 1, 1]
    model = CEGBRegressor(real, training_costs=1, engine=engine, **QUICK).fit(XR, YR)
    by_one = CEGBRegressor(1, engine=engine, **QUICK).fit(XR, YR)
    np.testing.assert_array_equal(model.predict(XR), by_one.predict(XR))
    uses_first = example_costs(by_one.forest_.ensemble, XR, [1.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(model.prediction_cost(XR) - by_one.prediction_cost(XR), 4 * uses_first)
    aware = CEGBRegressor(real, engine=engine, **{**QUICK, "lam": 0.05}).fit(XR, YR)
    assert aware.prediction_cost(XR).mean() < model.prediction_cost(XR).mean()


def test_items_paid_once_are_in_the_mean_alone() -> None:
    """`staged_cost` counts them in full, `prediction_cost` leaves them out."""
    costs = CostItems.from_items({"a": 1, "licence": 0.5}, [["a"]] * 5 + [["a", "licence"]], once=["licence"])
    model = CEGBRegressor(costs, engine="own", **{**QUICK, "lam": 1e-6}).fit(XR, YR)
    assert 5 in model.forest_.ensemble.feature
    assert model.staged_cost(XR)[-1] == pytest.approx(model.prediction_cost(XR).mean() + 0.5)
