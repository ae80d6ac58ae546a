"""Runs the units that are not done yet, one after another or in several processes.

Units of one data set and seed run in order in one process, which caches what they share, mostly a grown forest. A unit that fails
is reported and left out. The others continue, and the next run tries it again. A finished unit is saved at once, so a run that is
killed loses the unit at hand and no other.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.papers.experiment import Experiment, Unit
from benchmarks.papers.registry import experiment_named
from benchmarks.papers.store import Store
from prunemodels.comparison.machine import machine


@dataclass(frozen=True)
class Failure:
    """A unit that failed, and the reason; `trace` is the traceback."""

    unit: Unit
    reason: str
    trace: str


def run_units(experiment: Experiment, units: Sequence[Unit], store: Store, *, jobs: int = 1) -> list[Failure]:
    """Run all units that the store lacks; returns those that failed."""
    missing = [unit for unit in units if not store.has(unit)]
    groups = [list(group) for _, group in groupby(missing, key=lambda u: (u.data, u.seed))]
    if jobs == 1:
        results = ([do_unit(experiment, unit, store)] for group in groups for unit in group)
    else:
        results = Parallel(jobs, return_as="generator_unordered")(delayed(_do_group)(experiment.name, g, store) for g in groups)
    failures: list[Failure] = []
    bar = tqdm(total=len(units), initial=len(units) - len(missing), unit="unit", disable=None, desc=experiment.name)
    with bar:
        for done in results:
            bar.update(len(done))
            for failure in filter(None, done):
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


def _do_group(name: str, units: Sequence[Unit], store: Store) -> list[Failure | None]:
    """Run the units of one data set and seed, in a process of the pool."""
    experiment = experiment_named(name)
    return [do_unit(experiment, unit, store) for unit in units]
