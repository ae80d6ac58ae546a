"""Objects that `benchmarks.cluster` sends to workers, and the seconds of calls to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hepmass_like import events
from solvers.price_sharing.cluster import LocalWorkers, Workers, ray_workers
from solvers.price_sharing.cluster.workers import Recipe


class Echo:
    """A worker without work, so that only the exchange takes time."""

    def nothing(self) -> None:
        """An empty call."""

    def take(self, scores: NDArray[np.float32]) -> float:
        """Read a vector that was sent."""
        return float(scores.sum())

    def give(self, n: int) -> NDArray[np.float64]:
        """Return a vector as long as the charges."""
        return np.ones(n)


@dataclass(frozen=True)
class Events:
    """Rows that the worker generates itself."""

    n: int
    seed: int

    def __call__(self) -> NDArray[np.float32]:
        return events(self.n, self.seed)[0]


class Timed:
    """A shard that measures on its worker how long its calls take."""

    def __init__(self, recipe: Recipe) -> None:
        self.shard = recipe()

    def seconds_of(self, method: str, *args: Any) -> float:
        """Seconds of a core, least of three calls after one that may load compiled code."""
        call = partial(getattr(self.shard, method), *args)
        call()
        return min(seconds(call, 3, time.thread_time))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shard, name)


class Canned(LocalWorkers):
    """W workers with prepared answers, so that a round consists of the driver's work only."""

    def __init__(self, answer: NDArray[np.float64], n: int) -> None:
        super().__init__([partial(int, 0)] * n)
        self.answer = answer

    def ask(self, method: str, *args: Any) -> list[Any]:
        """The same answer from each worker."""
        return [self.answer] * len(self)


def seconds(work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Seconds of each run."""
    taken = []
    for _ in range(repeats):
        began = clock()
        work()
        taken.append(clock() - began)
    return taken


def least(work: Callable[[], Any], repeats: int) -> float:
    """Least seconds of several runs, after one that is not counted; the least is affected least by other work on the machine."""
    work()
    return min(seconds(work, repeats))


def empty_rounds(numbers: Sequence[int], repeats: int) -> dict[int, float]:
    """Seconds of a round without data for some numbers of workers, which share the cores of the machine."""
    found = {}
    for n in numbers:
        with ray_workers([Echo] * n, cpus=min(1.0, 2 / n)) as workers:
            found[n] = least(partial(workers.ask, "nothing"), repeats)
    return found


@dataclass(frozen=True)
class Exchange:
    """Seconds of sending n float32 to two workers, and of getting n float64 from each."""

    n: int
    out: float
    into: float


def exchanges(lengths: Sequence[int], repeats: int) -> list[Exchange]:
    """Measure exchanges through Ray's object store on this machine."""
    with ray_workers([Echo] * 2) as workers:
        return [_exchange(workers, n, repeats if n < 2_000_000 else 9) for n in lengths]


def _exchange(workers: Workers, n: int, repeats: int) -> Exchange:
    scores = np.ones(n, dtype=np.float32)
    return Exchange(
        n, least(partial(workers.ask, "take", scores), repeats), least(lambda: sum(workers.ask("give", n))[-1], repeats)
    )


def memory_of(process: int) -> tuple[int, int]:
    """Bytes of a process of this machine now, and its peak so far, without shared libraries and shared memory."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    now, peak, file, shared = (1024 * int(status[k].split()[0]) for k in ("VmRSS", "VmHWM", "RssFile", "RssShmem"))
    return now - file - shared, peak - file - shared
