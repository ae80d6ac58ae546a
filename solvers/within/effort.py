"""What a search within a budget may spend: work, so that the same call gives the same answer under any load, or seconds.

Work is counted in seconds that its cuts take by the formula of `solvers.closures.cut`, which knows only sizes. On the
machine of that formula they are about the seconds of the clock.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from formulations.answers.solution import StopReason
from solvers.closures.cut import cut_seconds
from solvers.closures.subproblem import ParametricSubproblem

PER_CUT = 1e-3
"""Seconds that a cut of any size takes beside the formula: a part is built, bounded and filled in Python."""


@dataclass(eq=False)
class Effort:
    """What may be spent, and what was."""

    work: float = math.inf  # the most work, in seconds by formula
    deadline: float = math.inf  # of `time.perf_counter`
    spent: float = 0.0  # work so far

    def count_cut(self, part: ParametricSubproblem) -> None:
        """Count a cut of a part."""
        self.spent += PER_CUT + cut_seconds(part.tail.size, part.nodes.size)

    def allows(self, n_arcs: int, n_splits: int) -> bool:
        """Whether a cut of that size fits what may still be spent."""
        return self.spent + PER_CUT + cut_seconds(n_arcs, n_splits) <= self.work

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be spent."""
        return self.spent >= self.work or time.perf_counter() >= self.deadline

    @property
    def reason(self) -> StopReason:
        """Why a search ends that is over."""
        return StopReason.ITERATION_LIMIT if self.spent >= self.work else StopReason.TIME_LIMIT
