"""A budget for the dearest prediction: no single example costs more than B.

    minimise error      s.t.  cost of example i <= B   for every example i of the cost sample                              (1)

One budget row an example, which is the case of `solvers.budgets.by_class.solve` where every example is a class of its own. The
relaxation is weak (each row alone can be met by a mixture), so (1) is solved by branch and bound, on small instances. For large
ones limit the mean, or the mean of a class.
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
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.programs.budget_rows import BudgetRows, example_rows
from solvers.budgets.by_class.cut import ClassCut
from solvers.budgets.by_class.rounding import ClassRounding
from solvers.budgets.by_class.solve import branch
from solvers.budgets.by_path import error_of
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.pruning_path import pruning_path

MOST_ARCS = 100_000
"""Usage arcs. With 40,000 of them 1 % of the attainable gain was still open after a minute; more is no small instance."""


@dataclass(frozen=True, eq=False)
class WorstCaseSolution(Bounded):
    """The best pruning found that no example of the cost sample pays more than the budget for.

    Parameters
    ----------
    budget
        B, exactly.
    pruning
        the best found.
    dearest
        what the dearest example pays under `pruning`, exactly; at most B.
    error
        of `pruning`.
    bound
        no pruning within B has a smaller error: HiGHS' bound less what its tolerances can hide, or that without any budget.
    stopped
        why the search ended.
    stats
        seconds and counts: for reports only.
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


def solve_worst_case(problem: PruningProblem, budget: Price, *, time_limit: float = math.inf) -> WorstCaseSolution:
    """The least error where every single example of the cost sample costs at most the budget.

    Parameters
    ----------
    budget
        B >= 0, in the unit of the prices: what the dearest prediction may cost, evaluation included. Items that are paid once for
        all count in full for each example. Other examples than those of the cost sample may cost more.
    time_limit
        seconds. Past it the best pruning and the best bound so far.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or no number, and for instances of more than a hundred thousand usage arcs.
    SolverFailedError
        if HiGHS fails.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    began = time.perf_counter()
    if not time_limit >= 0:
        raise InvalidInputError(f"time_limit is {time_limit!r}; it must be 0 or more")
    if problem.n_usage_arcs > MOST_ARCS:
        raise InvalidInputError(
            f"a worst-case budget takes branch and bound with a row for each example: the instance has {problem.n_usage_arcs:,} "
            f"usage arcs, at most {MOST_ARCS:,} are taken; give fewer cost rows or trees, or a budget for each class of examples"
        )
    rows = example_rows(problem, budget)
    try:
        return _solve(rows, began, time_limit)
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted during a search under a worst-case budget; nothing was changed") from stop


def _solve(rows: BudgetRows, began: float, time_limit: float) -> WorstCaseSolution:
    problem, cut = rows.problem, ClassCut(rows)
    free = Pruning(problem, free_of_charge(problem, "smallest"))
    rounding = ClassRounding(cut, free, began + time_limit)
    unlimited = Pruning(problem, without_prices(problem, "smallest"))
    bound = cut.error(unlimited) - problem.integers.error_rounding
    if not rounding.offer(unlimited):
        _first(rounding)
        left = began + time_limit - time.perf_counter()
        if left > 0:
            bound = max(bound, branch(rows, rounding, left))
    pruning = rounding.pruning
    error = error_of(pruning)
    stats = {"seconds": time.perf_counter() - began, "rows": float(len(rows.names))}
    late = rounding.late and error > bound
    return WorstCaseSolution(
        problem,
        rows.limits[0],
        pruning,
        max(rows.costs(pruning)),
        error,
        min(bound, error),
        StopReason.TIME_LIMIT if late else StopReason.CONVERGED,
        stats,
    )


def _first(rounding: ClassRounding) -> None:
    """The best breakpoint of the path that fits, filled up: an answer where the time is short.

    Every example's cost falls along the path, as the prunings are nested.
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
