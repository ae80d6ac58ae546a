"""One engine's solve of one instance: seconds, memory, and what it answers."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import BudgetSolution, BudgetSolver
from formulations.answers.solution import Solver, StopReason
from formulations.errors import InvalidInputError, PruneModelsError, SolverFailedError
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.machine import PeakMemory
from solvers import SOLVERS, price_sharing
from solvers.budgets import BUDGET_SOLVERS
from solvers.child_process import in_this_process

WARM_UP_LAM = 0.1
"""Lambda for the papers' two trees, on which every engine is run first."""

WARM_UP_BUDGET = 1
"""Budget for the same trees, inside an edge of their hull."""


@dataclass(frozen=True)
class Run:
    """One engine at one lambda or one budget.

    Parameters
    ----------
    solver
        a name in `SOLVERS` or, for a budget, in `BUDGET_SOLVERS`; or ``"module:function"``.
    number
        lambda or the budget.
    """

    solver: str
    number: float | Fraction
    is_budget: bool

    def arguments(self) -> list[str]:
        """The run as words of a command line."""
        kind = "fraction" if isinstance(self.number, Fraction) else "float"
        return [self.solver, "budget" if self.is_budget else "lam", kind, str(self.number)]

    @classmethod
    def of(cls, arguments: list[str]) -> Run:
        """The run with these `arguments`."""
        solver, goal, kind, number = arguments
        return cls(solver, Fraction(number) if kind == "fraction" else float(number), goal == "budget")


@dataclass(frozen=True, eq=False)
class Task:
    """The instance that every engine solves, with the time limit.

    Parameters
    ----------
    grace, start_up
        seconds after the limit, and before the solve begins, after which an engine in a process of its own is ended.
    """

    problem: PruningProblem
    time_limit: float
    grace: float = math.inf
    start_up: float = math.inf


@dataclass(frozen=True, eq=False)
class MixtureAnswer:
    """The optimum of LP1's relaxation that an engine has found, see `formulations.answers.budget_solution.Mixture`."""

    lam: Fraction
    weight: Fraction
    cheaper: NDArray[np.bool_]
    dearer: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of an engine's solve.

    Parameters
    ----------
    outcome
        ``"solved"``, ``"refused"``, ``"crashed"`` or ``"time limit"``; the fields after `peak_bytes` only have a meaning if it
        was solved.
    note
        why there is no answer.
    seconds
        duration of the solve, without imports and compilation.
    peak_bytes
        peak memory above what the process held before; None if unknown.
    kept
        bool, shape (n,): the splits kept; None without a pruning.
    mixture
        of an engine for budgets; None at a lambda.
    """

    outcome: str
    note: str = ""
    seconds: float = math.nan
    peak_bytes: int | None = None
    stopped: StopReason = StopReason.CONVERGED
    kept: NDArray[np.bool_] | None = None
    bound: float = math.nan
    tolerance: float = 0.0
    stats: Mapping[str, float] = field(default_factory=dict)
    method: str = ""
    mixture: MixtureAnswer | None = None


def find_engine(name: str, *, is_budget: bool = False) -> Solver | BudgetSolver:
    """An engine by its name in `SOLVERS` or, for budgets, `BUDGET_SOLVERS`; or any other as ``module:function``.

    Raises
    ------
    InvalidInputError
        if it is neither.
    """
    registry: Mapping[str, Solver | BudgetSolver] = BUDGET_SOLVERS if is_budget else SOLVERS
    if name in registry:
        return registry[name]
    module, colon, function = name.partition(":")
    if not colon:
        known = "BUDGET_SOLVERS" if is_budget else "SOLVERS"
        raise InvalidInputError(
            f"the engine {name!r} is in the {known} of another process only; name it as 'module:function', or take isolate=False"
        )
    found: Solver | BudgetSolver = getattr(importlib.import_module(module), function)
    return found


def solve(run: Run, task: Task, begun: Callable[[], object] = lambda: None) -> Answer:
    """Warm an engine up and have it solve the task; `begun` is called in between.

    An exception of the engine becomes part of the answer; only Ctrl-C is passed on.
    """
    try:
        engine = find_engine(run.solver, is_budget=run.is_budget)
        _warm_up(engine, is_budget=run.is_budget)
        begun()
        with in_this_process(), PeakMemory() as memory:
            start = time.perf_counter()
            # the protocol says float, but exact engines also take fractions
            solution = engine(task.problem, run.number, time_limit=task.time_limit)  # type: ignore[arg-type]
            seconds = time.perf_counter() - start
        kept = None if solution.pruning is None else solution.pruning.kept
        mixture = tolerance = None
        if isinstance(solution, BudgetSolution):
            relaxed = solution.relaxation
            mixture = MixtureAnswer(relaxed.lam, relaxed.weight, relaxed.cheaper.kept, relaxed.dearer.kept)
        else:
            tolerance = solution.tolerance
        return Answer(
            outcome="solved",
            seconds=seconds,
            peak_bytes=memory.bytes,
            stopped=solution.stopped,
            kept=kept,
            bound=solution.bound,
            tolerance=tolerance or 0.0,
            stats=dict(solution.stats),
            method=solution.method,
            mixture=mixture,
        )
    except KeyboardInterrupt:  # among them InterruptedSolveError
        raise
    except SolverFailedError as error:
        return Answer("crashed", str(error))
    except PruneModelsError as error:
        return Answer("refused", str(error))
    except Exception as error:
        return Answer("crashed", f"{type(error).__name__}: {error}".removesuffix(": "))


def _warm_up(engine: Solver | BudgetSolver, *, is_budget: bool = False) -> None:
    """Solve a tiny instance, so that everything is imported and compiled before the time is measured."""
    # price sharing would cut so small an instance at once, and compile no round
    options = {"small_core": 0} if engine is price_sharing else {}
    try:
        engine(two_trees(), WARM_UP_BUDGET if is_budget else WARM_UP_LAM, **options)
    except KeyboardInterrupt:
        raise
    except PruneModelsError:  # engines for a single tree refuse two
        pass
