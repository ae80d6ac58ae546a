"""HiGHS: simplex, interior point and PDLP for linear programs, branch and cut for integer ones.

The bound of an integer program is HiGHS' dual bound less what its tolerances may hide,

    t * (1 + sum_j (upper_j - lower_j))          t = 1e-9, in units of the scaled cost                                     (1)

because its linear programs may err by t in each reduced cost, and nodes within t of the incumbent are cut off. The bound is
-inf for a column without bounds.

Presolve is on for methods that end in a vertex, and off for the others: after presolve, postsolve returned interior dual points
with errors of whole units (reduced costs of 10 where 1e-7 was requested, seen with 1.13.1).
"""

from __future__ import annotations

import math
import time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import StopReason
from formulations.errors import SolverFailedError
from formulations.extras import package
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
    objective_of,
    scaled,
    stoppable,
    unscaled,
)

Method = Literal["simplex", "ipm", "pdlp"]

MOST_NODES = 2**31 - 1
"""HiGHS' own limit of nodes."""


@stoppable(linear_nonzeros, PARAMS.most_nonzeros, no_answer)
def highs(
    lp: LinearProgram, *, time_limit: float = math.inf, method: Method = "simplex", most_nodes: int = MOST_NODES
) -> LinearAnswer:
    """Solve a linear or integer program with HiGHS.

    At the time limit the answer holds the incumbent of an integer program, the last iterate of a linear program, which need not
    be feasible, or no point. Linear programs are solved by the dual simplex, the interior point method without crossover to a
    vertex, or the first-order method PDLP. If the last two stop before a relative tolerance of 1e-8 is reached, the answer says
    ITERATION_LIMIT; so it does after 100,000 iterations of PDLP, and after `most_nodes` of branch and cut: limits that do not
    depend on the clock.
    """
    if method != "simplex":
        check_linear(lp, f"HiGHS with method {method!r}")
    limit = check_call(lp, time_limit)
    # tolerances are absolute, so costs come scaled, see (1) of `solvers.programs.engines`, and so do rows that HiGHS would refuse
    k = exponent_of(lp.cost)
    rows = _row_exponents(lp)
    solver = _loaded(lp, k, rows)
    vertex = method == "simplex"
    _set(
        solver,
        solver="choose" if lp.integer.any() else method,
        presolve="choose" if vertex else "off",
        run_crossover="on" if vertex else "off",
        time_limit=limit,
        primal_feasibility_tolerance=PARAMS.tolerance,
        dual_feasibility_tolerance=PARAMS.tolerance,
        ipm_optimality_tolerance=PARAMS.optimality,
        pdlp_optimality_tolerance=PARAMS.optimality,
        pdlp_iteration_limit=PARAMS.first_order_iterations,
        mip_max_nodes=most_nodes,
        mip_rel_gap=0.0,
        mip_abs_gap=0.0,
        mip_feasibility_tolerance=PARAMS.tolerance,
    )
    seconds = run_highs(solver)
    stopped = _stop_reason(solver, vertex=vertex)
    if lp.integer.any():
        return _integer_answer(lp, solver, k, stopped, seconds)
    return _linear_answer(lp, solver, k, rows, stopped, seconds)


def _row_exponents(lp: LinearProgram) -> NDArray[np.int64]:
    """Powers of two by which rows are multiplied: 0, or what brings a row with entries that HiGHS refuses to at most 1."""
    most, largest = 1e15, np.zeros(lp.shape[0])  # HiGHS refuses programs with larger entries
    entries = np.abs(lp.matrix.data)
    if entries.max(initial=0.0) > most:
        np.maximum.at(largest, np.repeat(np.arange(largest.size), np.diff(lp.matrix.indptr)), entries)
    return np.where(largest > most, -np.frexp(largest)[1], 0).astype(np.int64)


def _loaded(lp: LinearProgram, k: int, exponents: NDArray[np.int64]) -> Any:
    """HiGHS with the program in it, objective scaled by 2^k and rows by 2^exponents, without the offset."""
    highspy = package("highspy")

    rows, columns = lp.shape
    solver = highspy.Highs()
    solver.silent()
    status = solver.passModel(
        columns,
        rows,
        lp.matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        scaled(lp.cost, k),
        lp.lower,
        lp.upper,
        np.ldexp(lp.row_lower, exponents),
        np.ldexp(lp.row_upper, exponents),
        lp.matrix.indptr.astype(np.int32),
        lp.matrix.indices.astype(np.int32),
        np.ldexp(lp.matrix.data, np.repeat(exponents, np.diff(lp.matrix.indptr))),
        lp.integer.astype(np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise SolverFailedError(f"HiGHS refuses {lp!r}: bounds must not cross, numbers must be finite, no entry may occur twice")
    return solver


def _set(solver: Any, /, **options: str | float) -> None:
    highspy = package("highspy")

    for name, value in options.items():
        assert solver.setOptionValue(name, value) != highspy.HighsStatus.kError, (name, value)


def run_highs(solver: Any) -> float:
    """Solve what is loaded, such that Ctrl-C stops it; the seconds it took."""
    highspy = package("highspy")

    solver.HandleUserInterrupt = True

    def run() -> None:
        solver.run()
        # end this thread's workers before the thread ends, as highspy's own threaded solve does
        highspy.Highs.resetGlobalScheduler(False)

    started = time.perf_counter()
    interruptible(run, solver.cancelSolve, "HiGHS")
    return time.perf_counter() - started


def _stop_reason(solver: Any, *, vertex: bool) -> StopReason:
    highspy = package("highspy")

    states = highspy.HighsModelStatus
    state = solver.getModelStatus()
    reasons = {
        states.kOptimal: StopReason.CONVERGED,
        states.kModelEmpty: StopReason.CONVERGED,
        states.kTimeLimit: StopReason.TIME_LIMIT,
        states.kIterationLimit: StopReason.ITERATION_LIMIT,
        states.kSolutionLimit: StopReason.ITERATION_LIMIT,  # so HiGHS says after the most nodes
        states.kInterrupt: StopReason.INTERRUPTED,
    }
    if not vertex:
        reasons[states.kUnknown] = StopReason.ITERATION_LIMIT
    if state not in reasons:
        raise SolverFailedError(
            f"HiGHS ended with the status {solver.modelStatusToString(state)!r}; "
            "our programs are feasible and bounded, so check bounds and coefficients, or try another engine"
        )
    return reasons[state]


def _linear_answer(
    lp: LinearProgram, solver: Any, k: int, exponents: NDArray[np.int64], stopped: StopReason, seconds: float
) -> LinearAnswer:
    point, info = solver.getSolution(), solver.getInfo()
    empty = 0 in lp.shape
    x = np.array(point.col_value, dtype=np.float64) if point.value_valid or empty else None
    dual = np.ldexp(unscaled(np.array(point.row_dual, dtype=np.float64), k), exponents) if point.dual_valid or empty else None
    counts = (info.simplex_iteration_count, info.ipm_iteration_count, info.pdlp_iteration_count, info.crossover_iteration_count)
    iterations = float(sum(max(int(c), 0) for c in counts))
    return linear_answer(lp, stopped, x, dual, iterations=iterations, seconds=seconds)


def integer_bound(lp: LinearProgram, claimed: float, k: int) -> float:
    """The dual bound that HiGHS claims in units of the scaled cost, less (1), in units of the cost."""
    hidden = PARAMS.tolerance * (1.0 + float((lp.upper - lp.lower).sum()))
    return math.ldexp(claimed - hidden, -k)


def _integer_answer(lp: LinearProgram, solver: Any, k: int, stopped: StopReason, seconds: float) -> LinearAnswer:
    highspy = package("highspy")

    info = solver.getInfo()
    feasible = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    x = np.array(solver.getSolution().col_value, dtype=np.float64) if feasible else None
    bound = integer_bound(lp, info.mip_dual_bound, k) + lp.offset
    return LinearAnswer(
        stopped,
        x,
        None,
        None,
        objective_of(lp, x),
        bound,
        float(max(info.simplex_iteration_count, 0)),
        float(max(info.mip_node_count, 0)),
        seconds,
    )
