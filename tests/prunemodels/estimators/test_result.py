"""The result of `prune_forest` shows itself: text, trade-off over budgets, purchases, report, features on demand."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm


@cache
def cancer() -> tuple[Any, ...]:
    """A forest, validation and test examples, and prices that leave wide gaps between breakpoints."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(15, max_depth=5, random_state=0).fit(X[:250], y[:250])
    costs = {name: 25.0 if "worst" in name else 1.0 for name in X.columns}
    return forest, X[250:400], y[250:400], X[400:], y[400:], costs


@cache
def result() -> pm.PrunedForest:
    """Pruned within a budget."""
    forest, X, y, _, _, costs = cancer()
    return pm.prune_forest(forest, X, y, costs=costs, budget=60, time_limit=2)


def test_the_card_has_what_other_calls_say() -> None:
    """Cost and error before and after are those of `evaluate`; the budget, the verdict and what is bought are there."""
    forest, X, y, _, _, costs = cancer()
    made, text = result(), str(result())
    for model in (forest, made.estimator):
        seen = pm.evaluate(model, X, y, costs=costs)
        assert f"{seen.cost:.4g}" in text
        assert f"{100 * seen.error:.2f}" in text
    assert "Budget 60: met" in text
    assert made.validation is not None
    assert made.validation.verdict.replace(" ", "") in text.replace("\n", "").replace(" ", "")
    assert "held out from the training" in text
    assert made.purchases()["after"].idxmax() in text
    assert repr(made) == text
    assert made._repr_html_().count("<tr>") == 6


def test_errors_that_chose_the_pruning_are_not_called_held_out() -> None:
    """By a rule, or with errors measured on the validation examples, their labels had a part: the card says so."""
    forest, X, y, _, _, costs = cancer()
    for options in ({}, {"budget": 60, "errors": "validation", "time_limit": 1}):
        text = str(pm.prune_forest(forest, X, y, costs=costs, **options))
        assert "also chose the pruning" in text
        assert "held out" not in text


def test_without_labels_there_are_no_errors() -> None:
    """Costs alone; `plot` says what is missing."""
    forest, X, _, X_test, _, costs = cancer()
    made = pm.prune_forest(forest, X, costs=costs, budget=60, time_limit=1)
    assert made.validation is None
    assert "without labels" in str(made)
    with pytest.raises(pm.errors.InvalidInputError, match="give X and y, held-out examples"):
        made.plot()
    with pytest.raises(pm.errors.InvalidInputError, match="X is given without y"):
        made.plot(X_test)


def test_evaluate_is_evaluate_of_both_forests() -> None:
    """On test rows: means as `pm.evaluate` has them, and the same differences."""
    forest, _, _, X, y, costs = cancer()
    seen = result().evaluate(X, y)
    before, after = (pm.evaluate(f, X, y, costs=costs) for f in (forest, result().estimator))
    assert (seen.cost_before.mean, seen.cost_after.mean) == pytest.approx((before.cost, after.cost))
    assert (seen.error_before.mean, seen.error_after.mean) == pytest.approx((before.error, after.error))
    assert seen.saving.mean == pytest.approx(before.cost - after.cost)
    assert seen.increase.mean == pytest.approx(after.error - before.error)


def test_purchases_are_shares_of_the_cost_sample() -> None:
    """Weighted by prices they are the cost; the dearest come first; a shared item counts in each feature's price alone."""
    made = result()
    table = made.purchases()
    assert (table["price"] * table["after"]).sum() == pytest.approx(made.cost)
    assert (table["price"] * table["before"]).sum() == pytest.approx(pm.Pruning.unpruned(made.problem).cost)
    spent = table["price"] * table["before"]
    assert (np.diff(spent) <= 1e-12).all()
    forest, X, y, _, _, _ = cancer()
    shared = pm.CostItems.discounted([7] * 30, [5] * 30, ["lab"] * 30, list(X.columns))
    assert (pm.prune_forest(forest, X, y, costs=shared, lam=0.01).purchases()["price"] == 7).all()


@pytest.mark.slow
def test_pictures_have_what_the_tables_have() -> None:
    """The chosen pruning is marked at its held-out cost, beside its own; bars are the shares of purchases."""
    made = result()
    _, _, _, X_test, y_test, _ = cancer()
    for given in ((), (X_test, y_test)):
        axes = made.plot(*given, unit="dollars").axes[0]
        lines = {str(line.get_label()): line for line in axes.lines}
        seen = made.evaluate(*given) if given else made.validation
        assert seen is not None
        point = lines[f"chosen pruning, cost {made.cost:.4g}"].get_xydata()
        np.testing.assert_allclose(point, [[seen.cost_after.mean, seen.error_after.mean]])
        unpruned = lines["unpruned forest, held-out examples"].get_xydata()
        np.testing.assert_allclose(unpruned, [[seen.cost_before.mean, seen.error_before.mean]])
    assert "dollars" in axes.get_xlabel()
    bars = made.plot_purchases(most=5).axes[0]
    assert [p.get_width() for p in bars.patches[5:]] == pytest.approx(list(made.purchases()["after"][:5]))


def test_a_table_that_is_none_of_purchases_is_refused() -> None:
    with pytest.raises(pm.errors.InvalidInputError, match="purchases lacks the column 'price'"):
        pm.plots.plot_purchases(pd.DataFrame({"before": [1], "after": [1]}))
    with pytest.raises(pm.errors.InvalidInputError, match="purchases has no row"):
        pm.plots.plot_purchases(result().purchases().iloc[:0])


rng = np.random.default_rng(0)
X = rng.normal(size=(600, 2))
RARE = ((X[:, 0] > 1) & (X[:, 1] > 0.5)).astype(int)  # some 5 %; each column by itself predicts 0 for everybody
FOREST = RandomForestClassifier(10, random_state=0).fit(X[:300], RARE[:300])


def test_an_answer_as_good_as_the_commonest_class_says_so() -> None:
    """With one of the two columns the forest errs as often as "0 for everybody", at a price; the card names both."""
    card = " ".join(str(pm.prune_forest(FOREST, X[300:], RARE[300:], costs=1, budget=1)).split())
    told = re.search(r"One answer for everybody, which costs nothing, errs ([\d.]+) %", card)
    assert told is not None
    assert float(told.group(1)) == pytest.approx(100 * RARE[300:].mean(), abs=0.005)
    assert "of no" in card
    assert "pm.exit_path" in card


def test_a_regression_forest_names_the_cost_at_which_it_is_itself_again() -> None:
    """Pruned to nothing, the card tells what the cheapest optimal pruning costs whose squared error is within 1 %."""
    table, target = load_diabetes(return_X_y=True, as_frame=True)
    forest = RandomForestRegressor(20, random_state=0).fit(table[:200], target[:200])
    result = pm.prune_forest(forest, table[200:], target[200:], costs=1, budget=0.5)
    told = re.search(r"An error within 1 % of the whole forest's costs ([\d.]+)\.", " ".join(str(result).split()))
    assert told is not None
    seen = pm.evaluate_path(result.path, table[200:], target[200:])
    least = seen.cost[seen.error <= 1.01 * seen.unpruned_error].min()
    assert float(told.group(1)) == pytest.approx(least, rel=1e-3)


def test_a_budget_that_loses_little_gets_no_advice() -> None:
    """With both columns nothing is lost, and the card has no word of other ways."""
    card = " ".join(str(pm.prune_forest(FOREST, X[300:], RARE[300:], costs=1, budget=2)).split())
    assert "One answer for everybody" not in card
    assert "may do better" not in card
