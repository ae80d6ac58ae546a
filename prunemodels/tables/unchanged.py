"""Files must stay as they are while they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formulations.errors import BrokenFileError

Stamp = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, number of the file."""


@dataclass(frozen=True)
class Unchanged:
    """Files with their sizes and times when they were first seen."""

    stamps: tuple[tuple[Path, Stamp], ...]

    @classmethod
    def of(cls, files: Sequence[Path]) -> Unchanged:
        """Look at the files.

        Raises
        ------
        BrokenFileError
            if one is not there.
        """
        return cls(tuple((file, _stamp(file)) for file in files))

    def check(self) -> None:
        """Look again.

        Raises
        ------
        BrokenFileError
            for a file that is not what it was, or gone.
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
