"""The experiments by name, the run of units that are missing, and the rows of those that are finished.

    OUT / EXPERIMENT / units / KEY.json      {"unit": ..., "rows": [...], "seconds": ..., "machine": ...}

Units of one data set and seed run in order in one process, which caches what they share, mostly a grown forest. A unit that fails
is reported and left out. The others continue, and the next run tries it again. A finished unit is saved at once and whole, so a
run that is killed loses the unit at hand and no other, and several processes may write at the same time.

The repository keeps rows as CSV in `FOLDER`: the tables of verdicts are made of them.

    EXPERIMENT-units.csv     one line a unit: its number, data, seed, method, setting (JSON), seconds, machine
    EXPERIMENT-DATA.csv      one line a row: unit, then the other columns; numbers with four digits, of curves with six, as
                             budgets choose among their points
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

import benchmarks.papers
from benchmarks.measuring import write_text
from benchmarks.papers.experiment import Experiment, Row, Unit
from formulations.errors import InvalidInputError
from prunemodels.comparison.processes import machine

PREFIXES = ("nws15_", "bp16_", "brf15_", "cegb17_", "cstc13_", "other_")
"""Modules whose names begin with a paper's hold one experiment as ``EXPERIMENT``, or several as ``EXPERIMENTS``."""


def experiments() -> dict[str, Experiment]:
    modules = [module.name for module in pkgutil.iter_modules(benchmarks.papers.__path__) if module.name.startswith(PREFIXES)]
    contents = [importlib.import_module(f"benchmarks.papers.{name}") for name in modules]
    found = [e for c in contents for e in getattr(c, "EXPERIMENTS", None) or filter(None, [getattr(c, "EXPERIMENT", None)])]
    return {experiment.name: experiment for experiment in found}


def experiment_named(name: str) -> Experiment:
    known = experiments()
    if name not in known:
        raise InvalidInputError(f"there is no experiment {name!r}; give one of {', '.join(known)}, or all")
    return known[name]


@dataclass(frozen=True)
class Store:
    folder: Path

    def place(self, unit: Unit) -> Path:
        return self.folder / "units" / f"{unit.key}.json"

    def has(self, unit: Unit) -> bool:
        return self.place(unit).is_file()

    def keep(self, unit: Unit, rows: Sequence[Row], seconds: float) -> None:
        """Write a unit's rows; NumPy's numbers become Python's."""
        content = {"unit": asdict(unit), "rows": [dict(row) for row in rows], "seconds": seconds, "machine": machine()}
        write_text(self.place(unit), json.dumps(content, indent=0, default=lambda number: number.item()) + "\n")

    def all_units(self) -> list[dict[str, Any]]:
        return [json.loads(place.read_text()) for place in sorted((self.folder / "units").glob("*.json"))]

    def frame(self, units: Sequence[Unit]) -> pd.DataFrame:
        """The rows of those units that are done; columns: the unit's, its setting's, the rows' own, seconds and machine."""
        rows: list[dict[str, Any]] = []
        for unit in filter(self.has, units):
            kept = json.loads(self.place(unit).read_text())
            about = {"data": unit.data, "seed": unit.seed, "method": unit.method, **unit.setting}
            about |= {"seconds": kept["seconds"], "machine": kept["machine"]}
            rows += [{**about, **row} for row in kept["rows"]]
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class Failure:
    """A unit that failed, and the reason; `trace` is the traceback."""

    unit: Unit
    reason: str
    trace: str


def run_units(experiment: Experiment, units: Sequence[Unit], store: Store, *, jobs: int = 1) -> list[Failure]:
    """Run all units that the store lacks; returns those that failed. After Ctrl-C finished units are saved."""
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
    start = time.perf_counter()
    try:
        rows = experiment.run(unit)
    except Exception as error:  # hours of other units must not be lost with one
        return Failure(unit, f"{type(error).__name__}: {error}", traceback.format_exc())
    store.keep(unit, rows, time.perf_counter() - start)
    return None


def _do_group(name: str, units: Sequence[Unit], store: Store) -> list[Failure | None]:
    """Run the units of one data set and seed, in a process of the pool."""
    experiment = experiment_named(name)
    return [do_unit(experiment, unit, store) for unit in units]


FOLDER = Path(__file__).resolve().parents[1] / "results" / "papers"  # where the repository keeps them
UNIT = ("unit", "data", "seed", "method", "setting", "seconds", "machine")


def keep_rows(out: Path, folder: Path = FOLDER) -> list[Path]:
    """Write all finished units of every experiment that ran on whole data; returns the files."""
    files = [place for experiment in experiments().values() for place in _keep(experiment, out, folder)]
    if not files:
        raise InvalidInputError(f"{out} holds no finished units; run an experiment first")
    return files


def _keep(experiment: Experiment, out: Path, folder: Path) -> list[Path]:
    """Write the units of one experiment in the order of data, seed, method and setting; returns the files, none if none ran."""
    found = [kept for kept in Store(out / experiment.name).all_units() if kept["unit"]["rows"] is None]
    found.sort(key=lambda k: (k["unit"]["data"], k["unit"]["seed"], k["unit"]["method"], str(k["unit"]["setting"])))
    index, before = folder / f"{experiment.name}-units.csv", len(kept_units(experiment, folder))
    if len(found) < before:
        raise InvalidInputError(
            f"{out} has {len(found)} finished units of {experiment.name}, but {folder} keeps {before}; "
            f"run the others first, or delete {index.name}"
        )
    if not found:
        return []
    about, rows = [], dict[str, list[pd.DataFrame]]()
    for number, kept in enumerate(found):
        unit, setting = kept["unit"], json.dumps(kept["unit"]["setting"])
        about.append((number, unit["data"], unit["seed"], unit["method"], setting, round(kept["seconds"], 1), kept["machine"]))
        shown = experiment.kept(pd.DataFrame(kept["rows"]), unit["data"])
        rows.setdefault(unit["data"], []).append(shown.assign(unit=number))
    folder.mkdir(parents=True, exist_ok=True)
    tables = {folder / f"{experiment.name}-{data}.csv": pd.concat(frames).set_index("unit") for data, frames in rows.items()}
    tables[index] = pd.DataFrame(about, columns=list(UNIT)).set_index("unit")
    for place, table in tables.items():
        table.to_csv(place, float_format="%.6g" if "valid_cost" in table else "%.4g", lineterminator="\n")
    return list(tables)


def kept_units(experiment: Experiment, folder: Path = FOLDER) -> pd.DataFrame:
    """The table of an experiment's units; empty if none are kept."""
    place = folder / f"{experiment.name}-units.csv"
    return pd.read_csv(place) if place.is_file() else pd.DataFrame(columns=list(UNIT))


def kept_frame(experiment: Experiment, folder: Path = FOLDER) -> pd.DataFrame:
    """All kept rows of one experiment, with the columns of `Store.frame`; empty if there are none."""
    units, frames = kept_units(experiment, folder), []
    for data in units["data"].unique():
        rows = pd.read_csv(folder / f"{experiment.name}-{data}.csv")
        about = units[units["data"] == data].drop(columns="setting")
        settings = pd.DataFrame([json.loads(s) for s in units.loc[about.index, "setting"]], index=about.index)
        frames.append(rows.merge(about.join(settings), on="unit", suffixes=("", "_of_unit")).drop(columns="unit"))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
