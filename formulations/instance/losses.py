"""Losses of a forest's prediction for one example; all are convex in the prediction.

F is the prediction in the columns that the loss uses (see `EnsembleProblem`), K the number of classes.

    squares   l = sum over the columns of (F - target)^2                                     (1)
    log loss  l = -log[(F + epsilon) / (1 + K epsilon)],   F: the fraction of the example's own class     (2)

(1) is the squared error of a regression, and the Brier score of a classification. With two classes it uses the column of the
second alone, with more it uses all columns, as in scikit-learn. A forest may give a class the fraction 0, whose logarithm is
infinite. So (2) smooths the fractions towards equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Loss(Protocol):
    """A convex loss of one example's prediction, with its derivatives with respect to the columns of F."""

    @property
    def epsilon(self) -> float:
        """The epsilon of (2); negative for squares, which have none."""
        ...

    def values(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss l of each example, shape (R,); F and target have the shape (R, C)."""
        ...

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """dl/dF, shape (R, C)."""
        ...

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """d^2l/dF^2 for each column, shape (R, C); the mixed derivatives are 0."""
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
        """See `Loss.values`; `target` is not used, since F is the fraction of the example's own class."""
        return np.asarray(np.log1p(self.n_classes * self.epsilon) - np.log(F[:, 0] + self.epsilon))

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.slopes`."""
        return -1.0 / (F + self.epsilon)

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Loss.curvatures`."""
        return 1.0 / (F + self.epsilon) ** 2
