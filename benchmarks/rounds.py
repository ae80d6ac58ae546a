"""What the seconds of price sharing are made of: rounds, arcs, checks, and the cut at the end.

Each round visits every open usage arc once. With a_k usage arcs open in round k,

    seconds  =  start  +  seconds an arc and round * sum of a_k  +  checks  +  cut                                        (1)

If the seconds grow faster than linearly, one of these terms does: more rounds, more arcs open after the checks, more time for
an arc, or a larger core.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import prunemodels as pm
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.loop import drive
from solvers.price_sharing.run import Run
from solvers.price_sharing.stopping import ROUNDS_PER_CHECK, SMALL_CORE, Goal


@dataclass(frozen=True)
class Rounds:
    """One solve to the optimum; seconds.

    Parameters
    ----------
    open_arcs
        usage arcs at the start: those of splits that would be kept if features were free.
    rounds, core_usage_arcs
        number of rounds, and the usage arcs that are left for the cut.
    arc_rounds
        the sum of (1).
    first_ns
        nanoseconds an arc and round before any split was fixed, the least of the first ten rounds.
    ns
        nanoseconds an arc and round over all rounds.
    start, sharing, checks, cut
        the parts of (1).
    """

    open_arcs: int
    rounds: int
    core_usage_arcs: int
    arc_rounds: int
    first_ns: float
    ns: float
    start: float
    sharing: float
    checks: float
    cut: float

    @property
    def seconds(self) -> float:
        """All of (1)."""
        return self.start + self.sharing + self.checks + self.cut

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"seconds": self.seconds}


class Timed(Run):
    """A run that measures the time of its parts."""

    def __init__(self, *args: Any) -> None:
        self.seconds: Counter[str] = Counter()
        self.first: list[float] = []
        self.arc_rounds = 0
        super().__init__(*args)

    def round(self) -> None:
        """The same step, timed."""
        started = time.perf_counter()
        super().round()
        took = time.perf_counter() - started
        self.seconds["sharing"] += took
        self.arc_rounds += self.n_arcs
        if self.iteration <= ROUNDS_PER_CHECK:
            self.first.append(took)

    def check(self) -> None:
        """The same step, timed."""
        started = time.perf_counter()
        super().check()
        self.seconds["checks"] += time.perf_counter() - started

    def finish(self) -> int:
        """The same step, timed."""
        started = time.perf_counter()
        arcs = super().finish()
        self.seconds["cut"] += time.perf_counter() - started
        return arcs


def rounds_of(problem: pm.PruningProblem, lam: Fraction, repeats: int = 1) -> Rounds:
    """The fastest of some solves in this process; the caller has warmed up compiled code."""
    fresh = (replace(problem, usage=replace(problem.usage)) for _ in range(repeats))  # without the caches of earlier solves
    return min((_once(instance, lam) for instance in fresh), key=lambda found: found.seconds)


def _once(problem: pm.PruningProblem, lam: Fraction) -> Rounds:
    started = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        run = Timed(LocalRows(integer_objective(problem, lam).refined(), pool), "smallest")
        problem.row_blocks  # noqa: B018 (a cached property, computed here so that it counts for the start)
        start, open_arcs = time.perf_counter() - started, run.n_arcs
        drive(run, Goal(math.inf, 0.0, 100_000, SMALL_CORE), None, progress=False)
    return Rounds(
        open_arcs=open_arcs,
        rounds=run.iteration,
        core_usage_arcs=run.n_arcs,
        arc_rounds=run.arc_rounds,
        first_ns=1e9 * min(run.first, default=math.nan) / max(open_arcs, 1),
        ns=1e9 * run.seconds["sharing"] / max(run.arc_rounds, 1),
        start=start,
        sharing=run.seconds["sharing"],
        checks=run.seconds["checks"],
        cut=run.seconds["cut"],
    )
