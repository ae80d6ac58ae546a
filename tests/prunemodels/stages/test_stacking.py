"""Stages that also weigh what earlier stages said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import prunemodels as pm
from prunemodels.cascades.exit_path import learn_exit_path
from prunemodels.stages.judging import lost
from prunemodels.stages.params import StageParams
from prunemodels.stages.policy import decide
from prunemodels.stages.stacking import Stack, _fitted, learn_stack, stack_inputs
from prunemodels.stages.stages import StageTable
from tests.prunemodels.cascades.tables import TableStages, random_table

Floats = NDArray[np.float64]


def of_two_classes(log_odds: Floats) -> StageTable:
    """Stages with such log odds, shape (S, N), for class 1; each costs 1 more."""
    p = expit(log_odds)
    cost = np.repeat(np.arange(float(len(p)))[:, None], p.shape[1], axis=1)
    return StageTable(np.stack([1 - p, p], axis=2), np.zeros(p.shape), cost, np.zeros(len(p)))


def independent_witnesses(n: int, share: float) -> tuple[StageTable, NDArray[np.int64]]:
    """Three stages; each sees a sign of its own, N(+1, 1) or N(-1, 1), and says the right probability given that alone. Of x ~
    N(+-1, 1) with P(class 1) = share the log odds are log(share / (1 - share)) + 2 x.
    """
    rng = np.random.default_rng(0)
    truth = (rng.random(n) < share).astype(np.int64)
    seen = rng.normal(size=(3, n)) + (2 * truth - 1)
    return of_two_classes(np.log(share / (1 - share)) + 2 * seen), truth


@pytest.mark.slow
def test_independent_witnesses_are_added_up() -> None:
    """Evidence that is independent given the class adds up, and what was known before counts once (Bayes).

    Stage s has heard s + 1 witnesses, each of whom has counted the prior log odds. So the right weights are 1, and b takes the
    prior off s times. Both columns of an input differ by the log odds, so b of class 1 less b of class 0 is -s log(.3 / .7).
    """
    table, truth = independent_witnesses(40_000, 0.3)
    stack, said = learn_stack(table, truth, np.ones(truth.size), np.random.RandomState(0))
    assert stack.stacked.tolist() == [False, True, True]
    for s in (1, 2):
        np.testing.assert_allclose(stack.weight[s, : s + 1], 1.0, atol=0.06)
        assert stack.base[s, 1] - stack.base[s, 0] == pytest.approx(-s * np.log(0.3 / 0.7), abs=0.1)
    errors = lost(said.value, truth).mean(axis=1)
    assert (np.diff(errors) < -0.02).all()
    assert lost(table.value, truth)[2].mean() > errors[2] + 0.08


def test_measurements_are_weighted_by_their_precision() -> None:
    """Two stages measure a number with errors of variance 4 and 1: the best weights are 1/5 and 4/5, in any unit."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=20_000) * 50
    for unit, centre in ((1.0, 0.0), (1e-6, 300.0)):
        y = centre + unit * truth
        value = np.stack([y + unit * 2 * rng.normal(size=y.size), y + unit * rng.normal(size=y.size)])[:, :, None]
        table = StageTable(value, np.zeros((2, y.size)), np.zeros((2, y.size)), np.zeros(2))
        stack, said = learn_stack(table, y, np.ones(y.size), np.random.RandomState(0))
        assert stack.stacked.tolist() == [False, True]
        np.testing.assert_allclose(stack.weight[1], [0.2, 0.8], atol=0.02)
        assert np.mean((said.value[1, :, 0] - y) ** 2) == pytest.approx(0.8 * unit**2, rel=0.05)


def test_a_stage_that_knows_all_speaks_for_itself() -> None:
    """Where earlier stages add nothing, nothing is stacked, and paths with and without a stack are one and the same."""
    rng = np.random.default_rng(2)
    n = 3000
    signal = rng.normal(size=n) * 3
    truth = (rng.random(n) < expit(signal)).astype(np.int64)
    table = of_two_classes(np.stack([0.3 * rng.normal(size=n), signal]))
    stack, said = learn_stack(table, truth, np.ones(n), np.random.RandomState(0))
    assert stack.stacked.tolist() == [False, False]
    assert said.value is not table.value
    np.testing.assert_array_equal(said.value, table.value)
    stages = TableStages(table, np.array([0, 1]))
    with_stack, without = (
        learn_exit_path(stages, table, truth, stack=flag, doubt="margin", random_state=0) for flag in (True, False)
    )
    np.testing.assert_array_equal(with_stack.cost, without.cost)
    assert without.learned.stack is None


SEEDS = st.integers(0, 10_000)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, regression=st.booleans())
def test_weights_minimise_the_objective(seed: int, regression: bool) -> None:
    """(3), written out once more, rises in every direction that is tried."""
    table, truth, weights = random_table(seed, 30, regression=regression)
    inputs = stack_inputs(table.value)
    m, n, k = inputs.shape
    found = np.concatenate(_fitted(inputs, truth, weights))
    own = np.zeros(m + k)
    own[m - 1] = 1.0
    share = weights / weights.mean()

    def objective(parameters: Floats) -> float:
        total = sum(parameters[t] * inputs[t] for t in range(m)) + parameters[m:]
        if regression:
            mean = np.average(truth, weights=share)
            variance = np.average((truth - mean) ** 2, weights=share)
            away = parameters - own  # in the labels' deviation, counted from their mean
            away[m] = (parameters[m] - mean * (1 - parameters[:m].sum())) / np.sqrt(variance)
            loss = (total[:, 0] - truth) ** 2 / (2 * variance)
        else:
            away = parameters - own
            logs = total - np.log(np.exp(total).sum(axis=1, keepdims=True))
            loss = -logs[np.arange(n), truth]
        return float(share @ loss) + StageParams.stack_ridge / 2 * float(away @ away)

    least = objective(found)
    directions = np.concatenate([np.eye(m + k), np.random.default_rng(seed).normal(size=(10, m + k))])
    for step in (1e-2, -1e-2, 0.3, -0.3):
        assert all(objective(found + step * d) >= least - 1e-6 for d in directions)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_nobody_hears_a_stack_that_has_seen_him(seed: int) -> None:
    """A row's own label does not move what the table says of it, but for whether a stage is stacked at all."""
    table, truth, weights = random_table(seed, 40)
    K = table.value.shape[2]
    stack, said = learn_stack(table, truth, weights, np.random.RandomState(0))
    for i in range(0, 40, 11):
        other = truth.copy()
        other[i] = (truth[i] + 1) % K
        again, heard = learn_stack(table, other, weights, np.random.RandomState(0))
        for s in np.flatnonzero(stack.stacked & again.stacked):
            np.testing.assert_allclose(heard.value[s, i], said.value[s, i], atol=1e-9)


def test_the_first_stage_is_never_stacked_and_zeros_are_cut_off() -> None:
    """By hand: weights 1 and 1, no base; a probability of 0 counts as the smallest one."""
    value = np.array([[[0.5, 0.5], [0.2, 0.8]], [[0.9, 0.1], [1.0, 0.0]]])
    table = StageTable(value, np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2))
    stack = Stack(np.array([[1.0, 0.0], [1.0, 1.0]]), np.zeros((2, 2)), np.array([False, True]))
    said = stack.table(table).value
    np.testing.assert_array_equal(said[0], value[0])
    np.testing.assert_allclose(said[1, 0], [0.9, 0.1])  # a coin adds nothing
    odds = (0.2 * 1.0) / (0.8 * StageParams.smallest_probability)
    np.testing.assert_allclose(said[1, 1], [odds / (1 + odds), 1 / (1 + odds)])


@pytest.mark.slow
@pytest.mark.parametrize("task", ["two classes", "three classes", "numbers"])
def test_a_cascade_says_what_its_path_says(task: str) -> None:
    """Rows sent through one by one, or in any company, hear what the whole table says at their stage, to the last bit."""
    rng = np.random.default_rng(3)
    n, k = 900, {"two classes": 2, "three classes": 3, "numbers": 1}[task]
    X = rng.normal(size=(n, 6))
    total = X @ np.ones(6) + rng.normal(size=n)
    y: Any = total * np.exp(X[:, 0]) if k == 1 else np.digitize(total, np.quantile(total, np.arange(1, k) / k))
    if k == 1:
        model: Any = pm.CascadeRegressor([(Ridge(), [f]) for f in range(6)], 1, lam=3.0, random_state=0)
    else:
        model = pm.CascadeClassifier([(GaussianNB(), [f]) for f in range(6)], 1, lam=0.01, random_state=0)
    model.fit(X, y)
    assert model.policy_.stack.stacked.sum() >= 4  # every model has one column: who is alone knows little
    table, rows = pm.cascades.evaluate_exit_path(model, X).table, model._rows(X)
    decision = decide(model.policy_, model.stages_, rows)
    assert np.unique(decision.stage).size > 1
    np.testing.assert_array_equal(decision.value, table.value[decision.stage, np.arange(n)])
    some = rng.permutation(n)[:50]
    np.testing.assert_array_equal(decide(model.policy_, model.stages_, rows[some]).value, decision.value[some])
    alone = type(model)(model.stages, 1, lam=model.lam, stack=False, random_state=0).fit(X, y)
    assert model.score(X, y) > alone.score(X, y) + 0.05
