"""Models of other libraries, read: same leaves, same margins, same labels."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

import prunemodels as pm
from formulations.instance.routing import leaves_of
from prunemodels import example
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.trees import floor32
from prunemodels.other_libraries import ModelForest
from tests.prunemodels.models.libraries import models
from tests.prunemodels.models.libraries.models import (
    ALL,
    L_DEEP,
    SKLEARN_CLASSES,
    X2,
    X_DEEP,
    Y2,
    library_leaves,
    library_margins,
    model_of,
)

FLOAT32 = float(np.finfo(np.float32).eps)


def same_leaves(forest: ModelForest, model: Any, X: NDArray[Any]) -> bool:
    """Whether our leaves and the library's are the same up to their names, tree by tree."""
    ours, theirs = leaves_of(forest.ensemble, forest.rows(X)), library_leaves(model, X)
    pairs = [set(zip(ours[t].tolist(), theirs[:, t].tolist(), strict=True)) for t in range(forest.ensemble.n_trees)]
    return all(len(p) == len({a for a, _ in p}) == len({b for _, b in p}) for p in pairs)


def tolerance(forest: ModelForest) -> float:
    """XGBoost sums in float32, LightGBM in float64: rounding of the sum of the largest leaves."""
    e = forest.ensemble
    largest = sum(np.abs(e.value[e.nodes_of(t)]).max() for t in range(e.n_trees)) + np.abs(forest.base).max()
    return float(largest) * (FLOAT32 if forest.leaf_value.dtype == np.float32 else 1e-15) * e.n_trees


@pytest.mark.parametrize(("library", "name"), ALL)
def test_leaves_margins_and_predictions_are_the_library_s(library: str, name: str) -> None:
    """Every row ends in the same leaf of every tree; margins are equal up to rounding; labels are those of ``predict``. XGBoost
    adds float32, from the base score on, tree by tree; LightGBM and scikit-learn add doubles: to the bit, in our order.
    """
    model, X, y = model_of(library, name)
    forest = read_model(model)
    assert same_leaves(forest, model, X)
    margins, theirs = forest.margins(forest.rows(X)), library_margins(model, X, forest.n_outputs)
    assert np.abs(margins - theirs).max() <= tolerance(forest)
    if library in ("lightgbm", "sklearn") and not forest.averaged:  # of which LightGBM hands out the sum
        assert np.array_equal(margins, theirs)
    if library == "xgboost" and name != "dart":  # dart multiplies by each tree's weight while it sums
        leaves, total = leaves_of(forest.ensemble, forest.rows(X)), np.tile(forest.base.astype(np.float32), (len(X), 1))
        for t in range(forest.ensemble.n_trees):
            total[:, forest.output[t]] += forest.leaf_value[leaves[t], 0]
        assert np.array_equal(total, theirs.astype(np.float32))
    ours = forest.predictions(margins)
    assert ours.shape == y.shape
    if isinstance(model, (xgboost.XGBModel, lightgbm.LGBMModel, *SKLEARN_CLASSES)):
        said = model.predict(X)
        assert np.allclose(ours, said, rtol=1e-5) if ours.dtype.kind == "f" else np.array_equal(ours, said)
    if forest.classes is not None:
        assert (ours == y).mean() > 0.5


XGB = xgboost.XGBClassifier(**X_DEEP).fit(models.HOLES, Y2)
LGB = {
    kind: lightgbm.LGBMClassifier(**settings_, **L_DEEP).fit(models.HOLES, Y2)
    for kind, settings_ in (("nan", {}), ("zero", {"zero_as_missing": True}), ("none", {"use_missing": False}))
}


def near_thresholds(forest: ModelForest, draw: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
    """Rows of the thresholds of each feature, the doubles and float32 beside them, zeros of all kinds and NaN."""
    e = forest.ensemble
    X = np.zeros((n_rows, e.n_features))
    for f in range(e.n_features):
        t = e.threshold[e.is_split & (e.feature == f)] if forest.cells is None else getattr(forest.cells.get(f), "edges", [])
        t = np.asarray(t, dtype=np.float64)
        beside = [np.nextafter(t, np.inf), np.nextafter(t, -np.inf), t.astype(np.float32), t + 1e-9, t - 1e-9]
        after = [np.nextafter(t.astype(np.float32), np.float32(s)).astype(float) for s in (np.inf, -np.inf)]
        X[:, f] = draw.choice(
            np.concatenate([t, *beside, *after, [0.0, -0.0, np.nan, 1e-36, -1e-36, 5e-35, 1e30, -1e30]]), n_rows
        )
    return X


HIST = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=10).fit(models.HOLES, Y2)
TIES = {"xgboost": XGB, **LGB, "histograms": HIST}


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(TIES)))
@settings(max_examples=80, deadline=None)
def test_ties_zeros_nan_and_infinities(seed: int, kind: str) -> None:
    """Data on the thresholds and one number beside them end in the library's leaves. Of LightGBM under all three meanings of
    missing; where doubles are compared, infinite data too.
    """
    forest = read_model(TIES[kind])
    draw = np.random.default_rng(seed)
    X = near_thresholds(forest, draw, 200)
    if kind != "xgboost":
        X[draw.random(X.shape) < 0.05] = np.inf
        X[draw.random(X.shape) < 0.05] = -np.inf
    assert same_leaves(forest, TIES[kind], X)


def test_lightgbm_doubles_that_float32_cannot_tell_apart() -> None:
    """Seconds since 1970 need more digits than float32 has: its rounding alone would send half of the rows astray."""
    x = 1.7e9 + np.arange(400) / 4
    y = (np.arange(400) // 37) % 2
    model = lightgbm.LGBMClassifier(min_child_samples=5, **{**L_DEEP, "num_leaves": 30}).fit(x[:, None], y)
    forest = read_model(model)
    assert np.unique(x.astype(np.float32)).size <= 2
    assert same_leaves(forest, model, x[:, None])
    assert np.array_equal(forest.predictions(forest.margins(forest.rows(x[:, None]))), model.predict(x[:, None]))


def test_names_and_labels_are_kept() -> None:
    """Column names come from the model, LightGBM's invented ones count as none, labels stand in the order of the outputs."""
    table = pd.DataFrame(X2, columns=list("abcdef"))
    for model in (xgboost.XGBClassifier(**X_DEEP).fit(table, Y2), lightgbm.LGBMClassifier(**L_DEEP).fit(table, Y2)):
        forest = read_model(model)
        assert forest.ensemble.feature_names == tuple("abcdef")
        assert np.array_equal(forest.rows(table), X2.astype(np.float32))
        with pytest.raises(ValueError, match="has the column 'b' in place 0"):
            forest.rows(table[list("bacdef")])
    assert read_model(model_of("lightgbm", "two classes")[0]).ensemble.feature_names is None
    assert read_model(model_of("lightgbm", "two classes")[0]).classes.tolist() == ["no", "yes"]


def test_inner_nodes_weigh_leaves_by_their_hessians() -> None:
    """XGBoost's and LightGBM's roots are the leaves' means by the sums of Hessians that the libraries wrote down."""
    forest = read_model(XGB)
    tree = XGB.get_booster().trees_to_dataframe().query("Tree == 0 and Feature == 'Leaf'")
    assert forest.ensemble.value[0, 0] == pytest.approx(np.average(tree["Gain"], weights=tree["Cover"]), rel=1e-5)
    text = LGB["nan"].booster_.model_to_string().split("Tree=1")[1].split("Tree=2")[0]
    stored = {line.split("=")[0]: line.split("=")[1] for line in text.splitlines() if "=" in line}
    values, weights = (np.array(stored[k].split(), dtype=float) for k in ("leaf_value", "leaf_weight"))
    forest = read_model(LGB["nan"])
    assert forest.ensemble.value[forest.ensemble.roots[1], 0] == pytest.approx(np.average(values, weights=weights), rel=1e-12)


def test_a_margin_of_zero_is_the_library_s_class() -> None:
    """Of two classes GradientBoostingClassifier says the second one at a margin of exactly 0, HistGradientBoosting the first."""
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    zero = GradientBoostingClassifier(n_estimators=1, init="zero", learning_rate=1e-300).fit(X, y)
    zero.estimators_[0, 0].tree_.value[:] = 0.0
    even = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2).fit(X, y)  # one leaf, classes in balance
    for model, expected in ((zero, [1, 1]), (even, [0, 0])):
        assert model.decision_function(X).tolist() == [0.0, 0.0]
        assert model.predict(X).tolist() == expected
        forest = read_model(model)
        assert forest.predictions(forest.margins(forest.rows(X))).tolist() == expected


def test_lightgbm_columns_are_spelled_as_the_user_spells_them() -> None:
    """LightGBM stores "concave points" as "concave_points"; tables, prices and requests keep the blank."""
    model = lightgbm.LGBMClassifier(n_estimators=3, max_depth=2, n_jobs=1, verbosity=-1).fit(example.X_train, example.y_train)
    stored = {name.replace(" ", "_"): price for name, price in example.costs.items()}
    assert pm.read_model(model).column_names == tuple(stored) != tuple(example.costs)
    for costs in (example.costs, pd.Series(example.costs), stored):
        seen = pm.evaluate(model, example.X_test, example.y_test, costs=costs)
        assert seen.error == np.mean(model.predict(example.X_test) != example.y_test)
    supplier = pm.on_demand.from_table(example.X_test)
    bought = pm.OnDemandPredictor(model, example.costs, supplier).run(example.X_test.index)
    assert bought.mean_cost == pytest.approx(seen.cost)
    assert (bought.predictions == model.predict(example.X_test)).all()
    wrong = {"concave-points" if name == "concave points" else name: price for name, price in example.costs.items()}
    with pytest.raises(pm.errors.InvalidInputError, match="'concave-points', and there is no such feature"):
        pm.evaluate(model, example.X_test, example.y_test, costs=wrong)


INF = np.float32(np.inf)

# 0.1 lies below its nearest float32; 1e-50 and 1e39 have no float32 near
FLOORS = [
    (0.1, np.nextafter(np.float32(0.1), -INF)),
    (0.5, np.float32(0.5)),
    (0.7, np.float32(0.7)),
    (-0.7, np.nextafter(np.float32(-0.7), -INF)),
    (1e-50, np.float32(0.0)),
    (-1e-50, -np.float32(1e-45)),
    (1e39, np.finfo(np.float32).max),
    (-1e39, -INF),
    (np.inf, INF),
]


def test_rounding_towards_minus_infinity() -> None:
    """floor32 gives the largest float32 that is at most the number, at the ends of the range too."""
    numbers, floors = map(np.array, zip(*FLOORS, strict=True))
    got = floor32(numbers)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, floors)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(floors))
