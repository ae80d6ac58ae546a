"""What is said of held-out rows is said by models and policies that have not seen them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from prunemodels.exits.doubt import MarginDoubt
from prunemodels.exits.learning import solve_exits
from prunemodels.exits.spending import between_optima
from prunemodels.exits.validation import cross_fit
from tests.prunemodels.exits.spies import SpyClassifier, SpyRegressor
from tests.prunemodels.exits.tables import random_table, sample_of

N = 90
ROWS = np.column_stack([np.arange(N, dtype=float), np.random.default_rng(0).normal(size=(N, 2))])
LABELS = np.where(ROWS[:, 1] + ROWS[:, 2] > 0, "yes", "no")
QUICK: dict[str, Any] = {"n_levels": 4, "cv": 3, "random_state": 0}
PRICES = [0, 1, 2]  # the row numbers are free, so that every stage reads them


def cascades(spy: Any, kind: str) -> list[Any]:
    options = {**QUICK, **({"doubt": "margin"} if kind == "Classifier" else {})}
    named = getattr(pm, f"Cascade{kind}")([(spy, [0, 1]), (spy, None)], PRICES, lam=0.01, **options)
    return [named, getattr(pm, f"BudgetCascade{kind}")(spy, PRICES, lam=0.01, **options)]


@pytest.mark.parametrize("which", [0, 1])
def test_validation_rows_train_nothing(which: int) -> None:
    """With X_valid, all of X trains and none of X_valid; models are asked about X_valid alone."""
    model, valid = cascades(SpyClassifier(max_depth=3), "Classifier")[which], np.arange(60, N)
    SpyClassifier.asked.clear()
    model.fit(ROWS[:60], LABELS[:60], X_valid=ROWS[60:], y_valid=LABELS[60:])
    for trained, asked in SpyClassifier.asked:
        assert trained == frozenset(range(60))
        assert asked <= set(valid.tolist())


@pytest.mark.parametrize("which", [0, 1])
def test_labels_of_rows_to_predict_are_never_read(which: int) -> None:
    """A prediction is a function of the row: it does not depend on the rows beside it, nor on their order."""
    model = cascades(SpyClassifier(max_depth=3), "Classifier")[which].fit(ROWS, LABELS)
    whole, cost = model.predict_proba(ROWS), model.prediction_cost(ROWS)
    some = np.random.default_rng(1).permutation(N)[:17]
    np.testing.assert_array_equal(model.predict_proba(ROWS[some]), whole[some])
    np.testing.assert_array_equal(model.prediction_cost(ROWS[some]), cost[some])
    np.testing.assert_array_equal(np.concatenate([model.predict_proba(ROWS[i : i + 1]) for i in range(5)]), whole[:5])


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_no_model_speaks_of_rows_that_it_was_trained_on(kind: str, which: int) -> None:
    """While a cascade is fitted, every prediction that sets and policies are learned from is of rows unseen; each has one.

    The stages that predict have seen none of the own rows, on which cost and error are stated.
    """
    spy: Any = SpyClassifier(max_depth=3) if kind == "Classifier" else SpyRegressor(max_depth=3)
    model = cascades(spy, kind)[which]
    type(spy).asked.clear()
    model.fit(ROWS, LABELS if kind == "Classifier" else ROWS[:, 1] * ROWS[:, 2])
    spoken_of: set[int] = set()
    for trained, asked in type(spy).asked:
        assert not trained & asked
        spoken_of |= asked
    assert spoken_of == set(range(N))
    assert model.exit_path_.sample.own.sum() == model.own_rows_.size == N // 3
    for fitted in model.stages_.models:
        assert fitted.trained_on_ == frozenset(range(N)) - frozenset(model.own_rows_.tolist())


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_held_out_figures_do_not_use_the_label_of_the_row_that_they_judge(seed: int) -> None:
    """Where one row's label is changed, no policy that judges this row stops it elsewhere: its cost stays."""
    table, truth, weights = random_table(seed, 40)

    def held_out(y: np.ndarray) -> Any:
        sample = sample_of(table, y, weights, MarginDoubt())
        learned = solve_exits(sample_of(table, truth, weights, MarginDoubt()), MarginDoubt(), None, n_levels=4)
        folds = cross_fit(sample, learned, n_levels=4, rng=np.random.RandomState(0))
        spending = folds.held_out(lambda found, rows: between_optima(found, rows, float(table.cost.mean())))
        return np.array([spending.cost, *(folds.at_lam(lam).cost for lam in (0.0, 0.05, 0.2))])

    plain = held_out(truth)
    for i in range(0, 40, 7):
        other = truth.copy()
        other[i] = (truth[i] + 1) % table.value.shape[2]
        np.testing.assert_array_equal(held_out(other)[:, i], plain[:, i])
