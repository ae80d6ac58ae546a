"""Losses of what a forest predicts for one example: convex in the prediction.

F is the prediction in the columns that the loss looks at (`EnsembleProblem` says which), K the number of classes.

    squares   l = sum over the columns of (F - target)^2                                     (1)
    log loss  l = -log[(F + epsilon) / (1 + K epsilon)],   F: the fraction of the example's own class     (2)

(1) is the squared error of a regression, and the Brier score of a classification: of two classes the second's column alone, of
more all columns, as in scikit-learn. A forest may give a class the fraction 0, whose logarithm is infinite, so (2) is that of
fractions smoothed towards equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Loss(Protocol):
    """A convex loss of one example's prediction, with its derivatives by the columns of F."""

    @property
    def epsilon(self) -> float:
        """That of (2); negative for squares."""
        ...

    def values(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss l of each example, shape (R,); F and target have the shape (R, C)."""
        ...

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """dl/dF, shape (R, C)."""
        ...

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """d^2l/dF^2 by each column, shape (R, C); the mixed ones are 0."""
        ...


@dataclass(frozen=True)
class Squares:
    """(1): Brier score or squared error."""

    epsilon: float = -1.0

    def values(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`."""
        return np.asarray(((F - target) ** 2).sum(axis=1))

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.slopes`."""
        return 2.0 * (F - target)

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.curvatures`."""
        return np.full_like(F, 2.0)


@dataclass(frozen=True)
class LogLoss:
    """(2): log loss of smoothed fractions.

    Parameters
    ----------
    epsilon
        > 0.
    n_classes
        K.
    """

    epsilon: float
    n_classes: int

    def values(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.values`; `target` plays no part, for F is that of the example's own class."""
        return np.asarray(np.log1p(self.n_classes * self.epsilon) - np.log(F[:, 0] + self.epsilon))

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.slopes`."""
        return -1.0 / (F + self.epsilon)

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.curvatures`."""
        return 1.0 / (F + self.epsilon) ** 2
