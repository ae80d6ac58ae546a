"""What every rival promises as an estimator: scikit-learn's checks, stages, names, weights, and refusals before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.evaluation.curve import Learner, StagedLearner, tradeoff_curve
from prunemodels.rivals import (
    BudgetRFClassifier,
    CEGBClassifier,
    CEGBRegressor,
    CSTCClassifier,
    CSTCRegressor,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
)

FEW: dict[str, Any] = {"n_estimators": 3, "num_leaves": 6, "min_child_samples": 1, "learning_rate": 0.5}
BOOSTED: dict[str, Any] = {"n_weak_learners": 5, "weak_depth": 2, "min_samples_leaf": 2, "learning_rate": 0.5, "depth": 2}
PLAIN: dict[str, Any] = {"depth": 2, "features": "identity", "validation_fraction": None}

# nothing is drawn at random: a weight of 2 is the same as the row twice
EXACT: dict[str, Any] = {
    "GreedyMiser": GreedyMiserClassifier(n_estimators=5, learning_rate=0.5),
    "GreedyMiser, squared error": GreedyMiserClassifier(n_estimators=5, loss="squared_error", lam=0.0),
    "GreedyMiser, numbers": GreedyMiserRegressor(n_estimators=10, learning_rate=0.3),
    "CEGB, own": CEGBClassifier(engine="own", **FEW),
    "CEGB, own, numbers": CEGBRegressor(engine="own", **FEW),
    "BudgetRF": BudgetRFClassifier(n_estimators=2, bootstrap=False, splits="all"),
    "CSTC": CSTCClassifier(lam=1e-4, max_cycles=2, **PLAIN),
    "CSTC, numbers": CSTCRegressor(lam=1e-4, max_cycles=2, **PLAIN),
}

FREE, PRICED = CEGBClassifier(lam=0, **FEW), CEGBRegressor(**FEW)
DRAWN = [
    BudgetRFClassifier(n_estimators=3),
    BudgetRFClassifier(n_estimators=3, budget=20, vote="mean"),
    CSTCClassifier(lam=1e-4, max_cycles=2, **BOOSTED),
]

EQUIVALENCE = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
REFUSED = "LightGBM's penalties count rows, whatever they weigh: unequal weights are refused where there is a price to pay"
ROWS = (
    "other rows are drawn, or other bins made, where a row of weight 2 stands twice: scikit-learn's own forests and histogram "
    "boosting fail this check for the same reason"
)


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Those of estimators that draw or bin rows, whatever they weigh, and of LightGBM's engine; none else."""
    if estimator is PRICED:
        return dict.fromkeys([*EQUIVALENCE, "check_sample_weights_not_overwritten"], REFUSED)
    return dict.fromkeys(EQUIVALENCE, ROWS) if any(estimator is one for one in (FREE, *DRAWN)) else {}


@pytest.mark.slow
@parametrize_with_checks([*EXACT.values(), FREE, PRICED, *DRAWN], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    """Each of scikit-learn's checks passes, but for those of weights that are named above."""
    check(estimator)


XI, YI = load_iris(return_X_y=True)
XC, YC = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
STAGED: dict[str, Any] = {
    "GreedyMiser": GreedyMiserClassifier(n_estimators=6, lam=0.003, max_depth=2, learning_rate=0.5, evaluation_cost=0.1),
    "GreedyMiser, drawn": GreedyMiserClassifier(n_estimators=6, max_depth=2, subsample=0.5, random_state=3, loss="squared_error"),
    "GreedyMiser, numbers": GreedyMiserRegressor(n_estimators=6, lam=0.003, learning_rate=0.5),
    "BudgetRF": BudgetRFClassifier(n_estimators=6, evaluation_cost=0.1, random_state=0, max_depth=3),
    **{
        f"CEGB, {engine}, {kind.__name__}": kind(engine=engine, n_estimators=6, num_leaves=6, evaluation_cost=0.1, lam=0.005)
        for engine in ("own", "lightgbm")
        for kind in (CEGBClassifier, CEGBRegressor)
    },
}


@pytest.mark.parametrize("name", STAGED)
@pytest.mark.parametrize("classes", [2, 3])
def test_stages_end_with_the_model(name: str, classes: int) -> None:
    """As many stages as rounds; each predicts and costs what a run of so many rounds does; costs never fall; so do curves."""
    labels = np.minimum(YC, classes - 1)
    y = np.array(["no", "well", "yes"])[labels] if is_classifier(STAGED[name]) else labels - labels.mean()
    model: Any = clone(STAGED[name]).fit(XC, y)
    assert isinstance(model, StagedLearner)
    stages, costs = list(map(np.copy, model.staged_predict(XC))), model.staged_cost(XC)
    assert len(stages) == len(costs) == 6
    np.testing.assert_array_equal(stages[-1], model.predict(XC))
    assert costs[-1] == pytest.approx(model.prediction_cost(XC).mean())
    assert (np.diff(costs) >= -1e-12).all()
    for s in (1, 4):
        short = clone(model).set_params(n_estimators=s).fit(XC, y)
        if name != "BudgetRF":  # its forests of other sizes draw other rows
            np.testing.assert_array_equal(stages[s - 1], short.predict(XC))
            assert costs[s - 1] == pytest.approx(short.prediction_cost(XC).mean())
    if hasattr(model, "staged_predict_proba"):
        shares = list(map(np.copy, model.staged_predict_proba(XC)))
        assert len(shares) == 6
        np.testing.assert_array_equal(shares[-1], model.predict_proba(XC))
    if hasattr(model, "decision_function"):
        scores = model.decision_function(XC)
        chosen = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(model.classes_[chosen], model.predict(XC))
    curve = tradeoff_curve(model, XC, y)
    assert (len(curve), curve.method) == (6, type(model).__name__)
    assert curve.error[-1] < curve.error[0]


@pytest.mark.parametrize("name", [*EXACT, "CEGB, LightGBM"])
def test_names_of_columns_and_prices(name: str) -> None:
    """Prices by name, in any order, go to the columns of that name; columns in another order, and unknown names, are refused."""
    model = clone(EXACT.get(name, PRICED))
    table = pd.DataFrame(XI, columns=list("abcd"))
    costs = {"d": 0, "c": 2, "b": 0.5, "a": 3}
    named = clone(model).set_params(costs=costs).fit(table, YI)
    plain = clone(model).set_params(costs=[3, 0.5, 2, 0]).fit(XI, YI)
    assert isinstance(named, Learner)
    np.testing.assert_array_equal(named.predict(table), plain.predict(XI))
    np.testing.assert_array_equal(named.prediction_cost(table), plain.prediction_cost(XI))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(table[list("bacd")])
    with pytest.raises(InvalidInputError, match="'zz'"):
        model.set_params(costs={**costs, "zz": 1}).fit(table, YI)


@pytest.mark.parametrize("name", EXACT)
def test_a_weight_is_the_row_so_many_times(name: str) -> None:
    """Where nothing is drawn: in losses, costs and bins; a row of weight 0 is none, whatever its label."""
    weight = np.random.default_rng(0).integers(0, 3, len(YI)).astype(float)
    rows = np.repeat(np.arange(len(YI)), weight.astype(int))
    strange = np.where(weight > 0, YI, 9)
    weighed = clone(EXACT[name]).fit(XI, strange, weight)
    repeated = clone(EXACT[name]).fit(XI[rows], YI[rows])
    values = "decision_function" if hasattr(weighed, "decision_function") else "predict"
    np.testing.assert_allclose(getattr(weighed, values)(XI), getattr(repeated, values)(XI), atol=1e-7)
    np.testing.assert_allclose(weighed.prediction_cost(XI), repeated.prediction_cost(XI))


@pytest.mark.parametrize("name", EXACT)
def test_what_is_not_fitted_says_so(name: str) -> None:
    """Whatever is asked for, stages included."""
    model = clone(EXACT[name])
    methods = ("predict", "prediction_cost", "staged_cost", "staged_predict", "predict_proba", "staged_predict_proba")
    for method in (*methods, "decision_function", "apply"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                list(getattr(model, method)(XI))


GM, RF, CEGB, CSTC = GreedyMiserClassifier, BudgetRFClassifier, CEGBClassifier, CSTCClassifier
EVERY = [GM, GreedyMiserRegressor, RF, CEGB, CEGBRegressor, CSTC]
BAD: list[tuple[Any, dict[str, Any], str]] = [
    *((kind, {"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 4 features") for kind in EVERY),
    *((kind, {"costs": CostItems.plain([1, 2])}, "costs has prices for 2 features") for kind in EVERY),
    *((kind, {"evaluation_cost": -1}, "evaluation_cost is -1, negative") for kind in EVERY),
    *((kind, {"lam": -1}, "lam is -1") for kind in (GM, CEGB, CSTC)),
    *((kind, {"lam": float("nan")}, "lam is nan") for kind in (GM, CEGB)),
    *((kind, {"n_estimators": 0}, "n_estimators is 0; give a whole number >= 1") for kind in (GM, RF, CEGB)),
    *((kind, {"learning_rate": 0}, "learning_rate is 0; give a number above 0") for kind in (GM, CEGB)),
    *((kind, {"min_samples_leaf": 0}, "min_samples_leaf is 0") for kind in (GM, RF)),
    *((kind, {"max_depth": 0}, "max_depth is 0") for kind in (GM, RF, CEGB)),
    (GM, {"max_depth": 17}, "max_depth is 17; give a whole number from 1 to 16"),
    (GM, {"subsample": 0}, "subsample is 0; give a number from 0 .excluded. to 1"),
    (GM, {"n_iter_no_change": 0}, "n_iter_no_change is 0; give a whole number >= 1 or None"),
    (GM, {"n_iter_no_change": 2, "validation_fraction": 1}, "validation_fraction is 1; give a number between 0 and 1"),
    (GM, {"loss": "hinge"}, "loss is 'hinge'; give one of 'log_loss', 'squared_error'"),
    (GM, {"tol": -1}, "tol is -1"),
    (CEGB, {"engine": "xgboost"}, "engine is 'xgboost'"),
    (CEGB, {"growth": "depth"}, "growth is 'depth'"),
    (CEGB, {"num_leaves": 1}, "num_leaves is 1"),
    (CEGB, {"num_leaves": 131_073}, "num_leaves is 131073"),
    (CEGB, {"max_bin": 70_000}, "max_bin is 70000"),
    (CEGB, {"training_costs": [1, -1, 1, 1]}, "negative"),
    (RF, {"impurity": "hinge"}, "impurity is 'hinge'; give one of 'pairs', 'powers'"),
    (RF, {"splits": "best"}, "splits is 'best'; give one of 'random', 'all'"),
    (RF, {"outcome": "mean"}, "outcome is 'mean'; give one of 'minimax', 'expected'"),
    (RF, {"alpha": -1}, "alpha is -1; give a number >= 0"),
    (RF, {"power": 1.5}, "power is 1.5; give a number >= 2"),
    (RF, {"min_impurity": -0.1}, "min_impurity is -0.1"),
    (RF, {"max_features": 5}, "max_features is 5; give an integer from 1 to 4"),
    (RF, {"max_features": 0.0}, "max_features is 0.0"),
    (RF, {"max_features": "auto"}, "max_features is 'auto'"),
    (RF, {"vote": "all"}, "vote is 'all'; give one of 'majority', 'mean', 'counts'"),
    (RF, {"budget": -1}, "budget is -1, negative"),
    (RF, {"budget": 0.5}, r"budget is 0.5, the first tree alone costs \d.* raise alpha or min_impurity"),
    (RF, {"budget": 9, "validation_fraction": 1.5}, "validation_fraction is 1.5"),
    (CSTC, {"features": "x"}, "features is 'x'"),
    (CSTC, {"depth": 0}, "depth is 0"),
    (CSTC, {"sharpness": 0}, "sharpness is 0; give a number > 0, or some that do not fall"),
    (CSTC, {"sharpness": ()}, r"sharpness is \(\)"),
    (CSTC, {"sharpness": (10, 3)}, r"sharpness is \(10, 3\)"),
    (CSTC, {"sharpness": (1, "high")}, r"sharpness is \(1, 'high'\)"),
    (CSTC, {"sharpness": (1, float("inf"))}, "sharpness is"),
    (CSTC, {"n_init": 0}, "n_init is 0; give a whole number >= 1"),
    (CSTC, {"max_cycles": -1}, "max_cycles is -1"),
    (CSTC, {"validation_fraction": 1}, "validation_fraction is 1"),
    (CSTC, {"costs": CostItems.from_items({"l": 1}, [["l"]] * 4, once=["l"])}, "paid once for all"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), BAD, ids=lambda v: getattr(v, "__name__", str(v))[:30])
def test_bad_settings_are_refused(kind: Any, settings: dict[str, Any], message: str) -> None:
    """With what is wrong, the value, and the remedy, before any work; nothing is left behind."""
    model = kind(**settings)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(XI, YI)
    assert not any(hasattr(model, name) for name in ("ensemble_", "forest_", "tree_"))


@pytest.mark.parametrize("kind", [GM, CEGB, CSTC])
def test_one_class_and_no_weight_are_refused(kind: Any) -> None:
    """Rows of weight 0 have no class."""
    for weight, y in ((None, np.zeros(len(YI))), ((YI == 1).astype(float), YI)):
        with pytest.raises(InvalidInputError, match=r"y has (1|one) class"):
            kind().fit(XI, y, weight)
    with pytest.raises(ValueError, match="weight"):
        kind().fit(XI, YI, np.zeros(len(YI)))
