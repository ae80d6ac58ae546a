"""CEGB's engines, and the gains of their splits."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_regression

from formulations import CostItems
from formulations.errors import InvalidInputError
from formulations.instance.routing import leaves_of
from prunemodels.rivals.boosted_learner import Prices, settings_of
from prunemodels.rivals.cegb import MOST_PAIRS, CEGBClassifier, CEGBRegressor, penalties
from prunemodels.rivals.cegb_engine import Settings
from tests.prunemodels.rivals.cegb.replay import replay_of

X, Y = make_regression(300, 5, n_informative=4, noise=5.0, random_state=0)
Y = Y / Y.std()
XC, YC = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=0)
QUICK: dict[str, Any] = {"n_estimators": 5, "num_leaves": 6}
GROUP = CostItems.grouped(["g", "g", "h", "i", "j"], {"g": 1, "h": 2, "i": 1, "j": 0})
ONCE = CostItems.from_items({"a": 0.1, "b": 1}, [["a"], ["b"], [], [], []], once=["a"])


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"costs": GROUP}, "'g'"),
        ({"costs": ONCE}, "'a'"),
        ({"evaluation_cost": [0, 0, 1, 0, 0]}, "evaluation_cost"),
        ({"growth": "breadth"}, "breadth"),
        ({"growth": "breadth", "max_depth": 3}, "max_depth"),
    ],
)
def test_what_lightgbm_cannot_say_is_refused_with_a_remedy(settings: dict[str, Any], culprit: str) -> None:
    """Shared items, items paid once, split prices by feature, breadth-first growth: refused by name; engine="own" takes each."""
    with pytest.raises(InvalidInputError, match=culprit) as refusal:
        CEGBRegressor(**{**QUICK, **settings}).fit(X, Y)
    assert 'engine="own"' in str(refusal.value)
    assert CEGBRegressor(**{**QUICK, **settings}, engine="own").fit(X, Y).n_iter_ == 5


def test_weights_need_the_own_engine_or_no_prices() -> None:
    """Unequal weights are refused where LightGBM would count rows; equal ones, and those of lam = 0, are not."""
    weight = np.linspace(1, 2, len(Y))
    with pytest.raises(InvalidInputError, match="sample_weight"):
        CEGBRegressor(**QUICK).fit(X, Y, weight)
    for model in (CEGBRegressor(**QUICK, lam=0), CEGBRegressor(**QUICK, engine="own")):
        model.fit(X, Y, weight)
    rows, twice = np.round(X * 3) / 3, np.full(len(Y), 2.0)
    once, equal, own = (
        CEGBRegressor(lam=0.02, engine=engine, **{**QUICK, "min_child_weight": 0}).fit(rows, Y, weight)
        for engine, weight in (("lightgbm", None), ("lightgbm", twice), ("own", twice))
    )
    np.testing.assert_allclose(equal.predict(rows), once.predict(rows), atol=1e-6)  # (OBJ) is a mean
    np.testing.assert_allclose(equal.predict(rows), own.predict(rows), atol=1e-6)


def test_too_many_pairs_of_rows_and_features_are_refused() -> None:
    """From 2^31 pairs on LightGBM's 32-bit numbers overflow; without prices a feature there is nothing to number."""
    settings, rows = settings_of(Settings, CEGBRegressor()), MOST_PAIRS // 4
    with pytest.raises(InvalidInputError, match=f"{rows} rows and 4 columns"):
        penalties(Prices.of(None, 0, 4, None), settings, np.ones(1), rows)
    assert "cegb_penalty_feature_lazy" in penalties(Prices.of(None, 0, 4, None), settings, np.ones(1), rows - 1)
    assert "cegb_penalty_feature_lazy" not in penalties(Prices.of(0, 1, 4, None), settings, np.ones(1), rows)


def test_breadth_first_by_lightgbm_where_order_does_not_matter() -> None:
    """With a depth at which the limit on leaves cannot bind, LightGBM's trees are the own engine's, in either order."""
    rows = np.round(X * 4) / 4
    models = [
        CEGBRegressor(lam=0.01, max_depth=3, num_leaves=8, growth=growth, engine=engine, n_estimators=4).fit(rows, Y)
        for growth, engine in (("breadth", "lightgbm"), ("breadth", "own"), ("best", "own"))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(rows), models[0].predict(rows), atol=1e-6)
    assert models[0].forest_.ensemble.n_splits > 12


def test_best_first_goes_where_it_pays_and_breadth_first_does_not() -> None:
    """With three leaves: the root parts 40 examples from 10; the larger gain is with the 10, but the left child is older."""
    # left: y = 0 and 1, half each: gain 1/2 * 40 * 0.25 = 5. right: y = 10 and 14: 1/2 * 10 * 4 = 20.
    rows = np.repeat([0.0, 1.0, 2.0, 3.0], [20, 20, 5, 5])[:, None]
    y = np.repeat([0.0, 1.0, 10.0, 14.0], [20, 20, 5, 5])
    settings: dict[str, Any] = {"engine": "own", "num_leaves": 3, "n_estimators": 1, "min_child_samples": 1, "learning_rate": 1.0}
    best, breadth = (CEGBRegressor(growth=growth, lam=1e-6, **settings).fit(rows, y) for growth in ("best", "breadth"))
    np.testing.assert_allclose(np.unique(best.predict(rows)), [0.5, 10, 14], atol=1e-9)
    np.testing.assert_allclose(np.unique(breadth.predict(rows)), [0, 1, 12], atol=1e-9)


def test_breadth_first_passes_over_leaves_that_are_not_worth_it() -> None:
    """A leaf whose best split costs more than it gains is left; the next one is split."""
    rows = np.repeat([0.0, 1.0, 2.0, 3.0], [20, 20, 5, 5])[:, None]
    y = np.repeat([0.0, 0.1, 10.0, 14.0], [20, 20, 5, 5])
    # left gains 1/2 * 40 * 0.05^2 = 0.05 and evaluation takes 0.01 * 40; right gains 20, evaluation takes 0.1
    settings: dict[str, Any] = {"engine": "own", "num_leaves": 4, "n_estimators": 1, "min_child_samples": 1, "learning_rate": 1.0}
    model = CEGBRegressor(0, evaluation_cost=1, lam=0.01, growth="breadth", **settings).fit(rows, y)
    np.testing.assert_allclose(np.unique(model.predict(rows)), [0.05, 10, 14], atol=1e-9)


def test_a_group_is_bought_once() -> None:
    """Two features of one group cost as much as one: with prices of their own the second is not worth it, in the group it is."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 2)).astype(float)
    y = 2 * rows[:, 0] + rows[:, 1]  # together they explain all; the second saves 1/2 * 0.25 = 0.125 an example
    settings: dict[str, Any] = {"engine": "own", "lam": 0.2, "n_estimators": 1, "min_child_samples": 1, "num_leaves": 4}
    used = {}
    for name, groups in (("apart", ["a", "b"]), ("together", ["a", "a"])):
        model = CEGBRegressor(CostItems.grouped(groups, dict.fromkeys(groups, 1)), **settings).fit(rows, y)
        used[name] = set(model.forest_.ensemble.feature.tolist()) - {-1}
        np.testing.assert_allclose(model.prediction_cost(rows), 1)
    assert used == {"apart": {0}, "together": {0, 1}}


def test_missing_values_go_to_the_better_side() -> None:
    """The own engine parts the missing from all others, and joins them to either side, as the targets say."""
    column = np.array([0.0] * 10 + [1.0] * 10 + [np.nan] * 10)[:, None]
    settings: dict[str, Any] = {"engine": "own", "lam": 0, "n_estimators": 1, "learning_rate": 1.0, "min_child_samples": 1}
    for values in ([5.0, 5.0, 1.0], [1.0, 5.0, 1.0], [1.0, 5.0, 5.0]):
        y = np.repeat(values, 10)
        model = CEGBRegressor(num_leaves=2, **settings).fit(column, y)
        np.testing.assert_allclose(model.predict(column), y, atol=1e-9)
        assert model.forest_.ensemble.n_splits == 1


def test_limits_on_leaves_hold() -> None:
    """Rows and second derivatives in each leaf, leaves and depth of each tree."""
    model = CEGBClassifier(
        engine="own", lam=0, n_estimators=4, num_leaves=7, max_depth=3, min_child_samples=12, min_child_weight=4.0
    ).fit(XC, YC)
    e, rows = model.forest_.ensemble, model.forest_.rows(XC)
    ends, margins = leaves_of(e, rows), np.tile(model.forest_.base, len(rows))
    for t in range(e.n_trees):
        p = 1 / (1 + np.exp(-margins))
        leaves, place, count = np.unique(ends[t], return_inverse=True, return_counts=True)
        assert len(leaves) <= 7
        assert e.depth[leaves].max() <= 3
        assert count.min() >= 12
        assert np.bincount(place, weights=p * (1 - p)).min() >= 4.0 - 1e-9
        margins += e.value[ends[t], 0]


def test_lightgbm_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without LightGBM the error says how to install it, and what works without."""
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"pip install lightgbm") as refusal:
        CEGBRegressor(**QUICK).fit(X, Y)
    assert 'engine="own"' in str(refusal.value)
    CEGBRegressor(engine="own", **QUICK).fit(X, Y)


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
def test_a_class_without_a_worthy_split_does_not_stop_the_others(engine: Any) -> None:
    """Classes 0 and 1 are told apart by the feature, class 2 by nothing: its trees are bare, the others' are not."""
    rows = np.tile([0.0, 1.0], 60)[:, None]
    y = np.where(np.arange(120) % 6 < 4, np.arange(120) % 2, 2)
    model = CEGBClassifier(0, evaluation_cost=1, lam=0.01, engine=engine, n_estimators=3, num_leaves=2).fit(rows, y)
    assert model.n_iter_ == 3
    e = model.forest_.ensemble
    assert [bool(e.is_split[root]) for root in e.roots] == [True, True, False] * 3


@pytest.mark.parametrize("engine", ["lightgbm", "own"])
def test_growing_stops_when_no_split_is_worth_its_price(engine: Any) -> None:
    """With prices beyond all gains one leaf is left, which costs nothing and predicts the mean; with few gains, few rounds."""
    model = CEGBRegressor(lam=1e6, engine=engine, **QUICK).fit(X, Y)
    assert (model.n_iter_, model.forest_.ensemble.n_splits) == (1, 0)
    np.testing.assert_allclose(model.predict(X), Y.mean())
    assert model.prediction_cost(X).max() == 0
    some = CEGBRegressor(0, evaluation_cost=1, lam=0.02, engine=engine, n_estimators=200, learning_rate=0.5).fit(X, Y)
    assert 1 < some.n_iter_ < 200


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


@pytest.mark.slow_cases("settings0-three-own", "settings1-three-own", "settings2-three-lightgbm", "settings2-three-own")
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


@pytest.mark.slow_cases("three")
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
