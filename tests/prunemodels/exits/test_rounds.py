"""Fees, rounds and latency of cascades: counted as on-demand walks count them, and kept within limits."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.exits.doubt import MarginDoubt
from prunemodels.exits.learning import solve_exits
from prunemodels.exits.sample import ExitSample
from prunemodels.exits.set_stages import Constant, SetStages
from prunemodels.exits.spending import between_optima, between_stages
from tests.prunemodels.cascades import ITEMS, KINDS, Kind, case, middle
from tests.prunemodels.exits.tables import random_table, sample_of

SUPPLIERS = {"blood": "laboratory", "b": "laboratory", "c": "laboratory", "d": "station", "e": "station", "g": "station"}
ASKED = ITEMS.with_requests({"laboratory": 0.5, "station": 0.25}, {"laboratory": 80, "station": 30}, supplier=SUPPLIERS)


def test_a_stage_is_a_round_and_pays_a_fee_for_each_supplier() -> None:
    """Stage 1 buys b, so blood is drawn: the laboratory. Stage 2 buys c and d: both. Stage 3 buys f, which is at hand."""
    columns = [[0], [0, 1], [0, 1, 2, 3], [0, 5]]
    stages = SetStages((Constant(np.ones(2) / 2),) * 4, tuple(np.array(c) for c in columns), ASKED, np.array([0, 1]))
    asks = stages.asks()
    assert asks.rounds.tolist() == [0, 1, 2, 2]
    assert asks.latency.tolist() == [0, 80, 160, 160]
    assert asks.fees.tolist() == [0, 0.5, 1.25, 1.25]
    assert stages.prices().tolist() == [0, 3.25 + 0.5, 4.75 + 1.25, 7.75 + 1.25]


@pytest.mark.parametrize("kind", KINDS)
def test_calls_and_costs_are_those_of_the_walk(kind: Kind) -> None:
    """What is stated of a row, with fees, is what buying on demand takes, in stages that are sets and stages along trees."""
    fitted = case(kind)
    cascade = copy(fitted.path.at_row(middle(kind)))
    cascade.stages_ = replace(cascade.stages_, items=ASKED)  # type: ignore[type-var]
    walked = pm.OnDemandPredictor(cascade, acquire=pm.on_demand.from_table(fitted.X)).run(fitted.X.index)
    stated = cascade.prediction_calls(fitted.X)
    assert stated.rounds.max() > 1
    assert np.array_equal(walked.calls.rounds, stated.rounds)
    assert np.allclose(walked.calls.latency, stated.latency)
    assert np.allclose(walked.calls.fees, stated.fees)
    assert np.allclose(walked.cost, cascade.prediction_cost(fitted.X))


def late_sample(seed: int) -> ExitSample:
    """Random tables with the limit that at most some share of the rows may go beyond a stage of their own."""
    rng = np.random.default_rng(seed)
    table, truth, weights = random_table(seed, 12)
    sample = sample_of(table, truth, weights, MarginDoubt())
    last = rng.integers(0, table.n_stages, sample.n_rows)
    return replace(sample, late=((np.arange(table.n_stages)[:, None] > last, float(rng.choice([0.0, 0.2, 0.5]))),))


def test_policies_that_spend_a_budget_keep_the_share_of_late_rows() -> None:
    """Counted row by row, for budgets between the cheapest and the dearest policy."""
    binding = 0
    for seed in range(40):
        sample = late_sample(seed)
        free = replace(sample, late=())
        learned = solve_exits(free, MarginDoubt(), None, n_levels=4)
        over, most = sample.late[0]
        for budget in np.linspace(sample.cost[0].mean(), sample.cost[-1].mean(), 4) + sample.once[-1]:
            for method in (between_optima, between_stages):
                policy, unlimited = method(learned, sample, budget), method(learned, free, budget)
                for found in (policy, unlimited):
                    late = sum(w for i, w in enumerate(sample.weights) if over[found.stop_stages(sample.doubt)[i], i])
                    share = late / sample.weights.sum()
                    if found is policy:
                        assert share <= most + 1e-9
                    binding += found is unlimited and share > most
    assert binding > 20


def data() -> tuple[pd.DataFrame, np.ndarray]:
    """Three columns of equal price, the last of which says nearly all."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    return X, (X["c"] + 0.3 * X["a"] + 0.2 * rng.normal(size=600) > 0).to_numpy().astype(int)


CHAIN: Any = [(None, []), (LogisticRegression(), ["a"]), (LogisticRegression(), ["a", "b"]), (LogisticRegression(), None)]


@pytest.mark.parametrize(
    ("limits", "rounds", "in_time"),
    [({"max_rounds": 1}, 1, 1.0), ({"max_latency": 160}, 2, 1.0), ({"max_latency": (80, 0.7)}, 3, 0.7)],
)
def test_limits_choose_the_stages(limits: Any, rounds: int, in_time: float) -> None:
    """One round leaves one purchase; and of the rows that the policy was learned from the share stated is in time."""
    X, y = data()
    costs = pm.CostItems.plain([1, 1, 1], list(X.columns)).with_requests(0.1, 80)
    cascade = pm.CascadeClassifier(CHAIN, costs, lam=1e-4, cv=3, random_state=0, **limits).fit(X, y)
    own = cascade.prediction_calls(X.iloc[cascade.own_rows_])
    assert own.rounds.max() <= rounds
    limit = limits.get("max_latency", 80)
    longest = limit[0] if isinstance(limit, tuple) else limit
    assert (own.latency <= longest).mean() >= in_time - 1e-9
    assert cascade.score(X, y) > 0.7
    assert cascade.at_cost(1.2).prediction_calls(X.iloc[cascade.own_rows_]).rounds.max() <= rounds


def test_a_fee_makes_fewer_rounds() -> None:
    """Where a request costs more than all columns, no row asks twice; without a fee some do."""
    X, y = data()
    most = []
    for fee in (0, 20):
        costs = pm.CostItems.plain([1, 1, 1], list(X.columns)).with_requests(fee)
        cascade = pm.CascadeClassifier(CHAIN, costs, budget=23 if fee else 2.5, cv=3, random_state=0).fit(X, y)
        most.append(int(cascade.prediction_calls(X).rounds.max()))
        assert cascade.cost_ == pytest.approx(cascade.prediction_cost(X.iloc[cascade.own_rows_]).mean())
    assert most[0] > most[1] == 1


def test_limits_that_no_stage_keeps_are_refused() -> None:
    """A first stage that asks cannot keep a latency of 10; a forest's first stage that asks cannot keep it, either."""
    X, y = data()
    costs = pm.CostItems.plain([1, 1, 1], list(X.columns)).with_requests(0.1, 80)
    with pytest.raises(InvalidInputError, match="no sequence of the stages keeps max_rounds and max_latency"):
        pm.CascadeClassifier(CHAIN[1:], costs, max_latency=10, cv=3).fit(X, y)
    with pytest.raises(InvalidInputError, match="max_latency"):
        pm.CascadeClassifier(CHAIN, costs, max_latency=(10, 2.0), cv=3).fit(X, y)


def test_exits_along_a_forest_keep_the_limits() -> None:
    """A stage of trees takes several rounds; no own row makes more than allowed, and the sums are those of a walk."""
    from prunemodels.example import X_test, X_valid, forest, y_valid

    costs = pm.CostItems.plain([1] * X_valid.shape[1], list(X_valid.columns)).with_requests(0.5, 80)
    path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))
    free, held = (
        pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, max_rounds=most, random_state=0).at_cost(11)
        for most in (None, 2)
    )
    assert free.prediction_calls(X_valid).rounds.max() > 2
    assert held.prediction_calls(X_valid).rounds.max() == 2
    walked = pm.OnDemandPredictor(held, acquire=pm.on_demand.from_table(X_test)).run(X_test.index)
    assert np.allclose(walked.cost, held.prediction_cost(X_test))
