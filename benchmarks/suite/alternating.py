"""Seconds of several pieces of work, measured in turns, A B A B ..., so that a slow phase of the machine affects all of them.

    a_k              least of A's runs in round k: one run, or up to `MOST` runs while they take less than `SHORT` s     (1)
    seconds of A     least of the a_k, since noise only adds                                                            (2)
    ratio A / B      least a_k / least b_k                                                                              (3)
    spread           least and largest a_k / b_k                                                                        (4)

(3) always lies within (4).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

SHORT, MOST = 0.1, 7
"""Limits of (1): a single run of milliseconds is not precise."""


@dataclass(frozen=True)
class Ratio:
    """(2) to (4) of two pieces of work, and the number of rounds."""

    seconds_a: float
    seconds_b: float
    ratio: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, eq=False)
class Measured(Generic[T_co]):
    """(1) of every piece of work, and its last answer."""

    seconds: Mapping[str, tuple[float, ...]]
    answer: Mapping[str, T_co]

    def ratio(self, a: str, b: str) -> Ratio:
        """How long `a` takes, in units of `b`."""
        ours, theirs = self.seconds[a], self.seconds[b]
        each = [x / y for x, y in zip(ours, theirs, strict=True)]
        return Ratio(min(ours), min(theirs), min(ours) / min(theirs), min(each), max(each), len(each))


def alternate(
    works: Mapping[str, Callable[[], T]],
    *,
    repeats: int = 3,
    limit: float = 60.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured[T]:
    """Run all of `works` in turns.

    Parameters
    ----------
    works
        what to run, by name.
    repeats
        rounds that count, at least 1. One more round precedes them, which loads compiled code and fills the caches.
    limit
        seconds of work after which no further round begins. If there is only one round, it counts.
    clock
        returns the time in seconds.
    """
    rounds: list[dict[str, float]] = []
    answer: dict[str, T] = {}
    spent = 0.0
    while not rounds or (len(rounds) <= repeats and spent < limit):
        rounds.append({})
        gc.collect()  # so that no collection falls into a measured run
        for name, work in works.items():
            runs: list[float] = []
            while not runs or (len(runs) < MOST and sum(runs) < SHORT):
                start = clock()
                found = work()
                runs.append(clock() - start)
                answer[name] = found  # the previous answer is freed after the clock was read
            rounds[-1][name] = min(runs)
            spent += sum(runs)
    counted = rounds[1:] or rounds
    return Measured({name: tuple(r[name] for r in counted) for name in works}, answer)
