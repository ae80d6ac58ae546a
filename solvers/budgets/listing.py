"""The least error of a tiny forest by listing its prunings: what a search left open is closed without any tolerance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem
from solvers.brute_force import all_prunings, count_prunings

MOST_LISTED = 20_000
"""Forests with more prunings are left to searches."""


def is_tiny(problem: PruningProblem) -> bool:
    """Whether all prunings of the forest can be listed at once."""
    return count_prunings(problem.ensemble) <= MOST_LISTED


def best_allowed(problem: PruningProblem, allowed: Callable[[Pruning, int], bool]) -> Pruning | None:
    """The pruning of most integer gain that is allowed, of several the cheapest; None if none is.

    Parameters
    ----------
    allowed
        called with a pruning and its integer cost, the most gainful first, until it says yes.
    """
    every = all_prunings(problem)
    for k in np.lexsort((every.cost, -every.gain)):
        pruning = Pruning(problem, every.kept[k])
        if allowed(pruning, int(every.cost[k])):
            return pruning
    return None
