"""How often a row asks by each stage, and how long it waits: limits on both.

A stage that buys anything from a supplier is a round (`formulations.instance.requests`). A row of a policy is late where it
stops at a stage s with

    rounds_{s,i} > R        or        latency_{s,i} > D                                                                  (1)

No row may make more than R rounds, and at most the share 1 - q of the rows may wait longer than D. Waiting grows from stage to
stage, and policies of a path are nested, so a cheaper policy of a path has no more late rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Count, Range, checked
from formulations.instance.cost_items import CostItems, Price, exact
from prunemodels.exits.stages import Stages

WITHIN = 1e-12
"""Sums of costs or latencies that exceed a limit by this share of it, by rounding, keep it."""

Late = tuple[tuple[NDArray[np.bool_], float], ...]
"""For each limit: bool, shape (S, N), whether a row that stops at a stage is late; and the share of the rows that may be."""

Latency = Price | tuple[Price, Annotated[float, Range(0, 1)]]
"""The longest time for every row, or a time and the share of the rows that must keep it: ``(300, 0.95)``."""


class Calls(NamedTuple):
    """What N rows have asked by each of S stages; arrays of the shape (S, N).

    Parameters
    ----------
    rounds
        int64: rounds of requests.
    latency
        float64: the sum over these rounds of the slowest request.
    fees
        float64: of all requests.
    """

    rounds: NDArray[np.int64]
    latency: NDArray[np.float64]
    fees: NDArray[np.float64]


def combined(how: Callable[[Sequence[NDArray[Any]]], NDArray[Any]], calls: Sequence[Calls]) -> Calls:
    """What a function makes of the rounds, of the latencies and of the fees of several."""
    return Calls(how([c.rounds for c in calls]), how([c.latency for c in calls]), how([c.fees for c in calls]))


def calls_of(stages: Stages, X: Any) -> Calls:
    """What each row has asked by each stage; of stages that have no `calls`, a stage that costs more than the one before asks."""
    if hasattr(stages, "calls"):
        return stages.calls(X)  # type: ignore[no-any-return]
    cost = stages.costs(X)
    paid = np.diff(cost, axis=0, prepend=0.0) > 0
    return Calls(np.cumsum(paid, axis=0), np.zeros(cost.shape), np.zeros(cost.shape))


@dataclass(frozen=True)
class WaitLimits:
    """R, D and q of (1); None: no limit."""

    rounds: int | None
    latency: float | None
    share: float

    def asking_matters(self, items: CostItems) -> bool:
        """Whether it matters how often rows ask: requests for these items are declared, or rounds or latency have a limit."""
        return items.requests is not None or self.rounds is not None or self.latency is not None

    def late(self, stages: Stages, X: Any) -> Late:
        """By (1), who is late where it stops at a stage, for each limit."""
        if self.rounds is None and self.latency is None:
            return ()
        calls, found = calls_of(stages, X), []
        if self.rounds is not None:
            found.append((calls.rounds > self.rounds, 0.0))
        if self.latency is not None:
            found.append((calls.latency > self.latency * (1 + WITHIN), 1.0 - self.share))
        return tuple(found)


@checked
def wait_limits(max_rounds: Count | None, max_latency: Latency | None) -> WaitLimits:
    """The limits that a user wrote.

    Raises
    ------
    InvalidInputError
        for numbers that are negative or none.
    """
    longest, share = max_latency if isinstance(max_latency, tuple) else (max_latency, 1.0)
    if longest is None:
        return WaitLimits(max_rounds, None, 1.0)
    return WaitLimits(max_rounds, float(exact(longest, "max_latency")), float(share))
