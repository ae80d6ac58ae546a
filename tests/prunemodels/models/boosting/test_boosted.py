"""Descents, single lambdas, budgets and trade-offs of boosted models."""

from __future__ import annotations

import math
import time
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray

from formulations import InvalidInputError, Pruning
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.boosting.boosted import prune_boosted, usage_of
from prunemodels.models.boosting.descent import descend
from prunemodels.models.boosting.majoriser import majorise, state_of
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import loss_of
from prunemodels.other_libraries import BoostedPath, boosted_path
from solvers import min_cut, price_sharing
from tests.loops import looped
from tests.prunemodels.models.boosting.test_majoriser import NAMES, direct_loss, every_loss, tiny
from tests.prunemodels.models.libraries.models import X2, X3, XR, Y2, Y3, YR, all_prunings

COSTS = [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", NAMES)
@looped("lam", [0.0, 0.003, 0.02, 0.3])
def test_the_objective_never_rises(name: str, lam: float) -> None:
    """From every start each accepted pruning has a lower loss + lam * cost, both recomputed from scratch."""
    t = tiny(name)
    e = t.forest.ensemble
    for start in (e.is_split, np.zeros_like(e.is_split)):
        found = descend(t.forest, t.usage, t.loss, lam, start, solver=min_cut, rounds=20)
        values = []
        for point in found.points:
            assert point.loss == pytest.approx(direct_loss(t, point.kept), rel=1e-12)
            assert point.cost == t.usage.cost(point.kept)
            values.append(point.loss + lam * point.cost)
        assert all(b < a for a, b in pairwise(values))
        assert found.stationary


@pytest.mark.parametrize("name", NAMES)
def test_stationary_means_optimal_for_the_own_majoriser(name: str) -> None:
    """Where a descent ends as stationary, no pruning at all has a lower majoriser + lam * cost around it."""
    t, lam = tiny(name), 0.01
    found = descend(t.forest, t.usage, t.loss, lam, t.forest.ensemble.is_split, solver=price_sharing, rounds=20)
    assert found.stationary
    here = state_of(t.forest, t.usage, t.loss, found.points[-1].kept)
    bound = majorise(t.forest, t.usage, t.loss, here)
    values = [Pruning(bound.problem, kept).value(lam) for kept in all_prunings(t.forest.ensemble)]
    assert Pruning(bound.problem, here.kept).value(lam) <= min(values) * (1 + 1e-9)


def least_losses(name: str) -> NDArray[np.float64]:
    """For each pruning the least loss of the trees up to some tree, behind which none splits; for averages that of all trees."""
    t = tiny(name)
    e, rows = t.forest.ensemble, np.asarray(t.usage.X)[t.usage.rows]
    least = []
    for kept, loss in zip(*every_loss(name), strict=True):
        losses = [loss]
        for trees in range(0, e.n_trees, t.forest.n_outputs):
            if not t.forest.averaged and not kept[e.tree_start[trees] :].any():
                later = t.forest.with_values(np.where(e.tree_of[:, None] < trees, e.value, 0.0))
                losses.append(float(np.average(t.loss.values(later.margins(rows, kept)), weights=t.usage.weights)))
        least.append(min(losses))
    return np.array(least)


@pytest.mark.parametrize("name", NAMES)
def test_near_the_best_of_all_prunings(name: str) -> None:
    """Over six lambdas the answer is never better than the best of all prunings of all first trees, and within 2 % of it."""
    t = tiny(name)
    rows = np.asarray(t.usage.X)
    loss, cost = least_losses(name), np.array([t.usage.cost(kept) for kept in every_loss(name)[0]])
    weight = np.zeros(len(rows))
    weight[t.usage.rows] = t.usage.weights
    y = {"numbers": YR / 100, "softmax": Y3, "rest": Y3}.get(name, Y2)[120:180]
    lams = [0, 0.002, 0.005, 0.01, 0.03, 0.1]
    path = boosted_path(t.forest, rows, y, costs=np.arange(1.0, 7.0), sample_weight=weight, lams=lams)
    for p in path.found:
        best = (loss + p.lam * cost).min()
        assert best - 1e-12 <= p.loss + p.lam * p.cost <= 1.02 * best


MODEL = xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1).fit(X2[:120], Y2[:120])


@cache
def trade_off() -> BoostedPath:
    """The path of that model."""
    return boosted_path(MODEL, X2[120:], Y2[120:], costs=COSTS)


def test_a_budget_is_kept_and_used() -> None:
    """A budget's answer costs no more, loses no more than the path's at that cost, and 0 leaves the bare roots."""
    for budget in (0.0, 6.5, 1000.0):
        p = prune_boosted(MODEL, X2[120:], Y2[120:], costs=COSTS, budget=budget)
        assert p.cost <= budget
        if budget >= trade_off()[-1].cost:
            assert p.loss <= trade_off().at_cost(budget).loss + 0.01
        assert budget or p.n_splits == 0
    assert trade_off().at_cost(0).n_splits == 0
    with pytest.raises(InvalidInputError, match="budget is -1"):
        trade_off().at_cost(-1)


def test_splits_come_back() -> None:
    """From the bare roots at lambda 0 splits return: the majoriser is over the original trees, not over what is left."""
    t = tiny("binary")
    found = descend(t.forest, t.usage, t.loss, 0.0, np.zeros(t.forest.ensemble.n_nodes, bool), solver=min_cut, rounds=20)
    assert found.points[-1].kept.sum() > 3


def test_regression_and_several_classes() -> None:
    """Squares and softmax: cheaper at little loss, and the exported estimators predict what the prunings do."""
    for model, X, y in (
        (xgboost.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(XR[:120], YR[:120]), XR[120:], YR[120:]),
        (xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1).fit(X3[:120], Y3[:120]), X3[120:], Y3[120:]),
    ):
        path = boosted_path(model, X, y, costs=1, lams=8)
        assert path[-1].cost < path[0].cost
        for p in path:
            assert np.allclose(p.predict(X), p.to_model().predict(X), rtol=1e-4)
            assert evaluate(p.to_model(), X, y, costs=1).loss == pytest.approx(p.loss, rel=1e-5)


def test_a_time_limit_leaves_the_best_so_far() -> None:
    """Without time nothing is solved and no item eliminated; the answers are the best of what needs no solving."""
    path = boosted_path(MODEL, X2[120:], Y2[120:], costs=COSTS, time_limit=0.0)
    assert len(path.visited) <= 2 + len(COSTS) + MODEL.n_estimators
    assert not any(p.stationary for p in path.found)
    assert path.found[0].stats["problems_solved"] == 0
    t = tiny("binary")
    late = descend(
        t.forest, t.usage, t.loss, 0.01, t.forest.ensemble.is_split, solver=min_cut, rounds=5, deadline=time.perf_counter() - 1
    )
    assert late.solved == 0
    assert not late.stationary


def test_the_loss_of_the_whole_model_is_that_of_its_margins() -> None:
    """The routes of the usage lead each row to the leaves whose values the model adds up."""
    forest = read_model(MODEL)
    usage = usage_of(forest, forest.rows(X2), 1)
    loss = loss_of(forest, Y2, len(Y2))
    whole = state_of(forest, usage, loss, forest.ensemble.is_split)
    assert whole.loss == pytest.approx(float(np.mean(loss.values(forest.margins(forest.rows(X2))))), rel=1e-12)


def test_bad_arguments_are_refused() -> None:
    """Both or neither of lam and budget, negative numbers, unknown labels, wrong sizes: each is named."""
    X, y = X2[120:], Y2[120:]
    for arguments, message in (
        ({}, "lam is None and budget is None: give one of them"),
        ({"lam": 1, "budget": 1}, "lam is 1 and budget is 1: give one of them"),
        ({"lam": -1}, "lam"),
        ({"budget": math.nan}, "budget"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            prune_boosted(MODEL, X, y, costs=1, **arguments)
    with pytest.raises(InvalidInputError, match=r"y\[3\] is the label 7, the model was trained on \[0, 1\]"):
        prune_boosted(MODEL, X, np.where(np.arange(len(y)) == 3, 7, y), costs=1, lam=0)
    with pytest.raises(InvalidInputError, match=r"y has shape \(119,\), X has 120 rows"):
        prune_boosted(MODEL, X, y[1:], costs=1, lam=0)
    with pytest.raises(InvalidInputError, match=r"lams is 0; give at least one"):
        boosted_path(MODEL, X, y, costs=1, lams=0)
    with pytest.raises(InvalidInputError, match=r"lams is empty"):
        boosted_path(MODEL, X, y, costs=1, lams=[])
    with pytest.raises(InvalidInputError, match=r"lams\[1\]"):
        boosted_path(MODEL, X, y, costs=1, lams=[0, -1])
    numbers = xgboost.XGBRegressor(n_estimators=2, max_depth=2).fit(XR, YR)
    with pytest.raises(InvalidInputError, match=r"y\[0\] is nan; targets must be finite"):
        prune_boosted(numbers, XR, np.where(np.arange(len(YR)) == 0, np.nan, YR), costs=1, lam=0)
    with pytest.raises(InvalidInputError, match="y is not numeric"):
        prune_boosted(numbers, XR, ["a"] * len(YR), costs=1, lam=0)


def test_it_says_what_it_is() -> None:
    """The short forms name cost, loss and splits."""
    assert "cost per prediction" in repr(trade_off()[0])
    assert "Asked for: " in repr(trade_off()[0])
    assert repr(trade_off()).startswith(f"BoostedPath({len(trade_off())} prunings, cost ")
    assert isinstance(trade_off(), BoostedPath)
    assert repr(read_model(MODEL)).endswith("boosted, 1 output, sigmoid)")
