"""GLOP, the simplex, and PDLP, the first-order method, of OR-Tools for linear programs.

GLOP's duals have the signs of `solvers.programs.engines` already. PDLP uses matrix-vector products only, so it can solve
programs that are too large to factorise. It ends when, in the scaled objective and the Euclidean norm, with e = 1e-8,

    |primal - dual objective| <= e (1 + |primal| + |dual|)
    |row violation| <= e (1 + |sides of rows|),   |violation of the duals' signs| <= e (1 + |cost|)

The absolute part is needed: where all sides of rows are 0 a relative one alone is never reached.

OR-Tools' module `ortools.pdlp` holds Python's lock while it solves, so that nothing can stop it. OR-Tools' general interface
releases the lock, and returns the last iterate and the log too.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy import sparse

from formulations.answers.solution import StopReason
from formulations.errors import SolverFailedError
from formulations.programs.linear_program import LinearProgram
from solvers.programs.engines import (
    PARAMS,
    LinearAnswer,
    check_call,
    check_linear,
    exponent_of,
    interruptible,
    linear_answer,
    linear_nonzeros,
    no_answer,
    scaled,
    stoppable,
    unscaled,
)


@stoppable(linear_nonzeros, PARAMS.most_nonzeros, no_answer)
def pdlp(lp: LinearProgram, *, time_limit: float = math.inf) -> LinearAnswer:
    """Solve a linear program with PDLP; at a limit the answer holds the last iterate and its duals.

    Where PDLP gives up because its numbers become too large or too small, the answer says ITERATION_LIMIT too.
    """
    check_linear(lp, "PDLP")
    limit = check_call(lp, time_limit)
    if lp.shape[1] == 0:  # PDLP rejects a program without columns as invalid
        return _without_columns(lp)
    k = exponent_of(lp.cost)
    # with more threads than rows and columns PDLP prints a warning
    threads = max(1, min(PARAMS.most_threads, max(lp.shape))) if lp.matrix.nnz > PARAMS.one_thread_nonzeros else 1
    model, solver = loaded_model(lp, k), _solver("PDLP", _parameters(limit, threads))
    started = time.perf_counter()
    interruptible(lambda: solver.solve(model), solver.interrupt_solve, "PDLP")
    seconds = time.perf_counter() - started
    response = solver.response()
    stopped, iterations = _how_it_ended(response)
    x = np.array(response.variable_value, dtype=np.float64)
    dual = unscaled(np.array(response.dual_value, dtype=np.float64), k)
    if not (np.isfinite(x).all() and np.isfinite(dual).all()):
        return linear_answer(lp, stopped, None, None, iterations=iterations, seconds=seconds)
    return linear_answer(lp, stopped, x, dual, iterations=iterations, seconds=seconds)


def _without_columns(lp: LinearProgram) -> LinearAnswer:
    if (lp.row_lower > 0).any() or (lp.row_upper < 0).any():
        raise SolverFailedError("a program without columns has rows that 0 does not satisfy; check their bounds")
    return linear_answer(lp, StopReason.CONVERGED, np.zeros(0), np.zeros(lp.shape[0]), iterations=0.0, seconds=0.0)


def _parameters(limit: float, threads: int) -> str:
    from ortools.pdlp import solvers_pb2

    parameters = solvers_pb2.PrimalDualHybridGradientParams()
    parameters.num_threads = threads
    parameters.verbosity_level = 0
    parameters.use_feasibility_polishing = False
    parameters.presolve_options.use_glop = False  # it made no difference on our programs
    criteria = parameters.termination_criteria
    criteria.simple_optimality_criteria.eps_optimal_relative = PARAMS.optimality
    criteria.simple_optimality_criteria.eps_optimal_absolute = PARAMS.optimality
    if math.isfinite(limit):
        criteria.time_sec_limit = limit
    criteria.iteration_limit = PARAMS.first_order_iterations
    return str(parameters)


def _how_it_ended(response: Any) -> tuple[StopReason, float]:
    """The reason why PDLP stopped and the number of iterations, from the log in its answer."""
    from ortools.pdlp import solve_log_pb2

    log = solve_log_pb2.SolveLog()
    log.ParseFromString(response.solver_specific_info)
    name = solve_log_pb2.TerminationReason.Name(log.termination_reason).removeprefix("TERMINATION_REASON_")
    reasons = {
        "OPTIMAL": StopReason.CONVERGED,
        "TIME_LIMIT": StopReason.TIME_LIMIT,
        "ITERATION_LIMIT": StopReason.ITERATION_LIMIT,
        "NUMERICAL_ERROR": StopReason.ITERATION_LIMIT,
        "INTERRUPTED_BY_USER": StopReason.INTERRUPTED,
    }
    if name not in reasons:
        raise SolverFailedError(
            f"PDLP ended with {name} {log.termination_string or response.status_str!r}; "
            "our programs are feasible and bounded, so check bounds and coefficients, or try another engine"
        )
    return reasons[name], float(log.iteration_count)


WITHOUT_PREPROCESSING = "use_preprocessing: false"
"""The second try. Where coefficients are 14 powers of ten apart, preprocessing restores a point badly: "abnormal"."""


@stoppable(linear_nonzeros, PARAMS.most_nonzeros, no_answer)
def glop(lp: LinearProgram, *, time_limit: float = math.inf) -> LinearAnswer:
    """Solve a linear program with GLOP; where it reaches the time limit, it mostly returns no point."""
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


def _solver(name: str, parameters: str) -> Any:
    """One of OR-Tools' solvers, with parameters as its own text has them."""
    from ortools.linear_solver.python import model_builder_helper as ortools

    solver = ortools.ModelSolverHelper(name.lower())
    if not solver.solver_is_supported():
        raise SolverFailedError(f"this build of OR-Tools is without {name}; install ortools from PyPI")
    solver.set_solver_specific_parameters(parameters)
    return solver


def _solved(model: Any, limit: float, parameters: str) -> Any:
    """The solver after it has solved a model, whatever came of it."""
    solver = _solver("GLOP", parameters)
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
