"""The rows of finished units as CSV that the repository keeps: the tables of verdicts are made of them.

FOLDER / EXPERIMENT-units.csv    one line a unit: its number, data, seed, method, setting (JSON), seconds, machine
/ EXPERIMENT-DATA.csv     one line a row: unit, then the other columns; numbers with four digits, of curves with six, as budgets
                          choose among their points
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from benchmarks.papers.experiment import Experiment
from benchmarks.papers.running import Store, experiments
from formulations.errors import BrokenFileError, InvalidInputError

FOLDER = Path(__file__).resolve().parents[1] / "results" / "papers"
"""Where the repository keeps them."""

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
    if not place.is_file():
        return pd.DataFrame(columns=list(UNIT))
    try:
        found = pd.read_csv(place)
    except ValueError as error:
        raise BrokenFileError(f"{place} cannot be read ({error}); restore it") from error
    if list(found.columns) != list(UNIT):
        raise BrokenFileError(f"{place} has the columns {list(found.columns)}, not {list(UNIT)}; restore it")
    return found


def kept_frame(experiment: Experiment, folder: Path = FOLDER) -> pd.DataFrame:
    """All kept rows of one experiment, with the columns of `Store.frame`; empty if there are none."""
    units, frames = kept_units(experiment, folder), []
    for data in units["data"].unique():
        rows = pd.read_csv(folder / f"{experiment.name}-{data}.csv")
        about = units[units["data"] == data].drop(columns="setting")
        settings = pd.DataFrame([json.loads(s) for s in units.loc[about.index, "setting"]], index=about.index)
        frames.append(rows.merge(about.join(settings), on="unit", suffixes=("", "_of_unit")).drop(columns="unit"))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
