"""Rows part after the first purchases, where other purchases help in other regions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from prunemodels.exits import budget_cascade, regions
from prunemodels.exits.stops import stops_of

PRICES = [0.125, 0.125, 1, 1, 1, 1]
NAMES = list("abcdef")


def quadrants(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The signs of a and b say which one of the columns c to f decides, and how many rows are positive there."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 6)).round(3)
    quadrant = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    decisive = X[np.arange(n), 2 + quadrant]
    return pd.DataFrame(X, columns=NAMES), (decisive > np.array([-0.6, -0.2, 0.2, 0.6])[quadrant]).astype(int)


@cache
def fitted(kind: str) -> Any:
    """With as few rows and stages as regions can have; trained and judged on given rows."""
    X, y = quadrants(4000, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget_cascade, "FEWEST_ROWS", 1000)
        patch.setattr(regions, "MEETING", 6)
        if kind == "classes":
            tree: Any = DecisionTreeClassifier(max_depth=7, min_samples_leaf=30)
            model = pm.BudgetCascadeClassifier(tree, PRICES, lam=0.0, doubt="margin", n_levels=8, random_state=0)
        else:
            tree = DecisionTreeRegressor(max_depth=7, min_samples_leaf=5)
            model = pm.BudgetCascadeRegressor(tree, PRICES, lam=0.0, n_levels=8, random_state=0)
        return model.fit(X[:2500], y[:2500], X_valid=X[2500:], y_valid=y[2500:])


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_purchases_of_a_region_are_those_that_help_there(kind: str) -> None:
    """Each quadrant needs a, b and one column more, for 1.25 in all; for the same error a chain must buy all six, for 4.25."""
    model = fitted(kind)
    *chains, parted = model.exit_paths_
    X, y = quadrants(2000, 1)

    def error(path: Any, budget: float) -> float:
        return float(np.mean((path.at_cost(budget).predict(X) - y) ** 2))

    assert error(parted, 1.25) < 0.03
    assert all(error(chain, 1.25) > 0.05 for chain in chains)
    assert all(error(chain, 4.25) < 0.03 for chain in chains)
    assert model.at_cost(1.25).exit_path_ is parted
    bought = [chain.bought()[chain.prices() == 1.25][0] for chain in parted.stages.regions]
    assert {int(np.flatnonzero(b[2:])[0]) for b in bought} == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_it_costs_buys_and_is_kept_as_any_cascade(kind: str, tmp_path: Path) -> None:
    """What is stated is what calling gives; on demand, from its file and row by row it predicts and pays the same."""
    model, (X, y) = fitted(kind).at_cost(1.1), quadrants(300, 2)
    own = quadrants(4000, 0)[0][2500:]
    assert len(model.stages_.regions) > 1
    assert model.cost_ == pytest.approx(model.prediction_cost(own).mean(), rel=1e-12)
    assert 1.05 < model.cost_ <= 1.1
    assert pm.checks.check_closure_path(model.exit_path_.closures).holds
    result = pm.OnDemandPredictor(model, acquire=pm.on_demand.from_table(X)).run(X.index)
    np.testing.assert_array_equal(result.predictions, model.predict(X))
    np.testing.assert_allclose(result.cost, model.prediction_cost(X))
    pm.save_cascade(model, tmp_path / "tree.skops")
    again = pm.load_cascade(tmp_path / "tree.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X[7:8]), model.predict(X)[7:8])
    stops = stops_of(model, X, y)
    np.testing.assert_allclose(stops.items.price @ stops.bought, model.prediction_cost(X))
    pm.write_report(tmp_path / "tree.html", model, X, y)
