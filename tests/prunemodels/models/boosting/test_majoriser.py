"""The majoriser against the true loss, over all prunings of tiny models."""

from __future__ import annotations

from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray

from formulations import Pruning
from prunemodels.models.boosting.boosted import usage_of
from prunemodels.models.boosting.descent import OnRows, majorise, state_of
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import SQUARED_ERROR, Loss, SampleLoss, loss_of
from tests.loops import looped
from tests.prunemodels.models.libraries.models import X2, X3, XR, Y2, Y3, YR, all_prunings, some_pruning


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
