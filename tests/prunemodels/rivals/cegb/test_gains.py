"""Every split of every tree against CEGB17 eq. (12) and (13), by hand and by trying all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import CostItems
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from tests.prunemodels.rivals.cegb.replay import replay_of

# LightGBM estimates how many rows a side has from their second derivatives: a limit of 1 is met however it estimates
SMALL = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 1, "learning_rate": 0.3}
PLAIN = [1, 0.5, 2, 0]
SHARED = CostItems.from_items(
    {"own": 0.5, "blood": 2, "licence": 0.01, "dear": 0.05},
    [["own"], ["blood"], ["blood", "licence"], ["dear", "own"]],
    once=["licence", "dear"],
)


def examples(kind: str, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """120 examples of four features with 9 values each, all in bins of their own."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (120, 4)).astype(float)
    z = np.sin(X[:, 0]) + 0.4 * X[:, 1] * (X[:, 2] > 4) - 0.2 * X[:, 3] + 0.4 * rng.normal(size=120)
    return X, {"numbers": z, "two": np.where(z > 0.3, "yes", "no"), "three": np.digitize(z, [0, 1])}[kind]


def learner(kind: str, **settings: Any) -> Any:
    return (CEGBRegressor if kind == "numbers" else CEGBClassifier)(**{**SMALL, **settings})


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
def test_one_split_by_hand(engine: Any) -> None:
    """A single split gains what eq. (12) says, in LightGBM twice that, and the next tree need not buy the feature again."""
    # y = -3 three times and 1 nine times; mean 0, so g = m - y is 3, 3, 3, -1, ..., -1. Split at the jump:
    # left 9^2 / 3 = 27, right 9^2 / 9 = 9, together 0:  gain 1/2 (27 + 9) = 18, at best.
    X, y = np.repeat([0.0, 1.0], [3, 9])[:, None], np.repeat([-3.0, 1.0], [3, 9])
    # 12 rows pass the split at 0.25 and buy the feature at 0.5: 0.4 * (12 * 0.25 + 12 * 0.5) = 3.6
    model = CEGBRegressor(
        0.5, lam=0.4, evaluation_cost=0.25, engine=engine, n_estimators=2, learning_rate=0.5, min_child_samples=1
    ).fit(X, y)
    replay = replay_of(model, X, y)
    assert replay.gains[0][0] == pytest.approx(18 - 3.6)
    # with half of the way gone g is halved: 1/2 (27 + 9) / 4 = 4.5; nobody pays for the feature again, only 0.4 * 12 * 0.25
    assert replay.gains[1][0] == pytest.approx(4.5 - 1.2)
    np.testing.assert_allclose(model.predict(X), 0.75 * y)
    if engine == "lightgbm":
        assert model.booster_.trees_to_dataframe()["split_gain"][0] == pytest.approx(2 * (18 - 3.6))


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
@pytest.mark.parametrize(
    "settings", [{"lam": 0.01}, {"lam": 0.04, "evaluation_cost": 0.3, "reg_lambda": 1.0}, {"lam": 0.03, "evaluation_cost": 0.2}]
)
def test_every_split_is_the_best_and_gains_what_is_said(engine: Any, kind: str, settings: dict[str, Any]) -> None:
    """Plain prices, also with classes sharing purchases: each split has the gain of eq. (12), (13); no other had more then."""
    X, y = examples(kind)
    replay = replay_of(learner(kind, costs=PLAIN, engine=engine, **settings).fit(X, y), X, y)
    replay.run(2e-5)  # LightGBM keeps derivatives and gains as float32
    assert replay.checked >= 10


@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
def test_what_only_the_own_engine_takes(kind: str) -> None:
    """Items that features share, items paid once, split prices by feature and weights, all at once: (12) and (13) hold."""
    X, y = examples(kind, 1)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    model = learner(kind, costs=SHARED, evaluation_cost=[0.1, 0.5, 0, 0.2], lam=0.01, engine="own")
    replay = replay_of(model.fit(X, y, weight), X, y, weight)
    replay.run(1e-9)
    assert replay.checked >= 10
    assert {2, 3} <= replay.owned


def test_items_paid_once_by_lightgbm_with_single_splits() -> None:
    """With one split a tree LightGBM's coupled penalty is right, and is taken: gamma is the number of rows times the price."""
    X, y = examples("numbers")
    costs = CostItems.from_items({"a": 0.02, "b": 0.3, "c": 0.1}, [["a"], ["b"], ["c"], []], once=["a", "b"])
    model = learner("numbers", costs=costs, lam=0.4, n_estimators=12, num_leaves=2).fit(X, y)
    replay = replay_of(model, X, y)
    replay.run(2e-5)
    assert 0 in replay.owned
    own = learner("numbers", costs=costs, lam=0.4, n_estimators=12, num_leaves=2, engine="own").fit(X, y)
    np.testing.assert_allclose(own.predict(X), model.predict(X), atol=1e-6)


@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
@pytest.mark.parametrize("bundled", [False, True])
def test_both_engines_grow_the_same_trees(kind: str, bundled: bool) -> None:
    """Where both can, they agree in every tree: 1,500 examples, with missing values, or of features that LightGBM bundles."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 30, (1500, 5)).astype(float)
    z = np.sin(X[:, 0] / 3) + 0.03 * X[:, 1] * (X[:, 2] > 12) - 0.05 * X[:, 3] + 0.3 * rng.normal(size=1500)
    if bundled:  # columns of which one at most is not 0: LightGBM puts them into one
        X = np.column_stack([np.where(X[:, 0] // 6 == k, X[:, 0] + 1, 0) for k in range(5)])
    else:
        X[rng.random(X.shape) < 0.1] = np.nan
        z += np.isnan(X[:, 1])
    y = {"numbers": z, "two": z > 0, "three": np.digitize(z, [-0.3, 0.4])}[kind]
    settings = {"costs": [1, 2, 0.5, 1, 0], "lam": 0.01, "evaluation_cost": 0.1, "num_leaves": 8}
    theirs, own = (learner(kind, **settings, engine=engine).fit(X, y) for engine in ("lightgbm", "own"))
    assert theirs.forest_.ensemble.n_splits == own.forest_.ensemble.n_splits > 10
    np.testing.assert_allclose(theirs._margins(X), own._margins(X), atol=1e-5)
    np.testing.assert_allclose(theirs.prediction_cost(X), own.prediction_cost(X))
