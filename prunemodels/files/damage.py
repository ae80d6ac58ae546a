"""What an error says that was raised while a file was read: that the file is damaged, or that this package has a defect.

Libraries raise almost anything for a damaged file, so the type of an error tells little. The place tells more: an error of a
library's own code is about the file, and one that a line of ours raised is ours, unless it is of a type that only reading raises.
"""

from __future__ import annotations

import csv
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from formulations.errors import BrokenFileError, PruneModelsError

OURS = tuple(str(Path(__file__).resolve().parents[2] / package) for package in ("formulations", "solvers", "prunemodels"))
"""The folders of this code."""

OF_READING = (OSError, EOFError, UnicodeError, zlib.error, csv.Error)
"""Errors that calls of Python's own library raise, which leave no line of theirs in a traceback."""

NEVER_OF_FILES = (MemoryError, NameError, AttributeError, AssertionError, ImportError)
"""Errors that no content of a file causes. pandas passes errors of the file object that it reads on without their place."""


def is_damage(error: Exception) -> bool:
    """Whether an error that was raised while a file was read is about the file."""
    if isinstance(error, NEVER_OF_FILES):
        return False
    if isinstance(error, OF_READING) or type(error).__module__.partition(".")[0] in ("pandas", "pyarrow"):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and not str(Path(frames[-1].filename).resolve()).startswith(OURS)


@contextmanager
def reading_table(place: Path) -> Iterator[None]:
    """Have what pandas, pyarrow and gzip raise for a damaged table become one error that names the file."""
    try:
        yield
    except (PruneModelsError, MemoryError):
        raise
    except Exception as error:  # each has types of its own
        if not is_damage(error):
            raise
        raise BrokenFileError(f"{place} cannot be read as a table ({type(error).__name__}: {str(error).strip()})") from error
