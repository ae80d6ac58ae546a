"""Trained weights become a tree that predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prunemodels.rivals.cstc_loss import LearnerPrices
from prunemodels.rivals.cstc_training import ClassifierTree, LearnerOutputs, cheapest_of_best, fine_tuned, pruned, with_zeros
from tests.loops import looped


def stump(kept: tuple[bool, ...] = (True, True, True)) -> ClassifierTree:
    """Three nodes on three columns: the root branches on column 0 at 0, node 1 uses column 1, node 2 column 2."""
    beta, one, zero = np.eye(3)[:, :, None], np.ones((3, 1)), np.zeros((3, 1))
    return ClassifierTree(beta, zero, one, np.zeros(3), beta.copy(), zero.copy(), np.array(kept))


def constants(predicted: list[float]) -> ClassifierTree:
    """Seven nodes on one column: nodes 0 and 1 branch on it, and each node predicts a number."""
    beta = np.zeros((7, 1, 1))
    beta[[0, 1]] = 1.0
    intercept = np.array(predicted, dtype=np.float64)[:, None]
    return ClassifierTree(
        beta, np.zeros((7, 1)), np.ones((7, 1)), np.zeros(7), np.zeros((7, 1, 1)), intercept, np.ones(7, dtype=bool)
    )


PHI = np.array([[1.0, 10.0, 20.0], [-1.0, 30.0, 40.0], [0.0, 50.0, 60.0]])


def test_examples_walk_one_path() -> None:
    """Above the threshold up, else down, at it down; the child's own classifier predicts, or its parent where it is missing."""
    whole, without = stump(), stump((True, True, False))
    for tree, leaving, said in ((whole, [1, 2, 2], [10, 40, 60]), (without, [1, 0, 0], [10, -1, 0])):
        np.testing.assert_array_equal(tree.leaving(PHI), leaving)
        np.testing.assert_array_equal(tree.predict(PHI)[:, 0], said)


def test_paths_pay_each_item_once() -> None:
    """Item 0 is needed by columns 0 and 1, item 1 by column 2; each weak learner costs 0.5 on top."""
    purchases = LearnerPrices(np.array([[True, False], [True, False], [False, True]]), np.array([3.0, 5.0]), np.full(3, 0.5))
    np.testing.assert_array_equal(stump().bills(purchases), [3.5, 4.0, 9.0])
    none = replace(stump(), beta=np.zeros((3, 3, 1)))
    np.testing.assert_array_equal(none.bills(purchases), [0, 0, 0])


def test_zeros_by_contribution() -> None:
    """A weight counts by what it moves predictions: 0.01 times a deviation of 10 stays, times one of 0.01 goes."""
    beta = np.array([[0.01, 0.01, 0.0]])[:, :, None]
    np.testing.assert_array_equal(with_zeros(beta, np.array([100.0, 1e-4, 1.0]), 1e-3)[:, :, 0], [[0.01, 0, 0]])
    two = np.array([[[3e-4, 4e-4], [0.0, 1.0]]])  # a weak learner's weights stay or go together: a norm of 5e-4
    np.testing.assert_array_equal(with_zeros(two, np.ones(2), 5.1e-4), [[[0, 0], [0, 1]]])
    np.testing.assert_array_equal(with_zeros(two, np.ones(2), 4.9e-4), two)


def test_fine_tuning_is_least_squares_on_what_leaves_with_zeros_clamped() -> None:
    """Node 1's own column explains its examples exactly, with weights 2 and intercept 5; other columns stay zero."""
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(60, 3))
    y = np.where(phi[:, 0] > 0, 2 * phi[:, 1] + 5, -3 * phi[:, 2] + 10 * phi[:, 1])
    weights = rng.random(60)
    tree = fine_tuned(stump(), LearnerOutputs(phi, y[:, None], weights), leaving=True)
    np.testing.assert_allclose(tree.final_beta[1, :, 0], [0, 2, 0], atol=2e-3)
    assert tree.final_intercept[1, 0] == pytest.approx(5, abs=2e-3)
    low = phi[:, 0] <= 0
    root = np.sqrt(weights[low])
    columns = np.column_stack([phi[low, 2], np.ones(low.sum())])
    expected = np.linalg.lstsq(columns * root[:, None], y[low] * root)[0]
    np.testing.assert_allclose([tree.final_beta[2, 2, 0], tree.final_intercept[2, 0]], expected, atol=2e-2)
    assert (tree.final_beta[2, :2] == 0).all()
    np.testing.assert_array_equal(tree.final_beta[0, :, 0], [1, 0, 0])  # nothing leaves at the root
    np.testing.assert_array_equal(tree.beta, stump().beta)  # branching is as it was


def test_pruning_drops_what_does_not_help() -> None:
    """The labels are node 1's column above and the root's below: node 2 goes, node 1 stays; equal errors prune."""
    phi = np.random.default_rng(2).normal(size=(40, 3))
    y = np.where(phi[:, 0] > 0, phi[:, 1], phi[:, 0])
    tree = pruned(stump(), phi, lambda v: float(((y - v[:, 0]) ** 2).sum()))
    np.testing.assert_array_equal(tree.kept, [True, True, False])
    np.testing.assert_array_equal(pruned(stump(), phi, lambda v: 0.0).kept, [True, False, False])


@looped(
    ("predicted", "labels", "kept"),
    [
        ([0, 0, 0, 9, 0, 0, 0], [9, 0], [0, 1, 3]),  # only node 3 helps, so its parents are kept for it
        ([0, 5, 0, 1, 0, 0, 0], [0, 0], [0]),  # node 3 is better than its parent, but the root is better than both
    ],
)
def test_a_node_stays_for_what_is_below_it_and_goes_with_it(predicted: Any, labels: Any, kept: Any) -> None:
    """Seven nodes that predict a constant each, on one row for either side."""
    judged = pruned(constants(predicted), np.array([[1.0], [-1.0]]), lambda v: float(np.abs(v[:, 0] - labels).sum()))
    assert np.flatnonzero(judged.kept).tolist() == kept


def test_the_cheapest_of_the_best_is_taken() -> None:
    """Within the standard error of the difference to the best on the same four examples, and within what counts as no error."""
    errors = np.array([[2, 0, 2, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0.3, 0.3, 0.3, 0.3]])
    # mean leads 1, 0, 1/4, 0.3; standard errors sqrt(4 / 16) = 1/2, 0, sqrt(3 / 4 / 16) = 0.217, 0
    for costs, no_error, chosen in (([1, 9, 2, 3], 0, 1), ([1, 9, 2, 3], 0.04, 2), ([1, 9, 4, 3], 0.4, 3), ([1, 1, 1, 1], 9, 0)):
        assert cheapest_of_best(errors, np.full(4, 2.0), np.array(costs, dtype=float), no_error) == chosen


def own(prices: list[float], evaluation: float = 0.0) -> LearnerPrices:
    """Each column needs an item of its own."""
    return LearnerPrices(np.eye(len(prices), dtype=bool), np.array(prices), np.full(len(prices), evaluation))
