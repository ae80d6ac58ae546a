"""The least error within a budget: the one call for all methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from formulations.budget_solution import BudgetSolution
from formulations.cost_items import Price
from formulations.errors import InvalidInputError
from formulations.problem import PruningProblem
from formulations.pruning_path import PruningPath
from solvers.budgets.by_path import best_breakpoint
from solvers.budgets.exact import exact_budget
from solvers.budgets.search import best_within

METHODS: dict[str, Callable[..., BudgetSolution]] = {
    "path": best_breakpoint,
    "best": best_within,
    "exact": exact_budget,
}
"""What `solve_budget` takes: the best breakpoint at once; better, within seconds; the optimum, or as near as time allows."""

SECONDS = {"path": math.inf, "best": 30.0, "exact": 300.0}
"""Time limits where none is given."""


def solve_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    method: str = "best",
    time_limit: float | None = None,
    path: PruningPath | None = None,
    progress: bool = False,
) -> BudgetSolution:
    """The least error of all prunings that cost at most the budget on the cost sample, and how much better it could be.

        minimise error      s.t.  cost <= B                                                                (LP1, in 0-1 variables)

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices, evaluation included.
    method
        ``"path"``: the best breakpoint of the path, at once. ``"best"``: improved inside its hull edge, for seconds.
        ``"exact"``: from there by branch and bound until the gap is 0 or the time is over. None is worse than the one before.
    time_limit
        seconds, the path not counted; default 30 for "best", 300 for "exact".
    path
        `pruning_path(problem)`, if it is at hand.
    progress
        show the progress of "exact" on stderr.

    Returns
    -------
    BudgetSolution
        the pruning, whose cost is at most B in exact numbers; LP1's relaxation (value, lambda*, the two neighbouring prunings and
        their weights); the proven bound.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or no number, and another method.
    InterruptedSolveError
        on Ctrl-C.
    """
    if method not in METHODS:
        raise InvalidInputError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    limit = SECONDS[method] if time_limit is None else time_limit
    more: dict[str, Any] = {}
    if method == "exact":
        start = best_within(problem, budget, time_limit=min(limit / 4, SECONDS["best"]), path=path)
        more = {"incumbent": start.pruning, "progress": progress}
        limit = max(0.0, limit - start.stats["seconds"])
    return METHODS[method](problem, budget, time_limit=limit, path=path, **more)
