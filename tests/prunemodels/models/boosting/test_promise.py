"""The majoriser against the true loss, and what a budget's, and a lambda's, answer must not lose to."""

from __future__ import annotations

from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_regression

from formulations import CostItems, Pruning
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.boosting.boosted import prune_boosted, usage_of
from prunemodels.models.boosting.descent import OnRows, descend, majorise, state_of
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import SQUARED_ERROR, Loss, SampleLoss, loss_of
from prunemodels.other_libraries import ModelForest, boosted_path
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from solvers import price_sharing
from tests.loops import looped
from tests.prunemodels.models.libraries.models import X2, X3, XR, Y2, Y3, YR, all_prunings, some_pruning
from tests.prunemodels.models.libraries.reference import Reference

FEATURES, FITTED = 8, 200
UNIT = CostItems.plain([1] * FEATURES)
SHARED = CostItems.from_items(
    {"kit": 2, "lab": 3, **{f"f{f}": 1 + f % 3 for f in range(FEATURES)}},
    [[f"f{f}", *(["kit"] if f < 3 else []), *(["lab"] if f in (2, 5) else [])] for f in range(FEATURES)],
    once=["lab"],
)
"""A kit for three features, a laboratory for two that is paid once for all rows, and prices of their own."""

X_FEW = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
L_FEW = {"n_estimators": 8, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
C_FEW = {"n_estimators": 8, "num_leaves": 6, "min_child_samples": 5, "lam": 0.002, "learning_rate": 0.3, "n_jobs": 1}


def data(kind: str, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """400 rows of two classes, three classes or numbers."""
    if kind == "numbers":
        X, y = make_regression(400, FEATURES, n_informative=6, noise=20.0, random_state=seed)
        return X, y / y.std()
    return make_classification(
        400, FEATURES, n_informative=6, flip_y=0.05, n_classes=3 if kind == "three" else 2, random_state=seed
    )


def model_of(library: str, kind: str, X: NDArray[np.float64], y: NDArray[Any]) -> ModelForest:
    """A small model of a library."""
    classes = kind != "numbers"
    model = {
        "xgboost": lambda: xgboost.XGBClassifier(**X_FEW) if classes else xgboost.XGBRegressor(**X_FEW),
        "lightgbm": lambda: lightgbm.LGBMClassifier(**L_FEW) if classes else lightgbm.LGBMRegressor(**L_FEW),
        "cegb": lambda: CEGBClassifier(1, **C_FEW) if classes else CEGBRegressor(1, **C_FEW),
    }[library]()
    model.fit(X, y)
    return model.forest_ if library == "cegb" else read_model(model)


def check(library: str, kind: str, seed: int, priced_by: str) -> None:
    """Six budgets and three lambdas of one model against all that the reference sees."""
    X, y = data(kind, seed)
    forest = model_of(library, kind, X[:FITTED], y[:FITTED])
    items = SHARED if priced_by == "shared" else UNIT
    weight = np.random.default_rng(seed).integers(1, 4, 400 - FITTED).astype(float) if priced_by != "unit" else None
    evaluation = 0.02 if priced_by == "shared" else 0.0
    reference = Reference.of(forest, X[FITTED:], y[FITTED:].astype(float), items, weight, evaluation)
    rivals = list(reference.prefixes())
    for rounds in range(1, 9):
        rivals += reference.eliminations(rounds)
    full = reference.seen(forest.ensemble.is_split)
    budgets = [share * full[0] for share in (0.2, 0.35, 0.5, 0.7, 0.9, 0.95)]
    lams = [0.0, 0.1 * (rivals[0][1] - full[1]) / full[0], (rivals[0][1] - full[1]) / full[0]]
    given = {"costs": items, "sample_weight": weight, "evaluation_cost": evaluation}
    path = boosted_path(forest, X[FITTED:], y[FITTED:], lams=lams, budgets=budgets, **given)
    for budget in budgets:
        best = min(loss for cost, loss in rivals if cost <= budget - 1e-9)  # the two sums of prices differ in the last bit
        found = path.at_cost(budget)
        assert found.cost <= budget
        assert found.loss <= best + 1e-9
    for lam in lams:
        best = min(loss + lam * cost for cost, loss in rivals)
        assert min(p.loss + lam * p.cost for p in path.found if p.lam == lam) <= best + 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the budget:RuntimeWarning")
@pytest.mark.parametrize(("seed", "priced_by"), [(0, "unit"), (1, "weighted"), (2, "shared")])
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "cegb"])
def test_never_worse_on_many_models(library: str, kind: str, priced_by: str, seed: int) -> None:
    """For 27 models: three libraries, three losses, plain prices, weights, shared items with one that is paid once for all."""
    check(library, kind, seed, priced_by)


ROWS = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
STUMPS = xgboost.XGBRegressor(
    n_estimators=2, max_depth=1, learning_rate=1.0, reg_lambda=0.0, min_child_weight=0.0, base_score=0.0, n_jobs=1
).fit(ROWS, ROWS @ [1.0, 3.0])
"""One stump that says -3 or 3 by the second column, one that says -1 or 1 by the first: together they make no error."""


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "loss", "cost"), [(0, 10, 0), (1, 9, 1), (2, 1, 2), (2.5, 1, 2), (3, 0, 3)])
def test_by_hand_inside_a_hull_edge(budget: float, loss: float, cost: float) -> None:
    """Prices 1 and 2; the mean squares are 10 without features, 9 with the first, 1 with the second, 0 with both.

    The first feature saves 1 for 1, the second 9 for 2: for a lambda below 1 both are best, below 4.5 the second, then none. The
    first alone is best for no lambda at all, yet it is the best answer to a budget of 1.
    """
    found = prune_boosted(STUMPS, ROWS, ROWS @ [1.0, 3.0], costs=[1, 2], budget=budget)
    assert (found.loss, found.cost) == (pytest.approx(loss, abs=1e-9), cost)
    path = boosted_path(STUMPS, ROWS, ROWS @ [1.0, 3.0], costs=[1, 2], lams=5)
    assert path.at_cost(budget).loss == pytest.approx(loss, abs=1e-9)


@pytest.mark.slow
def test_an_empty_answer_says_so() -> None:
    """A budget that pays for no split is answered by the bare roots, with a warning that says what a split costs."""
    y = ROWS @ [1.0, 3.0]
    with pytest.warns(RuntimeWarning, match=r"the budget 0.5 .* without splits.* the cheapest pruning .* costs 1; raise"):
        assert prune_boosted(STUMPS, ROWS, y, costs=[1, 2], budget=0.5).n_splits == 0
    path = boosted_path(STUMPS, ROWS, y, costs=[1, 2], lams=3)
    with pytest.warns(RuntimeWarning, match="costs 1; raise the budget"):
        path.at_cost(0.5)
    with pytest.warns(RuntimeWarning, match="no pruning within it that was visited has a lower loss on these rows"):
        prune_boosted(STUMPS, ROWS, 0 * y, costs=[1, 2], budget=3)


@pytest.mark.slow
def test_never_worse_than_prunings_of_prefixes() -> None:
    """What descents make of the library's own model of fewer rounds, lambdas rising, is never better than the path there."""
    X, y = data("two", 1)
    booster = xgboost.XGBClassifier(**X_FEW).fit(X[:FITTED], y[:FITTED]).get_booster()
    lams = [0.0, 0.005, 0.02]
    path = boosted_path(booster, X[FITTED:], y[FITTED:], costs=1, lams=lams)
    for rounds in (2, 4, 6):
        first = read_model(booster[:rounds])
        usage, loss = usage_of(first, first.rows(X[FITTED:]), 1), loss_of(first, y[FITTED:], len(y) - FITTED)
        kept = first.ensemble.is_split
        for lam in lams:
            end = descend(OnRows(first, usage, loss), lam, kept, solver=price_sharing, rounds=30).points[-1]
            kept = end.kept
            best = min(p.loss + lam * p.cost for p in path.found)
            assert best <= end.loss + lam * end.cost + 1e-9


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_dropped_rounds_are_exported(library: str) -> None:
    """A prefix of the model as an answer is exported as what it is: later trees add nothing."""
    X, y = data("two", 0)
    kind = xgboost.XGBClassifier(**X_FEW) if library == "xgboost" else lightgbm.LGBMClassifier(**L_FEW)
    model = kind.fit(X[:FITTED], y[:FITTED])
    path = boosted_path(model, X[FITTED:], y[FITTED:], costs=1, lams=[0.0], time_limit=0.0)
    dropped = [p for p in path.front if p.forest.revalued]
    assert dropped
    for p in dropped[::3]:
        seen = evaluate(p.to_model(), X[FITTED:], y[FITTED:], costs=1)
        assert (seen.loss, seen.cost) == (pytest.approx(p.loss, rel=1e-6), pytest.approx(p.cost, rel=1e-12))


@cache
def tiny(name: str) -> OnRows:
    """A model with at most 14 splits and labelled rows of unequal weights."""
    deep = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1, "learning_rate": 0.7}
    flat = {"n_estimators": 4, "num_leaves": 4, "verbose": -1, "n_jobs": 1, "learning_rate": 0.7}
    X, y, model = {
        "binary": (X2, Y2, xgboost.XGBClassifier(**deep).fit(X2[:120], Y2[:120])),
        "forest": (X2, Y2, xgboost.XGBRFClassifier(**deep).fit(X2[:120], Y2[:120])),
        "steep": (X2, Y2, lightgbm.LGBMClassifier(sigmoid=2.0, **flat).fit(X2[:120], Y2[:120])),
        "numbers": (XR, YR / 100, xgboost.XGBRegressor(**deep).fit(XR[:120], YR[:120] / 100)),
        "softmax": (X3, Y3, xgboost.XGBClassifier(**{**deep, "n_estimators": 2, "max_depth": 1}).fit(X3[:120], Y3[:120])),
        "rest": (
            X3,
            Y3,
            lightgbm.LGBMClassifier(objective="multiclassova", **{**flat, "n_estimators": 2, "num_leaves": 3}).fit(
                X3[:120], Y3[:120]
            ),
        ),
    }[name]
    forest = read_model(model)
    weight = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    usage = usage_of(forest, forest.rows(X[120:180]), np.arange(1.0, 7.0), weight)
    return OnRows(forest, usage, loss_of(forest, y[120:180][usage.rows], usage.n_rows))


NAMES = ["binary", "forest", "steep", "numbers", "softmax", "rest"]


def direct_loss(t: OnRows, kept: NDArray[np.bool_]) -> float:
    """The mean loss from the margins of the reference walk through all trees."""
    rows = np.asarray(t.usage.X)[t.usage.rows]
    return float(np.average(t.loss.values(t.forest.margins(rows, kept)), weights=t.usage.weights))


@cache
def every_loss(name: str) -> tuple[NDArray[np.bool_], list[float]]:
    """All prunings of a tiny model, one a row, and the loss of each."""
    t = tiny(name)
    prunings = all_prunings(t.forest.ensemble)
    return prunings, [direct_loss(t, kept) for kept in prunings]


@pytest.mark.slow_cases("binary", "forest", "numbers", "rest", "steep")
@pytest.mark.parametrize("name", NAMES)
@looped("seed", [None, 0, 1])
def test_the_majoriser_is_above_the_loss_and_touches_it(name: str, seed: int | None) -> None:
    """For every pruning, constant + error >= loss; at the current pruning they are equal. From any current pruning."""
    t = tiny(name)
    e = t.forest.ensemble
    now = state_of(t, e.is_split if seed is None else some_pruning(e, seed))
    bound, constant = majorise(t, now)
    above = []
    for kept, loss in zip(*every_loss(name), strict=True):
        above.append(constant + Pruning(bound, kept).error - loss)
        if np.array_equal(kept, now.kept):
            assert above[-1] == pytest.approx(0.0, abs=1e-12)
            assert now.loss == pytest.approx(loss, rel=1e-12)
    assert min(above) > -1e-12
    assert max(above) > 0.01


def test_by_hand_squares_of_one_stump() -> None:
    """One tree with one split: the sum over trees is one term, so for squares the majoriser is the loss itself."""
    model = xgboost.XGBRegressor(n_estimators=1, max_depth=1, n_jobs=1).fit(XR, YR)
    forest = read_model(model)
    usage = usage_of(forest, forest.rows(XR), 1)
    stump = OnRows(forest, usage, loss_of(forest, YR, len(YR)))
    now = state_of(stump, forest.ensemble.is_split)
    bound, constant = majorise(stump, now)
    root = np.zeros(3, dtype=bool)
    expected = float(np.mean((YR - forest.base[0] - forest.ensemble.value[0, 0]) ** 2))
    assert constant + Pruning(bound, root).error == pytest.approx(expected, rel=1e-9)


LOSSES: dict[str, tuple[Any, int]] = {
    "squares": (SampleLoss(SQUARED_ERROR, np.array([[0.3], [-2.0]])), 1),
    "log": (SampleLoss(Loss("log_loss", 1.7), np.array([[0.0], [1.0]])), 1),
    "soft labels": (SampleLoss(Loss("log_loss"), np.array([[0.2], [0.9]])), 1),
    "softmax": (SampleLoss(Loss("softmax"), np.eye(3)[[2, 0]]), 3),
    "rest": (SampleLoss(Loss("log_loss", 0.8), np.eye(3)[[2, 0]]), 3),
}


@pytest.mark.parametrize("name", LOSSES)
def test_curvatures(name: str) -> None:
    """The largest eigenvalue of the Hessian is at most, and somewhere near, h; `test_costs` has the slopes."""
    loss, n = LOSSES[name]
    rng = np.random.default_rng(0)
    largest, step = 0.0, 1e-5
    points = np.concatenate([rng.normal(size=(40, 2, n)) * s for s in (0.1, 1, 6)])
    for F in points:
        hessian = np.stack([(loss.slopes(F + step * u) - loss.slopes(F - step * u)) / (2 * step) for u in np.eye(n)], axis=1)
        eigen = np.linalg.eigvalsh(hessian).max()
        assert eigen <= loss.curvature + 1e-6
        largest = max(largest, eigen)
    assert largest > 0.7 * loss.curvature


def test_rows_without_weight_do_not_count() -> None:
    """Weight 0 leaves a row out of loss and cost: the same as without it; weight 2 is the row twice."""
    t = tiny("binary")
    X, y = X2[120:180], Y2[120:180]
    weight = np.random.default_rng(0).integers(0, 4, 60)
    repeated = np.repeat(np.arange(60), weight)
    usage = usage_of(t.forest, t.forest.rows(X[repeated]), np.arange(1.0, 7.0))
    own = OnRows(t.forest, usage, loss_of(t.forest, y[repeated], len(repeated)))
    kept = some_pruning(t.forest.ensemble, 2)
    plain, weighted = state_of(own, kept), state_of(t, kept)
    assert plain.loss == pytest.approx(weighted.loss, rel=1e-12)
    a = majorise(own, plain)[0].node_error
    b = majorise(t, weighted)[0].node_error
    assert np.allclose(a, b, rtol=1e-9, atol=1e-15)
