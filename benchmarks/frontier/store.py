"""Candidates of finished units, one file for each: FOLDER / DATA / METHOD-SEED.json, written completely or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.frontier.candidate import Candidate
from formulations.errors import BrokenFileError
from prunemodels.files.outputs import OutputFiles

FIRST_SEED = 0
"""The seed on which grids are widened; the others take the settings that were chosen there."""


@dataclass(frozen=True)
class Unit:
    """One method on one data set in the split of one seed."""

    data: str
    seed: int
    method: str

    def __str__(self) -> str:
        return f"{self.data}, seed {self.seed}, {self.method}"


@dataclass(frozen=True)
class Finished:
    """The candidates of a unit, and the CPU seconds of the whole unit."""

    unit: Unit
    candidates: tuple[Candidate, ...]
    seconds: float


def default_folder() -> Path:
    """Where units are kept by default: in a cache folder of the user, never in the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "prunemodels-frontier"


@dataclass(frozen=True)
class Store:
    """A folder of finished units."""

    folder: Path

    @property
    def memory_folder(self) -> Path:
        """Where methods keep the results that they share."""
        return self.folder / "memory"

    def place(self, unit: Unit) -> Path:
        """The file of a unit."""
        word = re.sub(r"[^a-z0-9]+", "-", unit.method.lower()).strip("-")
        return self.folder / unit.data / f"{word}-{unit.seed}.json"

    def has(self, unit: Unit) -> bool:
        """Whether the unit is done."""
        return self.place(unit).is_file()

    def keep(self, unit: Unit, candidates: Sequence[Candidate], seconds: float) -> None:
        """Write a unit."""
        content = {"unit": asdict(unit), "seconds": round(seconds, 3), "candidates": [asdict(c) for c in candidates]}
        place = self.place(unit)
        place.parent.mkdir(parents=True, exist_ok=True)
        with OutputFiles() as outputs:
            outputs.aside(place).write_text(json.dumps(content) + "\n")

    def read(self, unit: Unit) -> Finished:
        """Read a finished unit.

        Raises
        ------
        BrokenFileError
            if the file does not hold a unit.
        """
        place = self.place(unit)
        try:
            content = json.loads(place.read_text())
            return Finished(unit, tuple(Candidate(**c) for c in content["candidates"]), float(content["seconds"]))
        except (ValueError, KeyError, TypeError) as error:
            raise BrokenFileError(f"{place} is no finished unit ({error!r}); delete it, and run the benchmark again") from error
