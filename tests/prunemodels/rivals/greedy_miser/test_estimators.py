"""The estimators as users meet them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.utils.estimator_checks import parametrize_with_checks

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.evaluation.curve import tradeoff_curve
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor
from prunemodels.rivals.learner import StagedLearner

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
NAMES = list(X.columns)
LABELS = np.where(Y == 1, "benign", "malignant")
PRICES = {name: 2.5 if "worst" in name else 1.0 for name in NAMES}


@pytest.mark.slow
@parametrize_with_checks(
    [
        GreedyMiserClassifier(n_estimators=5, learning_rate=0.5),
        GreedyMiserClassifier(n_estimators=5, loss="squared_error", lam=0.0),
        GreedyMiserRegressor(n_estimators=10, learning_rate=0.3),
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    """Each of scikit-learn's checks passes, without exception."""
    check(estimator)


def test_named_columns_prices_and_labels() -> None:
    """A table with names, prices by name, and string labels; few features make a good model, reckoned in prices."""
    model = GreedyMiserClassifier(PRICES, lam=0.002, n_estimators=60, learning_rate=0.5).fit(X[::2], LABELS[::2])
    assert (model.predict(X[1::2]) == LABELS[1::2]).mean() > 0.9
    assert set(model.classes_) == {"benign", "malignant"}
    assert model.ensemble_.feature_names == tuple(NAMES)
    used = {NAMES[f] for f in model.ensemble_.feature[model.ensemble_.is_split]}
    assert model.model_cost_[-1] == sum(PRICES[name] for name in used) < 15
    assert (model.decision_function(X) > 0).tolist() == (model.predict(X) == "malignant").tolist()
    assert isinstance(model, StagedLearner)
    curve = tradeoff_curve(model, X[1::2], LABELS[1::2])
    assert len(curve) == 60
    assert curve.method == "GreedyMiserClassifier"


def test_sparse_rows_are_read_as_dense_ones() -> None:
    """Zeros are values."""
    rows = np.where(np.abs(X.to_numpy()) < 0.1, 0, X.to_numpy())
    dense = GreedyMiserRegressor(n_estimators=4).fit(rows, Y)
    sparse = GreedyMiserRegressor(n_estimators=4).fit(csr_array(rows), Y)
    np.testing.assert_array_equal(dense.predict(rows), sparse.predict(csr_array(rows)))
    np.testing.assert_array_equal(dense.prediction_cost(rows), sparse.prediction_cost(csr_array(rows)))


def test_rows_of_weight_0_take_no_part() -> None:
    """They change neither trees nor bins nor classes."""
    weight = np.arange(569) % 3 != 0
    one = GreedyMiserClassifier(n_estimators=4, max_bins=20).fit(X, LABELS, sample_weight=weight * 2.0)
    two = GreedyMiserClassifier(n_estimators=4, max_bins=20).fit(X[weight], LABELS[weight])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": -1}, "lam is -1; give a number >= 0 and finite"),
        ({"lam": float("nan")}, "lam is nan"),
        ({"lam": "much"}, "lam is 'much'"),
        ({"n_estimators": 0}, "n_estimators is 0; give a whole number >= 1"),
        ({"max_depth": 17}, "max_depth is 17; give a whole number from 1 to 16"),
        ({"max_depth": 2.0}, "max_depth is 2.0"),
        ({"max_bins": 256}, "max_bins is 256; give a whole number from 2 to 255"),
        ({"max_bins": 1}, "max_bins is 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf is 0"),
        ({"learning_rate": 0}, "learning_rate is 0; give a number above 0"),
        ({"subsample": 0}, "subsample is 0; give a number from 0 .excluded. to 1"),
        ({"subsample": 1.5}, "subsample is 1.5"),
        ({"n_iter_no_change": 0}, "n_iter_no_change is 0; give a whole number >= 1 or None"),
        ({"n_iter_no_change": 2, "validation_fraction": 1}, "validation_fraction is 1; give a number between 0 and 1"),
        ({"loss": "hinge"}, "loss is 'hinge'; give one of 'log_loss', 'squared_error'"),
        ({"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 30 features"),
        ({"costs": CostItems.plain([1, 2])}, "costs has prices for 2 features, the forest was trained on 30"),
        ({"costs": {"x": 1}}, "costs has a price for 'x'"),
        ({"costs": -1}, "negative"),
        ({"evaluation_cost": [1]}, "evaluation_cost has 1 prices"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    """With what is wrong, the value, and the remedy, before any tree is grown; nothing is left behind."""
    model = GreedyMiserClassifier(**settings)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, LABELS)
    assert not hasattr(model, "ensemble_")


def test_bad_data_are_refused() -> None:
    """A single class and weights that are all 0 are refused."""
    with pytest.raises(InvalidInputError, match="y has 1 class"):
        GreedyMiserClassifier().fit(X, np.zeros(569))
    with pytest.raises(ValueError, match="weights must contain at least one non-zero"):
        GreedyMiserClassifier().fit(X, LABELS, sample_weight=np.zeros(569))


def test_an_interrupted_fit_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a stage: the model is not fitted, or still the one it was."""
    from prunemodels.rivals.greedy_miser import boosting

    model = GreedyMiserRegressor(n_estimators=2).fit(X, Y)
    before = model.predict(X)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(boosting, "grow_tree", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(n_estimators=5).fit(X, -Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_numbers_of_labels_and_tables_of_prices() -> None:
    """Labels that are numbers but not 0 and 1, and prices as a table with shared items, work alike."""
    table = pd.DataFrame({"feature": NAMES, "cost": 1.0, "item": [name.split()[-1] for name in NAMES]})
    model = GreedyMiserClassifier(table, lam=0.01, n_estimators=5, learning_rate=0.5).fit(X, np.where(Y == 1, 7, -3))
    assert set(model.predict(X)) == {-3, 7}
    assert model.model_cost_[-1] <= len(set(table["item"]))
