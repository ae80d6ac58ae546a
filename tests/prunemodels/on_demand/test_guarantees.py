"""What is promised: the forest's predictions, the reported cost, each item at most once; against a slow walk and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning
from tests.prunemodels.on_demand.cases import SEEDS, random_case
from tests.prunemodels.on_demand.reference import Spy, mean_of, walk_row

COSTS = pm.CostItems.from_items(
    {"blood": 2.1, "b": 7.27, "c": 1, "free": 0, "licence": 50},
    [["b", "blood"], ["c", "blood"], ["free"], ["b", "c", "licence"], []],
    once=["licence"],
)




@looped("kind", KINDS)
def test_predictions_are_scikit_learns_to_the_last_bit(kind):
    """For every kind of forest, pruned: the same classes, and bit for bit the same probabilities or means."""
    case = fitted(kind)
    forest = pm.apply_pruning(random_pruning(pm.problem_from_forest(case.forest, case.X, costs=1)), case.forest)
    predictor = OnDemandPredictor(forest, COSTS, from_table(case.X))
    rows = case.X.index if hasattr(case.X, "index") else len(case.X)
    result = predictor.run(rows)
    assert np.array_equal(result.predictions, forest.predict(case.X))
    assert result.predictions.dtype == forest.predict(case.X).dtype
    assert np.array_equal(predictor.predict(rows), result.predictions)
    if hasattr(forest, "classes_"):
        assert np.array_equal(predictor.predict_proba(rows), forest.predict_proba(case.X))
        assert np.array_equal(predictor.classes_, forest.classes_)
    assert not result.fell_back.any()
    assert not result.stopped_early.any()
    assert result.finished.all()
    assert (result.trees_finished == pm.read_forest(forest).n_trees).all()


@looped("kind", KINDS)
def test_the_cost_is_the_reported_one(kind):
    """For every kind of forest, pruned: `evaluate` and the pruning itself report the mean cost, items and evaluation together."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=COSTS, evaluation_cost=[0.1, 0, 0.25, 1, 0])
    pruning = random_pruning(problem)
    forest = pm.apply_pruning(pruning, case.forest)
    predictor = OnDemandPredictor(forest, COSTS, from_table(case.X), evaluation_cost=[0.1, 0, 0.25, 1, 0])
    result = predictor.run(case.X.index if hasattr(case.X, "index") else len(case.X))
    assert result.exact_mean_cost == pruning.exact_cost
    told = pm.evaluate(forest, case.X, case.y, costs=COSTS, evaluation_cost=[0.1, 0, 0.25, 1, 0]).cost
    assert result.mean_cost == pytest.approx(told, rel=1e-12)




@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, lost=st.floats(0, 0.6), up_front=st.floats(0, 0.6))
def test_against_the_slow_walk(seed, lost, up_front):
    """With features lost and known, for every row: the same requests, purchases, nodes, flags and costs as the slow walk's."""
    case, rng = random_case(seed, regression=seed % 3 == 0), np.random.default_rng(seed)
    had, known = rng.random(case.X.shape) >= lost, rng.random(case.X.shape) < up_front
    spy = Spy(case.X, had)
    given_up_front = {f"x{f}": np.ma.array(case.X[:, f], mask=~known[:, f]) for f in range(case.X.shape[1])}
    predictor = OnDemandPredictor(case.trees, case.costs, spy, evaluation_cost=case.evaluation)
    result = predictor.run(len(case.X), known=given_up_front)
    asked = spy.asked()
    assert len(asked) == len(set(asked))
    orders = {i: [] for i in range(len(case.X))}
    for request in spy.requests:
        for i in request.positions:
            orders[i].append((set(request.items), set(request.columns.tolist())))
    for i, x in enumerate(case.X):
        row = walk_row(case.trees, case.costs, x, had[i], set(np.flatnonzero(known[i]).tolist()))
        named = [
            ({case.costs.names[m] for m in items if not case.costs.paid_once[m]}, set(features)) for items, features in row.orders
        ]
        once = {name for name, flag in zip(case.costs.names, case.costs.paid_once, strict=True) if flag}
        assert sorted((sorted(i - once), sorted(f)) for i, f in orders[i]) == sorted((sorted(i), sorted(f)) for i, f in named)
        assert result.exact_cost[i] == row.cost(case.costs, case.evaluation)
        assert set(result.bought[i]) == {case.costs.names[m] for m in row.paid} - once
        assert result.fell_back[i] == row.fell_back
        mean = mean_of(case.trees, row.nodes)
        if result.probabilities is None:
            assert result.predictions[i] == mean[0]
        else:
            assert np.array_equal(result.probabilities[i], mean)
            assert result.predictions[i] == case.trees.classes[np.argmax(mean)]


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS, stops=st.booleans(), lost=st.floats(0, 0.5))
def test_no_item_is_named_twice_and_no_cost_exceeds_the_full_one(seed, stops, lost):
    """Whatever is lost or left out, a row is never asked to pay for more than the full walk, and for no delivered item again."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    had = rng.random(case.X.shape) >= lost
    full = OnDemandPredictor(case.trees, case.costs, Spy(case.X), evaluation_cost=case.evaluation).run(len(case.X))
    spy = Spy(case.X, had)
    options = {"early_stopping": stops, "evaluation_cost": case.evaluation}
    result = OnDemandPredictor(case.trees, case.costs, spy, **options).run(len(case.X))
    assert all(a <= b for a, b in zip(result.exact_cost, full.exact_cost, strict=True))
    assert result.exact_mean_cost <= full.exact_mean_cost
    assert all(set(a) <= set(b) for a, b in zip(result.bought, full.bought, strict=True))
    assert set(result.once) <= set(full.once)
    if had.all():
        paid = spy.paid()
        assert len(paid) == len(set(paid))
        assert sum(m in result.once for _, m in paid) >= len(result.once)
