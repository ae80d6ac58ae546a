"""The least error within a budget: the one call for all methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from solvers.budgets.by_path import best_breakpoint, path_of
from solvers.budgets.exact.solve import exact_budget
from solvers.budgets.exact.window import SMALLEST
from solvers.budgets.search import best_within

METHODS: dict[str, Callable[..., BudgetSolution]] = {
    "path": best_breakpoint,
    "best": best_within,
    "exact": exact_budget,
}
"""What `solve_budget` takes: the best breakpoint at once; better, within seconds; the optimum, or as near as time allows."""

SECONDS = {"path": math.inf, "best": 30.0, "exact": 300.0}
"""Time limits where none is given."""

FIRST = 0.25
"""Share of the time for a try that may make the rest needless, or the rest easier."""

MOST_BEFORE: dict[Callable[..., BudgetSolution], float] = {exact_budget: math.inf, best_within: 60.0}
"""Seconds for such a try at most."""


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
        ``"exact"``: from there by branch and bound until the gap is 0 or the time is over. None is worse than the first. Small
        instances (at most `SMALLEST` usage arcs) are mostly solved to the end by branch and bound in seconds, so "best" tries
        that first.
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
    exact(budget, "budget")
    path = path_of(problem, path)
    first = best_breakpoint(problem, budget, path=path)
    if method == "path":
        return first
    found, started = first, time.perf_counter()
    for engine, share in _stages(method, small=problem.n_usage_arcs <= SMALLEST):
        left = max(0.0, limit - (time.perf_counter() - started))
        more: dict[str, Any] = {"incumbent": found.pruning, "progress": progress} if engine is exact_budget else {}
        seconds = left if share == 1 else min(share * limit, left, MOST_BEFORE[engine])
        found = _better(found, engine(problem, budget, time_limit=seconds, path=path, **more))
        if found.status is Status.OPTIMAL:
            break
    way = first.error - first.bound
    moved = {"bound_raised": found.bound - first.bound, "error_lowered": first.error - found.error}
    stats = {**found.stats, **{name: by / way if way > 0 else 0.0 for name, by in moved.items()}}
    return replace(found, stats={**stats, "seconds": time.perf_counter() - started})


def _stages(method: str, *, small: bool) -> Iterator[tuple[Callable[..., BudgetSolution], float]]:
    """Engines one after the other, each with its share of the time; 1: all that is left."""
    if small:
        yield exact_budget, FIRST
    if method == "best":
        yield best_within, 1.0
    else:
        yield best_within, FIRST
        yield exact_budget, 1.0


def _better(one: BudgetSolution, other: BudgetSolution) -> BudgetSolution:
    """The better pruning of two answers, with the better bound; what else is said is said of the later one."""
    pruning, error = min(((s.pruning, s.error) for s in (one, other)), key=lambda pair: pair[1])
    stats = {**one.stats, **other.stats}
    return replace(other, pruning=pruning, error=error, bound=max(one.bound, other.bound), stats=stats)
