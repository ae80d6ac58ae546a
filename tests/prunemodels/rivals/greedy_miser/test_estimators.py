"""The estimators as users meet them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer

from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
NAMES = list(X.columns)
LABELS = np.where(Y == 1, "benign", "malignant")
PRICES = {name: 2.5 if "worst" in name else 1.0 for name in NAMES}


def test_named_columns_prices_and_labels() -> None:
    """A table with names, prices by name, and string labels; few features make a good model, reckoned in prices."""
    model = GreedyMiserClassifier(PRICES, lam=0.002, n_estimators=60, learning_rate=0.5).fit(X[::2], LABELS[::2])
    assert (model.predict(X[1::2]) == LABELS[1::2]).mean() > 0.9
    assert set(model.classes_) == {"benign", "malignant"}
    assert model.ensemble_.feature_names == tuple(NAMES)
    used = {NAMES[f] for f in model.ensemble_.feature[model.ensemble_.is_split]}
    assert model.model_cost_[-1] == sum(PRICES[name] for name in used) < 15
    assert (model.decision_function(X) > 0).tolist() == (model.predict(X) == "malignant").tolist()


def test_sparse_rows_are_read_as_dense_ones() -> None:
    """Zeros are values."""
    rows = np.where(np.abs(X.to_numpy()) < 0.1, 0, X.to_numpy())
    dense = GreedyMiserRegressor(n_estimators=4).fit(rows, Y)
    sparse = GreedyMiserRegressor(n_estimators=4).fit(csr_array(rows), Y)
    np.testing.assert_array_equal(dense.predict(rows), sparse.predict(csr_array(rows)))
    np.testing.assert_array_equal(dense.prediction_cost(rows), sparse.prediction_cost(csr_array(rows)))


def test_an_interrupted_fit_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a stage: the model is not fitted, or still the one it was."""
    from prunemodels.rivals import greedy_miser_growth as growth

    model = GreedyMiserRegressor(n_estimators=2).fit(X, Y)
    before = model.predict(X)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(growth, "grow_tree", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(n_estimators=5).fit(X, -Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_numbers_of_labels_and_tables_of_prices() -> None:
    """Labels that are numbers but not 0 and 1, and prices as a table with shared items, work alike."""
    table = pd.DataFrame({"feature": NAMES, "cost": 1.0, "item": [name.split()[-1] for name in NAMES]})
    model = GreedyMiserClassifier(table, lam=0.01, n_estimators=5, learning_rate=0.5).fit(X, np.where(Y == 1, 7, -3))
    assert set(model.predict(X)) == {-3, 7}
    assert model.model_cost_[-1] <= len(set(table["item"]))
