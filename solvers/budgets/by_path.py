"""Budgets answered by the path alone: the best breakpoint, LP1's relaxation, and the room that a budget leaves.

The path's rows k have falling costs, and lambda_k is the breakpoint between the rows k and k + 1. Then

    cost_{k+1} <= B < cost_k:    the mixture of k + 1 and k that costs B,     lambda* = lambda_k                        (1)
    B >= cost_0:                 the row 0,                                  lambda* = 0                               (2)

are optimal for the relaxation by weak duality: error >= opt(lambda*) - lambda* B for every point of it within B.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction

from formulations.answers.budget_solution import BudgetSolution, Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from solvers.path.pruning_path import pruning_path


def room(problem: PruningProblem, budget: Fraction) -> int:
    """The largest integer cost that certainly fits the budget, whatever the rounding errors of the instance are."""
    spare = budget - Fraction(problem.integers.cost_rounding)
    return int(spare // problem.integers.price_unit) if spare >= 0 else -1


def most_cost(problem: PruningProblem, budget: Fraction) -> int:
    """The largest integer cost that may fit the budget: of rounded instances some prunings of this cost do."""
    return int((budget + Fraction(problem.integers.cost_rounding)) // problem.integers.price_unit)


def fitting(problem: PruningProblem, budget: Fraction) -> Callable[[Pruning, int], bool]:
    """Whether a pruning of some integer cost is within the budget, in exact numbers, as a function of both."""
    safe, most = room(problem, budget), most_cost(problem, budget)
    return lambda pruning, cost: cost <= safe or (cost <= most and pruning.real_cost <= budget)


def relaxed_optimum(path: PruningPath, budget: Fraction) -> Mixture:
    """(1) and (2), in exact fractions. If the instance had to be rounded, they are exact for the rounded instance."""
    costs, errors = path.exact_cost, path.exact_error
    k = next((k for k in range(len(path)) if costs[k] <= budget), len(path) - 1)
    lam = path.between(k - 1) if k > 0 else Fraction(0)
    if k == 0 or costs[k] == budget:
        # at a breakpoint's cost any lambda of its interval is a dual value; the larger end is the value of a smaller budget
        return Mixture(budget, lam, path[k], path[k], Fraction(1), errors[k])
    weight = (budget - costs[k]) / (costs[k - 1] - costs[k])
    return Mixture(budget, lam, path[k], path[k - 1], weight, weight * errors[k - 1] + (1 - weight) * errors[k])


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
    return solution(problem, limit, path[row_within(path, limit)], relaxation, {"seconds": time.perf_counter() - started})


def path_of(problem: PruningProblem, path: PruningPath | None) -> PruningPath:
    """The path of smallest optima; computed if it is not given."""
    if path is None:
        return pruning_path(problem, certificate=False)
    if path.problem is not problem:
        raise InvalidInputError("path belongs to another problem; give pruning_path(problem), or None")
    if any(path.gaps):
        raise InvalidInputError(
            f"path has a relative gap of {path.relative_gap:.2g}, budgets take an exact one; give pruning_path(problem), or None"
        )
    return path


def row_within(path: PruningPath, budget: Fraction) -> int:
    """The first row of the path that costs at most the budget, compared exactly; the last one costs nothing."""
    rounding = Fraction(path.problem.integers.cost_rounding)
    for k in range(len(path)):
        if path.exact_cost[k] - rounding <= budget and path[k].real_cost <= budget:
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


def raised(problem: PruningProblem, bound: float) -> float:
    """A bound of the error of prunings, raised to the next error that a pruning can have."""
    if problem.integers.error_rounding or bound == -math.inf:
        return bound
    roots = problem.errors.of_all_roots(problem.ensemble)
    return float(roots - (roots - Fraction(bound)) // problem.integers.gain_unit * problem.integers.gain_unit)


def error_of(pruning: Pruning) -> float:
    """The error as a float; if the instance is exact, the exact error rounded once."""
    return pruning.error if pruning.problem.integers.error_rounding else float(pruning.exact_error)
