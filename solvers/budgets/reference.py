"""The least error within a budget by listing all prunings: the reference for all other engines."""

from __future__ import annotations

import math
import time

import numpy as np

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.arguments import Seconds, checked
from formulations.instance.budget import limit_of_mean_cost
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from solvers.brute_force import all_prunings
from solvers.budgets.by_path import path_of, relaxed_optimum, room, solution


@checked
def brute_force_budget(problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf) -> BudgetSolution:
    """The best pruning of a small forest within the budget; among equally good ones the cheapest, then the smallest.

    Raises
    ------
    InvalidInputError
        for forests with more than a million prunings, and for a budget that is negative or not a number.
    """
    started = time.perf_counter()
    limit = limit_of_mean_cost(problem, budget)
    every = all_prunings(problem)
    fits = np.flatnonzero(every.cost <= max(0, room(problem, limit)))
    size = every.kept[fits].sum(axis=1)
    best = fits[np.lexsort((size, every.cost[fits], -every.gain[fits]))[0]]
    pruning = Pruning(problem, every.kept[best])
    relaxation = relaxed_optimum(path_of(problem, None), limit)
    stats = {"seconds": time.perf_counter() - started, "prunings": float(len(every.gain))}
    # if costs were rounded, a pruning that really fits may be missing from the list
    proven = pruning.exact_error if problem.integers.cost_rounding == 0 else None
    return solution(problem, limit, pruning, relaxation, stats, bound=proven)
