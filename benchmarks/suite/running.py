"""Run studies, each in a process of its own. Complete ones are skipped; ones without their data are reported and left out."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.suite.children import run_child
from benchmarks.suite.forests import grow_in_child
from benchmarks.suite.origin import Origin, origin
from benchmarks.suite.results import BUSY, Result, file_of, read_result, write_result
from benchmarks.suite.study import Setting, Study
from formulations.errors import BrokenFileError, PruneModelsError
from prunemodels.data_files import FOLDER_VARIABLE, find_dataset

FULL, QUICK = (3, 60.0), (3, 2.0)
"""Repeats and seconds, as of `benchmarks.suite.alternating.alternate`."""

RUNNING = Path("/proc/loadavg")
"""Its fourth entry begins with the number of processes that run now."""


@dataclass(frozen=True)
class Places:
    """The folders of results and of forests."""

    out: Path
    work: Path


def run(studies: Sequence[Study], places: Places, *, quick: bool = False, again: bool = False) -> list[str]:
    """Run all studies; returns a line for each that failed or was left out.

    After a failure the other studies still run. Quick studies run in this process.
    """
    current, wrong = origin(), []
    for study in studies:
        lacking = missing_data(study, quick=quick)
        if lacking:
            wrong.append(f"{study.name} is left out: {lacking}")
        elif not again and complete(study, places.out, current, quick=quick):
            _say(f"{study.name} is complete for this code, machine and versions; --again measures it again")
        else:
            _say(f"{study.name}: {study.title}")
            wrong += _one(study, places, quick=quick)
    return wrong


def _one(study: Study, places: Places, *, quick: bool) -> list[str]:
    try:
        if quick:
            measure(study, places, quick=True)
        else:
            for data in study.forests:
                grow_in_child(data, places.work)
            command = ["--here", study.name, "--out", str(places.out), "--work", str(places.work)]
            run_child(["-m", "benchmarks", *command])
    except subprocess.CalledProcessError as error:
        return [f"{study.name} failed with status {error.returncode}; see above"]
    except KeyboardInterrupt:  # InterruptedSolveError is a PruneModelsError too
        raise
    except PruneModelsError as error:
        return [f"{study.name} failed: {error}"]
    return []


def measure(study: Study, places: Places, *, quick: bool = False) -> Path:
    """Measure one study in this process and save its result."""
    current, load = origin(), busy()
    if load > BUSY:
        _say(f"{load:.1f} other processes are running: quote ratios, not seconds")
    begun = time.perf_counter()
    repeats, limit = QUICK if quick else FULL
    rows, figures = study.measure(Setting(places.work, quick, repeats, limit))
    result = Result(
        study=study.name,
        title=study.title,
        quick=quick,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=f"python -m benchmarks --only {study.name}{' --quick' * quick}{' --scale' * study.scale}",
        origin=current,
        load=load,
        seconds=time.perf_counter() - begun,
        rows=rows,
        figures=figures,
    )
    return write_result(result, places.out)


def complete(study: Study, out: Path, current: Origin, *, quick: bool) -> bool:
    """Whether there is a readable result of the study for the same code, machine and versions."""
    file = file_of(study.name, out)
    if not file.exists():
        return False
    try:
        result = read_result(file)
    except BrokenFileError as error:
        _say(f"{error}")
        return False
    return result.quick == quick and result.origin.same(current)


def missing_data(study: Study, *, quick: bool) -> str:
    """A message that names the study's absent data and the variable of the data folder; empty if none is absent."""
    absent = []
    for data in () if quick else study.data:
        try:
            find_dataset(data)
        except BrokenFileError:
            absent.append(data)
    if not absent:
        return ""
    where = f"in the folder that the environment variable {FOLDER_VARIABLE} names"
    return f"there is no {', '.join(absent)} {where}; --quick needs no data"


def busy() -> float:
    """Mean number of other running processes over half a second; -1 if the system does not report it.

    The load average would still include the previous study.
    """
    counts = []
    for _ in range(10):
        try:
            counts.append(int(RUNNING.read_text().split()[3].split("/")[0]) - 1)  # without this process
        except (OSError, IndexError, ValueError):
            return -1.0
        time.sleep(0.05)
    return sum(counts) / len(counts)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
