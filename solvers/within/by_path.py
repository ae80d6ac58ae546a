"""Budgets answered by the path alone: the best breakpoint, LP1's relaxation, and the room that a budget leaves.

The path's rows k have falling costs, and lambda_k is the breakpoint between the rows k and k + 1. Then

    cost_{k+1} <= B < cost_k:    the mixture of k + 1 and k that costs B,     lambda* = lambda_k                        (1)
    B >= cost_0:                 the row 0,                                  lambda* = 0                               (2)

are optimal for the relaxation by weak duality: error >= opt(lambda*) - lambda* B for every point of it within B.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from formulations.answers.limited_solution import LimitedSolution, LP1Relaxation
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status, StopReason
from formulations.errors import InvalidInputError
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from solvers.path.pruning_path import pruning_path


def relaxed_optimum(path: PruningPath, budget: Fraction) -> LP1Relaxation:
    """(1) and (2), in exact fractions."""
    costs, errors = path.exact_cost, path.exact_error
    k = next((k for k in range(len(path)) if costs[k] <= budget), len(path) - 1)
    lam = path.between(k - 1) if k > 0 else Fraction(0)
    if k == 0 or costs[k] == budget:
        # at a breakpoint's cost any lambda of its interval is a dual value; the larger end is the value of a smaller budget
        return LP1Relaxation(errors[k], (lam,), ((path[k], Fraction(1)),), budget)
    weight = (budget - costs[k]) / (costs[k - 1] - costs[k])
    return LP1Relaxation.of_budget(budget, lam, path[k], path[k - 1], weight)


def path_of(problem: PruningProblem, path: PruningPath | None) -> PruningPath:
    """The path of smallest optima; computed if it is not given."""
    if path is None:
        return pruning_path(problem, certificate=False)
    if path.problem is not problem:
        raise InvalidInputError("path belongs to another problem; give pruning_path(problem), or None")
    if path.status is not Status.OPTIMAL:
        raise InvalidInputError(
            f"path has a relative gap of {path.relative_gap:.2g}, budgets take an exact one; give pruning_path(problem), or None"
        )
    return path


def row_within(path: PruningPath, budget: Fraction) -> int:
    """The first row of the path that costs at most the budget, compared exactly; the last one costs nothing."""
    return next((k for k in range(len(path)) if path.exact_cost[k] <= budget), len(path) - 1)


def gap_of(path: PruningPath) -> float:
    """How much less error than a row's, at its lambda, an optimum may have: what rounding hides of the path, or is told of it."""
    return max(float(max(path.gaps, default=0)), path.stats.get("gap", 0.0))


def raised(problem: PruningProblem, bound: Fraction) -> Fraction:
    """A bound of the error of prunings, raised to the next error that a pruning can have."""
    numbers = problem.numbers
    if not numbers.exact:
        return bound
    roots, step = problem.roots_error, numbers.gain_step * numbers.gain_unit
    return roots - (roots - bound) // step * step


def rounded_down(number: Fraction) -> float:
    """The largest float that is not above a number."""
    found = float(number)
    return math.nextafter(found, -math.inf) if Fraction(found) > number else found


def error_of(pruning: Pruning) -> float:
    """The exact error, rounded once."""
    return float(pruning.exact_error)


def gain_of(pruning: Pruning) -> Fraction:
    """How much less a pruning errs than the forest of single leaves, exactly."""
    return pruning.integer_gain * pruning.problem.exact_numbers.gain_unit


def budget_solution(
    problem: PruningProblem,
    budget: Fraction,
    pruning: Pruning,
    bound: float,
    relaxation: LP1Relaxation,
    *,
    stopped: StopReason = StopReason.CONVERGED,
    stats: Mapping[str, float],
) -> LimitedSolution:
    """The answer of an engine that leaves no proof."""
    limits, uses = (Limit(budget),), (pruning.exact_cost,)
    return LimitedSolution(
        problem, limits, (budget,), uses, pruning, error_of(pruning), bound, relaxation, None, stopped, dict(stats)
    )
