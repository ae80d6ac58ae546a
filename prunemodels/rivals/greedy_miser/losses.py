"""Losses of margins F for targets t, both of shape (N, K), and their negative gradients.

    squared error    l = sum_k (t_k - F_k)^2                       r = t - F                                        (1)
    log loss, K = 1  l = log(1 + exp(F)) - t F                     r = t - 1 / (1 + exp(-F))                        (2)
    softmax          l = log sum_k exp(F_k) - sum_k t_k F_k        r = t - softmax(F)                               (3)

r is -dl/dF, or half of it in (1), so that with a learning rate of 1 a tree of means is the exact step. Targets for classes are 1
for the row's class and 0 for all others.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

LossName = Literal["log_loss", "squared_error"]


class Loss(Protocol):
    """A loss of margins."""

    def baseline(self, targets: NDArray[np.float64], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The constant margins of least mean loss, shape (K,)."""
        ...

    def negative_gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residuals r, shape (N, K)."""
        ...

    def values(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """The loss of each row, shape (N,)."""
        ...

    def probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of each class, shape (N, classes)."""
        ...


class SquaredError:
    """Squared error, (1)."""

    def baseline(self, targets: NDArray[np.float64], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """See `Loss.baseline`."""
        return np.asarray(np.average(targets, axis=0, weights=weight))

    def negative_gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.negative_gradient`."""
        return targets - F

    def values(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        return np.asarray(((targets - F) ** 2).sum(axis=1))

    def probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Margins limited to 0 and 1 and scaled to sum to 1; equal for all classes if all are 0."""
        p = np.clip(np.hstack([1 - F, F]) if F.shape[1] == 1 else F, 0.0, 1.0)
        p[p.sum(axis=1) == 0] = 1.0
        return np.asarray(p / p.sum(axis=1, keepdims=True))


class LogLoss:
    """Log loss of two classes, (2)."""

    def baseline(self, targets: NDArray[np.float64], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """See `Loss.baseline`."""
        share = np.average(targets, axis=0, weights=weight)
        return np.asarray(np.log(share) - np.log1p(-share))

    def negative_gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.negative_gradient`."""
        return np.asarray(targets - expit(F))

    def values(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        return np.asarray((np.logaddexp(0.0, F) - targets * F).sum(axis=1))

    def probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.probabilities`."""
        return np.hstack([expit(-F), expit(F)])


class Softmax:
    """Log loss of more classes, (3)."""

    def baseline(self, targets: NDArray[np.float64], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """See `Loss.baseline`."""
        return np.asarray(np.log(np.average(targets, axis=0, weights=weight)))

    def negative_gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.negative_gradient`."""
        return np.asarray(targets - softmax(F, axis=1))

    def values(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        return np.asarray(logsumexp(F, axis=1) - (targets * F).sum(axis=1))

    def probabilities(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.probabilities`."""
        return np.asarray(softmax(F, axis=1))


def classification_loss(name: LossName, n_classes: int) -> Loss:
    """The loss of that name for two or more classes."""
    if name == "squared_error":
        return SquaredError()
    return LogLoss() if n_classes == 2 else Softmax()
