"""From an engine's answer to a solution. No number of the engine is trusted but the point and the dual values themselves.

The pruning is the best level set of the point (`solvers.closures.tree_pass`). Where that does not help it is the best pruning
that is free of charge.

The bound of a relaxation is recomputed in integers from the dual values of the rows that bind nodes to purchases
(`solvers.closures.min_cut`). A relaxation with fractional vertices is worth less than the optimum. Such an engine states what the
relaxation is worth, by weak duality,

    offset + sum_r (row_lower_r q_r^+ - row_upper_r q_r^-) + sum_j min(d_j lower_j, d_j upper_j),   d = cost - q A          (1)

even where the same dual values prove more of the optimum. The bound of an integer program is the engine's, less what its
tolerances can hide. `Relaxation` is the complete answer of an engine instead: point, dual values and reduced costs by name.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals, Solution, StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError, SolverFailedError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from formulations.programs.formulation import BY_NAME, formulation_named
from formulations.programs.linear_program import INTEGRAL, LinearProgram, Named, columns_of
from formulations.programs.matrix import MATRICES
from solvers.closures.integer_objective import IntegerObjective, integer_objective
from solvers.closures.min_cut import integer_duals, proven_bound, zero_duals
from solvers.closures.tree_pass import best_level_set, free_of_charge, splits_kept
from solvers.programs.engines import PARAMS, Given, LinearAnswer, LinearEngine, program_nonzeros, stoppable
from solvers.programs.highs import highs
from solvers.programs.or_tools import glop, pdlp

LINEAR_ENGINES: dict[str, LinearEngine] = {
    "highs": highs,
    "highs_ipm": partial(highs, method="ipm"),
    "highs_pdlp": partial(highs, method="pdlp"),
    "glop": glop,
    "pdlp": pdlp,
}
"""Engines for linear programs; ``highs`` takes integer ones too. A new engine is one file and one line here.

The native libraries are imported when an engine is called.
"""


def relaxation_solution(
    problem: PruningProblem,
    lam: float,
    program: LinearProgram,
    answer: LinearAnswer,
    formulation: str,
    *,
    merge: bool,
    started: float,
) -> Solution:
    """The solution that follows from a relaxation's answer, with its duals as certificate.

    `formulation`, `merge`: the formulation of `program`, and whether its purchases are merged. `started`: `time.perf_counter()`
    when building the program began.
    """
    rate = exact(lam, "lam")
    pruning = _rounded(problem, program, answer, lam)
    objective = integer_objective(problem, rate).refined()
    duals = _duals(problem, objective, program, answer, formulation, merge=merge)
    bound = proven_bound(problem, objective, duals, pruning, rate)
    if not BY_NAME[formulation].integral and answer.row_dual is not None:
        bound = min(bound, relaxation_bound(program, answer.row_dual))
    stats = program_stats(program, answer, started)
    value = pruning.value(float(lam))
    return Solution(problem, lam, pruning, value, bound, answer.stopped, duals, stats, "linear_program")


def integer_solution(
    problem: PruningProblem,
    lam: float,
    program: LinearProgram,
    answer: LinearAnswer,
    *,
    started: float,
) -> Solution:
    """The solution that follows from branch and bound, without a certificate.

    The trees without prices give a bound, too, which counts where branch and bound has none yet. Parameters as in
    `relaxation_solution`.
    """
    rate = exact(lam, "lam")
    pruning = _rounded(problem, program, answer, lam)
    value, objective = pruning.value(float(lam)), integer_objective(problem, rate)
    trees_alone = proven_bound(problem, objective, zero_duals(problem, objective), pruning, rate)
    bound = min(value, max(answer.bound, trees_alone))
    stats = program_stats(program, answer, started)
    return Solution(problem, lam, pruning, value, bound, answer.stopped, None, stats, "integer_program")


def unsolved(given: dict[str, Any], seconds: float) -> Solution:
    """The solution where nothing was found in time: the best pruning free of charge, and the trees' bound without prices.

    `given`: arguments of an engine: problem and lam.
    """
    problem, lam = given["problem"], given["lam"]
    rate = exact(lam, "lam")
    pruning = Pruning(problem, free_of_charge(problem, "smallest"))
    objective = integer_objective(problem, rate).refined()
    duals = zero_duals(problem, objective)
    bound, value = proven_bound(problem, objective, duals, pruning, rate), pruning.value(float(lam))
    return Solution(problem, lam, pruning, value, bound, StopReason.TIME_LIMIT, duals, {"seconds": seconds})


def relaxation_bound(program: LinearProgram, row_dual: NDArray[np.float64]) -> float:
    """(1): a lower bound of the program from any dual values, even if they are far from optimal.

    The largest possible rounding error of the sums is subtracted.
    """
    # a dual value against an absent side of its row would cost infinity
    q = np.where(np.isinf(program.row_lower), np.minimum(row_dual, 0.0), row_dual)
    q = np.where(np.isinf(program.row_upper), np.maximum(q, 0.0), q)
    sides = np.where(q > 0, program.row_lower, np.where(q < 0, program.row_upper, 0.0)) * q
    reduced = program.cost - program.matrix.T @ q
    ends = np.minimum(reduced * program.lower, reduced * program.upper)
    # a sum has at most one relative rounding error for each term; the sums over columns are the longest
    charged = abs(program.matrix).T @ np.abs(q)
    size = abs(program.offset) + sum(float(np.abs(a).sum()) for a in (program.cost, sides, charged))
    terms = 64 + int(np.bincount(program.matrix.indices, minlength=1).max(initial=0))
    return program.offset + float(sides.sum()) + float(ends.sum()) - size * terms * 2.0**-53


def is_integral(x: NDArray[np.float64]) -> bool:
    """Whether every number is an integer up to `INTEGRAL`."""
    return bool((np.abs(x - np.rint(x)) <= INTEGRAL).all())


def program_stats(program: LinearProgram, answer: LinearAnswer, started: float) -> dict[str, float]:
    """Sizes of the program and figures of its solution, for reports."""
    rows, columns = program.shape
    stats = {
        "seconds": time.perf_counter() - started,
        "solve_seconds": answer.seconds,
        "rows": float(rows),
        "columns": float(columns),
        "nonzeros": float(program.matrix.nnz),
        "iterations": answer.iterations,
    }
    if not math.isnan(answer.nodes):
        stats["nodes"] = answer.nodes
    if answer.x is not None:
        stats |= {"objective": answer.objective, "integral": float(is_integral(answer.x))}
    return stats


def _rounded(problem: PruningProblem, program: LinearProgram, answer: LinearAnswer, lam: float) -> Pruning:
    """The best level set, or the best pruning free of charge if that is better or if there is no point."""
    free = Pruning(problem, free_of_charge(problem, "smallest"))
    if answer.x is None:
        return free
    rounded = best_level_set(problem, splits_kept(problem, program, answer.x), float(lam))
    return min(rounded, free, key=lambda pruning: pruning.value(float(lam)))


def _duals(
    problem: PruningProblem,
    objective: IntegerObjective,
    program: LinearProgram,
    answer: LinearAnswer,
    formulation: str,
    *,
    merge: bool,
) -> ItemDuals:
    """The certificate that the dual values of the relaxation give."""
    known = BY_NAME[formulation]
    if answer.row_dual is None or (known.binding_rows is None and not known.one_tree):
        return zero_duals(problem, objective)
    columns = columns_of(problem, known.arcs, merge=merge)
    if known.binding_rows is None:
        return integer_duals(problem, objective, columns, np.full(columns.node.size, math.inf))
    return integer_duals(problem, objective, columns, -answer.row_dual[program.rows.of(known.binding_rows)])


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
        a name in `solvers.programs.rounding.LINEAR_ENGINES`.
    merge
        one variable for purchases with the same usage.
    time_limit
        seconds for building and solving, see `solvers.programs.engines`.

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
