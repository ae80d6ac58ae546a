"""The least error within a budget, by any of the methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status
from formulations.arguments import NotNegative, Seconds, checked
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from solvers.budgets.by_path import best_breakpoint, path_of
from solvers.budgets.exact.core import FIRST_WINDOW_ARCS
from solvers.budgets.exact.solve import exact_budget
from solvers.budgets.search import best_within
from solvers.path.pruning_path import divide_and_conquer

Method = Literal["path", "best", "exact"]

METHODS: dict[Method, Callable[..., BudgetSolution]] = {
    "path": best_breakpoint,
    "best": best_within,
    "exact": exact_budget,
}
"""The methods of `solve_budget`: the best breakpoint; a better pruning within some work; the optimum, if the work allows."""

WORK = {"path": math.inf, "best": 10.0, "exact": 300.0}
"""Default limits of work, in seconds by formula (`solvers.budgets.effort`)."""

FIRST_STAGE_SHARE, FIRST_SHARE_OF_SMALL = 0.25, 0.5
"""Shares of the limit for a first stage, which may make the later stages easier or unnecessary; and for branch and bound."""

MOST_FIRST: dict[Callable[..., BudgetSolution], float] = {exact_budget: math.inf, best_within: 60.0}
"""Most of the limit for a first stage by each engine."""

INSIDE_AN_EDGE, WITH_BRANCHES = 1, ((2, 2, 1), 3)
"""A budget of the papers' two trees inside an edge of their path; prices and a budget at which the exact search branches."""


@checked
def solve_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    method: Method = "best",
    time_limit: Seconds | None = None,
    work: NotNegative | None = None,
    path: PruningPath | None = None,
    progress: bool | None = False,
) -> BudgetSolution:
    """The least error of all prunings that cost at most the budget on the cost sample, and how much better it could be.

        minimise error      s.t.  cost <= B                                                                (LP1, in 0-1 variables)

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices, evaluation included.
    method
        ``"path"``: the best breakpoint of the path, without a search. ``"best"``: that breakpoint, improved inside its hull edge
        within a limit. ``"exact"``: the same, then branch and bound until the gap is 0 or the limit is reached. Each is at least
        as good as the one before. Branch and bound solves most small instances (at most `FIRST_WINDOW_ARCS` usage arcs) in
        seconds, so "best" tries it first on these.
    time_limit
        seconds, not counting the path. Default: none but that of `work`, so that the same call gives the same answer on any load.
    work
        the most seconds of cuts by formula, see `solvers.budgets.effort`; default, without a time limit, 10 for "best", 300 for
        "exact".
    path
        `pruning_path(problem)`, if it is known already. Without it "path" and "best" compute the part of it around the budget.
    progress
        show progress bars on stderr, of the path and of "exact"; None: as in `pruning_path`, and none of "exact".

    Returns
    -------
    BudgetSolution
        the pruning, whose exact cost is at most B; LP1's relaxation (value, lambda*, the two neighbouring prunings and their
        weights); and the proven bound. Where the edge around the budget has more than `MOST_ARCS_AROUND` usage arcs, the bound
        may be below the relaxation's value by a relative gap of some 1e-5.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, for an unknown method, and for the path of another problem.
    InterruptedSolveError
        on Ctrl-C.
    """
    exact(budget, "budget")
    by_clock = math.inf if time_limit is None else time_limit
    if work is None:
        work = WORK[method] if time_limit is None else math.inf
    if path is None:
        around = None if method == "exact" else limit_of_mean_cost(problem, budget)
        path = divide_and_conquer(problem, certificate=False, around=around, progress=progress)
    path = path_of(problem, path)
    if method != "path":
        _compile()
    return _solved(path, budget, method, by_clock, work, progress=bool(progress))


def _solved(path: PruningPath, budget: Price, method: Method, by_clock: float, work: float, *, progress: bool) -> BudgetSolution:
    """The engines of a method, one after the other, on the instance of the path."""
    problem = path.problem
    first = best_breakpoint(problem, budget, path=path)
    if method == "path":
        return first
    found, started, spent = first, time.perf_counter(), 0.0
    for engine, share in _stages(method, small=problem.reduced().core.n_usage_arcs <= FIRST_WINDOW_ARCS):
        seconds_left, work_left = max(0.0, by_clock - (time.perf_counter() - started)), max(0.0, work - spent)
        more: dict[str, Any] = {"incumbent": found.pruning, "progress": progress} if engine is exact_budget else {}
        if share < 1:
            work_left = min(share * work, work_left, MOST_FIRST[engine])
            seconds_left = min(share * by_clock, seconds_left, MOST_FIRST[engine]) if by_clock < math.inf else seconds_left
        answer = engine(problem, budget, time_limit=seconds_left, work=work_left, path=path, **more)
        found, spent = _better(found, answer), spent + answer.stats.get("work", 0.0)
        if found.status is Status.OPTIMAL:
            break
    first_gap = first.error - first.bound
    moved = {"bound_raised": found.bound - first.bound, "error_lowered": first.error - found.error}
    stats = {**found.stats, **{name: by / first_gap if first_gap > 0 else 0.0 for name, by in moved.items()}}
    return replace(found, stats={**stats, "seconds": time.perf_counter() - started})


@cache
def _compile() -> None:
    """Solve tiny instances by both engines. On a new machine this compiles them, which would take the whole limit of a stage."""
    prices, budget = WITH_BRANCHES
    METHODS["exact"](two_trees(), INSIDE_AN_EDGE)
    METHODS["exact"](two_trees(prices=prices), budget)
    METHODS["best"](two_trees(), INSIDE_AN_EDGE, rounds=1)


def _stages(method: Method, *, small: bool) -> Iterator[tuple[Callable[..., BudgetSolution], float]]:
    """The engines in order, each with its share of the limit; 1 stands for all that is left."""
    if small:
        yield exact_budget, FIRST_SHARE_OF_SMALL
    if method == "best":
        yield best_within, 1.0
    else:
        yield best_within, FIRST_STAGE_SHARE
        yield exact_budget, 1.0


def _better(one: BudgetSolution, other: BudgetSolution) -> BudgetSolution:
    """The better pruning and the better bound of two answers; everything else is taken from the later one."""
    pruning, error = min(((s.pruning, s.error) for s in (one, other)), key=lambda pair: pair[1])
    stats = {**one.stats, **other.stats}
    return replace(other, pruning=pruning, error=error, bound=max(one.bound, other.bound), stats=stats)
