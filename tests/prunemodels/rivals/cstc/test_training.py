"""Initialisation and cyclic optimisation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from prunemodels.rivals.cstc.global_loss import upper_chance
from prunemodels.rivals.cstc.training import (
    NormalEquations,
    dividing_threshold,
    improved,
    initial,
    principal_direction,
    train,
)
from tests.prunemodels.rivals.cstc.instances import random_loss, random_weights


def halves(n_nodes: int) -> NDArray[np.float64]:
    return np.full(n_nodes, 0.5)


@pytest.mark.parametrize(("seed", "lam", "n_outputs"), [(0, 0.0, 1), (1, 0.01, 1), (2, 0.1, 3), (3, 1.0, 1)])
def test_the_loss_never_rises(seed: int, lam: float, n_outputs: int) -> None:
    """Neither from node to node, from whatever weights, nor from cycle to cycle; and it falls at first."""
    loss, weights = random_loss(seed, lam=lam, n_outputs=n_outputs), random_weights(seed + 20, n_outputs=n_outputs)
    values = [loss.value(weights)]
    for k in [0, 1, 2, 3, 4, 5, 6] * 2:
        weights = improved(loss, k, weights)
        values.append(loss.value(weights))
    assert (np.diff(values) <= 1e-9).all()
    assert values[7] < values[0]
    losses = train(loss, [3.0], halves(7), 5, 0.0).losses
    assert (np.diff(losses) <= 1e-9).all()


def test_every_kind_of_node_is_improved() -> None:
    """A step of the root, of an inner node and of a last one each lower the loss, and change that node alone."""
    loss, weights = random_loss(4), random_weights(5)
    for k in (0, 2, 6):
        better = improved(loss, k, weights)
        assert loss.value(better) < loss.value(weights)
        others = [j for j in range(7) if j != k]
        np.testing.assert_array_equal(better.beta[others], weights.beta[others])
        np.testing.assert_array_equal(better.threshold[others], weights.threshold[others])


@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_a_leaf_is_fitted_to_its_minimum(lam: float) -> None:
    """A last classifier's problem is convex: its optimum is where the slope is 0, for all weights that have not vanished."""
    loss, weights = random_loss(6, lam=lam), random_weights(7)
    best = improved(loss, 4, weights)
    _, by_beta, by_intercept, _ = loss.majoriser(4, best)(best.beta[4], best.intercept[4], best.threshold[4])
    smooth = np.abs(best.beta[4]) > 1e-4
    assert smooth.any()
    np.testing.assert_allclose([*by_beta[smooth], *by_intercept], 0, atol=1e-4)


def test_without_penalty_the_root_is_least_squares() -> None:
    """With lambda = rho = 0 the first classifier is the weighted least-squares fit with an intercept."""
    loss = replace(random_loss(8, lam=0.0), rho=0.0)
    weights = initial(loss, halves(1))
    columns = np.column_stack([loss.phi, np.ones(len(loss.y))])
    root = np.sqrt(loss.share)
    expected = np.linalg.lstsq(columns * root[:, None], loss.y * root[:, None])[0]
    np.testing.assert_allclose(np.vstack([weights.beta[0], weights.intercept[0]]), expected, atol=1e-6)


def test_children_are_fitted_to_what_comes_to_them() -> None:
    """With lambda = rho = 0 node 1 is the least-squares fit weighted by the chance to go up, node 2 to go down."""
    loss = replace(random_loss(13, lam=0.0), rho=0.0)
    weights = initial(loss, halves(3))
    up = upper_chance(loss.scores(weights)[:, 0, 0], weights.threshold[0], loss.sharpness)
    columns = np.column_stack([loss.phi, np.ones(len(loss.y))])
    for k, chance in ((1, up), (2, 1 - up)):
        root = np.sqrt(loss.share * chance)
        expected = np.linalg.lstsq(columns * root[:, None], loss.y * root[:, None])[0]
        np.testing.assert_allclose(np.vstack([weights.beta[k], weights.intercept[k]]), expected, atol=1e-5)


def test_the_l1_term_shrinks_one_weight_by_soft_thresholding() -> None:
    """One column of variance 1, lambda = 0: minimise (y - x b)^2 + rho |b| takes rho / 2 off, and nothing is left below that."""
    loss = random_loss(9, lam=0.0, n=200, n_weak=1)
    phi = loss.phi - loss.share @ loss.phi
    phi = phi / np.sqrt(loss.share @ phi**2)
    covariance = abs(float((loss.share * loss.y[:, 0]) @ phi[:, 0]))
    for rho, expected in ((covariance, covariance / 2), (3 * covariance, 0.0)):
        weights = initial(replace(loss, phi=phi, rho=rho), halves(1))
        assert abs(weights.beta[0, 0, 0]) == pytest.approx(expected, abs=1e-4)


def test_thresholds_halve_the_weight_between_two_scores() -> None:
    """By hand: 2 of 4 equal weights are below 2.5, 1 of 4 below 1.5; one heavy example outweighs the rest; one score is it."""
    assert dividing_threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), 0.3) == 1.5
    assert dividing_threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)) == 2.5
    assert dividing_threshold(np.array([4.0, 1.0, 2.0, 3.0]), np.array([9.0, 1.0, 1.0, 1.0])) == 3.5
    assert dividing_threshold(np.array([0.0, 0.0, 0.0, 1.0]), np.ones(4)) == 0.5
    assert dividing_threshold(np.full(3, 7.0), np.ones(3)) == 7.0
    # equal up to round-off is equal: the cut is between -1 and 1, not among the ones
    assert abs(dividing_threshold(np.array([-1.0, 1.0, 1 + 1e-15, 1 + 2e-15]), np.ones(4))) < 1e-12


def test_normal_equations_bear_constant_and_repeated_columns() -> None:
    """A constant column and two equal ones: the fit is finite and as good as without them."""
    loss = random_loss(11)
    phi = np.column_stack([loss.phi, loss.phi[:, 0], np.ones(len(loss.y))])
    solution = NormalEquations.of(replace(loss, phi=phi), loss.share).solve(np.zeros(7))
    plain = NormalEquations.of(loss, loss.share).solve(np.zeros(5))
    np.testing.assert_allclose(phi @ solution[:-1] + solution[-1], loss.phi @ plain[:-1] + plain[-1], atol=1e-4)


def test_cycles_stop_where_told() -> None:
    """No cycle at 0, none for one node, at most the number asked for, and none after one that gains too little."""
    loss = random_loss(12)
    assert len(train(loss, [3.0], halves(7), 0, 0.0).losses) == 1
    assert len(train(loss, [3.0], halves(1), 5, 0.0).losses) == 1
    assert len(train(loss, [3.0], halves(3), 3, 0.0).losses) == 4
    assert len(train(loss, [3.0], halves(3), 50, 0.5).losses) == 2


def test_each_stage_goes_on_from_the_one_before() -> None:
    """Two stages are the second one's cycles from the first one's weights, at the second one's sharpness."""
    loss = random_loss(14)
    soft, both = train(loss, [1.0], halves(3), 2, 0.0), train(loss, [1.0, 8.0], halves(3), 1, 0.0)
    one = train(loss, [1.0], halves(3), 1, 0.0)
    sharp = replace(loss, sharpness=8.0)
    assert both.losses[0] == sharp.value(one.weights)
    assert both.losses[1] == sharp.value(both.weights) < both.losses[0]
    assert soft.losses[0] == replace(loss, sharpness=1.0).value(initial(replace(loss, sharpness=1.0), halves(3)))


def test_the_direction_is_that_of_most_variance() -> None:
    """Scores on the line (3, -4) t branch by (0.6, -0.8), its largest part made positive; a single output by 1."""
    t = np.array([-1.0, 0.0, 2.0, 5.0])
    np.testing.assert_allclose(principal_direction(np.outer(t, [3.0, -4.0]) + 7, np.ones(4)), [-0.6, 0.8])
    assert principal_direction(-t[:, None], np.ones(4)).tolist() == [1.0]
    assert principal_direction(np.ones((4, 2)), np.ones(4)).tolist() == [1.0, 0.0]


def test_two_outputs_that_mirror_each_other_are_one() -> None:
    """Labels (y, -y) / sqrt 2 have the losses of y alone, and branch by their difference: two classes need only one output."""
    loss = random_loss(15)
    mirrored = replace(loss, y=np.hstack([loss.y, -loss.y]) / np.sqrt(2))
    one, two = (train(each, [3.0], halves(7), 2, 0.0) for each in (loss, mirrored))
    np.testing.assert_allclose(two.losses, one.losses, rtol=1e-6)
    np.testing.assert_allclose(np.abs(two.weights.direction), np.sqrt(0.5))
