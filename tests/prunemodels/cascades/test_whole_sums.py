"""Policies are the same in any order of the rows, and on processors that compute other last digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from proofs_checks import check_closure_path
from prunemodels.cascades.learning import (
    ExitSample,
    exit_problem,
    judged_losses,
    on_grid,
    solve_exits,
    whole_losses,
    whole_weights,
)
from prunemodels.stages.doubt import MarginDoubt
from solvers.path.closure_path import closure_path
from tests.loops import looped
from tests.prunemodels.cascades.tables import random_table


def rows_at_stages(loss: Any, cost: Any, weights: Any, doubt: Any = None) -> ExitSample:
    """Rows by their losses and costs, shape (S, N)."""
    loss, n = np.asarray(loss, dtype=float), len(weights)
    doubt = np.zeros((len(loss) - 1, n)) if doubt is None else doubt
    return ExitSample(
        doubt, np.asarray(cost, float), np.zeros(len(loss)), loss, loss, np.asarray(weights), np.ones(n, dtype=bool)
    )


def test_what_is_lost_and_saved_again_is_no_policy() -> None:
    """Three rows lose 0.1, 0.2 and 0.3 at the second stage and save them at the third: nobody pays for that.

    Levels 1, 2, 2 at the first stage and 1, 1, 1 at the second make the sums 0.1, 0.2 + 0.3 = 0.5 and
    0.1 + 0.2 + 0.3 = 0.6000000000000001 of floats, whose rest would be a saving.
    """
    sample = rows_at_stages([[0, 0, 0], [0.1, 0.2, 0.3], [0, 0, 0]], np.repeat([[0], [1], [2]], 3, axis=1), np.ones(3))
    path = closure_path(exit_problem(sample, np.array([[1, 2, 2], [1, 1, 1]]), 2))
    assert (len(path), path.exact_cost, path.exact_error) == (1, (0,), (0,))


def samples(seed: int) -> ExitSample:
    """200 rows at four stages with real losses that often come back, prices in tenths, and weights: 1, whole, decimal or real."""
    rng, n = np.random.default_rng(seed), 200
    loss = rng.choice(rng.random(7), (4, n))
    loss[:, ::2] = -np.sort(-loss[:, ::2], axis=0)
    weights = (np.ones(n), rng.integers(1, 9, n) * 1.0, rng.integers(1, 9, n) / 10, rng.lognormal(size=n))[seed % 4]
    cost = np.cumsum(rng.integers(0, 4, (4, n)) / 10, axis=0)
    return rows_at_stages(loss, cost, weights, rng.permuted(np.tile(np.arange(n) / n, (3, 1)), axis=1))


@looped("seed", range(12))
def test_neither_the_order_of_rows_nor_last_digits_count(seed: int) -> None:
    """Thresholds, policies, costs and errors stay bit for bit, whatever the weights are."""
    sample, rng = samples(seed), np.random.default_rng(seed)
    first = solve_exits(sample, MarginDoubt(), None, n_levels=8)
    assert len(first.path) > 1
    assert check_closure_path(first.path).holds
    for k in range(4):
        other = sample.take(rng.permutation(sample.n_rows))
        if k > 1:
            last_digits = 1 + rng.integers(-2, 3, other.loss.shape) * 2.0**-52
            other = rows_at_stages(other.loss * last_digits, other.cost, other.weights, other.doubt)
        again = solve_exits(other, MarginDoubt(), None, n_levels=8)
        np.testing.assert_array_equal(again.theta, first.theta)
        assert again.path.level.tolist() == first.path.level.tolist()
        assert again.path.breakpoints == first.path.breakpoints
        assert (again.path.exact_cost, again.path.exact_error) == (first.path.exact_cost, first.path.exact_error)


@looped("seed", range(12))
def test_judged_losses_are_on_the_grid_of_any_part(seed: int) -> None:
    """They are off by half a unit at most, and whole in the units of part of the rows, which are no larger."""
    table, truth, weights = random_table(seed, 30, regression=seed % 3 == 0)
    judged = judged_losses(table, truth, weights)
    v = whole_weights(weights)
    unit = whole_losses(judged, v)[1]
    assert unit <= Fraction(float(judged.max())) / 2**28
    assert not (judged % float(unit)).any()
    np.testing.assert_array_equal(on_grid(judged, weights), judged)
    count, of_part = whole_losses(judged[:, :10], v[:10])
    assert of_part <= unit
    assert [Fraction(x) * of_part for x in count.ravel()] == [Fraction(x) for x in (judged * v)[:, :10].ravel()]


@pytest.mark.parametrize(
    ("weights", "whole"),
    [
        ([1, 1, 1], [1, 1, 1]),
        ([0.3, 0.1, 0.2], [3, 1, 2]),
        ([2500, 5000], [1, 2]),
        ([0.5, 12.25], [2, 49]),
        ([1e-50, 1e-50], [1, 1]),
        ([1e100, 1e100], [1, 1]),
        ([1, 4096], [1 / 4096, 1]),  # too far apart
        ([np.pi, 2 * np.pi], [0.5, 1]),
    ],
)
def test_weights_in_whole_numbers(weights: list[float], whole: list[float]) -> None:
    """Weights of few decimals become whole numbers without a common divisor, others shares of the largest."""
    assert whole_weights(np.array(weights, dtype=float)).tolist() == whole
