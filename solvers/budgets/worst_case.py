"""A worst-case budget: no single example costs more than B.

    minimise error      s.t.  cost of example i <= B   for every example i of the cost sample                              (1)

This is the problem of `solvers.budgets.by_class.solve` with every example as a class of its own, so with one budget row for each
example. The relaxation is weak, because a mixture can satisfy each row alone. So (1) is solved by branch and bound, which is
possible for small instances only. In large instances, limit the mean cost or the mean cost of a class.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from formulations.answers.budget_solution import Bounded
from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.interruptions import interruption_as_error
from formulations.programs.budget_rows import BudgetRows, example_rows
from solvers.budgets.by_class.cut import ClassCut
from solvers.budgets.by_class.rounding import ClassRounding
from solvers.budgets.by_class.solve import branch
from solvers.budgets.by_path import error_of
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.pruning_path import pruning_path

MOST_ARCS = 100_000
"""Instances with more usage arcs are refused. With 40,000 arcs, 1 % of the attainable gain was still open after a minute."""


@dataclass(frozen=True, eq=False)
class WorstCaseSolution(Bounded):
    """The best pruning found for which no example of the cost sample pays more than the budget.

    Parameters
    ----------
    budget
        B, exactly.
    pruning
        the best pruning found.
    dearest
        the largest cost of an example under `pruning`, exactly; at most B.
    error
        the error of `pruning`.
    bound
        no pruning within B has a smaller error. It is HiGHS' bound less what its tolerances can hide, or the least error without
        a budget.
    stopped
        the reason why the search ended.
    stats
        seconds and counts: for reports only.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.budgets.solve_worst_case(problem, 8)
    >>> solution
    WorstCaseSolution(optimal, dearest 8 of 8, error 0.231, bound 0.231)
    >>> solution.dearest
    Fraction(8, 1)
    """

    HIDDEN: ClassVar[float] = 1e-6  # what HiGHS' tolerances can hide

    problem: PruningProblem
    budget: Fraction
    pruning: Pruning
    dearest: Fraction
    error: float
    bound: float
    stopped: StopReason = StopReason.CONVERGED
    stats: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"WorstCaseSolution({self.status}, dearest {float(self.dearest):.6g} of {float(self.budget):.6g}, "
            f"error {self.error:.9g}, bound {self.bound:.9g})"
        )


@checked
def solve_worst_case(problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf) -> WorstCaseSolution:
    """The least error where every single example of the cost sample costs at most the budget.

    Parameters
    ----------
    budget
        B >= 0, in the unit of the prices: the largest cost of any prediction, evaluation included. Items that are paid once for
        all count in full for each example. Examples outside the cost sample may cost more.
    time_limit
        seconds. When they are over, the call returns the best pruning and the best bound so far.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, and for instances of more than a hundred thousand usage arcs.
    SolverFailedError
        if HiGHS fails.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.budgets.solve_worst_case(problem, 8)  # no single example pays more than 8
    WorstCaseSolution(optimal, dearest 8 of 8, error 0.231, bound 0.231)
    """
    started = time.perf_counter()
    if problem.n_usage_arcs > MOST_ARCS:
        raise InvalidInputError(
            f"a worst-case budget needs branch and bound with a row for each example: the instance has {problem.n_usage_arcs:,} "
            f"usage arcs, the limit is {MOST_ARCS:,}; give fewer cost rows or trees, or a budget for each class of examples"
        )
    rows = example_rows(problem, budget)
    with interruption_as_error("during a search under a worst-case budget"):
        return _solve(rows, started, time_limit)


def _solve(rows: BudgetRows, started: float, time_limit: float) -> WorstCaseSolution:
    problem, cut = rows.problem, ClassCut(rows)
    free = Pruning(problem, free_of_charge(problem, "smallest"))
    rounding = ClassRounding(cut, free, started + time_limit)
    unlimited = Pruning(problem, without_prices(problem, "smallest"))
    bound = cut.error(unlimited) - problem.integers.error_rounding
    if not rounding.offer(unlimited):
        _offer_breakpoint(rounding)
        seconds_left = started + time_limit - time.perf_counter()
        if seconds_left > 0:
            bound = max(bound, branch(rows, rounding, seconds_left))
    pruning = rounding.pruning
    error = error_of(pruning)
    stats = {"seconds": time.perf_counter() - started, "rows": float(len(rows.names))}
    late = rounding.late and error > bound
    return WorstCaseSolution(
        problem,
        rows.limits[0],
        pruning,
        max(rows.costs(pruning)),
        error,
        bound,
        StopReason.TIME_LIMIT if late else StopReason.CONVERGED,
        stats,
    )


def _offer_breakpoint(rounding: ClassRounding) -> None:
    """Offer the best breakpoint of the path that fits, and fill it up. It is the answer if the time is short.

    Every example's cost falls along the path, because the prunings are nested. So the breakpoint is found by bisection.
    """
    path = pruning_path(rounding.cut.rows.problem, certificate=False)
    low, high = 0, len(path) - 1
    while low < high and not rounding.late:
        middle = (low + high) // 2
        if rounding.offer(path[middle]):
            high = middle
        else:
            low = middle + 1
    rounding.offer(path[high])
    rounding.fill(rounding.pruning, np.full(rounding.cut.limits.size, 1.0 / rounding.cut.limits.size))
