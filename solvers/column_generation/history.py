"""What happened in a column generation: a line a round, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import History, StopReason


@dataclass(frozen=True)
class Round:
    """What one round did.

    Parameters
    ----------
    master_value
        of the restricted master's program.
    value, bound
        of the best solution so far, and the best bound so far.
    round_bound
        of this round's pricing.
    gap
        between `value` and `bound`, relative.
    columns, added
        the master's columns before this round, and those that the round added.
    alpha
        how much of the best bound's charges was priced instead of the master's.
    master_seconds, pricing_seconds
        of this round.
    seconds
        since the start.
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


@dataclass(frozen=True, eq=False)
class Generated:
    """How the generation ended: best charges (None if none were priced), their bound, the best upper value, and all rounds."""

    stopped: StopReason
    charge: NDArray[np.float64] | None
    bound: float
    upper: float
    rounds: tuple[Round, ...]

    def history(self) -> History:
        """The fields of `Round` by name, a number for each round."""
        return {f.name: np.array([getattr(r, f.name) for r in self.rounds], dtype=np.float64) for f in fields(Round)}

    def stats(self) -> dict[str, float]:
        """Seconds in the master and in pricing, and the number of rounds: for reports."""
        history = self.history()
        return {
            "master_seconds": float(history["master_seconds"].sum()),
            "pricing_seconds": float(history["pricing_seconds"].sum()),
            "rounds": float(len(self.rounds)),
        }
