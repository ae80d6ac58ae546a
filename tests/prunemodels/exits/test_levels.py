"""Levels of doubt are what dynamic programming over thresholds says at each price."""

from __future__ import annotations

import numpy as np
import pytest

from prunemodels.exits import levels as levels_module
from prunemodels.exits.levels import levels, next_level, prices_of_cost, thresholds
from tests.loops import looped
from tests.prunemodels.exits.tables import margins, random_table


@pytest.fixture(autouse=True)
def every_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds between any two rows, however few there are."""
    monkeypatch.setattr(levels_module, "FEWEST_ROWS_BETWEEN", 1)


def test_a_threshold_by_hand() -> None:
    """Three rows, doubts 3, 2, 1; the second stage saves 1, 0 and -1 error for 1 each.

    At lam = 0 the first or the first two rows go, fewest of equals: row 0, the threshold half-way at 2.5. At lam = 2 nobody goes.
    """
    loss = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    cost = np.array([[0.0, 0, 0], [1.0, 1, 1]])
    found = thresholds(loss, cost, np.ones(3), np.array([[3.0, 2, 1]]), np.array([0.0, 0.5, 2.0]))
    assert found.tolist() == [[2.5, 2.5, np.inf]]
    assert levels(np.array([[3.0, 2, 1]]), found).tolist() == [[2, 0, 0]]


@looped("seed", range(12))
def test_every_stage_takes_its_best_threshold(seed: int) -> None:
    """Backwards, at each price, no place between two rows is better, unless a lower price has a higher threshold."""
    table, truth, weights = random_table(seed)
    loss, doubt = table.losses(truth), margins(table.value)[:-1]
    lams = np.array([0.0, 0.05, 0.2, 0.7])
    theta = thresholds(loss, table.cost, weights, doubt, lams)
    assert (theta[:, :-1] <= theta[:, 1:]).all()
    for j, lam in enumerate(lams):
        value = loss[-1]
        for s in range(table.n_stages - 2, -1, -1):
            on = value + lam * (table.cost[s + 1] - table.cost[s])

            def total(cut: float, s: int = s, on: np.ndarray = on) -> float:
                return float(weights @ np.where(doubt[s] >= cut, on, loss[s]))

            least = min(total(cut) for cut in [np.inf, *doubt[s]])
            if j == 0 or theta[s, j] > theta[s, j - 1]:
                assert total(float(theta[s, j])) == pytest.approx(least)
            value = np.where(doubt[s] >= theta[s, j], on, loss[s])


@looped("seed", range(12))
def test_levels_never_rise_and_tell_who_would_go_on(seed: int) -> None:
    """Level >= j exactly if the doubts of all stages so far reach the j-th thresholds; one stage at a time is the same."""
    rng = np.random.default_rng(seed)
    doubt = rng.integers(0, 6, (3, 20)) / 5
    theta = np.sort(rng.integers(0, 13, (3, 4)) / 10, axis=1)  # many doubts stand exactly on a threshold
    found = levels(doubt, theta)
    assert (np.diff(found, axis=0) <= 0).all()
    for s in range(3):
        for j in range(4):
            reaches = np.all([doubt[t] >= theta[t, j] for t in range(s + 1)], axis=0)
            np.testing.assert_array_equal(found[s] >= j + 1, reaches)
    level = np.full(20, 4)
    for s in range(3):
        level = next_level(level, doubt[s], theta[s])
        np.testing.assert_array_equal(level, found[s])


def test_prices_end_where_nobody_goes_on() -> None:
    """From 0 geometrically to the dearest ratio of savings to costs; only 0 where going on saves nothing."""
    loss, cost = np.array([[1.0, 1], [0.0, 1]]), np.array([[0.0, 0], [2.0, 2]])
    doubt = np.array([[0.9, 0.1]])
    found = prices_of_cost(loss, cost, np.ones(2), doubt, 5)
    assert (found[0], found[-1], found.size) == (0.0, 0.5, 5)
    assert np.ptp(np.diff(np.log(found[1:]))) < 1e-12
    assert prices_of_cost(loss[::-1], cost, np.ones(2), doubt, 5).tolist() == [0.0]
    assert prices_of_cost(loss, cost, np.ones(2), doubt, 2).tolist() == [0.0, 0.5]


def test_thresholds_rise_even_where_the_best_ones_would_fall() -> None:
    """Four rows on which, at the dearest of three prices, one row more would go on from the first stage than at a cheaper one.

    A later stage sends on fewer there, and so makes going on from the first one cheap. Levels need thresholds that rise.
    """
    loss = np.array([[1.0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]])
    cost = np.array([[0.0, 0, 2, 1], [2, 1, 2, 1], [4, 2, 2, 1]])
    doubt = np.array([[1.0, 3, 2, 0], [1, 0, 3, 2]])
    theta = thresholds(loss, cost, np.ones(4), doubt, np.array([0.0, 0.3, 0.6]))
    assert theta[0].tolist() == [2.5, 2.5, 2.5]  # the best at 0.6 alone is 1.5
    assert (theta[:, :-1] <= theta[:, 1:]).all()
