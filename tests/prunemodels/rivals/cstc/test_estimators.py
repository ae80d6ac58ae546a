"""CSTC as an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

from benchmarks.papers.cstc13_synthetic import QUADRANT_COSTS, four_quadrants
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.rivals.cstc import CSTCClassifier, CSTCRegressor
from tests.prunemodels.rivals.cstc.test_finishing import own

SMALL: dict[str, Any] = {"n_weak_learners": 10, "weak_depth": 2, "random_state": 0}
QUICK: dict[str, Any] = {**SMALL, "sharpness": 10.0, "n_init": 1, "max_cycles": 5}


@pytest.fixture(scope="module")
def cancer() -> tuple[pd.DataFrame, NDArray[Any]]:
    """Thirty named columns, labels as strings."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.where(y == 1, "benign", "malignant")


@pytest.mark.slow
@pytest.mark.parametrize("means", ["paper", "shifted"])
def test_the_papers_synthetic_data(means: str) -> None:
    """CSTC13 section 5.1: on new examples every one pays 12, two signs and the feature of its quadrant, at next to no error."""
    X, y = four_quadrants(800, 0)
    X_test, y_test = four_quadrants(800, 1)
    if means == "shifted":  # neither the labels' unit nor their origin matters
        y, y_test = 50 * y + 1000, 50 * y_test + 1000
    starts = 4 if means == "paper" else 3  # the default, and fewer
    model = CSTCRegressor(QUADRANT_COSTS, lam=0.035, features="identity", n_init=starts, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.prediction_cost(X_test), 12)
    assert np.mean((model.predict(X_test) - y_test) ** 2) / y_test.var() < 1e-8


def test_without_validation_the_training_loss_chooses_the_start() -> None:
    """The kept tree is that of the least loss along hard paths, here the second of two starts and not the first."""
    X, y = load_iris(return_X_y=True)
    settings: dict[str, Any] = {"features": "identity", "depth": 2, "max_cycles": 1, "random_state": 0, "lam": 0.05}
    both = CSTCClassifier(**settings, sharpness=(1, 100), n_init=2, validation_fraction=None).fit(X, y)
    alone = [CSTCClassifier(**settings, sharpness=s, n_init=1, validation_fraction=None).fit(X, y) for s in ((1, 100), 100)]
    assert both.start_losses_.tolist() == [float(model.start_losses_[0]) for model in alone]
    best = int(both.start_losses_.argmin())
    np.testing.assert_array_equal(both.decision_function(X), alone[best].decision_function(X))
    assert not np.array_equal(both.decision_function(X), alone[1 - best].decision_function(X))


@pytest.mark.slow
def test_costs_are_counted_along_the_path(cancer: tuple[pd.DataFrame, NDArray[Any]]) -> None:
    """Each row pays the features of the trees that the classifiers on its path use, each once, and each tree's evaluation."""
    X, y = cancer
    costs = {n: k % 3 + 1 for k, n in enumerate(X.columns)}
    model = CSTCClassifier(costs, 0.003, evaluation_cost=0.25, **QUICK).fit(X[::2], y[::2])
    rows, uses, expected = X[1::2], model.weak_learners_.uses, []
    for node in model.apply(rows):
        active = np.zeros(uses.shape[0], dtype=bool)
        while True:
            active |= (model.tree_.beta[node] != 0).any(axis=1)
            if node == 0:
                break
            node = (node - 1) // 2
        bought = np.flatnonzero(uses[active].any(axis=0))
        expected.append(sum(f % 3 + 1 for f in bought) + 0.25 * active.sum())
    np.testing.assert_allclose(model.prediction_cost(rows), expected)
    assert np.mean(model.predict(rows) == y[1::2]) > 0.85


@pytest.mark.slow
def test_predictions_need_only_what_was_paid_for(cancer: tuple[pd.DataFrame, NDArray[Any]]) -> None:
    """Scrambling all columns that a row's path does not buy changes neither its prediction nor its cost."""
    X, y = cancer
    model = CSTCClassifier(lam=0.01, **QUICK).fit(X, y)
    values, rng = X.to_numpy(), np.random.default_rng(0)
    at = model.apply(X)
    assert 0 < model.prediction_cost(X).max() < 30
    for node in np.unique(at):
        bought = model.weak_learners_.uses[model.tree_.used(node)].any(axis=0)
        rows = at == node
        other = np.where(bought, values[rows], rng.permutation(values)[: rows.sum()])
        scrambled = pd.DataFrame(other, columns=X.columns)
        np.testing.assert_array_equal(model.decision_function(scrambled), model.decision_function(X[rows]))
        np.testing.assert_array_equal(model.apply(scrambled), node)


def test_items_are_shared() -> None:
    """One item for all four expensive features: with the signs free, every example pays that item once."""
    items = CostItems.from_items({"label": 10}, [(), (), *[("label",)] * 4])
    X, y = four_quadrants(500, 0)
    model = CSTCRegressor(items, lam=0.035, features="identity", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.prediction_cost(X), 10)
    assert own([1.0]).bill(np.array([True])) == 1


@pytest.mark.slow
def test_given_validation_examples_prune(cancer: tuple[pd.DataFrame, NDArray[Any]]) -> None:
    """Labels that no split can help to predict leave the root alone; without validation nothing is pruned."""
    X, y = cancer
    constant = np.full(len(y), "benign")
    assert CSTCClassifier(**SMALL, validation_fraction=None).fit(X, y).tree_.kept.sum() > 3
    model = CSTCClassifier(**SMALL).fit(X, y, X_valid=X[y == "benign"], y_valid=constant[y == "benign"])
    wrong = np.mean(model.predict(X[y == "benign"]) != "benign")
    assert model.tree_.kept.sum() < 7
    assert wrong < 0.05


def test_bad_labels_are_refused() -> None:
    """Unknown validation labels, and labels that do not fit the rows."""
    X, y = four_quadrants(30, 0)
    with pytest.raises(InvalidInputError, match="label 3"):
        CSTCClassifier().fit(X, np.arange(30) % 3, X_valid=X, y_valid=np.arange(30) % 4)
    with pytest.raises(InvalidInputError, match="label 2"):
        CSTCClassifier().fit(X, np.arange(30) % 2, X_valid=X, y_valid=np.arange(30) % 3)
    with pytest.raises(InvalidInputError, match="y_valid, one label each"):
        CSTCRegressor().fit(X, y, X_valid=X, y_valid=y[:5])
