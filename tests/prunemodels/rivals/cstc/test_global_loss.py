"""The loss of CSTC13, its relaxation, its bound and its gradients."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime

from prunemodels.rivals.cstc.classifier_tree import ClassifierTree
from prunemodels.rivals.cstc.global_loss import (
    GlobalLoss,
    Weights,
    path_to,
    reach,
    risk_below,
    terminals_below,
    upper_chance,
)
from prunemodels.rivals.cstc.weak_learners import Purchases
from tests.loops import looped
from tests.prunemodels.rivals.cstc.instances import random_loss, random_weights


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


def test_one_weak_learner_costs_its_weight() -> None:
    """For a single element the relaxation (3) is the l1 norm: price 3, weight -2, evaluation 1 give 2 (3 + 1)."""
    loss = GlobalLoss(
        np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1), Purchases(np.ones((1, 1), bool), np.array([3.0]), np.ones(1)), 1, 0, 1
    )
    assert loss.path_cost(np.array([[[-2.0]]])) == pytest.approx(8)
    # used by two classes of one node: the same as by two nodes
    assert loss.path_cost(np.array([[[-2.0, 2.0]]])) == pytest.approx(4 * math.sqrt(8))
    # used again by a second node of the path: sqrt(2^2 + 2^2) instead of 2 + 2
    assert loss.path_cost(np.array([[[-2.0]], [[2.0]]])) == pytest.approx(4 * math.sqrt(8))


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
@looped("k", [0, 1, 4])
def test_gradients_are_those_of_finite_differences(n_outputs: int, k: int) -> None:
    """The majoriser's own derivatives hold away from where it was made, too."""
    loss, w = cases(4, n_outputs)
    w.beta[w.beta == 0] = 0.3  # a quadratic at 0 is so steep that differences are all round-off
    bound, x = loss.majoriser(k, w), point_of(w, k) + np.random.default_rng(6).normal(size=point_of(w, k).size)
    _, by_beta, by_intercept, by_threshold = bound(*parts_of(x, w))

    def value(v: NDArray[np.float64]) -> float:
        return bound(*parts_of(v, w))[0]

    slope = approx_fprime(x, value, 1e-7)
    np.testing.assert_allclose([*by_beta.ravel(), *by_intercept, by_threshold], slope, rtol=1e-5, atol=2e-5)


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


def test_what_is_below_a_node() -> None:
    """From the root: the risk below is the tree's, and the chances to end somewhere are those of the last nodes."""
    loss, w = cases(9, 2)
    scores = loss.scores(w)
    up = upper_chance(w.branching(scores), w.threshold, loss.sharpness)
    risk, p = loss.risk(scores), reach(up)
    np.testing.assert_allclose(risk_below(0, up, risk), (p * risk).sum(axis=1))
    leaves, chance = terminals_below(0, up)
    assert leaves == [3, 4, 5, 6]
    np.testing.assert_allclose(chance, p[:, 3:])
    leaves, chance = terminals_below(2, up)
    assert leaves == [5, 6]
    np.testing.assert_allclose(chance * p[:, [2]], p[:, 5:])
