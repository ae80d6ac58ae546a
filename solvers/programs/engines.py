"""What engines for linear and integer programs share: time limits and Ctrl-C that they heed, one form of answer, scaled costs.

The size of a program is counted before anything is built. A small program is built and solved in this process: neither takes
much longer than a second beyond the limit. A larger one is built and solved in a process of its own, see `solvers.child_process`.
It ends at most a second and a tenth of the limit late. If it has found nothing by then, the answer is what is known without it.
Python handles signals between its own instructions only, so a native solve in this process runs in a thread: `interruptible`.

Answers are to (1) of `formulations.programs.linear_program`, with the signs of the minimisation as it is written:

    row_dual_i      d optimum / d right-hand side of row i: <= 0 where only row_upper_i binds, >= 0 where only row_lower_i binds
    reduced_cost    cost - A' row_dual: >= 0 where x_j is at its lower bound, <= 0 where it is at its upper bound
    bound           the dual objective:  offset + sum over rows and columns of the multiplier times the side that its sign names

Solvers hold dual feasibility to an absolute tolerance, mostly 1e-7, and our costs are fractions of errors, often below that. So
an engine is handed

    cost * 2^k      with k such that      2^13 <= max |cost_j| * 2^k < 2^14                                            (1)

A power of two changes exponents only, so that nothing is rounded. Duals, reduced costs and bounds are multiplied by 2^-k. That is
exact as long as no number leaves the normal range of a float, that is, for costs whose ratios are below 2^1000.
"""

from __future__ import annotations

import inspect
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.long_steps import interruption_as_error
from formulations.programs.formulation import AS_ARRAYS
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import model_size
from formulations.shown import Brief
from solvers.child_process import Call, TimeIsOver, call_in_child, stays_here


@dataclass(frozen=True)
class ProgramParams:
    """What these engines are run with; `PARAMS` is the one record."""

    # nonzeros of a program that is solved in this process; on larger ones engines overrun their limits by seconds
    most_nonzeros: int = 300_000
    # the same for a Pyomo model, which is built, and handed to HiGHS, by Python objects one by one
    most_pyomo_nonzeros: int = 30_000
    # seconds for each million nonzeros that a process keeps for an engine's overrun and for rounding what it found
    reserve_seconds: float = 5.0
    grace_seconds: float = 3.0  # seconds to wait for a cancelled solve to end
    tolerance: float = 1e-9  # HiGHS' feasibility of rows, reduced costs and integers: as fast as its own 1e-7 on our programs
    optimality: float = 1e-8  # relative tolerance of methods that do not end in a vertex
    # the most iterations of PDLP. Where costs lie many orders of magnitude apart the tolerance may never be reached.
    first_order_iterations: int = 100_000
    most_threads: int = 2  # of PDLP: two use the memory bandwidth of most machines fully
    # nonzeros up to which PDLP gets one thread: two would wait for each other longer than they work
    one_thread_nonzeros: int = 50_000
    most_searches: int = 50  # after so many searches of branch and bound within limits the last bound is returned as it is
    conflict_seconds: float = 10.0  # the least seconds to look for the rows that leave a model without a point
    cost_bits: int = 14  # the largest |cost| that engines see is below 2^cost_bits, and at least half of it, see (1)
    most_named: int = 6  # so many parts of such a conflict are named


PARAMS = ProgramParams()
"""The numbers in use."""


Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Given = dict[str, Any]
"""The arguments of a call by name, defaults among them."""


def stoppable(
    nonzeros: Callable[[Given], int], most: int, unsolved: Callable[[Given, float], Answer]
) -> Callable[[Callable[Arguments, Answer]], Callable[Arguments, Answer]]:
    """A decorator for engines, functions of a module whose first argument is an instance or a program.

    `nonzeros`: the size of the program, from the arguments. `most`: nonzeros up to which the engine runs in this process.
    `unsolved`: the answer where nothing was found in time, from the arguments and the seconds that it took.
    """

    def decorated(engine: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        signature, name = inspect.signature(engine), engine.__name__

        @wraps(engine)
        def stopped_in_time(*args: Arguments.args, **options: Arguments.kwargs) -> Answer:
            call = signature.bind(*args, **options)
            call.apply_defaults()
            given = dict(call.arguments)
            with interruption_as_error(f"while {name} was solving"):
                size = 0 if stays_here() else nonzeros(given)
                return engine(*args, **options) if size <= most else _apart(engine, given, size, unsolved)

        return stopped_in_time

    return decorated


def program_nonzeros(given: Given) -> int:
    """Nonzeros of the formulation of an instance, LP1 where none is named; 0 for what the engine is going to refuse."""
    formulation = given.get("formulation", "LP1")
    return model_size(given["problem"], formulation).nonzeros if formulation in AS_ARRAYS else 0


def linear_nonzeros(given: Given) -> int:
    """Nonzeros of a linear or integer program."""
    return int(given["lp"].matrix.nnz)


def check_time_limit(time_limit: float) -> float:
    """The seconds as a float >= 0; a limit that is negative or nan is refused."""
    if not time_limit >= 0:
        raise InvalidInputError(f"time_limit is {time_limit!r} seconds; it must be 0 or more, math.inf for none")
    return float(time_limit)


def _apart(engine: Callable[..., Answer], given: Given, size: int, unsolved: Callable[[Given, float], Answer]) -> Answer:
    """The engine's answer from a process of its own."""
    started, limit = time.time(), check_time_limit(given["time_limit"])
    rest = {name: value for name, value in given.items() if name != "time_limit"}
    (_, subject), *others = rest.items()
    positional = {
        p.name for p in inspect.signature(engine).parameters.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }
    arguments = tuple(value for name, value in others if name in positional)
    options = {name: value for name, value in others if name not in positional}
    reserve = PARAMS.reserve_seconds * size / 1e6
    call = Call(engine.__module__, engine.__name__, _without_rows(subject), arguments, options, limit, started, reserve)
    try:
        if limit > 0:
            answer: Answer = call_in_child(call, subject)
            return answer
    except TimeIsOver:
        pass
    return unsolved(given, time.time() - started)


def _without_rows(subject: Any) -> Any:
    """An instance without the features of its rows and without what engines had it cache; programs need the routes only."""
    if not isinstance(subject, PruningProblem):
        return subject
    return replace(subject, usage=replace(subject.usage, X=None))


def interruptible(solve: Callable[[], None], cancel: Callable[[], object], engine: str) -> None:
    """Run `solve` in a thread, wait for it, and raise what it raises; on Ctrl-C call `cancel` and raise InterruptedSolveError.

    `solve` must release the interpreter's lock while it works. If it takes more than 3 seconds to end after Ctrl-C, it goes on
    in its thread, which does not keep the process alive.
    """
    failure: list[BaseException] = []
    # not Thread.join: in Python 3.11 and 3.12 an interrupted join treats the thread as ended
    ended = threading.Event()

    def work() -> None:
        try:
            solve()
        except BaseException as error:
            failure.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=work, name=engine, daemon=True).start()
        while not ended.wait(0.1):
            pass
    except KeyboardInterrupt as stop:
        cancel()
        ended.wait(PARAMS.grace_seconds)
        raise InterruptedSolveError(f"interrupted while {engine} was solving; nothing was changed") from stop
    if failure:
        raise failure[0]


@dataclass(frozen=True, eq=False, repr=False)
class LinearAnswer(Brief):
    """An engine's answer. Nothing in it is proven, not even `bound`."""

    # CONVERGED: solved within the engine's own tolerances. Otherwise a limit was reached, and `x` need not satisfy the rows.
    stopped: StopReason
    x: NDArray[np.float64] | None  # the primal point, shape (n,), or None
    row_dual: NDArray[np.float64] | None  # shape (r,), or None; None for integer programs
    reduced_cost: NDArray[np.float64] | None  # shape (n,), or None; None for integer programs
    objective: float  # cost x + offset, computed from the program; inf without `x`
    # the bound that the engine claims: the dual bound of an integer program less what tolerances may hide, or the dual objective
    # of a linear program; -inf without either. For reports.
    bound: float
    iterations: float  # of the simplex, of the interior point or of the first-order method
    nodes: float  # of branch and bound; nan for linear programs
    seconds: float  # of the native solve


class LinearEngine(Protocol):
    """The one signature of all engines for linear programs."""

    def __call__(self, lp: LinearProgram, *, time_limit: float = math.inf) -> LinearAnswer:
        """Minimise; time_limit in seconds.

        InvalidInputError is raised for an integer program that the engine does not take, SolverFailedError if it says infeasible
        or unbounded, or fails, and InterruptedSolveError after Ctrl-C.
        """
        ...


def linear_answer(
    lp: LinearProgram,
    stopped: StopReason,
    x: NDArray[np.float64] | None,
    row_dual: NDArray[np.float64] | None,
    *,
    iterations: float,
    seconds: float,
) -> LinearAnswer:
    """The complete answer to a linear program; everything that follows from x and the duals is computed from the program."""
    reduced = None if row_dual is None else lp.cost - lp.matrix.T @ row_dual
    bound = -math.inf if row_dual is None or reduced is None else dual_objective(lp, row_dual, reduced)
    return LinearAnswer(stopped, x, row_dual, reduced, objective_of(lp, x), bound, iterations, math.nan, seconds)


def no_answer(given: dict[str, Any], seconds: float) -> LinearAnswer:
    """The answer to a program for which nothing was found in time; `given` are the engine's arguments."""
    nodes = 0.0 if given["lp"].integer.any() else math.nan
    return LinearAnswer(StopReason.TIME_LIMIT, None, None, None, math.inf, -math.inf, 0.0, nodes, seconds)


def objective_of(lp: LinearProgram, x: NDArray[np.float64] | None) -> float:
    """Cost x + offset; inf without x."""
    return math.inf if x is None else float(lp.cost @ x) + lp.offset


def dual_objective(lp: LinearProgram, row_dual: NDArray[np.float64], reduced: NDArray[np.float64]) -> float:
    """The dual objective; a multiplier whose sign names an infinite side counts as 0."""
    rows = _priced(row_dual, lp.row_lower, lp.row_upper)
    return lp.offset + rows + _priced(reduced, lp.lower, lp.upper)


def check_linear(lp: LinearProgram, engine: str) -> None:
    """Refuse integer programs."""
    if lp.integer.any():
        raise InvalidInputError(
            f"{engine} solves linear programs, {int(lp.integer.sum())} of the {lp.shape[1]} columns are integer; "
            "use the engine 'highs', or build the program with relax=True"
        )


def check_call(lp: LinearProgram, time_limit: float) -> float:
    """Refuse input on which engines loop forever or fail without a message; returns the seconds as a float >= 0."""
    for what, numbers in (("costs", lp.cost), ("coefficients", lp.matrix.data)):
        if not np.isfinite(numbers).all():
            raise InvalidInputError(f"{what} of {lp!r} are not all finite: one is {numbers[~np.isfinite(numbers)][0]}")
    return check_time_limit(time_limit)


def _priced(multiplier: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> float:
    side = np.where(multiplier > 0, lower, upper)
    return float(multiplier @ np.where(np.isfinite(side), side, 0.0))


def exponent_of(cost: NDArray[np.float64]) -> int:
    """The k of (1); 0 where all costs are 0."""
    largest = float(np.abs(cost).max(initial=0.0))
    return 0 if largest == 0.0 else PARAMS.cost_bits - int(np.frexp(largest)[1])


def scaled(cost: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Cost * 2^k."""
    return np.ldexp(cost, k)


def unscaled(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Values in units of the scaled cost (duals, reduced costs, objective values) * 2^-k."""
    return np.ldexp(values, -k)
