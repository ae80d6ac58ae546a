"""LP1's relaxation by Dantzig-Wolfe decomposition, and the best pruning within the budget found on the way."""

from __future__ import annotations

import math

from formulations.answers.budget_solution import BudgetSolution
from formulations.arguments import Seconds, checked
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from solvers.budgets.by_path import error_of
from solvers.column_generation.budgets.solve import dantzig_wolfe_budget
from solvers.column_generation.pricing import PricingMethod
from solvers.column_generation.scheme import AnyScheme


@checked
def dantzig_wolfe_within(
    problem: PruningProblem,
    budget: Price,
    *,
    time_limit: Seconds = math.inf,
    tolerance: float = 1e-6,
    pricing: PricingMethod = "shortest paths",
    scheme: AnyScheme = "bundle",
) -> BudgetSolution:
    """The best pruning within the budget that the decomposition finds, and the bound of LP1's relaxation that it proves.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        seconds. When they are over, `relaxation` is the best mixture so far, not LP1's optimum, and `bound` is below it.
    tolerance
        stop at this relative gap of the relaxation.
    pricing, scheme
        as in `solvers.column_generation.dantzig_wolfe`.

    Raises
    ------
    InvalidInputError
        for numbers out of range.
    SolverFailedError
        if HiGHS fails.
    """
    found = dantzig_wolfe_budget(problem, budget, time_limit=time_limit, tolerance=tolerance, pricing=pricing, scheme=scheme)
    pruning = found.pruning
    return BudgetSolution(
        problem, found.budget, pruning, error_of(pruning), found.bound, found.mixture, found.stopped, found.stats
    )
