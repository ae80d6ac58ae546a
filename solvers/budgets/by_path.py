"""The best breakpoint of the path within the budget."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from fractions import Fraction

from formulations.answers.budget_solution import BudgetSolution, Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.budget import limit_of_mean_cost
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from solvers.budgets.exact.cost import exact_cost
from solvers.budgets.hull import relaxed_optimum
from solvers.path.pruning_path import pruning_path


@checked
def best_breakpoint(
    problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf, path: PruningPath | None = None
) -> BudgetSolution:
    """The path's pruning of least error that costs at most the budget, and the relaxation's optimum.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        ignored: the call takes as long as one path, or no time if the path is given.
    path
        `pruning_path(problem)`, if it is known already.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, and for the path of another problem.
    """
    started = time.perf_counter()
    limit = limit_of_mean_cost(problem, budget)
    path = path_of(problem, path)
    relaxation = relaxed_optimum(path, limit)
    return solution(problem, limit, within(path, limit), relaxation, {"seconds": time.perf_counter() - started})


def path_of(problem: PruningProblem, path: PruningPath | None) -> PruningPath:
    """The path of smallest optima; computed if it is not given.

    Raises
    ------
    InvalidInputError
        for the path of another problem, and for one with a gap, which proves no bound.
    """
    if path is None:
        return pruning_path(problem, certificate=False)
    if path.problem is not problem:
        raise InvalidInputError("path belongs to another problem; give pruning_path(problem), or None")
    if any(path.gaps):
        raise InvalidInputError(
            f"path has a relative gap of {path.relative_gap:.2g}, budgets take an exact one; give pruning_path(problem), or None"
        )
    return path


def within(path: PruningPath, budget: Fraction) -> Pruning:
    """The path's best breakpoint within the budget."""
    return path[row_within(path, budget)]


def row_within(path: PruningPath, budget: Fraction) -> int:
    """The first row of the path that costs at most the budget, compared exactly; the last one costs nothing."""
    rounding = Fraction(path.problem.integers.cost_rounding)
    for k in range(len(path)):
        if path.exact_cost[k] - rounding <= budget and exact_cost(path[k]) <= budget:
            return k
    return len(path) - 1


def solution(
    problem: PruningProblem,
    budget: Fraction,
    pruning: Pruning,
    relaxation: Mixture,
    stats: Mapping[str, float],
    *,
    bound: Fraction | None = None,
    stopped: StopReason = StopReason.CONVERGED,
) -> BudgetSolution:
    """The answer for a pruning within the budget; `bound` is exact for the integer instance, by default the relaxation's."""
    slack = problem.integers.error_rounding + float(relaxation.lam) * problem.integers.cost_rounding
    proven = relaxation.value if bound is None else max(bound, relaxation.value)
    return BudgetSolution(problem, budget, pruning, error_of(pruning), float(proven) - slack, relaxation, stopped, dict(stats))


def error_of(pruning: Pruning) -> float:
    """The error as a float; if the instance is exact, the exact error rounded once."""
    return pruning.error if pruning.problem.integers.error_rounding else float(pruning.exact_error)
