"""The losses of boosted rivals: of margins F for targets t, both of shape (N, K), with their derivatives.

    squared error    l = sum_k (t_k - F_k)^2         g = F - t                    h = 1                                (1)
    log loss, K = 1  l = log(1 + exp(F)) - t F       g = p - t                    h = p (1 - p),   p = 1 / (1 + exp(-F))  (2)
    softmax          l = log sum_k exp(F_k) - sum_k t_k F_k
                                                     g = p - t                    h = p (1 - p) K / (K - 1),  p = softmax(F)  (3)

g and h are the first two derivatives (CEGB17 eq. 9a and 9b), of half of l in (1): with a learning rate of 1 a tree of means is
then the exact step. The factor of h in (3) is Friedman's (2000), for trees that are fitted class by class; LightGBM has it too.
Targets for classes are 1 for the row's class and 0 for all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

LossName = Literal["log_loss", "squared_error"]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Examples: X float32, shape (N, F); targets, shape (N, K); weights > 0, or None: all 1."""

    X: NDArray[np.float32]
    targets: NDArray[np.float64]
    weight: NDArray[np.float64] | None


class Loss(Protocol):
    """A loss of margins."""

    def baseline(self, targets: NDArray[np.float64], weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The constant margins of least mean loss, shape (K,)."""
        ...

    def gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """g, shape (N, K)."""
        ...

    def hessian(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """h, shape (N, K)."""
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

    def gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.gradient`."""
        return F - targets

    def hessian(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.hessian`."""
        return np.ones_like(F)

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

    def gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.gradient`."""
        return np.asarray(expit(F) - targets)

    def hessian(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.hessian`."""
        p = expit(F)
        return np.asarray(p * (1.0 - p))

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
        return np.asarray(np.log(np.maximum(np.average(targets, axis=0, weights=weight), np.finfo(np.float64).tiny)))

    def gradient(self, targets: NDArray[np.float64], F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.gradient`."""
        return np.asarray(softmax(F, axis=1) - targets)

    def hessian(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.hessian`."""
        p = softmax(F, axis=1)
        return np.asarray(p * (1.0 - p) * (F.shape[1] / (F.shape[1] - 1.0)))

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


def class_targets(codes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """The targets of rows of class 0, 1 ...: one column for each class, or one for the second of two."""
    return np.asarray(codes[:, None] == (np.arange(n_classes) if n_classes > 2 else np.ones(1)), dtype=np.float64)
