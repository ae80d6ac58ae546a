"""A study's result as JSON, whole or not at all: names sorted, four significant digits, so that a change reads well in a diff."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.origin import Origin
from benchmarks.suite.study import Figure, Row
from formulations.errors import BrokenFileError
from prunemodels.files.outputs import OutputFiles

SCHEMA = 1
"""Rises with every change that an older reader would misread."""

DIGITS = 4

BUSY = 0.5
"""Mean number of running processes from which on a machine is busy with something else."""


@dataclass(frozen=True)
class Result:
    """What a study found.

    Parameters
    ----------
    date
        UTC, to the second, when it ended.
    load
        other processes that ran when it began, a mean over half a second; above `BUSY` there was other work. -1: not known.
    seconds
        that it took in all.
    """

    study: str
    title: str
    quick: bool
    date: str
    command: str
    origin: Origin
    load: float
    seconds: float
    rows: Sequence[Row]
    figures: Sequence[Figure]

    def written(self) -> str:
        """As JSON."""
        told: dict[str, Any] = {"schema": SCHEMA, **asdict(self)}
        return json.dumps(_rounded(told), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def file_of(study: str, folder: Path) -> Path:
    """Where a study's result is kept."""
    return folder / f"{study}.json"


def write_result(result: Result, folder: Path) -> Path:
    """Keep it; on Ctrl-C or an error what was there stays as it was.

    Raises
    ------
    BrokenFileError
        where the folder cannot be written.
    """
    place = file_of(result.study, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrokenFileError(f"cannot make the folder {folder}: {error.strerror or error}; name another with --out") from error
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(result.written(), encoding="utf-8")
    return place


def read_result(file: Path) -> Result:
    """Read one back.

    Raises
    ------
    BrokenFileError
        for a file that is none, or is of another schema.
    """
    told = _parsed(file)
    schema = told.get("schema") if isinstance(told, dict) else None
    if schema != SCHEMA:
        raise BrokenFileError(f"{file} has the schema {schema!r}, this suite reads {SCHEMA}; remove it and run the study again")
    try:
        return _result(told)
    except (KeyError, TypeError) as error:
        raise BrokenFileError(f"{file} is no result of a study ({error}); remove it and run the study again") from error


def read_folder(folder: Path) -> dict[str, Result]:
    """All results of a folder by the names of their studies; none where there is no such folder.

    Other benchmarks' files, which name no study, are passed over.
    """
    ours = [file for file in sorted(folder.glob("*.json")) if names_study(file)]
    return {result.study: result for result in map(read_result, ours)}


def names_study(file: Path) -> bool:
    """Whether a JSON file is this suite's.

    Raises
    ------
    BrokenFileError
        for a file that is no JSON.
    """
    told = _parsed(file)
    return isinstance(told, dict) and "study" in told


def _parsed(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BrokenFileError(f"{file} cannot be read ({error}); remove it and run the study again") from error


def _result(told: Mapping[str, Any]) -> Result:
    given = {name: value for name, value in told.items() if name != "schema"}
    given["origin"] = Origin(**given["origin"])
    given["rows"] = [Row(**row) for row in given["rows"]]
    given["figures"] = [Figure(**figure) for figure in given["figures"]]
    return Result(**given)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):  # JSON has no such numbers
        return None
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")  # counts are kept as they are
