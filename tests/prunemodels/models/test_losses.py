"""Losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from prunemodels.models.losses import LogLoss, Loss, Softmax, SquaredError, classification_loss

ONE_HOT = np.eye(3)[[0, 2, 1, 1, 0]]
BINARY = np.array([[0.0], [1], [1], [0], [1]])
NUMBERS = np.array([[0.3], [-2], [5], [1], [1]])
CASES = [(SquaredError(), NUMBERS, 0.5), (SquaredError(), ONE_HOT, 0.5), (LogLoss(), BINARY, 1.0), (Softmax(), ONE_HOT, 1.0)]
WEIGHT = np.array([1.0, 2, 1, 3, 1])


@pytest.mark.parametrize(("loss", "targets", "share"), CASES)
def test_derivatives_are_those_of_the_loss(loss: Loss, targets: np.ndarray, share: float) -> None:
    """Finite differences of the loss (half of them for squares) give g, and those of g give h, for softmax 1.5 times."""
    F = np.random.default_rng(0).normal(size=targets.shape)
    slopes = approx_fprime(F.ravel(), lambda v: loss.values(targets, v.reshape(F.shape)).sum(), 1e-7).reshape(F.shape)
    np.testing.assert_allclose(loss.gradient(targets, F), share * slopes, atol=1e-5)
    step = 1e-6 * np.eye(F.shape[1])
    curved = [(loss.gradient(targets, F + e) - loss.gradient(targets, F - e))[:, k] / 2e-6 for k, e in enumerate(step)]
    factor = 1.5 if isinstance(loss, Softmax) else 1.0
    np.testing.assert_allclose(loss.hessian(F), factor * np.column_stack(curved), atol=1e-5)


@pytest.mark.parametrize(("loss", "targets", "share"), CASES)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_no_constant_is_better_than_the_baseline(
    loss: Loss, targets: np.ndarray, share: float, weight: np.ndarray | None
) -> None:
    """A numerical minimiser finds no smaller mean loss."""

    def mean(F0: np.ndarray) -> float:
        return float(np.average(loss.values(targets, np.tile(F0, (len(targets), 1))), weights=weight))

    found = loss.baseline(targets, weight)
    assert mean(found) <= minimize(mean, np.zeros(targets.shape[1])).fun + 1e-9


def test_probabilities_by_hand() -> None:
    """Each row sums to 1: of log odds log 3 the second class has 3/4; squares are cut off at 0 and 1."""
    np.testing.assert_allclose(LogLoss().probabilities(np.array([[np.log(3)]])), [[0.25, 0.75]])
    np.testing.assert_allclose(Softmax().probabilities(np.log([[1.0, 2, 5]])), [[0.125, 0.25, 0.625]])
    np.testing.assert_allclose(SquaredError().probabilities(np.array([[0.3], [1.7], [-2]])), [[0.7, 0.3], [0, 1], [1, 0]])
    squares = SquaredError().probabilities(np.array([[0.5, -1, 0.25], [-1, -2, -3], [2, 1, 0]]))
    np.testing.assert_allclose(squares, [[2 / 3, 0, 1 / 3], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]])


def test_the_loss_follows_the_name_and_the_classes() -> None:
    """Two classes have one margin."""
    kinds = [type(classification_loss("log_loss", k)) for k in (2, 3)]
    assert kinds == [LogLoss, Softmax]
    assert isinstance(classification_loss("squared_error", 2), SquaredError)
