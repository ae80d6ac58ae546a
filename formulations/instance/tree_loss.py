"""The loss by which single trees, and the forest, are judged; the error of a node is the sum of its examples' losses.

With y the class or target of an example, and v what a node or the forest predicts (class fractions, or a number):

    zero_one                   0 where y is the class of the largest fraction, of several the first; else 1             (1)
    misclassification_costs    C[y, k],  k = the class of the largest fraction, of several the first                    (2)
    squared_error              (y - v)^2                                                                                (3)
    absolute_error             |y - v|                                                                                  (4)
    poisson                    2 [y log(y / v) - y + v],  the Poisson deviance;  v > 0                                  (5)
    log_loss                   -log v_y: of cascades alone, see `prunemodels.stages.judging`                            (6)

(2) leaves the prediction what it is, so that the figures are those of the forest's own ``predict``. Where C is 1 off its diagonal
and 0 on it, (2) is (1). A split may raise (2) even on the rows that it was grown on. Regression forests are judged by the
criterion that their trees were grown by: then the impurity that a tree stores is its in-bag error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact

LossName = Literal["zero_one", "misclassification_costs", "squared_error", "absolute_error", "poisson", "log_loss"]

ERROR_RATE = "error rate"

MEASURES: dict[LossName, str] = {
    "zero_one": ERROR_RATE,
    "misclassification_costs": "mean misclassification cost",
    "squared_error": "mean squared error",
    "absolute_error": "mean absolute error",
    "poisson": "mean Poisson deviance",
    "log_loss": "mean log loss",
}
"""What the mean of each loss is called."""


@dataclass(frozen=True)
class TreeLoss:
    """One of the losses (1) to (5)."""

    name: LossName  # which one
    # C of (2), exact: a row for each true class, a column for each predicted class; empty for the other losses
    costs: tuple[tuple[Fraction, ...], ...] = ()

    @property
    def measure(self) -> str:
        """What the mean loss is called."""
        return MEASURES[self.name]

    @property
    def largest(self) -> float:
        """The largest loss that an example can have."""
        if self.name == "zero_one":
            return 1.0
        return float(max(max(row) for row in self.costs)) if self.costs else math.inf

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """C of (2) as floats, shape (K, K)."""
        return np.array(self.costs, dtype=np.float64)

    @property
    def denominator(self) -> int:
        """The least whole number whose product with every misclassification cost is whole; 1 for other losses."""
        return math.lcm(*(cost.denominator for row in self.costs for cost in row))

    def of_classes(self, y: NDArray[np.int64], predicted: NDArray[np.int64]) -> NDArray[np.float64]:
        """(1) or (2) of each example whose class was predicted."""
        if not self.costs:
            return np.asarray(y != predicted, dtype=np.float64)
        return np.asarray(self.matrix[y, predicted])

    def of_numbers(self, y: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        """(3), (4) or (5) of each example."""
        if self.name == "squared_error":
            return np.asarray((v - y) ** 2)
        if self.name == "absolute_error":
            return np.abs(y - v)
        check_counts(y)
        return np.asarray(2 * (xlogy(y, y) - xlogy(y, v) - y + v))


USUAL_LOSS = {"classification": TreeLoss("zero_one"), "regression": TreeLoss("squared_error")}
"""(1) for a classification, (3) for a regression."""


def check_counts(y: NDArray[np.float64]) -> None:
    """Refuse targets that have no Poisson deviance."""
    if (y < 0).any():
        i = int(np.flatnonzero(y < 0)[0])
        raise InvalidInputError(f"y[{i}] is {y[i]:g}; a forest with criterion='poisson' is judged on targets >= 0")


def misclassification_loss(costs: Any, classes: NDArray[Any] | None) -> TreeLoss:
    """(2) with a user's matrix.

    `costs`: C[true, predicted] in the order of `classes`, each >= 0 and finite; floats count as the decimals that they print.
    `classes`: the labels that the model was trained on.
    """
    if classes is None:
        raise InvalidInputError("misclassification_costs are for classifiers, this model predicts numbers; leave them out")
    rows = [list(row) if np.ndim(row) == 1 else [row] for row in np.atleast_1d(np.asarray(costs, dtype=object))]
    n = len(classes)
    if [len(row) for row in rows] != [n] * n:
        shape = np.shape(np.asarray(costs, dtype=object))
        raise InvalidInputError(
            f"misclassification_costs has shape {shape}; give one row for each true class and one column for each predicted "
            f"class of {classes.tolist()}, shape ({n}, {n})"
        )
    matrix = tuple(
        tuple(exact(cost, f"misclassification_costs[{j}][{k}]") for k, cost in enumerate(row)) for j, row in enumerate(rows)
    )
    if not any(cost for row in matrix for cost in row):
        raise InvalidInputError("misclassification_costs are all 0; give at least one wrong prediction a cost above 0")
    return TreeLoss("misclassification_costs", matrix)
