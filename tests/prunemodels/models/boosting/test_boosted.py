"""Boosted models are pruned by descents, and refitted."""

from __future__ import annotations

import math
import time
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression, Ridge

from formulations import InvalidInputError, Pruning
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.boosting.boosted import prune_boosted
from prunemodels.models.boosting.descent import descend, majorise, state_of
from prunemodels.models.boosting.refitting import Leaves, corrections, refitted
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import loss_of
from prunemodels.models.trees import pruned_ends
from prunemodels.other_libraries import BoostedPath, boosted_path
from solvers import min_cut, price_sharing
from tests.instances import way
from tests.loops import looped
from tests.prunemodels.models.boosting.test_promise import NAMES, direct_loss, every_loss, tiny
from tests.prunemodels.models.libraries.models import X2, X3, XR, Y2, Y3, YR, all_prunings, model_of

COSTS = [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", NAMES)
@looped("lam", [0.0, 0.003, 0.02, 0.3])
def test_the_objective_never_rises(name: str, lam: float) -> None:
    """From every start each accepted pruning has a lower loss + lam * cost, both recomputed from scratch."""
    t = tiny(name)
    e = t.forest.ensemble
    for start in (e.is_split, np.zeros_like(e.is_split)):
        found = descend(t, lam, start, solver=min_cut, rounds=20)
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
    found = descend(t, lam, t.forest.ensemble.is_split, solver=price_sharing, rounds=20)
    assert found.stationary
    here = state_of(t, found.points[-1].kept)
    bound, _ = majorise(t, here)
    values = [Pruning(bound, kept).value(lam) for kept in all_prunings(t.forest.ensemble)]
    assert Pruning(bound, here.kept).value(lam) <= min(values) * (1 + 1e-9)


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_budget_is_kept_and_used() -> None:
    """A budget's answer costs no more, loses no more than the path's at that cost, and 0 leaves the bare roots."""
    for budget in (0.0, 6.5, 1000.0):
        p = prune_boosted(MODEL, X2[120:], Y2[120:], costs=COSTS, budget=budget)
        assert p.cost <= budget
        if budget >= trade_off()[-1].cost:
            assert p.loss <= trade_off().at_cost(budget).loss + 0.01
        assert budget or p.n_splits == 0
    assert trade_off().at_cost(0).n_splits == 0


def test_a_time_limit_leaves_the_best_so_far() -> None:
    """Without time nothing is solved and no item eliminated; the answers are the best of what needs no solving."""
    path = boosted_path(MODEL, X2[120:], Y2[120:], costs=COSTS, time_limit=0.0)
    assert len(path.visited) <= 2 + len(COSTS) + MODEL.n_estimators
    assert not any(p.stationary for p in path.found)
    assert path.found[0].stats["problems_solved"] == 0
    t = tiny("binary")
    late = descend(t, 0.01, t.forest.ensemble.is_split, solver=min_cut, rounds=5, deadline=time.perf_counter() - 1)
    assert late.solved == 0
    assert not late.stationary


NUMBERS = xgboost.XGBRegressor(n_estimators=2, max_depth=2).fit(XR, YR)
SEVENTH, FIRST = np.arange(120) == 3, np.arange(len(YR)) == 0
REFUSED: list[tuple[Any, str]] = [
    (lambda X, y: prune_boosted(MODEL, X, y, costs=1), "lam is None and budget is None: give one of them"),
    (lambda X, y: prune_boosted(MODEL, X, y, costs=1, lam=1, budget=1), "lam is 1 and budget is 1: give one of them"),
    (lambda X, y: prune_boosted(MODEL, X, y, costs=1, lam=-1), "lam"),
    (lambda X, y: prune_boosted(MODEL, X, y, costs=1, budget=math.nan), "budget"),
    (lambda X, y: prune_boosted(MODEL, X, np.where(SEVENTH, 7, y), costs=1, lam=0), r"y\[3\] is the label 7, .* on \[0, 1\]"),
    (lambda X, y: prune_boosted(MODEL, X, y[1:], costs=1, lam=0), r"y has shape \(119,\), X has 120 rows"),
    (lambda X, y: boosted_path(MODEL, X, y, costs=1, lams=0), r"lams is 0; give at least one"),
    (lambda X, y: boosted_path(MODEL, X, y, costs=1, lams=[]), r"lams is empty"),
    (lambda X, y: boosted_path(MODEL, X, y, costs=1, lams=[0, -1]), r"lams\[1\]"),
    (lambda X, y: trade_off().at_cost(-1), "budget is -1"),
    (lambda X, y: prune_boosted(NUMBERS, XR, np.where(FIRST, np.nan, YR), costs=1, lam=0), r"y\[0\] is nan; targets must be"),
    (lambda X, y: prune_boosted(NUMBERS, XR, ["a"] * len(YR), costs=1, lam=0), "y is not numeric"),
]


@looped(("use", "message"), REFUSED)
def test_bad_arguments_are_refused(use: Any, message: str) -> None:
    """Both or neither of lam and budget, negative numbers, unknown labels, wrong sizes: each is named."""
    with pytest.raises(InvalidInputError, match=message):
        use(X2[120:], Y2[120:])


def test_it_says_what_it_is() -> None:
    """The short forms name cost, loss and splits."""
    assert "cost per prediction" in repr(trade_off()[0])
    assert "Asked for: " in repr(trade_off()[0])
    assert repr(trade_off()).startswith(f"BoostedPath({len(trade_off())} prunings, cost ")
    assert isinstance(trade_off(), BoostedPath)
    assert repr(read_model(MODEL)).endswith("boosted, 1 output, sigmoid)")


X_FEW: dict[str, Any] = {"n_estimators": 10, "max_depth": 3, "n_jobs": 1}
YS = YR / YR.std()
REFITTED = [(library, name) for library in ("xgboost", "lightgbm") for name in ("two classes", "three classes", "numbers")]
REFITTED += [("lightgbm", "one against the rest")]


@cache
def to_refit() -> tuple[Any, Any]:
    """A model of the first half of the rows, and its pruning on the other."""
    model = xgboost.XGBClassifier(**X_FEW).fit(X2[:120], Y2[:120])
    return model, prune_boosted(model, X2[120:], Y2[120:], costs=1, budget=4, time_limit=0.0)


def test_by_hand_one_stump() -> None:
    """Leaves -3 and 3 on two rows each, targets 1 below the one and 2 above the other: delta = 2 (-1) / (2 + k), 2 (2) / (2 + k).
    sum of squares + k delta^2 has, for a leaf of n rows with residual r, its minimum at n r / (n + k).
    """
    X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    model = xgboost.XGBRegressor(n_estimators=1, max_depth=1, learning_rate=1, reg_lambda=0, base_score=0.0, n_jobs=1)
    forest = read_model(model.fit(X, 3 * X[:, 0]))
    y = np.array([-4.0, -4.0, 5.0, 5.0])
    leaves = Leaves.of(forest, forest.ensemble.is_split, forest.rows(X))
    for k in (1.0, 2.0, 6.0):
        delta = corrections(leaves, loss_of(forest, y, 4), forest.margins(forest.rows(X)), np.ones(4), k, np.zeros(2))
        assert delta == pytest.approx([-2 / (2 + k), 4 / (2 + k)], rel=1e-6)


def indicators(forest: Any, kept: Any, X: Any) -> Any:
    """Z as a dense matrix, from the routes of single rows."""
    ends = pruned_ends(forest.ensemble, kept)
    e, rows = forest.ensemble, forest.rows(X)
    Z = np.zeros((len(rows), e.n_nodes))
    for i, x in enumerate(rows):
        for root in e.roots:
            Z[i, ends[way(e, root, x)[-1]]] += 1
    return Z[:, Z.any(axis=0)]


@pytest.mark.parametrize("k", [1.0, 30.0])
def test_squares_are_scikit_learns_ridge(k: float) -> None:
    """For squares the refitted margins are those of Ridge on the leaf indicators and the residuals."""
    forest = read_model(xgboost.XGBRegressor(**X_FEW).fit(XR[:120], YS[:120]))
    rows, weight = forest.rows(XR[:120]), np.random.default_rng(0).integers(0, 3, 120).astype(float)
    kept = forest.ensemble.is_split
    ((_, found),) = refitted(forest, kept, rows, loss_of(forest, YS[:120], 120), weight, [k])
    Z, F = indicators(forest, kept, XR[:120]), forest.margins(rows)[:, 0]
    ridge = Ridge(alpha=k, fit_intercept=False).fit(Z, YS[:120] - F, sample_weight=weight / weight.mean())
    assert found.margins(rows)[:, 0] == pytest.approx(F + ridge.predict(Z), abs=2e-4)


def test_log_loss_without_a_start_is_scikit_learns_logistic_regression() -> None:
    """With all values 0 the refit is a penalised logistic regression on the leaf indicators: h = 1/4, so C = 4 / k."""
    forest = read_model(xgboost.XGBClassifier(base_score=0.5, **X_FEW).fit(X2[:120], Y2[:120]))
    empty, k = forest.with_values(np.zeros_like(forest.ensemble.value)), 8.0
    rows, kept = forest.rows(X2[:120]), forest.ensemble.is_split
    ((_, found),) = refitted(empty, kept, rows, loss_of(forest, Y2[:120], 120), np.ones(120), [k])
    Z = indicators(forest, kept, X2[:120])
    logistic = LogisticRegression(C=4 / k, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(Z, Y2[:120])
    assert found.margins(rows)[:, 0] == pytest.approx(logistic.decision_function(Z), abs=0.01)


@pytest.mark.slow_cases("lightgbm-one against the rest", "lightgbm-three classes", "xgboost-three classes")
@pytest.mark.parametrize(("library", "name"), REFITTED)
def test_same_splits_same_cost_less_loss(library: str, name: str) -> None:
    """The refit keeps splits and cost, never raises the loss of the pruning's rows, and the exported model shows both."""
    model, X, y = model_of(library, name)
    pruned = prune_boosted(model, X[120:], y[120:], costs=1, budget=4, time_limit=0.0)
    fitted = pruned.refit(X[:120], y[:120])
    assert np.array_equal(fitted.kept, pruned.kept)
    assert fitted.cost == pruned.cost == pytest.approx(fitted.usage.cost(fitted.kept), rel=1e-12)
    assert fitted.loss <= pruned.loss
    assert fitted is pruned or not fitted.stationary
    seen = evaluate(fitted.to_model(), X[120:], y[120:], costs=1)
    assert (seen.loss, seen.cost) == (pytest.approx(fitted.loss, rel=1e-5), pytest.approx(pruned.cost, rel=1e-12))
    ours, theirs = fitted.predict(X), fitted.to_model().predict(X)
    assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-6) if y.dtype.kind == "f" else np.array_equal(ours, theirs)
    before = evaluate(pruned.to_model(), X[120:], y[120:], costs=1)
    assert before.loss == pytest.approx(pruned.loss, rel=1e-5)


def test_no_refit_where_it_does_not_help() -> None:
    """Refitted to wrong labels, nothing changes: the pruning itself is among what is chosen from."""
    _, pruned = to_refit()
    assert pruned.refit(X2[:120], 1 - Y2[:120]) is pruned


def test_the_gradient_is_that_of_the_objective() -> None:
    """Slopes gathered over leaves are the differences of the summed loss, softmax among them."""
    forest = read_model(xgboost.XGBClassifier(**{**X_FEW, "n_estimators": 2}).fit(X3[:100], Y3[:100]))
    rows, loss = forest.rows(X3[:100]), loss_of(forest, Y3[:100], 100)
    leaves, F = Leaves.of(forest, forest.ensemble.is_split, rows), forest.margins(rows)
    delta = np.random.default_rng(0).normal(size=leaves.n_leaves)
    off = check_grad(
        lambda d: loss.values(F + leaves.add(d)).sum(), lambda d: leaves.gather(loss.slopes(F + leaves.add(d))), delta
    )
    assert off < 1e-4


def test_a_path_is_refitted_as_a_whole() -> None:
    """Every pruning of the refitted path loses at most what it lost before, and `at_cost` the least of the refitted ones."""
    model, _ = to_refit()
    path = boosted_path(model, X2[120:], Y2[120:], costs=1, lams=3, time_limit=0.0)
    fitted = path.refit(X2[:120], Y2[:120], most=5)
    assert all(after.loss <= before.loss for before, after in zip(path.found, fitted.found, strict=True))
    assert all(a.cost < b.cost and a.loss > b.loss for a, b in pairwise(fitted.front))
    for budget in (1.0, 3.0, 6.0):
        within = [p.loss for p in (*fitted.found, *path.front) if p.cost <= budget]
        assert fitted.at_cost(budget).loss <= min(within)
    assert fitted.unpruned.loss <= path.unpruned.loss


def test_refitting_bad_arguments_are_refused() -> None:
    """Strengths that are not above 0, unknown labels, other columns, and prunings without labels."""
    _, pruned = to_refit()
    with pytest.raises(InvalidInputError, match=r"strengths\[1\] is 0; give finite numbers above 0"):
        pruned.refit(X2, Y2, strengths=[1, 0])
    with pytest.raises(InvalidInputError, match=r"y\[0\] is the label 5"):
        pruned.refit(X2, np.where(np.arange(240) == 0, 5, Y2))
    with pytest.raises(InvalidInputError, match="sample_weight"):
        pruned.refit(X2, Y2, sample_weight=-np.ones(240))
    bare = type(pruned)(pruned.forest, pruned.usage, pruned.kept, 0.0, pruned.loss, pruned.cost, False)
    with pytest.raises(InvalidInputError, match="does not hold the labels"):
        bare.refit(X2, Y2)
