"""Files that one process at a time writes, and the hidden names beside them.

A lock is a file, ``.NAME.lock.csv`` beside ``NAME.csv``, that the operating system locks for a process that has it open. The lock
ends with the process, however that ends. So the lock file of a killed process locks nothing: the next holder takes it over, and
deletes it. The package `filelock` does that on every system; where there are no such locks, the file's existence is the lock.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from formulations.errors import BrokenFileError

LONGEST_NAME = 255
"""Bytes of a file's name on nearly all file systems."""


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
        self._lock: Any = None

    def __enter__(self) -> Self:
        """Take the lock."""
        import filelock  # 50 ms, which commands that write nothing do without

        self._lock = filelock.FileLock(self._file, timeout=self._wait, thread_local=False)
        try:
            os.stat(self._file.parent)  # `filelock` would make a folder that is not there
            self._lock.acquire()
        except filelock.Timeout:
            holder = ""
            with suppress(OSError, ValueError):
                holder = f", process {int(self._file.read_text())},"
            raise BrokenFileError(
                f"another run{holder} is writing {self._place}: wait for its end, or name another place"
            ) from None
        except OSError as error:
            raise BrokenFileError(f"cannot write {self._place}: {self._file.name}: {error.strerror or error}") from error
        with suppress(OSError):  # on a full disk the lock holds all the same
            self._file.write_text(f"{os.getpid()}\n")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give it back. A process that has opened the file before it is deleted here sees that, and makes a new one."""
        with suppress(OSError):
            self._file.unlink()
        self._lock.release()
