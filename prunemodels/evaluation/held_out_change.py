"""Cost and error on held-out examples before and after pruning: the same examples twice, so that differences are paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import n_examples
from prunemodels.models.forests.labels import forest_losses
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.limit_uses import limit_uses


def held_out_change(
    problem: PruningProblem, kept: NDArray[np.bool_], forest: Any, y: Any, confidence: float, limits: Sequence[Limit] = ()
) -> HeldOutChange:
    """`held_out_changes` of one pruning, and what it uses of limits."""
    found = held_out_changes(problem, [kept], forest, y, confidence)[0]
    return replace(found, uses=limit_uses(problem.usage, kept, limits, confidence))


def held_out_changes(
    problem: PruningProblem, kept: Sequence[NDArray[np.bool_]], forest: Any, y: Any, confidence: float
) -> list[HeldOutChange]:
    """Measure prunings on a problem whose cost sample are held-out examples.

    Parameters
    ----------
    problem
        the forest and prices, with the held-out examples as cost sample.
    kept
        the splits that each pruning keeps.
    forest
        the forest before pruning.
    y
        labels of all examples of ``problem.X``.

    Raises
    ------
    InvalidInputError
        for labels that do not fit the examples.
    """
    unpruned = Pruning.unpruned(problem)
    loss, found = problem.ensemble.loss, []
    weights = np.zeros(n_examples(problem.X))
    weights[problem.rows] = problem.weights
    before = _paid(unpruned), forest_losses(forest, problem.X, y, loss, weights=weights)[problem.rows]
    for pruning in (Pruning(problem, k) for k in kept):
        losses = forest_losses(apply_pruning(pruning, forest), problem.X, y, loss, weights=weights)[problem.rows]
        pairs = (before[0], _paid(pruning)), (before[1], losses)
        found.append(change_of(*pairs, problem.weights, confidence, loss=loss))
    return found


def _paid(pruning: Pruning) -> SampleCost:
    usage = pruning.problem.usage
    largest = usage.largest_row_cost(pruning.kept)
    return SampleCost(np.minimum(usage.row_costs(pruning.kept), largest), usage.once_cost(pruning.kept), largest)
