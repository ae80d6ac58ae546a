"""What happened in a column generation: a line a round, and how it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.answers.solution import StopReason


@dataclass(frozen=True)
class Round:
    """One line of the history; seconds of this round, but `seconds` since the start. `bound` and `upper` are the best so far."""

    value: float
    upper: float
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

    def history(self) -> pd.DataFrame:
        """One line a round: the fields of `Round`."""
        return pd.DataFrame([asdict(r) for r in self.rounds], columns=[f.name for f in fields(Round)])

    def stats(self) -> dict[str, float]:
        """Seconds in the master and in pricing, and the number of rounds: for reports."""
        history = self.history()
        return {
            "master_seconds": float(history["master_seconds"].sum()),
            "pricing_seconds": float(history["pricing_seconds"].sum()),
            "rounds": float(len(self.rounds)),
        }
