"""CSTC's loss over all paths, and how it is trained."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime

from prunemodels.rivals.cstc_loss import GlobalLoss, LearnerPrices, Weights, path_to, reach, upper_chance
from prunemodels.rivals.cstc_training import (
    ClassifierTree,
    NormalEquations,
    dividing_threshold,
    improved,
    initial,
    principal_direction,
    train,
)
from tests.loops import looped


def random_loss(seed: int, lam: float = 0.1, n: int = 40, n_weak: int = 5, n_items: int = 4, n_outputs: int = 1) -> GlobalLoss:
    """A loss on random data, with shared items, prices of evaluation and weights of the examples."""
    rng = np.random.default_rng(seed)
    share = rng.random(n)
    needs = rng.random((n_weak, n_items)) < 0.5
    purchases = LearnerPrices(needs, rng.random(n_items), 0.2 * rng.random(n_weak))
    y = rng.normal(size=(n, n_outputs))
    return GlobalLoss(rng.normal(size=(n, n_weak)), y, share / share.sum(), purchases, lam, 0.05, 3.0)


def random_weights(seed: int, n_nodes: int = 7, n_weak: int = 5, n_outputs: int = 1) -> Weights:
    """Weights of a tree, some of them zero; one output is branched by as it is."""
    rng = np.random.default_rng(seed)
    beta = rng.normal(size=(n_nodes, n_weak, n_outputs)) * (rng.random((n_nodes, n_weak, 1)) < 0.8)
    direction = rng.normal(size=(n_nodes, n_outputs)) if n_outputs > 1 else np.ones((n_nodes, 1))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return Weights(beta, rng.normal(size=(n_nodes, n_outputs)), direction, rng.normal(size=n_nodes))


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
    losses = train(loss, [3.0], halves(7), 5, 0.0)[1]
    assert (np.diff(losses) <= 1e-9).all()


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
    assert len(train(loss, [3.0], halves(7), 0, 0.0)[1]) == 1
    assert len(train(loss, [3.0], halves(1), 5, 0.0)[1]) == 1
    assert len(train(loss, [3.0], halves(3), 3, 0.0)[1]) == 4
    assert len(train(loss, [3.0], halves(3), 50, 0.5)[1]) == 2


def test_each_stage_goes_on_from_the_one_before() -> None:
    """Two stages are the second one's cycles from the first one's weights, at the second one's sharpness."""
    loss = random_loss(14)
    (_, soft), (weights, both) = train(loss, [1.0], halves(3), 2, 0.0), train(loss, [1.0, 8.0], halves(3), 1, 0.0)
    one, _ = train(loss, [1.0], halves(3), 1, 0.0)
    sharp = replace(loss, sharpness=8.0)
    assert both[0] == sharp.value(one)
    assert both[1] == sharp.value(weights) < both[0]
    assert soft[0] == replace(loss, sharpness=1.0).value(initial(replace(loss, sharpness=1.0), halves(3)))


def test_the_direction_is_that_of_most_variance() -> None:
    """Scores on the line (3, -4) t branch by (0.6, -0.8), its largest part made positive; a single output by 1."""
    t = np.array([-1.0, 0.0, 2.0, 5.0])
    np.testing.assert_allclose(principal_direction(np.outer(t, [3.0, -4.0]) + 7, np.ones(4)), [-0.6, 0.8])
    assert principal_direction(-t[:, None], np.ones(4)).tolist() == [1.0]
    assert principal_direction(np.ones((4, 2)), np.ones(4)).tolist() == [1.0, 0.0]


@pytest.mark.slow
def test_two_outputs_that_mirror_each_other_are_one() -> None:
    """Labels (y, -y) / sqrt 2 have the losses of y alone, and branch by their difference: two classes need only one output."""
    loss = random_loss(15)
    mirrored = replace(loss, y=np.hstack([loss.y, -loss.y]) / np.sqrt(2))
    (_, one), (weights, two) = (train(each, [3.0], halves(7), 2, 0.0) for each in (loss, mirrored))
    np.testing.assert_allclose(two, one, rtol=1e-6)
    np.testing.assert_allclose(np.abs(weights.direction), np.sqrt(0.5))


def value_at(loss: GlobalLoss, k: int, weights: Weights, point: NDArray[np.float64]) -> float:
    """(5) with node k's beta, b and theta replaced."""
    return loss.value(weights.with_node(k, *parts_of(point, weights)))


def parts_of(point: NDArray[np.float64], weights: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """beta, b and theta from one vector."""
    _, n_weak, n_outputs = weights.beta.shape
    return point[: n_weak * n_outputs].reshape(n_weak, n_outputs), point[n_weak * n_outputs : -1], float(point[-1])


def point_of(weights: Weights, k: int) -> NDArray[np.float64]:
    """Node k's beta, b and theta as one vector."""
    return np.concatenate([weights.beta[k].ravel(), weights.intercept[k], [weights.threshold[k]]])


def cases(seed: int, n_outputs: int, lam: float = 0.1) -> tuple[GlobalLoss, Weights]:
    """A loss and weights with one output, or with several."""
    return random_loss(seed, lam=lam, n_outputs=n_outputs), random_weights(seed + 1, n_outputs=n_outputs)


def test_the_path_of_a_node() -> None:
    """Heap order: 5 is the upper child of 2, which is the lower child of the root."""
    assert path_to(0) == [0]
    assert path_to(5) == [0, 2, 5]
    assert path_to(10) == [0, 1, 4, 10]


def test_chances_of_three_nodes_by_hand() -> None:
    """At a score of theta an example goes up with chance 1/2; at theta + ln(3) / s with 3/4; then it is in node 1 or node 2."""
    up = np.column_stack([upper_chance(np.array([0.0, math.log(3) / 2]), 0.0, 2.0)] * 3)
    np.testing.assert_allclose(up[:, 0], [0.5, 0.75])
    np.testing.assert_allclose(reach(up), [[1, 0.5, 0.5], [1, 0.75, 0.25]])


def test_infinitely_sharp_paths_are_those_of_predictions() -> None:
    """Above the threshold up, at the threshold and below it down, as `ClassifierTree.leaving` has it."""
    assert upper_chance(np.array([-1.0, 0.0, 1e-9]), 0.0, math.inf).tolist() == [0, 0, 1]
    loss, w = cases(12, 2)
    hard = ClassifierTree.of(w, np.ones(7, dtype=bool)).leaving(loss.phi)
    p = reach(upper_chance(w.branching(loss.scores(w)), w.threshold, math.inf))
    np.testing.assert_array_equal(p[:, 3:].argmax(axis=1) + 3, hard)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_loss_is_that_of_a_walk_over_all_paths(n_outputs: int) -> None:
    """(5), summed path by path and example by example as the text of CSTC13 says, is what `value` gives."""
    loss, w = cases(0, n_outputs)
    p = loss.purchases
    total = loss.rho * np.linalg.norm(w.beta, axis=2).sum()
    for i, share in enumerate(loss.share):
        scores = [loss.phi[i] @ w.beta[k] + w.intercept[k] for k in range(7)]
        for turns in itertools.product((1, 2), repeat=2):
            node, nodes, chance = 0, [0], 1.0
            for turn in turns:
                sigma = 1 / (1 + math.exp(-loss.sharpness * (scores[node] @ w.direction[node] - w.threshold[node])))
                chance *= sigma if turn == 1 else 1 - sigma
                node = 2 * node + turn
                nodes.append(node)
            # an inner node's risk counts once, not once a path: all paths through it together have its chance
            total += share * chance * sum(float(((loss.y[i] - scores[k]) ** 2).sum()) for k in nodes)
            squares = (w.beta[nodes] ** 2).sum(axis=(0, 2))
            total += loss.lam * share * chance * float(p.evaluation @ np.sqrt(squares))
            total += loss.lam * share * chance * sum(c * math.sqrt(squares[p.needs[:, m]].sum()) for m, c in enumerate(p.price))
    assert loss.value(w) == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("n_outputs", [1, 3])
@looped("k", range(7))
def test_the_bound_touches_the_loss_with_its_slope(n_outputs: int, k: int) -> None:
    """At the weights that it was made at, a node's majoriser has the derivatives of (5) by beta, b and theta."""
    loss, w = cases(2, n_outputs)
    w.beta[k] += 0.1  # away from the kinks
    _, by_beta, by_intercept, by_threshold = loss.majoriser(k, w)(w.beta[k], w.intercept[k], w.threshold[k])

    def value(x: NDArray[np.float64]) -> float:
        return value_at(loss, k, w, x)

    slope = approx_fprime(point_of(w, k), value, 1e-7)
    np.testing.assert_allclose([*by_beta.ravel(), *by_intercept, by_threshold], slope, atol=2e-5)


@pytest.mark.parametrize("n_outputs", [1, 3])
@looped("k", range(7))
def test_the_bound_is_never_below_the_loss(n_outputs: int, k: int) -> None:
    """Lemma 1: whatever a node changes to, the loss rises by no more than the bound does."""
    loss, w = cases(7, n_outputs, lam=1.0)
    bound, start = loss.majoriser(k, w), point_of(w, k)
    rng = np.random.default_rng(k)
    for size in (0.01, 0.3, 3.0):
        x = start + size * rng.normal(size=start.size)
        rise = value_at(loss, k, w, x) - loss.value(w)
        assert bound(*parts_of(x, w))[0] - bound(*parts_of(start, w))[0] >= rise - 1e-9
