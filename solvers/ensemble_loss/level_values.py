"""Loss and cost of all level sets of a point in one pass.

    kept_j = { h : level_h >= j },   j = 1 .. J + 1                                                      (1)

Levels never rise on the way down a tree, so each (1) is a pruning; J + 1 keeps nothing. For the losses, each row's paths are
walked upwards once, and a kept split adds its change of the prediction to all sets up to its level. The rows of a `PruningPath`
are level sets too.

The linearised loss as a plain pruning instance. Its path gives candidate prunings near a budget.

    error_h = e_h + v sum over the i in S_h that t votes on of |r_i|,       v = the largest |value|                     (2)

with e_h and r_i of (5) in `formulations.instance.ensemble_loss`. The second term makes the errors
nonnegative. It does not change the order of prunings: every example ends in one leaf of each tree, so that the term adds the same
constant to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings, level_sets, sums_in_rows
from formulations.answers.pruning import Pruning
from formulations.compiled import njit
from formulations.instance.ensemble_loss import EnsembleProblem
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.numbers import engine_numbers
from formulations.instance.problem import PruningProblem
from solvers.path.pruning_path import pruning_path


@dataclass(frozen=True, eq=False)
class LevelSets:
    """The prunings (1), with their losses and costs."""

    problem: EnsembleProblem
    sets: NestedPrunings
    # loss, cost: float64, shape (J + 1,): of the level sets j = 1 .. J + 1, up to rounding errors.
    loss: NDArray[np.float64]
    cost: NDArray[np.float64]

    def pruning(self, k: int) -> Pruning:
        """The set j = k + 1."""
        return Pruning(self.problem.problem, self.sets.rows_kept > k)

    def best(self, lam: float) -> tuple[Pruning, float]:
        """The set of least loss + lam * cost, among equals the smallest, and that value."""
        value = self.loss + lam * self.cost
        k = value.size - 1 - int(np.argmin(value[::-1]))
        return self.pruning(k), float(value[k])


def level_sets_of(problem: EnsembleProblem, y: NDArray[np.float64]) -> LevelSets:
    """The level sets {y >= theta}, 0 < theta <= 1, of a point that never rises on the way down a tree; the last is empty.

    Numbers that agree to ten decimals are one level.
    """
    return evaluate_levels(problem, level_sets(problem.problem, np.round(y, 10)))


def evaluate_levels(problem: EnsembleProblem, sets: NestedPrunings) -> LevelSets:
    """Loss and cost of all rows of nested prunings."""
    ensemble, trees = problem.ensemble, problem.problem
    loss = np.zeros(len(sets))
    _losses(
        problem.leaf,
        problem.first,
        problem.target,
        problem.share,
        problem.loss.epsilon,
        len(ensemble.classes) if ensemble.classes is not None else 1,
        ensemble.parent,
        ensemble.value,
        sets.rows_kept,
        loss,
    )
    return LevelSets(problem, sets, loss, sums_in_rows(sets, trees.evaluation_price, trees.usage.purchase_price()))


def linearise(problem: EnsembleProblem, slopes: NDArray[np.float64]) -> PruningProblem:
    """The instance (2) for the slopes dL/dF, with the same prices and the same cost sample."""
    trees, ensemble = problem.problem, problem.ensemble
    largest = float(np.abs(ensemble.value).max())
    e = problem.linear_errors(slopes) + largest * problem.sums(np.abs(slopes)).sum(axis=1)
    one = ErrorComponent(np.maximum(e, 0.0), np.full(ensemble.n_trees, 1.0 / ensemble.n_trees), source="linearised")
    errors = NodeErrors((one,))
    return replace(trees, errors=errors, numbers=engine_numbers(trees.usage, errors))


def linearised_path(problem: EnsembleProblem, y: NDArray[np.float64]) -> LevelSets:
    """Every pruning that is optimal for the loss linearised at y and some lambda, with its true loss and cost."""
    plain = linearise(problem, problem.slopes(problem.predictions(y)))
    return evaluate_levels(problem, pruning_path(plain, certificate=False))


@njit(cache=True)
def _losses(leaf, first, target, share, epsilon, n_classes, parent, value, level, loss):  # type: ignore[no-untyped-def]
    """Mean loss of each set over the rows; `epsilon` < 0 means the squared loss, see `formulations.instance.ensemble_loss`."""
    n_columns, n_sets = target.shape[1], loss.shape[0]
    step = np.zeros((n_sets + 1, n_columns))
    for i in range(leaf.shape[1]):
        votes = 0
        step[:] = 0.0
        for t in range(leaf.shape[0]):
            h = leaf[t, i]
            if h < 0:
                continue
            votes += 1
            while parent[h] >= 0:
                p = parent[h]
                if level[p] > 0:
                    for c in range(n_columns):
                        step[level[p], c] += value[h, first[i] + c] - value[p, first[i] + c]
                h = p
            for c in range(n_columns):
                step[n_sets, c] += value[h, first[i] + c]
        F = step[n_sets]
        for j in range(n_sets - 1, -1, -1):  # the set of all splits with a level above j
            if j < n_sets - 1:
                for c in range(n_columns):
                    F[c] += step[j + 1, c]
            row_loss = 0.0
            if epsilon < 0:
                for c in range(n_columns):
                    row_loss += (F[c] / votes - target[i, c]) ** 2
            else:
                row_loss = np.log1p(n_classes * epsilon) - np.log(F[0] / votes + epsilon)
            loss[j] += share[i] * row_loss
