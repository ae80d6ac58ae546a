"""What a search within a budget may spend: work, so that the same call gives the same answer under any load, or seconds.

A cut's work is what the formula of `solvers.closures.cut` says of its size, which is about its seconds on the machine of that
formula. The clock is not asked.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from formulations.answers.solution import StopReason
from solvers.closures.cut import cut_seconds
from solvers.closures.subproblem import ParametricSubproblem
from solvers.within.params import DEFAULTS, WithinParams


@dataclass(eq=False)
class Effort:
    """What may be spent, and what was."""

    work: float = math.inf  # the most work
    deadline: float = math.inf  # of `time.perf_counter`
    spent: float = 0.0  # work so far
    params: WithinParams = DEFAULTS

    def work_of(self, n_arcs: int, n_splits: int) -> float:
        """Of a cut of that size."""
        return self.params.per_cut + cut_seconds(n_arcs, n_splits)

    def count_cut(self, part: ParametricSubproblem) -> None:
        """Count a cut of a part."""
        self.spent += self.work_of(part.tail.size, part.nodes.size)

    def allows(self, part: ParametricSubproblem) -> bool:
        """Whether a cut of a part fits what may still be spent."""
        return self.spent + self.work_of(part.tail.size, part.nodes.size) <= self.work

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be spent."""
        return self.spent >= self.work or time.perf_counter() >= self.deadline

    @property
    def reason(self) -> StopReason:
        """Why a search ends that is over."""
        return StopReason.ITERATION_LIMIT if self.spent >= self.work else StopReason.TIME_LIMIT
