"""Column generation, with no word of what the columns are.

A restricted master has some of the columns of a linear program

    minimise  sum_j c_j x_j      sum_j A_j x_j <= b   (coupling rows),      sum_{j in block t} x_j = 1   (convexity rows)     (1)

and gives charges q >= 0, the coupling rows' dual values with the sign turned, and convexity duals r. Pricing finds in each block
t the column of least  c_j + q A_j,  of reduced cost

    d_j = c_j + q A_j - r_t                                                                                                  (2)

and a Lagrangian bound. Charges are smoothed (Wentges): priced is

    q^ = alpha q* + (1 - alpha) q                                                                                            (3)

q* being the charges of the best bound so far. Where no column found at q^ has d_j < 0 at the master's own duals, alpha is
lowered, at last to 0. The gap is (upper - bound) / (reference - bound).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import StopReason
from formulations.errors import SolverFailedError
from solvers.column_generation.history import Generated, Round

Column = TypeVar("Column")
AnyColumn = TypeVar("AnyColumn", contravariant=True)

NOISE = 1000.0
"""A column that the master has already may price out by this many tolerances before that is called a wrong sign."""


@dataclass(frozen=True, eq=False)
class MasterAnswer:
    """A solved restricted master.

    Parameters
    ----------
    value
        of its linear program.
    upper
        of the best feasible solution of (1) that is known; `value`, or what a heuristic made of the point.
    charge
        float64, one a coupling row: q >= 0, minus d value / d b.
    convexity
        float64, one a block: r_t, of any sign.
    """

    value: float
    upper: float
    charge: NDArray[np.float64]
    convexity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PricingAnswer(Generic[Column]):
    """What pricing found at some charges.

    Parameters
    ----------
    columns
        with the block that each is of.
    charge
        the charges that were priced: those asked for, made dual feasible.
    bound
        Lagrangian bound of (1) at `charge`.
    upper
        value of a feasible solution put together from the columns; inf where none was.
    """

    columns: Sequence[Column]
    charge: NDArray[np.float64]
    bound: float
    upper: float = math.inf


class Master(Protocol[AnyColumn]):
    """A restricted master."""

    @property
    def n_columns(self) -> int:
        """Columns that it has."""
        ...

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """Optimum and duals; None if `time_limit` seconds were not enough."""
        ...

    def add(self, columns: Sequence[AnyColumn]) -> None:
        """Take new columns in."""
        ...

    def refine(self) -> bool:
        """Called when no column prices out: make the master truer where it is approximate; False if it is exact."""
        ...


class Pricing(Protocol[Column]):
    """The pricing problem of all blocks."""

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[Column]:
        """The best columns of all blocks at some charges, and the bound."""
        ...

    def reduced_costs(self, columns: Sequence[Column], answer: MasterAnswer) -> NDArray[np.float64]:
        """(2) of each column at the duals of the master."""
        ...

    def key(self, column: Column) -> Hashable:
        """Equal for equal columns only."""
        ...


def relative_gap(upper: float, bound: float, reference: float) -> float:
    """(upper - bound) / (reference - bound); 0 where the difference is that of the floats, inf without a bound."""
    if upper - bound <= 1e-12 * abs(reference):
        return 0.0
    return (upper - bound) / (reference - bound) if reference > bound > -math.inf else math.inf


def generate_columns(
    master: Master[Column],
    pricing: Pricing[Column],
    *,
    reference: float,
    gap: float = 1e-9,
    tolerance: float = 1e-9,
    time_limit: float = math.inf,
    rounds: float = math.inf,
    smoothing: float = 0.5,
    best: tuple[NDArray[np.float64], float] | None = None,
    known: Sequence[Column] = (),
    progress: Callable[[Round], None] | None = None,
) -> Generated:
    """Solve the master, price, add columns; until the gap, a limit, or the end of columns.

    Parameters
    ----------
    reference
        a value of (1) that the gap is relative to.
    gap
        stop at this relative gap.
    tolerance
        columns with d_j < -tolerance enter.
    time_limit, rounds
        seconds, and solves of the master.
    smoothing
        alpha of (3), in [0, 1); 0 prices at the master's duals.
    best
        charges with their bound, to start from.
    known
        the columns that the master has.
    progress
        called after every round.

    Raises
    ------
    SolverFailedError
        if a column that the master has comes back with a negative reduced cost: a sign is wrong, in the master or in the pricing.
    """
    run = _ColumnLoop(master, pricing, reference, tolerance, smoothing, best, {pricing.key(c) for c in known})
    return run.until(gap, time_limit, rounds, progress)


class _ColumnLoop(Generic[Column]):
    """What one call of `generate_columns` knows."""

    def __init__(
        self,
        master: Master[Column],
        pricing: Pricing[Column],
        reference: float,
        tolerance: float,
        smoothing: float,
        best: tuple[NDArray[np.float64], float] | None,
        keys: set[Hashable],
    ) -> None:
        self.master, self.pricing = master, pricing
        self.reference, self.tolerance, self.smoothing = reference, tolerance, smoothing
        self.charge: NDArray[np.float64] | None = None if best is None else best[0]
        self.bound = -math.inf if best is None else best[1]
        self.upper = math.inf
        self.keys = keys
        self.rounds: list[Round] = []
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def until(self, gap: float, time_limit: float, rounds: float, progress: Callable[[Round], None] | None) -> Generated:
        """Solve, price and add, until one of the ends."""
        while True:
            left = time_limit - self.seconds
            if left <= 0:
                return self.ended(StopReason.TIME_LIMIT)
            if len(self.rounds) >= rounds:
                return self.ended(StopReason.ITERATION_LIMIT)
            began = time.perf_counter()
            answer = self.master.solve(left)
            if answer is None:
                return self.ended(StopReason.TIME_LIMIT)
            solved = time.perf_counter()
            entering, alpha, at = self.entering(answer)
            this = self.record(answer, len(entering), alpha, at, solved - began, time.perf_counter() - solved)
            if progress is not None:
                progress(this)
            if this.gap <= gap or (not entering and not self.master.refine()):
                return self.ended(StopReason.CONVERGED)
            self.master.add(entering)

    def entering(self, answer: MasterAnswer) -> tuple[list[Column], float, float]:
        """Price at (3), alpha lowered while nothing enters; the columns, the last alpha, the best bound of these tries."""
        centre, at, tries = self.charge, -math.inf, 0
        while True:
            # alpha, 2 alpha - 1, 3 alpha - 2 ... (Pessoa and others' sequence for wrong smoothing)
            alpha = 0.0 if centre is None else max(0.0, 1.0 - (tries + 1) * (1.0 - self.smoothing))
            point = answer.charge if centre is None or alpha == 0.0 else alpha * centre + (1.0 - alpha) * answer.charge
            found = self.pricing.price(point)
            at = max(at, found.bound)
            self.upper = min(self.upper, found.upper)
            if found.bound > self.bound:
                self.bound, self.charge = found.bound, found.charge
            columns = self._new(found.columns, answer)
            if columns or alpha == 0.0:
                return columns, alpha, at
            tries += 1

    def _new(self, columns: Sequence[Column], answer: MasterAnswer) -> list[Column]:
        """Those that price out at the master's own duals, and that it does not have."""
        if not columns:
            return []
        fresh = []
        for column, reduced in zip(columns, self.pricing.reduced_costs(columns, answer).tolist(), strict=True):
            if reduced >= -self.tolerance:
                continue
            key = self.pricing.key(column)
            if key not in self.keys:
                self.keys.add(key)
                fresh.append(column)
            elif reduced < -NOISE * self.tolerance:
                raise SolverFailedError(
                    f"a column that the master has comes back with the reduced cost {reduced:g}: "
                    "a sign of the master's duals or of the pricing is wrong"
                )
        return fresh

    def record(self, answer: MasterAnswer, added: int, alpha: float, at: float, solving: float, pricing: float) -> Round:
        """A line of the history."""
        self.upper = min(self.upper, answer.upper)
        gap = relative_gap(self.upper, self.bound, self.reference)
        n = self.master.n_columns
        this = Round(answer.value, self.upper, self.bound, at, gap, n, added, alpha, solving, pricing, self.seconds)
        self.rounds.append(this)
        return this

    def ended(self, stopped: StopReason) -> Generated:
        return Generated(stopped, self.charge, self.bound, self.upper, tuple(self.rounds))
