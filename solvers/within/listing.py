"""The least error of a small forest by listing its prunings: the reference for all engines, and the end of tiny searches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.arguments import Seconds, checking
from formulations.instance.cost_items import Price
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from solvers.brute_force import all_prunings, count_prunings
from solvers.within.by_path import budget_solution, error_of, path_of, relaxed_optimum


def best_allowed(problem: PruningProblem, allowed: Callable[[Pruning], bool]) -> Pruning | None:
    """The pruning of most gain that is allowed, of several the cheapest, then the smallest; None if none is.

    Parameters
    ----------
    allowed
        called with prunings, the most gainful first, until it says yes.
    """
    every = all_prunings(problem)
    for k in np.lexsort((every.kept.sum(axis=1), every.cost, -every.gain)):
        pruning = Pruning(problem, every.kept[k])
        if allowed(pruning):
            return pruning
    return None


@checking
def brute_force_budget(problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf) -> LimitedSolution:
    """The best pruning of a small forest within the budget; among equally good ones the cheapest, then the smallest.

    Raises
    ------
    InvalidInputError
        for forests with more than a million prunings, and for a budget that is negative or not a number.
    """
    started = time.perf_counter()
    limit = limit_of_mean_cost(problem, budget)
    pruning = best_allowed(problem, lambda found: found.exact_cost <= limit)
    assert pruning is not None, "the forest of single leaves costs nothing"
    relaxation = relaxed_optimum(path_of(problem, None), limit)
    stats = {"seconds": time.perf_counter() - started, "prunings": float(count_prunings(problem.ensemble))}
    return budget_solution(problem, limit, pruning, error_of(pruning), relaxation, stats=stats)
