"""Runs the units that are not done yet, one after another or in several processes.

Units of one data set and seed run in order in one process, which caches what they share, mostly a grown forest. A unit that fails
is reported and left out. The others continue, and the next run tries it again.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import groupby

from tqdm import tqdm

from benchmarks.papers.experiment import Experiment, Unit
from benchmarks.papers.registry import experiment_named
from benchmarks.papers.store import Store
from benchmarks.path import machine

GRACE_SECONDS = 20.0
"""Seconds that a process has to end after Ctrl-C before it is killed."""


@dataclass(frozen=True)
class Failure:
    """A unit that failed, and the reason; `trace` is the traceback."""

    unit: Unit
    reason: str
    trace: str


def run_units(experiment: Experiment, units: Sequence[Unit], store: Store, *, jobs: int = 1) -> list[Failure]:
    """Run all units that the store lacks; returns those that failed.

    Raises
    ------
    KeyboardInterrupt
        on Ctrl-C; finished units are saved.
    """
    open_units = [unit for unit in units if not store.has(unit)]
    groups = [list(group) for _, group in groupby(open_units, key=lambda u: (u.data, u.seed))]
    failures: list[Failure] = []
    done = len(units) - len(open_units)
    with tqdm(total=len(units), initial=done, unit="unit", disable=None, desc=experiment.name) as bar:
        if jobs == 1:
            results: Iterable[Failure | None] = (do_unit(experiment, u, store) for group in groups for u in group)
        else:
            results = _in_processes(experiment.name, groups, store, jobs)
        for failure in results:
            bar.update()
            if failure is not None:
                failures.append(failure)
                bar.write(f"{failure.unit}: {failure.reason}", file=sys.stderr)
    return failures


def do_unit(experiment: Experiment, unit: Unit, store: Store) -> Failure | None:
    """Run one unit and save its rows; returns the failure if it failed."""
    start = time.perf_counter()
    try:
        rows = experiment.run(unit)
    except Exception as error:  # hours of other units must not be lost with one
        return Failure(unit, f"{type(error).__name__}: {error}", traceback.format_exc())
    store.keep(unit, rows, time.perf_counter() - start, machine())
    return None


def _in_processes(name: str, groups: Sequence[Sequence[Unit]], store: Store, jobs: int) -> Iterator[Failure | None]:
    """Run the groups in several processes; yields an entry for each unit, its failure or None."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_end_when_told)
    try:
        futures: list[Future[list[Failure | None]]] = [pool.submit(_do_group, name, group, store) for group in groups]
        for future in as_completed(futures):
            yield from future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        _end(set(multiprocessing.active_children()) - before)
        pool.shutdown()
        raise
    pool.shutdown()


def _end(children: Iterable[multiprocessing.process.BaseProcess]) -> None:
    """Ask all processes to end, and kill those that do not in time."""
    for child in children:
        child.terminate()
    until = time.monotonic() + GRACE_SECONDS
    for child in children:
        child.join(max(0.0, until - time.monotonic()))
        if child.is_alive():
            child.kill()


def _do_group(name: str, units: Sequence[Unit], store: Store) -> list[Failure | None]:
    """Run the units of one data set and seed, in a process of the pool."""
    experiment = experiment_named(name)
    return [do_unit(experiment, unit, store) for unit in units]


def _end_when_told() -> None:
    """Leave Ctrl-C to the parent process. Its request to end runs the clean-up of partial files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
