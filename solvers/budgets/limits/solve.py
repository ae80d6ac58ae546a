"""The least error within any number of limits: LP1 with R rows.

    minimise error      s.t.  use_r <= B_r  for every row r                                                                  (1)

The relaxation gives a multiplier for every row, a mixture of few prunings, and a proven bound. Closures at multiples of these
multipliers, and a filling of the room that is left, give the pruning. Branch and bound by HiGHS closes the gap of small
instances.
One limit of the mean cost is a budget, which the path solves: `solvers.budgets.solve`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitProof, LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status, StopReason, status_of
from formulations.arguments import NotNegative, Seconds, checked
from formulations.errors import SolverFailedError
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.long_steps import interruption_as_error
from formulations.programs.limit_matrix import limit_matrix
from formulations.programs.limit_rows import LimitRows, limit_rows
from solvers.budgets.by_path import error_of, raised
from solvers.budgets.limits.oracle import LagrangianOracle, Priced
from solvers.budgets.limits.relaxation import LimitsRelaxation, relax
from solvers.budgets.limits.rounding import Rounding
from solvers.budgets.listing import best_allowed, is_tiny
from solvers.budgets.solve import solve_budget
from solvers.programs.budget_program import branch_within
from solvers.programs.engines.highs import MOST_NODES

LimitMethod = Literal["path", "best", "exact"]

DRAWS = 30
"""Directions of the search that are drawn at random."""

WORK = 10.0
"""Seconds of closures by formula that the search for a pruning takes at most, see `solvers.budgets.effort`."""

MOST_BRANCHED, BRANCHED_ENTRIES = 10_000, 200_000
"""Usage arcs up to which "best" branches, too; and the most nodes times entries of the matrix, some ten seconds. "exact"
branches whatever the size."""

MOST_NEW_ROWS = 50
"""Rows that enter branch and bound at a time where a limit is about every example."""


@checked
def solve_limits(
    problem: PruningProblem,
    limits: Sequence[Limit],
    *,
    method: LimitMethod = "best",
    time_limit: Seconds | None = None,
    work: NotNegative | None = None,
) -> LimitsSolution:
    """The least error of all prunings within the limits, and how much better it could be.

        minimise error      s.t.  every limit                                                        (LP1, in 0-1 variables)

    Parameters
    ----------
    method
        ``"path"``: the relaxation and the best pruning met on the way. ``"best"``: that, improved by a search, and branch and
        bound where the instance is small. ``"exact"``: branch and bound until the gap is closed, or the time is over.
    time_limit
        seconds. When they are over, the call returns the best pruning and the best bound so far.
    work
        the most seconds of closures by formula that the search takes; default 10.

    Raises
    ------
    InvalidInputError
        for limits that name no such item, currency or row, that are negative or below what cannot be avoided.
    SolverFailedError
        if HiGHS fails.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    rows = limit_rows(problem, limits)
    with interruption_as_error("during a search within limits"):
        if len(limits) == 1 and limits[0].is_plain:
            return _budget(rows, method, time_limit, work)
        return _LimitsSearch(rows, math.inf if time_limit is None else time_limit, WORK if work is None else work).solve(method)


def solve_within(
    problem: PruningProblem,
    limits: Sequence[Limit],
    *,
    method: LimitMethod,
    time_limit: float | None,
    path: PruningPath | None,
    progress: bool | None = False,
) -> BudgetSolution | LimitsSolution:
    """`solve_limits`, and `solve_budget` where there is one limit and that a budget: with what only a budget has.

    Parameters
    ----------
    path, progress
        of `solve_budget`.
    """
    if len(limits) == 1 and limits[0].is_plain:
        options: dict[str, Any] = {"time_limit": time_limit, "path": path, "progress": progress}
        return solve_budget(problem, limits[0].at_most, method=method, **options)
    return replace(solve_limits(problem, limits, method=method, time_limit=time_limit), method=method)


def _budget(rows: LimitRows, method: LimitMethod, time_limit: float | None, work: float | None) -> LimitsSolution:
    """One limit of the mean cost: the answer of `solve_budget`, with the proof of its relaxation."""
    found = solve_budget(rows.problem, rows.rows[0].at_most, method=method, time_limit=time_limit, work=work)
    mixture, lam = found.relaxation, float(found.relaxation.lam)
    parts = ((mixture.dearer, float(mixture.weight)), (mixture.cheaper, float(1 - mixture.weight)))
    return LimitsSolution(
        rows.problem,
        rows.limits,
        (found.budget,),
        rows.uses(found.pruning),
        found.pruning,
        found.error,
        found.bound,
        float(mixture.value),
        (lam,),
        tuple((pruning, weight) for pruning, weight in parts if weight > 0),
        _proof(rows, LagrangianOracle(rows).solve(np.array([lam]))),
        found.stopped,
        found.stats,
    )


def _proof(rows: LimitRows, priced: Priced) -> LimitProof:
    """The proof of a closure's bound."""
    problem = rows.problem
    multipliers = tuple(
        (row.limit, int(problem.rows[row.members[0]]) if rows.limits[row.limit].each else None, Fraction(float(mu)))
        for row, mu in zip(rows.rows, priced.mu, strict=True)
        if mu
    )
    return LimitProof(multipliers, priced.certificate, priced.kept, priced.bound)


class _LimitsSearch:
    """The search within limits."""

    def __init__(self, rows: LimitRows, time_limit: float, work: float) -> None:
        self.started = time.perf_counter()
        self.deadline = self.started + time_limit
        self.rows, self.work, self.oracle = rows, work, LagrangianOracle(rows)

    def solve(self, method: LimitMethod) -> LimitsSolution:
        """Solve the relaxation, round it, and branch."""
        relaxed = relax(self.oracle, deadline=self.deadline)
        seconds = time.perf_counter() - self.started
        rounding = Rounding(self.oracle, relaxed.columns[0].kept, self.deadline, relaxed.proof, self.work)
        for column in relaxed.columns:
            rounding.offer(column.kept, column.use)
        if method != "path" and not rounding.over:
            rounding.search(relaxed.mu, relaxed.columns, DRAWS)
        bound = raised(self.rows.problem, rounding.proof.bound)
        small = self.rows.metered.n_usage_arcs <= MOST_BRANCHED
        if (method == "exact" or (method == "best" and small)) and not self._closed(rounding, bound) and not rounding.late:
            bound = max(bound, self._branch(rounding, relaxed, math.inf if method == "exact" else BRANCHED_ENTRIES))
        return self._answer(relaxed, rounding, bound, seconds)

    def _closed(self, rounding: Rounding, bound: float) -> bool:
        """Whether the gap is closed, up to rounding errors."""
        error = self.oracle.error(rounding.best)
        return status_of(error - bound, error, self.rows.problem.largest_error) is Status.OPTIMAL

    def _branch(self, rounding: Rounding, relaxed: LimitsRelaxation, entries: float) -> float:
        """Branch and bound by HiGHS, on more and more rows: offers the prunings that it finds, and returns its bound.

        `entries` is the most nodes times entries of the matrix. Where HiGHS fails on a tiny forest, or its tolerances leave a
        gap, all prunings are listed.
        """
        rows, bound, tiny = self.rows, -math.inf, is_tiny(self.rows.problem)
        active = np.flatnonzero(~rows.made_when_broken | (relaxed.mu > 0))
        while True:
            last: list[NDArray[np.bool_]] = []
            some = rows.only(active)

            def offer(pruning: Pruning, last: list[NDArray[np.bool_]] = last) -> None:
                last[:] = [pruning.kept]
                rounding.offer(pruning.kept)

            try:
                program, seconds = limit_matrix(some), max(0.0, self.deadline - time.perf_counter())
                nodes = MOST_NODES if entries == math.inf else max(1, int(entries / max(1, program.matrix.nnz)))
                found = branch_within(program, some, offer, time_limit=seconds, most_nodes=nodes)
                entries -= max(1, found.nodes) * program.matrix.nnz
            except SolverFailedError:
                if not tiny:
                    raise
                break
            bound = max(bound, raised(rows.problem, found.bound - float(rows.problem.gain_lost.sum())))
            over = self.oracle.uses(last[0]) - rounding.growth.room if last else np.zeros(len(rows.rows))
            over[active] = 0.0
            new = np.argsort(-over, kind="stable")[:MOST_NEW_ROWS]
            new = new[over[new] > 0]
            if new.size == 0 or entries <= 0 or time.perf_counter() >= self.deadline:
                break
            active = np.union1d(active, new)
        if not tiny or time.perf_counter() >= self.deadline or self._closed(rounding, bound):
            return bound
        optimum = best_allowed(rows.problem, rows.within)
        if optimum is not None:
            rounding.offer(optimum.kept)
        return self.oracle.error(rounding.best)

    def _answer(self, relaxed: LimitsRelaxation, rounding: Rounding, bound: float, seconds: float) -> LimitsSolution:
        rows, pruning = self.rows, rounding.best
        exact = rows.uses(pruning)
        uses, multipliers = [Fraction(0)] * len(rows.limits), [0.0] * len(rows.limits)
        at_most = [Fraction(0)] * len(rows.limits)
        for row, use, mu in zip(rows.rows, exact, relaxed.mu.tolist(), strict=True):
            uses[row.limit], at_most[row.limit] = max(uses[row.limit], use), row.at_most
            multipliers[row.limit] += mu
        late = time.perf_counter() >= self.deadline and not self._closed(rounding, bound)
        stats = {
            "seconds": time.perf_counter() - self.started,
            "relaxation_seconds": seconds,
            "rounds": float(relaxed.rounds),
            "closures": float(self.oracle.calls),
            "columns": float(len(relaxed.columns)),
        }
        return LimitsSolution(
            rows.problem,
            rows.limits,
            tuple(at_most),
            tuple(uses),
            pruning,
            error_of(pruning),
            bound,
            relaxed.value,
            tuple(multipliers),
            tuple((Pruning(rows.problem, column.kept), weight) for column, weight in relaxed.mixture),
            _proof(rows, rounding.proof),
            StopReason.TIME_LIMIT if late else relaxed.stopped,
            stats,
        )
