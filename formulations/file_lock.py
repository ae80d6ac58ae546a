"""Files that one process at a time writes, and the hidden names beside them.

A lock is a file, ``.NAME.lock.csv`` beside ``NAME.csv``, that the operating system locks for a process that has it open. The lock
ends with the process, however that ends. So the lock file of a killed process locks nothing: the next holder takes it over, and
deletes it. Where there are no such locks, the file's existence is the lock.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from formulations.errors import BrokenFileError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    HAS_LOCKS = True
except ImportError:  # not on this system
    HAS_LOCKS = False

LONGEST_NAME = 255
"""Bytes of a file's name on nearly all file systems."""

POLL = 0.05
"""Seconds between two attempts to get a lock."""


def hidden_name(place: Path, kind: str) -> Path:
    """The hidden file of a kind beside a place, with the same ending: ``.path.partial.csv`` for ``path.csv``.

    Where this name would be too long, a hash stands for ``path``.
    """
    name = f".{place.stem}.{kind}{place.suffix}"
    if len(os.fsencode(name)) > LONGEST_NAME:
        short = hashlib.sha256(os.fsencode(place.name)).hexdigest()[:32]
        name = f".{short}.{kind}{place.suffix if len(os.fsencode(place.suffix)) < LONGEST_NAME // 2 else ''}"
    return place.with_name(name)


class FileLock:
    """A lock on a file or folder.

    Parameters
    ----------
    place
        what is locked; it need not exist.
    file
        the lock file. Default: the one beside the place.
    wait
        seconds to wait for another holder.

    Raises
    ------
    BrokenFileError
        on entry: if another process, or another thread of this one, holds the lock; and if the lock file cannot be made.
    """

    def __init__(self, place: Path, file: Path | None = None, *, wait: float = 0.0) -> None:
        self._place, self._wait = place, wait
        self._file = hidden_name(place, "lock") if file is None else file
        self._handle: int | None = None

    def __enter__(self) -> Self:
        """Take the lock."""
        until = time.monotonic() + self._wait
        while not self._try():
            if time.monotonic() >= until:
                raise BrokenFileError(self._in_use())
            time.sleep(POLL)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give it back."""
        if self._handle is not None:
            with suppress(OSError):
                self._file.unlink()
            os.close(self._handle)
            self._handle = None

    def _try(self) -> bool:
        """Whether the lock was free, and is now taken."""
        try:
            while True:
                handle, is_new = self._open()
                locked = _lock(handle)
                if locked and not _is(self._file, handle):  # its last holder has deleted it since it was opened
                    os.close(handle)
                    continue
                if is_new if locked is None else locked:
                    break
                os.close(handle)
                return False
        except OSError as error:
            raise BrokenFileError(f"cannot write {self._place}: {self._file.name}: {error.strerror or error}") from error
        with suppress(OSError):  # on a full disk the lock holds all the same
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
        self._handle = handle
        return True

    def _open(self) -> tuple[int, bool]:
        """The open lock file, and whether it is new."""
        while True:
            with suppress(FileExistsError):
                return os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
            with suppress(FileNotFoundError):
                return os.open(self._file, os.O_RDWR), False

    def _in_use(self) -> str:
        holder = ""
        with suppress(OSError, ValueError):
            holder = f", process {int(self._file.read_text())},"
        crashed = "" if HAS_LOCKS else f"; if it crashed, delete {self._file}"
        return f"another run{holder} is writing {self._place}: wait for its end, or name another place{crashed}"


def _lock(handle: int) -> bool | None:
    """Lock an open file: whether it succeeded; None where there are no locks."""
    if not HAS_LOCKS:
        return None
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        return None
    return True


def _is(file: Path, handle: int) -> bool:
    """Whether the name still stands for the open file; its last holder may have deleted it before it was locked here."""
    try:
        there = os.stat(file)
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
