"""The losses of boosted trees: value, slope, and a bound on the curvature.

    squares          l(F) = (y - F)^2                                          second derivative 2             (1)
    log loss         l(F) = log(1 + exp(a F)) - y a F,  0 <= y <= 1            at most a^2 / 4                  (2)
    softmax          l(F) = log sum_k exp(F_k) - F_y                           Hessian at most 1/2 identity     (3)

a is the sharpness of the sigmoid. In (3) the Hessian is diag(p) - p p', of which no eigenvalue exceeds 1/2 (Boehning 1992). The
loss of one-against-rest models is the sum of (2) over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from formulations.errors import InvalidInputError
from prunemodels.models.forests.labels import class_numbers
from prunemodels.models.libraries.model_forest import ModelForest


class Loss(Protocol):
    """A loss of margins F, shape (N, outputs), for N labels that it holds."""

    @property
    def curvature(self) -> float:
        """h: the Hessian in F of one row's loss is at most h times the identity, everywhere."""
        ...

    def values(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss of each row, shape (N,)."""
        ...

    def slopes(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivative of each row's loss in its margins, shape (N, outputs)."""
        ...


@dataclass(frozen=True, eq=False)
class Squares:
    """Squared error, (1)."""

    y: NDArray[np.float64]
    curvature: float = 2.0

    def values(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        return np.asarray((self.y - F[:, 0]) ** 2)

    def slopes(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.slopes`."""
        return 2.0 * (F - self.y[:, None])


@dataclass(frozen=True, eq=False)
class LogLoss:
    """Log loss (2), summed over the outputs; y of shape (N, outputs)."""

    y: NDArray[np.float64]
    sharpness: float

    @property
    def curvature(self) -> float:
        """See `Loss.curvature`."""
        return self.sharpness**2 / 4.0

    def values(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        z = self.sharpness * F
        return np.asarray((np.logaddexp(0.0, z) - self.y * z).sum(axis=1))

    def slopes(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.slopes`."""
        return np.asarray(self.sharpness * (expit(self.sharpness * F) - self.y))


@dataclass(frozen=True, eq=False)
class Softmax:
    """Softmax loss (3); y holds class indices."""

    y: NDArray[np.int64]
    curvature: float = 0.5

    def values(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        return np.asarray(logsumexp(F, axis=1) - F[np.arange(len(F)), self.y])

    def slopes(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.slopes`."""
        p: NDArray[np.float64] = softmax(F, axis=1)
        p[np.arange(len(F)), self.y] -= 1.0
        return p


def loss_of(forest: ModelForest, y: object, n_rows: int) -> Loss:
    """The loss that fits the model's link: squares, log loss, softmax, or one log loss for each class.

    Parameters
    ----------
    y
        one label or target for each row.

    Raises
    ------
    InvalidInputError
        for labels that the model does not know, targets that are not finite, and forests of class fractions, which have
        no margins.
    """
    if forest.link == "fractions":
        raise InvalidInputError("a forest of class fractions has no margins; prune it with problem_from_model")
    if forest.classes is None:
        numbers = class_numbers(None, y, n_rows)
        if forest.link == "identity":
            return Squares(numbers)
        if ((numbers < 0) | (numbers > 1)).any():
            i = int(np.flatnonzero((numbers < 0) | (numbers > 1))[0])
            raise InvalidInputError(f"y[{i}] is {numbers[i]}; the model predicts probabilities: targets lie in [0, 1]")
        return LogLoss(numbers[:, None], forest.sharpness)
    labels = class_numbers(forest.classes, y, n_rows)
    if forest.link == "softmax":
        return Softmax(labels)
    if forest.n_outputs == 1:
        return LogLoss(labels[:, None].astype(np.float64), forest.sharpness)
    return LogLoss(np.eye(forest.n_outputs)[labels], forest.sharpness)
