"""Linear relaxations with the complete answer of an engine: point, dual values and reduced costs by name."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError, SolverFailedError
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.programs.formulation import formulation_named
from formulations.programs.linear_program import LinearProgram, Named
from formulations.programs.matrix import MATRICES
from solvers.programs.engines import LINEAR_ENGINES
from solvers.programs.engines.answer import LinearAnswer, LinearEngine
from solvers.programs.rounding import is_integral
from solvers.programs.stoppable import PARAMS, Given, program_nonzeros, stoppable


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A solved relaxation.

    Parameters
    ----------
    program
        the linear program that was solved.
    point
        the values of the variables by name: ``point["z[3]"]``.
    dual
        d objective / d right-hand side of each row: <= 0 at rows <=, of any sign at equations.
    reduced_cost
        the cost less the rows' dual values times the column: >= 0 where the variable is 0, <= 0 where it is 1.
    objective
        the objective value of the point.
    answer
        the engine's answer: iterations, seconds, how it stopped.

    Examples
    --------
    >>> import prunemodels as pm
    >>> relaxation = pm.programs.solve_relaxation(pm.datasets.two_trees(), 0.1)
    >>> round(relaxation.objective, 3), relaxation.integral
    (0.425, True)
    """

    program: LinearProgram
    point: Named
    dual: Named
    reduced_cost: Named
    objective: float
    answer: LinearAnswer

    @property
    def integral(self) -> bool:
        """Whether every variable is within 1e-6 of an integer."""
        return is_integral(self.point.amounts)

    def __repr__(self) -> str:
        kind = "integral" if self.integral else "fractional"
        return f"Relaxation({self.program!r}, objective={self.objective:.9g}, {kind})"


def _no_point(given: Given) -> SolverFailedError:
    """The error where there is no point after so many seconds."""
    return SolverFailedError(f"{given['engine']} gave no point within {given['time_limit']:g} s; allow more time")


def _unsolved(given: Given, _: float) -> Relaxation:
    raise _no_point(given)


@checked
@stoppable(program_nonzeros, PARAMS.most_nonzeros, _unsolved)
def solve_relaxation(
    problem: PruningProblem,
    lam: float | None = None,
    *,
    budget: float | None = None,
    formulation: str = "IP3",
    engine: str = "highs",
    merge: bool = False,
    time_limit: Seconds = math.inf,
) -> Relaxation:
    """Solve the relaxation of a formulation, and give its dual values and reduced costs by name.

    Parameters
    ----------
    lam, budget
        error per unit of cost; LP1 takes the budget instead, IP0 neither.
    formulation
        a name in `formulations.programs.formulation.AS_ARRAYS`.
    engine
        a name in `solvers.programs.engines.LINEAR_ENGINES`.
    merge
        one variable for purchases with the same usage.
    time_limit
        seconds for building and solving, see `solvers.programs.stoppable`.

    Raises
    ------
    InvalidInputError
        for unknown names, negative numbers, and the wrong one of lam and budget for the formulation.
    SolverFailedError
        if the engine ends without a point and its dual values.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> for name in ("IP1", "IP3"):
    ...     relaxation = pm.programs.solve_relaxation(problem, 0.02, formulation=name)
    ...     print(f"{name}: {relaxation.objective:.4f}, integral: {relaxation.integral}")
    ...
    IP1: 0.1760, integral: False
    IP3: 0.3041, integral: True
    """
    started = time.perf_counter()
    program = program_of(problem, formulation, lam=lam, budget=budget, relax=True, merge=merge)
    answer = engine_named(engine)(program, time_limit=max(0.0, time_limit - (time.perf_counter() - started)))
    if answer.x is None or answer.row_dual is None or answer.reduced_cost is None:
        raise _no_point({"engine": engine, "time_limit": time_limit})
    point, reduced = Named(program.columns, answer.x), Named(program.columns, answer.reduced_cost)
    return Relaxation(program, point, Named(program.rows, answer.row_dual), reduced, answer.objective, answer)


def engine_named(name: str) -> LinearEngine:
    """An engine of the registry."""
    if name not in LINEAR_ENGINES:
        raise InvalidInputError(f"there is no engine {name!r} for linear programs; there are {', '.join(LINEAR_ENGINES)}")
    return LINEAR_ENGINES[name]


def program_of(
    problem: PruningProblem,
    formulation: str,
    *,
    lam: Price | None = None,
    budget: Price | None = None,
    relax: bool = False,
    merge: bool = False,
) -> LinearProgram:
    """A formulation as arrays, with the number that it takes; another number is refused."""
    takes = formulation_named(formulation).takes
    given = {name: number for name, number in (("lam", lam), ("budget", budget)) if number is not None}
    if tuple(given) != ((takes,) if takes else ()):
        wanted = takes or "neither lam nor budget"
        raise InvalidInputError(f"{formulation} takes {wanted}; {' and '.join(given) or 'neither'} was given")
    options = {"merge": merge} if takes else {}
    return MATRICES[formulation](problem, relax=relax, **options, **given)
