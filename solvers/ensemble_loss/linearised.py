"""The linearised loss as a plain pruning instance. Its path gives candidate prunings near a budget.

    error_h = e_h + v sum over the i in S_h that t votes on of |r_i|,       v = the largest |value|                     (1)

with e_h and r_i of (5) in `formulations.instance.ensemble_loss`. The second term makes the errors
nonnegative. It does not change the order of prunings: every example ends in one leaf of each tree, so that the term adds the same
constant to all of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.instance.ensemble_loss import EnsembleProblem
from formulations.instance.integers import to_integers
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from solvers.ensemble_loss.level_values import LevelSets, evaluate_levels
from solvers.path.pruning_path import pruning_path


def linearise(problem: EnsembleProblem, slopes: NDArray[np.float64]) -> PruningProblem:
    """The instance (1) for the slopes dL/dF, with the same prices and the same cost sample."""
    trees, ensemble = problem.problem, problem.ensemble
    largest = float(np.abs(ensemble.value).max())
    e = problem.linear_errors(slopes) + largest * problem.sums(np.abs(slopes)).sum(axis=1)
    one = ErrorComponent(np.maximum(e, 0.0), np.full(ensemble.n_trees, 1.0 / ensemble.n_trees), source="linearised")
    errors = NodeErrors((one,))
    integers = to_integers(ensemble, errors, trees.costs, trees.weights, trees.evaluation, trees.routing)
    return replace(trees, errors=errors, integers=integers)


def linearised_path(problem: EnsembleProblem, y: NDArray[np.float64]) -> LevelSets:
    """Every pruning that is optimal for the loss linearised at y and some lambda, with its true loss and cost.

    Raises
    ------
    InterruptedSolveError, CapacityOverflowError
        as `pruning_path`.
    """
    plain = linearise(problem, problem.slopes(problem.predictions(y)))
    return evaluate_levels(problem, pruning_path(plain, certificate=False).level)
