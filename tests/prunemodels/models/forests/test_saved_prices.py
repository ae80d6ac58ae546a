"""Prices travel with a pruned model, through files too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.models.forests.saved_prices import ATTRIBUTE

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 4)), columns=list("abcd"))
Y = (X["a"] * X["b"] + X["c"] > 0).to_numpy().astype(int)
COSTS = pm.CostItems.from_items(
    {"one": 2.5, "lot": 0.1, "licence": 3}, [["one"], ["one", "lot"], ["lot"], ["licence"]], once=["licence"]
)


@pytest.mark.parametrize("ending", ["skops", "joblib"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_loaded_model_knows_what_it_costs(tmp_path: Path, ending: str, piped: bool) -> None:
    """Forest and pipeline, evaluated and asked on demand without prices, cost what they cost with them, fees included."""
    grown: Any = RandomForestClassifier(5, max_depth=4, random_state=0)
    costs = COSTS.with_requests(0.5, 80)
    model = make_pipeline(StandardScaler(), grown).fit(X[:60], Y[:60]) if piped else grown.fit(X[:60], Y[:60])
    prune: Any = pm.prune_pipeline if piped else pm.prune_forest
    pruned = prune(model, X[60:], Y[60:], costs=costs, lam=0.01, evaluation_cost=0.01)
    pm.save_forest(pruned.estimator, tmp_path / f"f.{ending}")
    loaded = pm.load_forest(tmp_path / f"f.{ending}", trust_pickle=ending == "joblib")
    told = pm.evaluate(loaded, X, Y, costs=costs, evaluation_cost=0.01)
    assert pm.evaluate(loaded, X, Y).cost == told.cost > 0
    on_demand = pm.OnDemandPredictor(loaded, acquire=pm.on_demand.from_table(X)).run(X.index)
    assert on_demand.mean_cost == pytest.approx(told.cost + on_demand.calls.fees.mean())
    assert on_demand.calls.fees.sum() > 0


def test_prices_of_other_columns_are_not_used() -> None:
    """A model that was given fewer columns since, and one that was never pruned, ask for prices; damaged ones are refused."""
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X[:60], Y[:60])
    message = "costs is None, and the forest was not pruned with prices"
    with pytest.raises(InvalidInputError, match=message):
        pm.evaluate(forest, X, Y)
    pruned = pm.prune_forest(forest, X[60:], Y[60:], costs=COSTS, lam=0.3).estimator
    smaller = pm.drop_unused(pruned)
    assert smaller.n_features_in_ < 4
    with pytest.raises(InvalidInputError, match=message):
        pm.evaluate(smaller, X[list(smaller.feature_names_in_)], Y)
    setattr(pruned, ATTRIBUTE, {"names": ["one"]})
    with pytest.raises(InvalidInputError, match="the prices that the model holds are damaged"):
        pm.evaluate(pruned, X, Y)
