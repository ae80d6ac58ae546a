"""Rows of finished units, one file for each unit. Partial files never appear.

    FOLDER / EXPERIMENT / units / KEY.json      {"unit": ..., "rows": [...], "seconds": ..., "machine": ...}

Several processes may write at the same time: no two write the same file with different content, and a file appears when it is
complete.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.experiment import Row, Unit
from formulations.errors import BrokenFileError
from prunemodels.files.outputs import OutputFiles


@dataclass(frozen=True)
class Store:
    """The folder of one experiment."""

    folder: Path

    def place(self, unit: Unit) -> Path:
        """The file of a unit."""
        return self.folder / "units" / f"{unit.key}.json"

    def has(self, unit: Unit) -> bool:
        """Whether the unit is done."""
        return self.place(unit).is_file()

    def keep(self, unit: Unit, rows: Sequence[Row], seconds: float, machine: str) -> None:
        """Write a unit's rows."""
        content = {"unit": asdict(unit), "rows": [dict(row) for row in rows], "seconds": seconds, "machine": machine}
        self.write(self.place(unit), json.dumps(content, indent=0, default=_plain) + "\n")

    def write(self, place: Path, text: str) -> None:
        """Write a file, which appears when it is complete."""
        place.parent.mkdir(parents=True, exist_ok=True)
        with OutputFiles() as outputs:
            outputs.aside(place).write_text(text)

    def all_units(self) -> list[dict[str, Any]]:
        """The content of every file of a unit, whatever its scope."""
        return [self._read(place) for place in sorted((self.folder / "units").glob("*.json"))]

    def _read(self, place: Path) -> dict[str, Any]:
        """The saved content of a unit."""
        try:
            content = json.loads(place.read_text())
        except (ValueError, UnicodeDecodeError) as error:
            raise BrokenFileError(f"{place} is no unit's file ({error}); delete it, and run the experiment again") from error
        if not isinstance(content, dict) or not {"unit", "rows", "seconds", "machine"} <= set(content):
            raise BrokenFileError(f"{place} lacks unit, rows, seconds or machine; delete it, and run the experiment again")
        return content

    def frame(self, units: Sequence[Unit]) -> pd.DataFrame:
        """The rows of those units that are done; columns: the unit's, its setting's, the rows' own, seconds and machine."""
        rows: list[dict[str, Any]] = []
        for unit in units:
            if not self.has(unit):
                continue
            kept = self._read(self.place(unit))
            about = {"data": unit.data, "seed": unit.seed, "method": unit.method, **unit.setting}
            about |= {"seconds": kept["seconds"], "machine": kept["machine"]}
            rows += [{**about, **row} for row in kept["rows"]]
        return pd.DataFrame(rows)


def _plain(value: object) -> object:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a row holds {value!r} of {type(value).__name__}; give numbers and text")
