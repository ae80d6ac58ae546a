"""A study's result as a JSON file, with sorted names and four significant digits, so that diffs are readable."""

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
"""Version of the format; it rises with every change that an older reader would misread."""

DIGITS = 4

BUSY = 0.5
"""A machine with a larger mean number of running processes counts as busy with other work."""


@dataclass(frozen=True)
class Result:
    """The result of a study.

    Parameters
    ----------
    date
        time of its end in UTC, to the second.
    load
        mean number of other running processes in the half second before it began; above `BUSY` there was other work. -1: unknown.
    seconds
        total duration.
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

    def as_json(self) -> str:
        """As JSON."""
        content: dict[str, Any] = {"schema": SCHEMA, **asdict(self)}
        return json.dumps(_rounded(content), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def file_of(study: str, folder: Path) -> Path:
    """The file of a study's result."""
    return folder / f"{study}.json"


def write_result(result: Result, folder: Path) -> Path:
    """Write the result; on Ctrl-C or an error the previous file stays unchanged.

    Raises
    ------
    BrokenFileError
        if the folder cannot be written.
    """
    place = file_of(result.study, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrokenFileError(f"cannot make the folder {folder}: {error.strerror or error}; name another with --out") from error
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(result.as_json(), encoding="utf-8")
    return place


def read_result(file: Path) -> Result:
    """Read one back.

    Raises
    ------
    BrokenFileError
        for a file that is not a result, or has another schema.
    """
    content = _parsed(file)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise BrokenFileError(f"{file} has the schema {schema!r}, this suite reads {SCHEMA}; remove it and run the study again")
    try:
        return _result(content)
    except (KeyError, TypeError) as error:
        raise BrokenFileError(f"{file} is no result of a study ({error}); remove it and run the study again") from error


def read_folder(folder: Path) -> dict[str, Result]:
    """All results of a folder by the names of their studies; none if the folder does not exist.

    Files of other benchmarks, which have no study, are skipped.
    """
    ours = [file for file in sorted(folder.glob("*.json")) if names_study(file)]
    return {result.study: result for result in map(read_result, ours)}


def names_study(file: Path) -> bool:
    """Whether a JSON file is a result of this suite.

    Raises
    ------
    BrokenFileError
        if the file is not JSON.
    """
    content = _parsed(file)
    return isinstance(content, dict) and "study" in content


def _parsed(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BrokenFileError(f"{file} cannot be read ({error}); remove it and run the study again") from error


def _result(content: Mapping[str, Any]) -> Result:
    given = {name: value for name, value in content.items() if name != "schema"}
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
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")  # counts are not rounded
