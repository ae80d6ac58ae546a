"""The least error within a budget or within any number of limits, and what proves its bound.

    minimise error      s.t.  use_r <= B_r  for every row r                                                                  (1)

Multipliers for the rows come from the path, where there is one limit and that a budget, and from cutting planes elsewhere. With
them the relaxation is solved: a mixture of few prunings, and the bound D(mu). A search inside the mixture improves the pruning,
branch and bound both. Where only the budget's row has a multiplier, its own answer is the answer if that keeps to all limits: a
limit that does not bind changes nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cache, partial

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import NotNegative, Seconds, checked
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit, limit_of_mean_cost
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from formulations.programs.limit_rows import limit_rows
from solvers.within.call import LimitedCall, Method
from solvers.within.effort import Effort

WORK = {"path": math.inf, "best": 10.0, "exact": 300.0}
"""Default limits of work, in seconds by formula (`solvers.within.effort`)."""

PROOF_SHARE = 0.3
"""The share of the time that is kept for the proof."""

INSIDE_AN_EDGE, WITH_BRANCHES = 1, ((2, 2, 3), 3)
"""A budget of the papers' two trees inside an edge of their path; prices and a budget at which the exact search branches."""


@checked
def solve_limits(
    problem: PruningProblem,
    limits: Sequence[Limit],
    *,
    method: Method = "best",
    time_limit: Seconds | None = None,
    work: NotNegative | None = None,
    path: PruningPath | None = None,
    incumbent: Pruning | None = None,
    progress: bool | None = False,
) -> LimitedSolution:
    """The least error of all prunings within the limits, and how much better it could be.

        minimise error      s.t.  every limit                                                        (LP1, in 0-1 variables)

    Parameters
    ----------
    method
        ``"path"``: the relaxation and the best pruning met on the way. ``"best"``: that, improved by a search. ``"exact"``: with
        branch and bound until the gap is 0 or the limit is reached. Each is at least as good as the one before. Where the first
        window of branch and bound has at most `SEARCHED_FIRST` usage arcs, "best" begins with it.
    time_limit
        seconds, the path and the proof included. Default: none but that of `work`, so that the same call gives the same answer
        on any load.
    work
        the most seconds of cuts by formula, see `solvers.within.effort`; default, without a time limit, 10 for "best", 300 for
        "exact".
    path
        `pruning_path(problem)`, if it is known already. Without it "path" and "best" compute the part of it around the budget.
    incumbent
        a pruning within the limits to start from. The answer is never worse than it.
    progress
        show progress bars on stderr, of the path and of branch and bound; None: as in `pruning_path`, and none of the search.

    Returns
    -------
    LimitedSolution
        the pruning, within all limits in exact numbers; LP1's relaxation; the proven bound, and its proof.

    Raises
    ------
    InvalidInputError
        for limits that name no such item, currency or row, that are negative or below what cannot be avoided; for an incumbent
        that exceeds them, and the path or an incumbent of another problem.
    InterruptedSolveError
        on Ctrl-C while the relaxation is computed; later the answer says `StopReason.INTERRUPTED`.
    """
    started = time.perf_counter()
    rows = limit_rows(problem, limits)
    by_clock = math.inf if time_limit is None else time_limit
    most = WORK[method] if work is None and time_limit is None else math.inf if work is None else work
    if method != "path":
        _compile()
    effort = Effort(most, started + (1.0 - PROOF_SHARE) * by_clock)
    call = LimitedCall(rows, method, effort, started, started + by_clock, progress=progress)
    return call.solve(path, incumbent)


@checked
def within_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    method: Method = "best",
    time_limit: Seconds | None = None,
    work: NotNegative | None = None,
    path: PruningPath | None = None,
    incumbent: Pruning | None = None,
    progress: bool | None = False,
) -> LimitedSolution:
    """`solve_limits` within a budget, the one limit of the mean cost."""
    limits = [budget_as_limit(problem, budget)]
    return solve_limits(
        problem, limits, method=method, time_limit=time_limit, work=work, path=path, incumbent=incumbent, progress=progress
    )


best_breakpoint = partial(within_budget, method="path")
best_within = partial(within_budget, method="best")
exact_budget = partial(within_budget, method="exact")


def budget_as_limit(problem: PruningProblem, budget: Price) -> Limit:
    """A budget as the one limit that it is; InvalidInputError where it is none."""
    limit_of_mean_cost(problem, budget)
    return Limit(budget)


METHODS: tuple[Method, ...] = ("path", "best", "exact")


@cache
def _compile() -> None:
    """Solve tiny instances. On a new machine this compiles the kernels, which would take the whole limit of a stage."""
    prices, budget = WITH_BRANCHES
    branches = two_trees(prices=prices)
    several = [Limit(budget), Limit(4, "splits")]
    for problem, limits in ((two_trees(), [Limit(INSIDE_AN_EDGE)]), (branches, [Limit(budget)]), (branches, several)):
        rows = limit_rows(problem, limits)
        LimitedCall(rows, "exact", Effort(), time.perf_counter(), math.inf, progress=False).solve(None, None)
