"""The least error within a budget or within any number of limits, and what proves its bound.

    minimise error      s.t.  use_r <= B_r  for every row r                                                                  (1)

1. Find multipliers mu for the rows: within a budget from the path, else by cutting planes (`solvers.within.relaxation`).
2. Solve LP1's relaxation at these multipliers: a mixture of a few prunings, and the bound D(mu).
3. Improve the best pruning inside the mixture, and both it and the bound by branch and bound.
4. Prove the bound again for strangers (`solvers.within.proof`).

Where only the budget's row has a multiplier, the budget is solved alone. If its answer keeps to the other limits, it is the
answer: a limit that does not bind changes nothing.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from functools import cache, partial

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import NotNegative, Seconds, checked, checking
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit, limit_of_mean_cost
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from formulations.long_steps import timed_step
from formulations.programs.limit_rows import limit_rows
from solvers.within.call import LimitedCall, Method
from solvers.within.params import DEFAULTS, Effort, WithinParams

LOG = logging.getLogger(__name__)


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
    params: WithinParams = DEFAULTS,
) -> LimitedSolution:
    """The least error of all prunings within the limits, and how much better it could be.

        minimise error      s.t.  every limit                                                        (LP1, in 0-1 variables)

    Parameters
    ----------
    method
        ``"path"``: the relaxation, and the best pruning met on the way. ``"best"``: that, improved by a search. ``"exact"``: the
        same, then branch and bound until the gap is 0 or the limit is reached. Each is at least as good as the one before. On
        instances with a small first window "best" begins with branch and bound, too.
    time_limit
        seconds, the path and the proof included, but not what compiling takes in the first call on a new machine. Default: no
        limit of time, only one of `work`; then the same call gives the same answer under any load.
    work
        the most work of cuts, see `solvers.within.params`. Default, without a time limit: 10 for "best", 300 for "exact".
    path
        `pruning_path(problem)`, if it is known already. Without it "path" and "best" compute the part of it around the budget.
    incumbent
        a pruning within the limits to start from. The answer is never worse than it.
    progress
        True: show the progress of the path and of branch and bound on stderr. None: of a path that takes long.
    params
        other numbers for the search than the default ones.

    Returns
    -------
    LimitedSolution
        the pruning, within all limits in exact numbers; LP1's relaxation; the proven bound, and its proof.

    Raises
    ------
    InvalidInputError
        for limits that name no such item, currency or row, are negative, or less than every pruning uses; for an incumbent that
        exceeds the limits; for a path or an incumbent of another problem.
    InterruptedSolveError
        on Ctrl-C while the relaxation is computed. Later Ctrl-C ends the search, and the answer says `StopReason.INTERRUPTED`.
    """
    rows = limit_rows(problem, limits)
    if method != "path":
        _compile()
    started = time.perf_counter()
    by_clock = math.inf if time_limit is None else time_limit
    usual = {"path": math.inf, "best": params.best_work, "exact": params.exact_work}[method]
    most = work if work is not None else usual if time_limit is None else math.inf
    effort = Effort(most, started + (1.0 - params.proof_share) * by_clock, params=params)
    call = LimitedCall(rows, method, effort, started, started + by_clock, progress=progress)
    with timed_step(LOG, "pruning of %s within %d limits by %s", problem, len(limits), method):
        return call.solve(path, incumbent)


@checking
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
    params: WithinParams = DEFAULTS,
) -> LimitedSolution:
    """`solve_limits` within a budget, the one limit of the mean cost."""
    limit_of_mean_cost(problem, budget)  # refuses what is no budget
    return solve_limits(
        problem,
        [Limit(budget)],
        method=method,
        time_limit=time_limit,
        work=work,
        path=path,
        incumbent=incumbent,
        progress=progress,
        params=params,
    )


best_breakpoint = partial(within_budget, method="path")
best_within = partial(within_budget, method="best")
exact_budget = partial(within_budget, method="exact")


METHODS: tuple[Method, ...] = ("path", "best", "exact")


@cache
def _compile() -> None:
    """Compile the kernels, which on a new machine would take the whole limit of a stage, by solving the papers' two trees.

    With a budget of 1 the search works inside an edge of their path; with other prices and one or two limits it branches.
    """
    branching = two_trees(prices=(2, 2, 3))
    for problem, limits in (
        (two_trees(), [Limit(1)]),
        (branching, [Limit(3)]),
        (branching, [Limit(3), Limit(4, "splits")]),
    ):
        rows = limit_rows(problem, limits)
        LimitedCall(rows, "exact", Effort(), time.perf_counter(), math.inf, progress=False).solve(None, None)
