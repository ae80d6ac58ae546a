"""Column generation for any kind of columns, and its history: one line for each round.

A restricted master has some of the columns of a linear program

    minimise  sum_j c_j x_j      sum_j A_j x_j <= b   (coupling rows),      sum_{j in block t} x_j = 1   (convexity rows)     (1)

and gives charges q >= 0, which are the negatives of the coupling rows' dual values, and convexity duals r. Pricing finds in each
block t the column of least  c_j + q A_j,  whose reduced cost is

    d_j = c_j + q A_j - r_t                                                                                                  (2)

and a Lagrangian bound. The charges are smoothed (Wentges): pricing uses

    q^ = alpha q* + (1 - alpha) q                                                                                            (3)

where q* are the charges of the best bound so far. If no column found at q^ has d_j < 0 at the master's own duals, alpha is
lowered, in the end to 0. The gap is (upper - bound) / (reference - bound).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import History, StopReason
from formulations.errors import SolverFailedError
from formulations.shown import Brief
from solvers.column_generation.params import DEFAULTS


@dataclass(frozen=True)
class Round:
    """One round.

    Parameters
    ----------
    master_value
        the optimum of the restricted master's program.
    value, bound
        the value of the best solution so far, and the best bound so far.
    round_bound
        the bound that this round's pricing gave.
    gap
        `value` less `bound`, divided by the all-roots forest's value less `bound`: the share of the attainable gain that is open,
        as `Solution.relative_gap`.
    columns, added
        the number of columns before this round, and how many the round added.
    alpha
        the smoothing used: the weight of the best bound's charges in the charges that were priced.
    master_seconds, pricing_seconds
        seconds of this round in the master and in pricing.
    seconds
        since the generation began.
    """

    master_value: float
    value: float
    bound: float
    round_bound: float
    gap: float
    columns: int
    added: int
    alpha: float
    master_seconds: float
    pricing_seconds: float
    seconds: float


Column = TypeVar("Column")


@dataclass(frozen=True, eq=False)
class Entry(Generic[Column]):
    """A column that entered the master, the round, 0 for the first columns, and its reduced cost then, NaN for these."""

    round: int
    column: Column
    reduced_cost: float


@dataclass(frozen=True, eq=False)
class Generated(Generic[Column]):
    """The result: the best charges (None if none were priced), their bound, the best upper value, all rounds and columns."""

    stopped: StopReason
    charge: NDArray[np.float64] | None
    bound: float
    upper: float
    rounds: tuple[Round, ...]
    entered: tuple[Entry[Column], ...]

    @property
    def gap(self) -> float:
        """The relative gap of the last round; inf without one."""
        return self.rounds[-1].gap if self.rounds else math.inf

    def history(self) -> History:
        """By the name of each field of `Round`, one number for each round."""
        return {f.name: np.array([getattr(r, f.name) for r in self.rounds], dtype=np.float64) for f in fields(Round)}

    def stats(self) -> dict[str, float]:
        """Seconds in the master and in pricing, and the number of rounds: for reports."""
        history = self.history()
        return {
            "master_seconds": float(history["master_seconds"].sum()),
            "pricing_seconds": float(history["pricing_seconds"].sum()),
            "rounds": float(len(self.rounds)),
        }


AnyColumn = TypeVar("AnyColumn", contravariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class MasterAnswer(Brief):
    """A solved restricted master.

    Parameters
    ----------
    value
        the optimum of its linear program.
    upper
        the value of the best known feasible solution: `value`, or that of a heuristic.
    charge
        float64, one for each coupling row: q = - d value / d b >= 0.
    convexity
        float64, one for each block: the dual value r_t of its convexity row, of any sign.

    Examples
    --------
    What the `TreeMaster` of a forest with two trees and one coupling row might return:

    >>> import numpy as np
    >>> import prunemodels as pm
    >>> pm.engines.MasterAnswer(0.5, 0.5, charge=np.array([0.1]), convexity=np.array([0.2, 0.3])).value
    0.5
    """

    value: float
    upper: float
    charge: NDArray[np.float64]
    convexity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PricingAnswer(Generic[Column]):
    """What pricing found at some charges."""

    columns: Sequence[Column]  # the columns found, each with its block
    charge: NDArray[np.float64]  # the charges that were priced: the requested ones, made dual feasible
    bound: float  # Lagrangian bound of (1) at `charge`
    upper: float = math.inf  # value of a feasible solution made of the columns; inf if none was made


class Master(Protocol[AnyColumn]):
    """A restricted master."""

    @property
    def n_columns(self) -> int:
        """The number of columns in the master."""
        ...

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """The optimum and its duals; None if `time_limit` seconds were not enough."""
        ...

    def add(self, columns: Sequence[AnyColumn]) -> None:
        """Add new columns."""
        ...

    def refine(self) -> bool:
        """Called when no column prices out. Make an approximate master more exact; return False if it is exact already."""
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
        """A key that two columns share if and only if they are equal."""
        ...


def relative_gap(upper: float, bound: float, reference: float) -> float:
    """(upper - bound) / (reference - bound); 0 if the difference is only rounding, inf without a bound."""
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
    judge: Callable[[float, bool], None] | None = None,
    exact_master: Callable[[], Master[Column]] | None = None,
    progress: Callable[[Round], None] | None = None,
) -> Generated[Column]:
    """Solve the master, price and add columns, until the gap or a limit is reached or no column prices out.

    Parameters
    ----------
    reference
        the value of (1) in the denominator of the gap.
    gap
        stop at this relative gap.
    tolerance
        columns with d_j < -tolerance enter.
    time_limit, rounds
        largest number of seconds, and of solves of the master.
    smoothing
        alpha of (3), in [0, 1); with 0, pricing uses the master's own duals.
    best
        charges to start from, with their bound.
    known
        the columns that the master already has.
    judge
        called after pricing at the master's own charges, with the bound there and whether columns enter.
    exact_master
        makes the master that goes on, with the same columns, where an approximate one makes no more progress.
    progress
        called after every round.
    """
    run = _ColumnLoop(master, pricing, reference, tolerance, smoothing, best, known, judge or _no_judge)
    ended = run.until(gap, time_limit, rounds, progress)
    if exact_master is None or ended.stopped is not StopReason.CONVERGED or ended.gap <= gap:
        return ended
    run.master, run.judge = exact_master(), _no_judge
    try:
        return run.until(gap, time_limit, rounds, progress)
    except SolverFailedError:  # numbers too far apart for the linear program: what was found and proven before it stays
        return run.ended(StopReason.CONVERGED)


def _no_judge(_bound: float, _found_columns: bool) -> None:
    """An exact master takes no notice of bounds."""


class _ColumnLoop(Generic[Column]):
    """The state of one call of `generate_columns`."""

    def __init__(
        self,
        master: Master[Column],
        pricing: Pricing[Column],
        reference: float,
        tolerance: float,
        smoothing: float,
        best: tuple[NDArray[np.float64], float] | None,
        known: Sequence[Column],
        judge: Callable[[float, bool], None],
    ) -> None:
        self.master, self.pricing, self.judge = master, pricing, judge
        self.reference, self.tolerance, self.smoothing = reference, tolerance, smoothing
        self.charge: NDArray[np.float64] | None = None if best is None else best[0]
        self.bound = -math.inf if best is None else best[1]
        self.upper = math.inf
        self.keys = {pricing.key(c) for c in known}
        self.entered = [Entry(0, column, math.nan) for column in known]
        self.rounds: list[Round] = []
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def until(self, gap: float, time_limit: float, rounds: float, progress: Callable[[Round], None] | None) -> Generated[Column]:
        """Solve, price and add columns until a stopping condition holds."""
        while True:
            seconds_left = time_limit - self.seconds
            if seconds_left <= 0:
                return self.ended(StopReason.TIME_LIMIT)
            if len(self.rounds) >= rounds:
                return self.ended(StopReason.ITERATION_LIMIT)
            # the master
            began = time.perf_counter()
            answer = self.master.solve(seconds_left)
            if answer is None:
                return self.ended(StopReason.TIME_LIMIT)
            # pricing, and a line of the history
            solved = time.perf_counter()
            entering, alpha, round_bound = self.entering(answer)
            line = self.record(answer, len(entering), alpha, round_bound, solved - began, time.perf_counter() - solved)
            if progress is not None:
                progress(line)
            # the end, or the new columns enter
            if line.gap <= gap or (not entering and not self.master.refine()):
                return self.ended(StopReason.CONVERGED)
            self.master.add([entry.column for entry in entering])
            self.entered += entering

    def entering(self, answer: MasterAnswer) -> tuple[list[Entry[Column]], float, float]:
        """Price at (3), lowering alpha until a column enters; returns the columns, the last alpha and the best bound."""
        centre, round_bound, tries = self.charge, -math.inf, 0
        while True:
            # alpha, 2 alpha - 1, 3 alpha - 2 ...: the sequence of Pessoa and others for prices at which nothing enters
            alpha = 0.0 if centre is None else max(0.0, 1.0 - (tries + 1) * (1.0 - self.smoothing))
            point = answer.charge if centre is None or alpha == 0.0 else alpha * centre + (1.0 - alpha) * answer.charge
            # price there, and keep the charges of the best bound
            found = self.pricing.price(point)
            round_bound = max(round_bound, found.bound)
            self.upper = min(self.upper, found.upper)
            if found.bound > self.bound:
                self.bound, self.charge = found.bound, found.charge
            columns = self._new(found.columns, answer)
            if alpha == 0.0:
                self.judge(found.bound, bool(columns))
            if columns or alpha == 0.0:
                return columns, alpha, round_bound
            tries += 1

    def _new(self, columns: Sequence[Column], answer: MasterAnswer) -> list[Entry[Column]]:
        """The columns that price out at the master's own duals and are new to the master."""
        if not columns:
            return []
        fresh = []
        for column, reduced in zip(columns, self.pricing.reduced_costs(columns, answer).tolist(), strict=True):
            if reduced >= -self.tolerance:
                continue
            key = self.pricing.key(column)
            if key not in self.keys:
                self.keys.add(key)
                fresh.append(Entry(len(self.rounds) + 1, column, reduced))
            elif reduced < -DEFAULTS.repeat_tolerances * self.tolerance:
                raise SolverFailedError(
                    f"pricing returned a column that the master already has, with the reduced cost {reduced:g}: "
                    "a sign of the master's duals or of the pricing is wrong"
                )
        return fresh

    def record(self, answer: MasterAnswer, added: int, alpha: float, round_bound: float, solving: float, pricing: float) -> Round:
        """Append a line to the history, and return it."""
        self.upper = min(self.upper, answer.upper)
        gap = relative_gap(self.upper, self.bound, self.reference)
        n = self.master.n_columns
        line = Round(answer.value, self.upper, self.bound, round_bound, gap, n, added, alpha, solving, pricing, self.seconds)
        self.rounds.append(line)
        return line

    def ended(self, stopped: StopReason) -> Generated[Column]:
        return Generated(stopped, self.charge, self.bound, self.upper, tuple(self.rounds), tuple(self.entered))
