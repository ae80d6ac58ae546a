"""Requests on demand have fees and latencies, and their rounds a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.on_demand.cases import forest_of, random_case, stump

X = pd.DataFrame([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], columns=["x0", "x1", "x2"], index=["p", "q"])
TREES = forest_of(*(stump(f, (1.0, 0.0), (0.0, 1.0)) for f in range(3)), n_features=3)
PRICES = pm.CostItems.plain([1, 2, 0])


def test_requests_of_a_round_run_side_by_side_and_every_row_pays_its_fee() -> None:
    """Two suppliers in one round: 80 and 300 take 300, and each of the two rows pays 0.02 + 1; x2 is at hand."""
    costs = PRICES.with_requests({"A": 0.02, "B": 1}, {"A": 80, "B": 300}, supplier={"x0": "A", "x1": "B"})
    result = OnDemandPredictor(TREES, costs, from_table(X)).run(X.index)
    assert result.calls.rounds.tolist() == [1, 1]
    assert result.calls.latency.tolist() == [300, 300]
    assert result.calls.fees.tolist() == [1.02, 1.02]
    assert result.cost.tolist() == [4.02, 4.02]
    assert "a row 1 rounds and 300 of latency" in repr(result)
    assert result.to_frame()[["rounds", "latency"]].to_numpy().tolist() == [[1, 300], [1, 300]]


def test_an_answer_that_is_asked_for_again_is_one_more_call() -> None:
    """Row q comes at the second attempt only: it pays and waits twice."""

    def slow(request: Any) -> Any:
        rows = request.rows if request.attempt > 1 else request.rows[:1]
        return X.loc[rows, list(request.features)]

    costs = pm.CostItems.plain([1, 1, 1]).with_requests(0.5, 80)
    result = OnDemandPredictor(TREES, costs, slow, ask_again=1).run(X.index)
    assert result.calls.rounds.tolist() == [1, 2]
    assert result.calls.latency.tolist() == [80, 160]
    assert result.cost.tolist() == [3.5, 4.0]


def test_a_limit_on_rounds_keeps_predictions() -> None:
    """Random forests, prices of every kind, gaps: at most R rounds, and what the whole walk predicts."""
    shorter = 0
    for seed in range(60):
        made = random_case(seed)
        costs = made.costs.with_requests(1, 2)
        free = OnDemandPredictor(made.trees, costs, from_table(made.X)).run(len(made.X))
        for most in (1, 2, 3):
            for options in ({}, {"early_stopping": True}):
                limited = OnDemandPredictor(made.trees, costs, from_table(made.X), max_rounds=most, **options).run(len(made.X))
                assert limited.calls.rounds.max() <= most
                assert (limited.predictions == free.predictions).all()
                assert limited.finished.all()
        shorter += free.calls.rounds.max() > 1
    assert shorter > 10


def test_a_pipeline_keeps_a_limit_on_rounds() -> None:
    """Raw columns are asked for in one round, too."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    y = (table["a"] * table["b"] + table["c"] > 0).to_numpy()
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=4, random_state=0)).fit(table, y)
    for most, least in ((None, 2), (1, 1), (2, 2)):
        result = OnDemandPredictor(model, 1, from_table(table), max_rounds=most).run(table.index)
        assert result.calls.rounds.max() <= (most or 4)
        assert result.calls.rounds.max() >= least
        assert (result.predictions == model.predict(table)).all()


def test_fees_count_in_limits_on_spending() -> None:
    """With a fee of 1 a row cannot pay 3 + 1 for all three; 2 is enough for one purchase with its fee, 1.5 for none."""
    costs = pm.CostItems.plain([1, 1, 1]).with_requests(1)
    for most, paid in ((4, 4), (3.5, 2), (2, 2), (1.5, 0)):
        assert OnDemandPredictor(TREES, costs, from_table(X), max_cost=most).run(X.index).cost.max() == paid
    for most, cost in ((11.5, 0.0), (12, 4.0)):  # three requests of two rows, each 2 for a row: counted before they are known
        spent = OnDemandPredictor(TREES, costs, from_table(X)).run(X.index, max_total_cost=most)
        assert spent.mean_cost <= most / 2
        assert spent.finished.all() == (cost > 0)


def test_limits_that_contradict_each_other_are_refused() -> None:
    """A cap may need more rounds; a cascade has its own limit."""
    with pytest.raises(InvalidInputError, match="max_rounds and max_cost"):
        OnDemandPredictor(TREES, PRICES, from_table(X), max_rounds=1, max_cost=3)
    from prunemodels.example import X_valid, path, y_valid

    cascade = pm.exit_path(path, X_valid, y_valid, n_stages=2, n_levels=4, random_state=0).at_cost(12)
    with pytest.raises(InvalidInputError, match="max_rounds is for forests"):
        OnDemandPredictor(cascade, max_rounds=1)
