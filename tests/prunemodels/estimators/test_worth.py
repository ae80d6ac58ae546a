"""A result that is of no use says so, and says what may do better."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm

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
