"""A budget for each class of examples: "on average at most 5 in the emergency room and at most 20 on the ward".

    minimise error      s.t.  cost_c <= B_c  for every class c                                                              (1)

cost_c is the mean cost over the class's own examples, see `formulations.programs.budget_rows`. The relaxation gives a lambda_c
for each class and a proven bound. Minimum cuts at multiples of these, and a greedy filling of the room that is left, give the
pruning.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from formulations.answers.budget_solution import Bounded
from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import SolverFailedError
from formulations.instance.problem import PruningProblem
from formulations.interruptions import interruption_as_error
from formulations.programs.budget_matrix import budget_rows_matrix
from formulations.programs.budget_rows import BudgetRows, ClassBudgets, class_rows
from solvers.budgets.by_class.cut import ClassCut
from solvers.budgets.by_class.relaxation import ClassRelaxation, relaxation_by_cuts, relaxation_by_program
from solvers.budgets.by_class.rounding import ClassRounding
from solvers.budgets.by_path import error_of
from solvers.budgets.listing import best_allowed, is_tiny
from solvers.closures.tree_pass import free_of_charge
from solvers.programs.budget_program import branch_within

Engine = Literal["cuts", "highs"]
Method = Literal["round", "exact"]


@dataclass(frozen=True, eq=False)
class ClassBudgetsSolution(Bounded):
    """The best pruning found within all budgets, with a proven bound.

    Parameters
    ----------
    budgets
        B_c by class, exactly.
    pruning
        the best pruning; its exact mean cost in every class is at most B_c.
    costs
        the mean cost of `pruning` by class, exactly.
    error
        the error of `pruning`.
    bound
        proven: no pruning within the budgets has a smaller error.
    relaxation
        the linear relaxation's value, up to rounding errors; inf if the time was over before it was known.
    lam
        by how much the error falls for another unit of each class's budget at the relaxation's optimum; 0 if the budget is slack.
    mixture
        the relaxation's optimum: prunings with their weights, at most one more than there are tight budgets.
    stopped
        the reason why the search ended.
    stats
        seconds and counts: for reports only.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem, y_valid
    >>> malignant = (y_valid == 0).to_numpy()
    >>> solution = pm.solve(problem, budget={"malignant": (malignant, 7), "benign": (~malignant, 4)})
    >>> {name: round(float(cost), 2) for name, cost in solution.costs.items()}
    {'malignant': 4.16, 'benign': 1.4}
    """

    HIDDEN: ClassVar[float] = 1e-9  # what cuts on a grid and HiGHS can hide

    problem: PruningProblem
    budgets: Mapping[str, Fraction]
    pruning: Pruning
    costs: Mapping[str, Fraction]
    error: float
    bound: float
    relaxation: float
    lam: Mapping[str, float]
    mixture: tuple[tuple[Pruning, float], ...]
    stopped: StopReason = StopReason.CONVERGED
    stats: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        costs = ", ".join(f"{c} {float(self.costs[c]):.6g} of {float(b):.6g}" for c, b in self.budgets.items())
        return f"ClassBudgetsSolution({self.status}, cost {costs}, error {self.error:.9g}, bound {self.bound:.9g})"


@checked
def solve_class_budgets(
    problem: PruningProblem,
    budgets: ClassBudgets,
    *,
    time_limit: Seconds = math.inf,
    engine: Engine = "cuts",
    method: Method = "round",
) -> ClassBudgetsSolution:
    """The least error with a budget for each class of examples.

    Parameters
    ----------
    budgets
        by the name of each class: its rows of the cost sample, as a bool mask over all rows or as their numbers, and B_c >= 0,
        the largest mean cost of its examples in the unit of the prices. Classes may overlap; rows in no class are not limited. An
        item that is paid once for all counts in full in every class, as it does in the cost.
    time_limit
        seconds. When they are over, the call returns the best pruning and the best bound so far.
    engine
        of the relaxation. "cuts": column generation whose pricing is a minimum cut, for a few classes at any size. "highs": the
        linear program with all budget rows, for small instances and many classes.
    method
        "round": round the relaxation, which leaves a gap. "exact": afterwards branch and bound by HiGHS, for small instances,
        until the gap is closed or the time is over.

    Raises
    ------
    InvalidInputError
        for unknown rows, classes without rows of positive weight, budgets that are negative or not numbers.
    SolverFailedError
        if HiGHS fails.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    rows = class_rows(problem, budgets)
    with interruption_as_error("during a search under budgets by class"):
        return _ClassBudgets(rows, time_limit).solve(engine, method)


class _ClassBudgets:
    """The search under budgets by class."""

    def __init__(self, rows: BudgetRows, time_limit: float) -> None:
        self.started = time.perf_counter()
        self.deadline = self.started + time_limit
        self.rows, self.cut = rows, ClassCut(rows)
        free = Pruning(rows.problem, free_of_charge(rows.problem, "smallest"))
        self.rounding = ClassRounding(self.cut, free, self.deadline)

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit, at least 0."""
        return max(0.0, self.deadline - time.perf_counter())

    def solve(self, engine: Engine, method: Method) -> ClassBudgetsSolution:
        """Solve the relaxation, round it, and branch if that was requested."""
        solve = relaxation_by_cuts if engine == "cuts" else relaxation_by_program
        relaxed = solve(self.cut, time_limit=self.seconds_left)
        seconds = time.perf_counter() - self.started
        for pruning in relaxed.met:
            self.rounding.offer(pruning)
        bound = relaxed.bound
        if not self._closed(bound):
            self.rounding.search(relaxed.lam)
            bound = max(bound, self.rounding.bound)
        if method == "exact" and not self._closed(bound) and not self.rounding.late:
            bound = max(bound, branch(self.rows, self.rounding, self.seconds_left))
        over = self.rounding.late and not self._closed(bound)
        return self._answer(relaxed, bound, seconds, StopReason.TIME_LIMIT if over else relaxed.stopped)

    def _closed(self, bound: float) -> bool:
        """Whether the gap is closed, up to rounding errors."""
        allowed = 1e-12 * float(self.cut.roots) + 2 * self.rows.problem.integers.error_rounding
        return self.cut.error(self.rounding.pruning) - bound <= allowed

    def _answer(self, relaxed: ClassRelaxation, bound: float, seconds: float, stopped: StopReason) -> ClassBudgetsSolution:
        rows, pruning = self.rows, self.rounding.pruning
        stats = {
            "seconds": time.perf_counter() - self.started,
            "relaxation_seconds": seconds,
            "rounds": float(relaxed.rounds),
            "cuts": float(self.rounding.cuts),
        }
        return ClassBudgetsSolution(
            rows.problem,
            dict(zip(rows.names, rows.limits, strict=True)),
            pruning,
            dict(zip(rows.names, rows.costs(pruning), strict=True)),
            error_of(pruning),
            bound,
            relaxed.value,
            dict(zip(rows.names, relaxed.lam.tolist(), strict=True)),
            relaxed.mixture,
            stopped,
            stats,
        )


def branch(rows: BudgetRows, rounding: ClassRounding, time_limit: float) -> float:
    """Branch and bound by HiGHS: offers the prunings that it finds to `rounding`, and returns its bound.

    Where HiGHS fails on a tiny forest, or its tolerances leave a gap, all prunings are listed.
    """
    problem, rounded = rows.problem, rows.problem.integers.error_rounding
    tiny = is_tiny(problem)
    try:
        found = branch_within(budget_rows_matrix(rows), rows, rounding.offer, time_limit=time_limit)
    except SolverFailedError:
        if not tiny:
            raise
    else:
        bound = found.bound - rounded
        if not tiny or rounding.late or error_of(rounding.pruning) - bound <= 1e-12 * Pruning.all_roots(problem).error + rounded:
            return bound
    optimum = best_allowed(problem, lambda pruning, _: rows.within(pruning))
    if optimum is not None:
        rounding.offer(optimum)
    return error_of(rounding.pruning) - 2 * rounded
