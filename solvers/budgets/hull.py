"""LP1's relaxation from the path: the point of the lower convex hull at cost B.

The path's rows k have falling costs, and lambda_k is the breakpoint between the rows k and k + 1. Then

    cost_{k+1} <= B < cost_k:    the mixture of k + 1 and k that costs B,     lambda* = lambda_k                        (1)
    B >= cost_0:                 the row 0,                                  lambda* = 0                               (2)

are optimal by weak duality: error >= opt(lambda*) - lambda* B for every point of the relaxation within B.
"""

from __future__ import annotations

from fractions import Fraction

from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning_path import PruningPath


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
