"""Models whose trees add up, on demand: the library's own answers, at the cost of what they need."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

import prunemodels as pm
from prunemodels.models.tree_model import tree_model_of
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.models.libraries.models import HOLES, L_DEEP, X2, X3, X_DEEP, XR, Y2, Y3, model_of, models_of
from tests.prunemodels.on_demand.cases import Spy

COSTS = [1, 2, 3, 4, 0, 2.5]
LIBRARIES = ("xgboost", "lightgbm", "sklearn")


def library_answers(model: Any, X: Any) -> np.ndarray:
    """What the model itself predicts; of models that only tell margins or probabilities, what is read of them."""
    if hasattr(model, "fit") and not hasattr(model, "eval_train"):
        return np.asarray(model.predict(X))
    return tree_model_of(model).predict(X)


@pytest.mark.slow_cases("lightgbm", "xgboost")
@pytest.mark.parametrize("library", LIBRARIES)
def test_answers_and_costs_are_the_whole_model_s(library: str) -> None:
    """Every model that is read: labels and numbers of the library, probabilities, and the cost that evaluate reports. Stopping
    early, rows have the class of the whole model, at no more than its cost, and some of them do stop.
    """
    stopped = 0
    for name, (model, X, y) in models_of(library).items():
        costs, theirs = COSTS[: X.shape[1]], library_answers(model, X)
        result = OnDemandPredictor(model, costs, from_table(X)).run(len(X))
        if result.probabilities is None:
            assert np.allclose(result.predictions, theirs, rtol=1e-5 if library == "xgboost" else 0, atol=0), name
        else:
            assert np.array_equal(result.predictions, theirs), name
        if hasattr(model, "predict_proba"):
            assert np.abs(result.probabilities - model.predict_proba(X)).max() <= (3e-7 if library == "xgboost" else 1e-15), name
        assert result.mean_cost == pytest.approx(pm.evaluate(model, X, y, costs=costs).cost, rel=1e-12), name
        if result.probabilities is not None:
            early = OnDemandPredictor(model, costs, from_table(X), early_stopping=True).run(len(X))
            assert np.array_equal(early.predictions, theirs), name
            assert (early.units <= result.units).all(), name
            stopped += int(early.stopped_early.sum())
    assert stopped > 50


@pytest.mark.slow_cases("lightgbm", "xgboost")
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "sklearn"])
def test_a_tolerance_holds_for_probabilities_and_numbers(library: str) -> None:
    """However open the trees are: the answer is as near to the whole model's as promised, and a wide tolerance saves."""
    saved = 0
    for name, (model, X, _) in models_of(library).items():
        full = OnDemandPredictor(model, COSTS[: X.shape[1]], from_table(X)).run(len(X))
        numbers = full.probabilities is None
        for tolerance in (0.0, 0.02, 0.2):
            tolerance *= float(np.ptp(full.predictions)) if numbers else 1.0
            near = OnDemandPredictor(model, COSTS[: X.shape[1]], from_table(X), tolerance=tolerance).run(len(X))
            off = near.predictions - full.predictions if numbers else near.probabilities - full.probabilities
            assert np.abs(off).max() <= tolerance * (1 + 1e-6) + 1e-12, (name, tolerance)
            assert (near.units <= full.units).all(), (name, tolerance)
            saved += int(near.stopped_early.sum())
    assert saved > 200


def test_by_hand() -> None:
    """Two stumps with steps of 2 and of 1: the first feature alone decides the sign, and the first two the probability."""
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 50)
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=2, learning_rate=1.0, min_samples_leaf=1)
    model.fit(X, (X[:, 0] + (np.arange(200) % 25 == 0) > 0.5).astype(int))
    records = [p.nodes for one_round in model._predictors for p in one_round]
    for nodes, feature, step in ((records[0], 0, 2.0), (records[1], 1, 1.0)):
        nodes["feature_idx"][0], nodes["num_threshold"][0] = feature, 0.5
        nodes["value"][1:] = [-step, step]
    model._baseline_prediction[:] = 0.0
    for options, bought in (({"early_stopping": True}, ("x0",)), ({}, ("x0", "x1")), ({"tolerance": 0.2}, ("x0",))):
        result = OnDemandPredictor(model, [1, 5], Spy(X[:1]), **options).run(1)
        assert result.bought == (bought,)
        assert result.predictions[0] == model.predict(X[:1])[0] == 0
    guess = OnDemandPredictor(model, [1, 5], Spy(X[:1]), tolerance=0.2).run(1)
    assert guess.probabilities[0, 1] == pytest.approx(1 / (1 + np.exp(2.0)))  # 0.119, and for certain between 0.047 and 0.269
    at = OnDemandPredictor(model, [1, 5], Spy(X[:1]), early_stopping=True, threshold=0.1).run(1)
    assert at.bought == (("x0", "x1"),)  # -3 or -1: a probability of 0.047 or 0.269, on both sides of the threshold


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBClassifier(**X_DEEP),
        lightgbm.LGBMClassifier(**L_DEEP),
        HistGradientBoostingClassifier(max_iter=6),
        RandomForestClassifier(8, max_depth=5, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_thresholds_and_calibrations(model: Any) -> None:
    """What scikit-learn wraps around a classifier: its own labels on full data and stopping early, its probabilities too."""
    model = model.fit(X2[:120], Y2[:120])
    frozen = FrozenEstimator(model)
    rest = slice(120, None)
    wrapped = {
        "fixed": FixedThresholdClassifier(model, threshold=0.2).fit(X2[:120], Y2[:120]),
        "fixed, first class": FixedThresholdClassifier(frozen, threshold=0.7, pos_label=0).fit(X2, Y2),
        "tuned": TunedThresholdClassifierCV(frozen, cv="prefit", refit=False).fit(X2[rest], Y2[rest]),
        "sigmoid": CalibratedClassifierCV(frozen, method="sigmoid").fit(X2[rest], Y2[rest]),
        "isotonic": CalibratedClassifierCV(frozen, method="isotonic").fit(X2[rest], Y2[rest]),
        "without ensemble": CalibratedClassifierCV(model, method="sigmoid", ensemble=False, cv=3).fit(X2, Y2),
    }
    wrapped["threshold of a calibration"] = FixedThresholdClassifier(FrozenEstimator(wrapped["isotonic"]), threshold=0.3)
    wrapped["threshold of a calibration"].fit(X2, Y2)
    upside_down = FrozenEstimator(clone(model).fit(X2[:120], 1 - Y2[:120]))  # the calibration falls, and so do its bounds
    wrapped["falling"] = CalibratedClassifierCV(upside_down, method="sigmoid").fit(X2[rest], Y2[rest])
    for name, outer in wrapped.items():
        full = OnDemandPredictor(outer, COSTS, from_table(X2)).run(len(X2))
        assert np.array_equal(full.predictions, outer.predict(X2)), name
        if name in ("sigmoid", "isotonic", "without ensemble", "falling"):
            assert np.abs(full.probabilities - outer.predict_proba(X2)).max() < 1e-6, name
        early = OnDemandPredictor(outer, COSTS, from_table(X2), early_stopping=True).run(len(X2))
        assert np.array_equal(early.predictions, outer.predict(X2)), name
        assert early.stopped_early.any(), name
        near = OnDemandPredictor(outer, COSTS, from_table(X2), tolerance=0.1).run(len(X2))
        assert np.abs(near.probabilities - full.probabilities).max() <= 0.1 + 1e-6, name
    option = OnDemandPredictor(model, COSTS, from_table(X2), early_stopping=True, threshold=0.2).run(len(X2))
    assert np.array_equal(option.predictions, wrapped["fixed"].predict(X2))


def test_wrappers_that_are_refused() -> None:
    """Averages of calibrated models, several classes, temperatures, and wrappers around wrappers are named."""
    model = HistGradientBoostingClassifier(max_iter=2)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model.fit(X2, Y2))).fit(X2, Y2)
    cases = {
        "averages 3 calibrated models": CalibratedClassifierCV(model, cv=3).fit(X2, Y2),
        "has 3 classes": CalibratedClassifierCV(model, ensemble=False, cv=3).fit(X3, Y3),
        "calibration by 'temperature'": CalibratedClassifierCV(model, method="temperature", ensemble=False, cv=3).fit(X2, Y2),
        "calibrate it once": CalibratedClassifierCV(FrozenEstimator(calibrated)).fit(X2, Y2),
    }
    for message, wrapper in cases.items():
        with pytest.raises(pm.errors.UnsupportedModelError, match=message):
            OnDemandPredictor(wrapper, 1, from_table(X2))
    for wrapper in (CalibratedClassifierCV(model), FixedThresholdClassifier(model)):
        with pytest.raises(pm.errors.NotFittedForestError, match="is not fitted"):
            OnDemandPredictor(wrapper, 1, from_table(X2))
    three = HistGradientBoostingClassifier(max_iter=2).fit(X3, Y3)
    with pytest.raises(pm.errors.InvalidInputError, match="predicts 3 classes; a threshold is for two classes"):
        OnDemandPredictor(three, 1, from_table(X3), threshold=0.5)


def test_values_that_cannot_be_had() -> None:
    """The tree answers with the split's own value, the mean of its leaves: the answer of the model with that split pruned."""
    for model, X in ((lightgbm.LGBMClassifier(**L_DEEP).fit(HOLES, Y2), HOLES), (model_of("sklearn", "numbers")[0], XR)):
        forest = pm.read_model(model)
        e, had = forest.ensemble, np.ones(X.shape, dtype=bool)
        gone = int(np.bincount(e.feature[e.is_split]).argmax())
        had[:, gone] = False
        result = OnDemandPredictor(model, COSTS, Spy(X, had)).run(len(X))
        kept = e.is_split & (e.feature != gone)
        for h in range(e.n_nodes):
            kept[h] &= e.parent[h] < 0 or kept[e.parent[h]]
        margins = forest.margins(forest.rows(X), kept)
        assert np.array_equal(result.predictions, forest.predictions(margins))
        assert result.fell_back.any()


def test_doubles_beside_thresholds_are_routed_as_doubles() -> None:
    """A value within float32's rounding of a threshold goes where the library sends the double, whose dtype the walk keeps."""
    model = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=4).fit(X2, Y2)
    cells = pm.read_model(model).cells
    feature, own = next((f, c) for f, c in cells.items())
    X = np.repeat(X2[:1], 2 * len(own.edges), axis=0)
    X[:, feature] = np.concatenate([own.edges, np.nextafter(own.edges, np.inf)])
    result = OnDemandPredictor(model, COSTS, from_table(X)).run(len(X))
    assert np.array_equal(result.probabilities, model.predict_proba(X))


def test_a_class_and_a_tolerance_together() -> None:
    """With both options, labels are exact and probabilities near; predict_proba is then allowed, else refused."""
    model = xgboost.XGBClassifier(**X_DEEP).fit(HOLES, Y2)
    both = OnDemandPredictor(model, COSTS, from_table(HOLES), early_stopping=True, tolerance=0.1)
    assert np.array_equal(both.predict(len(HOLES)), model.predict(HOLES))
    assert np.abs(both.predict_proba(len(HOLES)) - model.predict_proba(HOLES)).max() <= 0.1
    with pytest.raises(pm.errors.InvalidInputError, match="set early_stopping=False or a tolerance"):
        OnDemandPredictor(model, COSTS, from_table(HOLES), early_stopping=True).predict_proba(3)
