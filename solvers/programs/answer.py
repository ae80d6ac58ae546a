"""The answer of an engine to a linear or integer program, (1) of `formulations.programs.linear_program`.

All engines use the same signs, those of the minimisation as it is written:

    row_dual_i      d optimum / d right-hand side of row i: <= 0 where only row_upper_i binds, >= 0 where only row_lower_i binds
    reduced_cost    cost - A' row_dual: >= 0 where x_j is at its lower bound, <= 0 where it is at its upper bound
    bound           the dual objective:  offset + sum over rows and columns of the multiplier times the side that its sign names

Solvers hold the dual feasibility of (1) of `formulations.programs.linear_program` to an absolute tolerance, mostly 1e-7, and our
costs are fractions of errors, often below that. So an engine is handed

    cost * 2^k      with k such that      2^13 <= max |cost_j| * 2^k < 2^14                                            (1)

A power of two changes exponents only, so that nothing is rounded. Duals, reduced costs and bounds are multiplied by 2^-k. That is
exact as long as no number leaves the normal range of a float, that is, for costs whose ratios are below 2^1000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import StopReason
from formulations.errors import InvalidInputError
from formulations.programs.linear_program import LinearProgram
from formulations.shown import Brief
from solvers.programs.stoppable import check_time_limit


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


LARGEST = 14
"""The largest |cost| is below 2^LARGEST, and at least half of it."""


def exponent_of(cost: NDArray[np.float64]) -> int:
    """The k of (1); 0 where all costs are 0."""
    largest = float(np.abs(cost).max(initial=0.0))
    return 0 if largest == 0.0 else LARGEST - int(np.frexp(largest)[1])


def scaled(cost: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Cost * 2^k."""
    return np.ldexp(cost, k)


def unscaled(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Values in units of the scaled cost (duals, reduced costs, objective values) * 2^-k."""
    return np.ldexp(values, -k)
