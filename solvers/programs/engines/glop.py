"""GLOP, OR-Tools' simplex, for linear programs. Its duals have the signs of `solvers.programs.engines.answer` already."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy import sparse

from formulations.answers.solution import StopReason
from formulations.errors import SolverFailedError
from formulations.programs.linear_program import LinearProgram
from solvers.programs.engines.answer import LinearAnswer, check_call, check_linear, linear_answer, no_answer
from solvers.programs.engines.scaling import exponent_of, scaled, unscaled
from solvers.programs.stoppable import MOST_NONZEROS, interruptible, linear_nonzeros, stoppable

WITHOUT_PREPROCESSING = "use_preprocessing: false"
"""The second try. Where coefficients are 14 powers of ten apart, preprocessing restores a point badly: "abnormal"."""


@stoppable(linear_nonzeros, MOST_NONZEROS, no_answer)
def glop(lp: LinearProgram, *, time_limit: float = math.inf) -> LinearAnswer:
    """Solve a linear program with GLOP.

    Parameters
    ----------
    time_limit
        seconds; if GLOP reaches them, it mostly returns no point.

    Raises
    ------
    InvalidInputError
        for an integer program.
    SolverFailedError
        if GLOP says infeasible or unbounded, or fails.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    from ortools.linear_solver.python import model_builder_helper as ortools

    check_linear(lp, "GLOP")
    limit = check_call(lp, time_limit)
    k = exponent_of(lp.cost)
    model = loaded_model(lp, k)
    started = time.perf_counter()
    solver = _solved(model, limit, "")
    if solver.status() == ortools.SolveStatus.ABNORMAL:
        solver = _solved(model, max(0.0, limit - (time.perf_counter() - started)), WITHOUT_PREPROCESSING)
    seconds = time.perf_counter() - started
    stopped = _stop_reason(solver, ortools.SolveStatus, limited=math.isfinite(limit))
    found = solver.has_solution()
    x = np.array(solver.variable_values(), dtype=np.float64) if found else None
    dual = unscaled(np.array(solver.dual_values(), dtype=np.float64), k) if found else None
    return linear_answer(lp, stopped, x, dual, iterations=math.nan, seconds=seconds)


def _solved(model: Any, limit: float, parameters: str) -> Any:
    """The solver after it has solved a model, whatever came of it."""
    from ortools.linear_solver.python import model_builder_helper as ortools

    solver = ortools.ModelSolverHelper("glop")
    if not solver.solver_is_supported():
        raise SolverFailedError("this build of OR-Tools is without GLOP; install ortools from PyPI")
    solver.set_solver_specific_parameters(parameters)
    if math.isfinite(limit):
        solver.set_time_limit_in_seconds(limit)
    interruptible(lambda: solver.solve(model), solver.interrupt_solve, "GLOP")
    return solver


def loaded_model(lp: LinearProgram, k: int) -> Any:
    """OR-Tools' model of the program, objective scaled by 2^k, without the offset and without integers."""
    from ortools.linear_solver.python import model_builder_helper as ortools

    # Any: the stub's array types are those of an older numpy
    model: Any = ortools.ModelBuilderHelper()
    model.fill_model_from_sparse_data(
        lp.lower, lp.upper, scaled(lp.cost, k), lp.row_lower, lp.row_upper, sparse.csr_matrix(lp.matrix)
    )
    return model


def _stop_reason(solver: Any, states: Any, *, limited: bool) -> StopReason:
    state = solver.status()
    if state == states.OPTIMAL:
        return StopReason.CONVERGED
    # GLOP reports no other status at its limit, which it reaches slightly before ours
    if limited and state in (states.FEASIBLE, states.NOT_SOLVED):
        return StopReason.TIME_LIMIT
    if state == states.CANCELLED_BY_USER:
        return StopReason.INTERRUPTED
    raise SolverFailedError(
        f"GLOP ended with the status {state.name} {solver.status_string()!r}; "
        "our programs are feasible and bounded, so check bounds and coefficients, or try another engine"
    )
