"""A check that files do not change while they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formulations.errors import BrokenFileError

Stamp = tuple[int, int, int]
"""Size in bytes, time of the last change in nanoseconds, and inode number of a file."""


@dataclass(frozen=True)
class Unchanged:
    """Files, and their sizes and times of change when they were opened."""

    stamps: tuple[tuple[Path, Stamp], ...]

    @classmethod
    def of(cls, files: Sequence[Path]) -> Unchanged:
        """Record the state of the files.

        Raises
        ------
        BrokenFileError
            if a file is absent.
        """
        return cls(tuple((file, _stamp(file)) for file in files))

    def check(self) -> None:
        """Compare the files with their recorded state.

        Raises
        ------
        BrokenFileError
            for a file that changed or is absent.
        """
        for file, was in self.stamps:
            now = _stamp(file)
            if now != was:
                sizes = f"from {was[0]:,} to {now[0]:,} bytes" if now[0] != was[0] else "though not its size"
                raise BrokenFileError(f"{file} changed, {sizes}, since it was opened; start again when nothing writes to it")


def _stamp(file: Path) -> Stamp:
    try:
        seen = os.stat(file)
    except OSError as error:
        raise BrokenFileError(f"there is no file {file} ({error.strerror})") from error
    return seen.st_size, seen.st_mtime_ns, seen.st_ino
