"""The history of a column generation: one line for each round, and how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import History, StopReason


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
