"""The rows of finished units as CSV that the repository keeps: the tables of verdicts are made of them.

    FOLDER / EXPERIMENT-units.csv    one line a unit: unit (its number), data, seed, method, setting (JSON), constant (JSON: the
                                     columns with one value in all rows of the unit), seconds, machine
           / EXPERIMENT-DATA-K.csv   one line a row: unit, then the other columns; numbers with four digits

Files have at most `FILE_ROWS` rows. Blank means: none, or the unit's constant.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.experiment import Experiment
from benchmarks.papers.registry import experiments
from benchmarks.papers.store import Store
from formulations.errors import BrokenFileError, InvalidInputError

FOLDER = Path(__file__).resolve().parents[1] / "results" / "papers"
"""Where the repository keeps them."""

FILE_ROWS = 6000

UNIT = ("unit", "data", "seed", "method", "setting", "constant", "seconds", "machine")


def keep_rows(out: Path, folder: Path = FOLDER) -> list[Path]:
    """Write all finished units of every experiment; returns the files.

    Raises
    ------
    InvalidInputError
        if nothing was run on whole data, or if an experiment has fewer finished units than are kept already.
    """
    files = [place for experiment in experiments().values() for place in _keep(experiment, out, folder)]
    if not files:
        raise InvalidInputError(f"{out} holds no finished units; run an experiment first")
    return files


def _keep(experiment: Experiment, out: Path, folder: Path) -> list[Path]:
    """Write the units of one experiment; returns the files, none if nothing was run."""
    units: list[tuple[Any, ...]] = []
    written: dict[Path, list[str]] = {}
    for number, kept in enumerate(_finished(experiment, out)):
        unit, frame = kept["unit"], pd.DataFrame(kept["rows"])
        constant = {c: _rounded(frame[c].iloc[0]) for c in frame if len(frame) > 1 and frame[c].nunique(dropna=False) == 1}
        about = (number, unit["data"], unit["seed"], unit["method"], json.dumps(unit["setting"]), json.dumps(constant))
        units.append((*about, round(kept["seconds"], 1), kept["machine"]))
        rows = frame.drop(columns=list(constant))
        text = rows.assign(unit=number)[["unit", *rows.columns]].to_csv(index=False, float_format="%.4g", lineterminator="\n")
        _append(written, folder / f"{experiment.name}-{unit['data']}", text)
    index = folder / f"{experiment.name}-units.csv"
    before = len(kept_units(experiment, folder))
    if len(units) < before:
        raise InvalidInputError(
            f"{out} has {len(units)} finished units of {experiment.name}, but {folder} keeps {before}; "
            f"run the others first, or delete {index.name}"
        )
    if not units:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    for place, lines in written.items():
        place.write_text("\n".join(lines) + "\n")
    pd.DataFrame(units, columns=list(UNIT)).to_csv(index, index=False, lineterminator="\n")
    return [*written, index]


def _finished(experiment: Experiment, out: Path) -> list[dict[str, Any]]:
    """What is saved of the units that ran on whole data, in the order of data, seed, method and setting."""
    found = Store(out / experiment.name).all_units()
    whole = [kept for kept in found if kept["unit"]["rows"] is None]
    return sorted(whole, key=lambda k: (k["unit"]["data"], k["unit"]["seed"], k["unit"]["method"], str(k["unit"]["setting"])))


def _append(written: dict[Path, list[str]], stem: Path, text: str) -> None:
    """Add a unit's lines to the last file of its data; begin another where it is full or its columns differ."""
    head, *lines = text.splitlines()
    k = 1
    while (place := stem.with_name(f"{stem.name}-{k}.csv")) in written:
        if written[place][0] == head and len(written[place]) + len(lines) <= FILE_ROWS + 1:
            break
        k += 1
    written.setdefault(place, [head]).extend(lines)


def _rounded(value: Any) -> Any:
    """A value as JSON has it, floats with four digits."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.4g}")
    return value


def kept_units(experiment: Experiment, folder: Path = FOLDER) -> pd.DataFrame:
    """The table of an experiment's units; empty if none are kept.

    Raises
    ------
    BrokenFileError
        if the file is no such table.
    """
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
    units = kept_units(experiment, folder).set_index("unit")
    frames = []
    for data in units["data"].unique():
        k = 1
        while (place := folder / f"{experiment.name}-{data}-{k}.csv").is_file():
            rows = pd.read_csv(place)
            frames += [_with_unit(units.loc[int(str(number))], at) for number, at in rows.groupby("unit", sort=False)]
            k += 1
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _with_unit(unit: pd.Series, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a unit, with its columns and its constants."""
    about = {"data": unit["data"], "seed": unit["seed"], "method": unit["method"], **json.loads(unit["setting"])}
    about |= {"seconds": unit["seconds"], "machine": unit["machine"], **json.loads(unit["constant"])}
    own = rows.drop(columns=["unit", *(c for c in about if c in rows)])
    return own.assign(**{name: np.nan if value is None else value for name, value in about.items()})
