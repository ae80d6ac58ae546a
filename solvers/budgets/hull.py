"""LP1's relaxation from the path: the point of the lower hull at cost B.

With the path's rows k, costs falling, and lambda_k the breakpoint between the rows k and k + 1,

    cost_{k+1} <= B < cost_k:    the mixture of k + 1 and k that costs B,     lambda* = lambda_k                        (1)
    B >= cost_0:                 the row 0,                                  lambda* = 0                               (2)

proven by weak duality: error >= opt(lambda*) - lambda* B for every point of the relaxation within B.
"""

from __future__ import annotations

from fractions import Fraction

from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning_path import PruningPath


def relaxed_optimum(path: PruningPath, budget: Fraction) -> Mixture:
    """(1) and (2), in exact fractions (of the rounded instance, where the instance had to be rounded)."""
    costs, errors = path.exact_cost, path.exact_error
    k = next((k for k in range(len(path)) if costs[k] <= budget), len(path) - 1)
    lam = path.between(k - 1) if k > 0 else Fraction(0)
    if k == 0 or costs[k] == budget:
        # at a breakpoint's cost any lambda between its own interval's ends will do; the larger is the price of less
        return Mixture(budget, lam, path[k], path[k], Fraction(1), errors[k])
    weight = (budget - costs[k]) / (costs[k - 1] - costs[k])
    return Mixture(budget, lam, path[k], path[k - 1], weight, weight * errors[k - 1] + (1 - weight) * errors[k])
