"""Files that are written whole or not at all.

Each file is first written under a hidden name in its folder. When all of them are complete, they are renamed. A reader never sees
half a file, and after an error or Ctrl-C the folder is as it was.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from formulations.errors import BrokenFileError, InvalidInputError


def check_output(path: str | Path, name: str, *, endings: Sequence[str] = (), force: bool = False) -> Path:
    """Refuse a path that cannot be written, before long work begins; `name` is the argument that the message blames.

    Parameters
    ----------
    endings
        the endings of the formats that can be written, e.g. ``(".joblib", ".skops")``; empty: any.
    force
        allow an existing file to be replaced.

    Raises
    ------
    InvalidInputError
        for an unknown ending, a folder that does not exist, or a file that does.
    """
    place = Path(path)
    if endings and place.suffix not in endings:
        raise InvalidInputError(f"{name}: {place} has the ending {place.suffix!r}; give one of {', '.join(endings)}")
    if not place.parent.is_dir():
        raise InvalidInputError(f"{name}: the folder {place.parent} of {place.name} does not exist; create it first")
    if place.is_dir():
        raise InvalidInputError(f"{name}: {place} is a folder; give a file name in it")
    if not os.access(place.parent, os.W_OK):
        raise InvalidInputError(f"{name}: no permission to write in the folder {place.parent}; choose another")
    if place.exists() and not force:
        raise InvalidInputError(f"{name}: {place} exists; choose another name, or allow replacing it with --force")
    return place


class OutputFiles:
    """A group of files that appear together, or not at all.

    >>> with OutputFiles() as outputs:                              # doctest: +SKIP
    ...     frame.to_csv(outputs.aside("path.csv"))
    ...     figure.savefig(outputs.aside("path.png"))
    """

    def __init__(self) -> None:
        self._aside: dict[Path, Path] = {}

    def aside(self, path: str | Path) -> Path:
        """A new empty file to write to instead: it has the same ending and folder, and is renamed at the end of the block."""
        place = Path(os.path.realpath(path))  # a symbolic link is kept, and its target replaced
        if place in self._aside:
            raise InvalidInputError(f"{path} is named for two outputs; give each a name of its own")
        hidden = place.with_name(f".{place.stem}.{secrets.token_hex(4)}.partial{place.suffix}")
        self._aside[place] = hidden
        with _errors_naming(place):
            hidden.open("xb").close()  # tempfile would make the file private to the user, whatever the umask
        return hidden

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for hidden in self._aside.values():
                with suppress(FileNotFoundError):
                    hidden.unlink()
        if isinstance(error, OSError) and not isinstance(error, BrokenFileError):
            raise BrokenFileError(f"cannot write {', '.join(str(p) for p in self._aside)}: {error}") from error

    def _commit(self) -> None:
        for place, hidden in self._aside.items():
            with _errors_naming(place):
                _flush(hidden)
        with _without_interrupt():  # an interrupt between two renames would leave half of the files
            for place, hidden in self._aside.items():
                with _errors_naming(place):
                    os.replace(hidden, place)


def _flush(path: Path) -> None:
    """Write a file to the disk before it is renamed, so that a crash cannot leave an empty file under the final name."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _errors_naming(place: Path) -> Iterator[None]:
    """Have errors of the operating system name the file that they are about."""
    try:
        yield
    except OSError as error:
        raise BrokenFileError(f"cannot write {place}: {error.strerror or error}") from error


@contextmanager
def _without_interrupt() -> Iterator[None]:
    """Ignore Ctrl-C during the block, which takes a moment only and must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
