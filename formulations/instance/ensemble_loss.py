"""The loss of the whole forest's prediction, in place of the mean of its trees' errors.

    minimise  L(y) + lam * cost(y)       over prunings: 0-1 points with y_h <= y_parent(h)                     (ENS)

    F_i(y) = 1/T_i sum over trees t of  [ value_root + sum over splits h on i's path of y_h (value_child - value_h) ]    (1)
    L(y)   = 1/W sum over examples i of the error sample of w_i l(F_i(y), label_i)                                       (2)

T_i trees vote on example i: all of them, or with out-of-bag data fewer. The cost is that of `formulations.instance.problem`. The
loss l is convex in the columns of F that it uses (see `EnsembleProblem`). With K classes

    squares   l = sum over the columns of (F - target)^2                                                                 (3)
    log loss  l = -log[(F + epsilon) / (1 + K epsilon)],   F: the fraction of the example's own class                    (4)

(3) is the squared error of a regression, and the Brier score of a classification. With two classes it uses the column of the
second alone, with more it uses all columns, as in scikit-learn. A forest may give a class the fraction 0, whose logarithm is
infinite. So (4) smooths the fractions towards equal ones.

(1) is linear in y and l is convex in F, so L is convex. The cost is convex too if a purchase of price p adds p times the
largest y of its users. So (ENS) relaxed to 0 <= y <= 1 is a convex problem, and its optimum is a lower bound for all prunings.

The negative gradient of L has the form of a pruning instance's gains. With r_i = w_i / (W T_i) dl/dF_i,

    e_h = value_h . sum over the i in S_h that t votes on of r_i,      -dL/dy_h = e_h - e_left - e_right                  (5)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem


@dataclass(frozen=True)
class Squares:
    """(3): Brier score or squared error; F and the target have the shape (R, C)."""

    epsilon: float = -1.0  # negative, which tells kernels that (4) does not apply

    def values(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss l of each example, shape (R,)."""
        return np.asarray(((F - target) ** 2).sum(axis=1))

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """dl/dF, shape (R, C)."""
        return 2.0 * (F - target)

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """d^2l/dF^2 for each column, shape (R, C); the mixed derivatives are 0."""
        return np.full_like(F, 2.0)


@dataclass(frozen=True)
class MeanLogLoss:
    """(4): log loss of smoothed fractions."""

    epsilon: float  # > 0
    n_classes: int  # K

    def values(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loss l of each example, shape (R,); F is the fraction of the example's own class, so that no target is needed."""
        return np.asarray(np.log1p(self.n_classes * self.epsilon) - np.log(F[:, 0] + self.epsilon))

    def slopes(self, F: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """dl/dF, shape (R, C)."""
        return -1.0 / (F + self.epsilon)

    def curvatures(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """d^2l/dF^2 for each column, shape (R, C); the mixed derivatives are 0."""
        return 1.0 / (F + self.epsilon) ** 2


ExampleLoss = Squares | MeanLogLoss
"""The loss of one example, (3) or (4)."""

NO_VOTE = -1
"""Entry of `EnsembleProblem.leaf` where the tree does not vote on the example."""


@dataclass(frozen=True, eq=False)
class EnsembleProblem:
    """(ENS): a pruning instance for trees and cost, and a labelled error sample for the forest's loss.

    Raises
    ------
    InvalidInputError
        for arrays whose shapes do not fit each other, and an example on which no tree votes.
    """

    problem: PruningProblem  # trees, prices and cost sample. Its node errors are not used in (ENS)
    # int32, shape (T, R): the leaf of each tree in which each of R examples ends, or `NO_VOTE`. At least one tree votes on each
    # example.
    leaf: NDArray[np.int32]
    first: NDArray[np.int32]  # int32, shape (R,): the first of the C adjacent columns of ``ensemble.value`` that the loss uses
    target: NDArray[np.float64]  # float64, shape (R, C): the numbers with which `Squares` compares these columns
    weights: NDArray[np.float64]  # float64, shape (R,): w_i >= 0, not all 0
    loss: ExampleLoss  # l
    source: str = "given"  # how the error sample was drawn, for reports

    def __post_init__(self) -> None:
        n_rows = self.target.shape[0]
        if self.leaf.shape != (self.ensemble.n_trees, n_rows) or self.first.shape != (n_rows,) or self.weights.shape != (n_rows,):
            raise InvalidInputError(
                f"ensemble loss: leaf has shape {self.leaf.shape}, first {self.first.shape}, weights {self.weights.shape} for "
                f"{self.ensemble.n_trees} trees and {n_rows} examples; give (T, R), (R,) and (R,)"
            )
        if not ((self.weights >= 0).all() and np.isfinite(self.weights).all() and self.weights.any()):
            raise InvalidInputError("ensemble loss: weights must be finite, >= 0, and not all 0")
        silent = np.flatnonzero(self.votes == 0)
        if silent.size:
            raise InvalidInputError(f"ensemble loss: no tree votes on example {silent[0]} of the error sample; leave it out")

    @property
    def ensemble(self) -> Ensemble:
        """The trees."""
        return self.problem.ensemble

    @property
    def n_rows(self) -> int:
        """R, the examples of the error sample."""
        return int(self.target.shape[0])

    @cached_property
    def votes(self) -> NDArray[np.int64]:
        """T_i: trees that vote on each example, shape (R,)."""
        return np.asarray((self.leaf != NO_VOTE).sum(axis=0))

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """w_i / W, shape (R,)."""
        return np.asarray(self.weights / self.weights.sum())

    def predictions(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """F of (1) for 0 <= y <= 1, y_h <= y_parent(h); shape (R, C)."""
        return self._mean_over_trees(_along_paths(self.ensemble.parent, self.ensemble.value, y))

    def of_pruning(self, pruning: Pruning) -> NDArray[np.float64]:
        """F of a pruning, shape (R, C): the mean of the values at the leaves reached, more accurate than the sum (1)."""
        return self._mean_over_trees(self.ensemble.value[_reached(self.ensemble.parent, pruning.kept)])

    def _mean_over_trees(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        F = np.zeros(self.target.shape)
        _add_votes(self.leaf, self.first, value, F)
        return F / self.votes[:, None]

    def loss_of(self, F: NDArray[np.float64]) -> float:
        """L of (2) for predictions."""
        return float(self.share @ self.loss.values(F, self.target))

    def slopes(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        """dL/dF, shape (R, C)."""
        return self.share[:, None] * self.loss.slopes(F, self.target)

    def linear_errors(self, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """e_h of (5) for dL/dF, shape (n,); may be negative."""
        return np.asarray((self.ensemble.value * self.sums(slopes)).sum(axis=1))

    def sums(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each node and column the sum of amounts / T_i over the examples there on which the tree votes; shape (n, K)."""
        total = np.zeros_like(self.ensemble.value)
        _collect(self.leaf, self.first, amounts / self.votes[:, None], self.ensemble.parent, total)
        return total

    def gains(self, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """-dL/dy_h of (5) at splits, 0 at leaves, for dL/dF; shape (n,)."""
        return self.ensemble.gains(self.linear_errors(slopes))

    def rounding(self, F: NDArray[np.float64]) -> float:
        """An upper bound on the rounding error of L(F) and of a sum of gains times y.

        Every sum has at most R + n_depth + T + C terms; the terms of one depth add up to at most max |value| sum |dL/dF|.
        """
        terms = self.n_rows + self.ensemble.n_trees + self.target.shape[1] + int(self.ensemble.depth.max(initial=0)) + 20
        largest = float(np.abs(self.ensemble.value).max()) * float(np.abs(self.slopes(F)).sum())
        depth = int(self.ensemble.depth.max(initial=0)) + 1
        return float(terms * 2.0**-52 * (self.loss_of(F) + 3 * depth * largest))

    def __repr__(self) -> str:
        return f"EnsembleProblem({self.problem!r}, {self.n_rows:,} {self.source} rows, {type(self.loss).__name__})"


@njit(cache=True)
def _along_paths(parent, value, y):  # type: ignore[no-untyped-def]
    """The bracket of (1) at every node: that of its parent, plus y times the step from the parent's value to its own."""
    along = value.copy()
    for h in range(parent.shape[0]):
        p = parent[h]
        if p >= 0:
            for c in range(value.shape[1]):
                along[h, c] = along[p, c] + y[p] * (value[h, c] - value[p, c])
    return along


@njit(cache=True)
def _reached(parent, kept):  # type: ignore[no-untyped-def]
    """The leaf of the pruned tree that the rows of each node end in."""
    at = np.arange(parent.shape[0])
    for h in range(parent.shape[0]):
        p = parent[h]
        if p >= 0 and not kept[p]:
            at[h] = at[p]
    return at


@njit(cache=True)
def _add_votes(leaf, first, value, F):  # type: ignore[no-untyped-def]
    """Sum of the trees' values for each row."""
    for t in range(leaf.shape[0]):
        for i in range(leaf.shape[1]):
            h = leaf[t, i]
            if h >= 0:
                for c in range(F.shape[1]):
                    F[i, c] += value[h, first[i] + c]


@njit(cache=True)
def _collect(leaf, first, slopes, parent, total):  # type: ignore[no-untyped-def]
    """Sum of the rows' slopes at each node and column, first at leaves, then up the trees."""
    for t in range(leaf.shape[0]):
        for i in range(leaf.shape[1]):
            h = leaf[t, i]
            if h >= 0:
                for c in range(slopes.shape[1]):
                    total[h, first[i] + c] += slopes[i, c]
    for h in range(parent.shape[0] - 1, -1, -1):
        if parent[h] >= 0:
            for c in range(total.shape[1]):
                total[parent[h], c] += total[h, c]
