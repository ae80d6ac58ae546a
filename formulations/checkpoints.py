"""Checkpoints: files from which long work goes on where it was stopped, and locks, so that one process at a time writes a file.

A lock is a file, ``.NAME.lock.csv`` beside ``NAME.csv``, that the operating system locks for a process that has it open. The lock
ends with the process, however that ends. So the lock file of a killed process locks nothing: the next holder takes it over, and
deletes it. The package `filelock` does that on every system; where there are no such locks, the file's existence is the lock.

All checkpoints have one format. A file holds arrays, ``figures`` (numbers, texts and lists, as JSON), and ``owner``, the
fingerprint of all that the work depends on. It is written beside its place and then renamed. So a reader finds a complete file at
any moment, even after the writing process was killed. A lock keeps a second run from the file as long as the first one is at
work.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.stored_arrays import read_arrays, stored_json


def hidden_name(place: Path, kind: str) -> Path:
    """The hidden file of a kind beside a place, with the same ending: ``.path.partial.csv`` for ``path.csv``.

    Where this name would be too long, a hash stands for ``path``.
    """
    name = f".{place.stem}.{kind}{place.suffix}"
    most = 255  # bytes of a name on nearly all file systems
    if len(os.fsencode(name)) > most:
        short = hashlib.sha256(os.fsencode(place.name)).hexdigest()[:32]
        name = f".{short}.{kind}{place.suffix if len(os.fsencode(place.suffix)) < most // 2 else ''}"
    return place.with_name(name)


@contextmanager
def written_whole(path: Path, kind: str = "partial") -> Iterator[BinaryIO]:
    """A hidden file of a kind, which takes the place of `path` when the block ends without an error: no one finds half of it."""
    partial = hidden_name(path, kind)
    try:
        with partial.open("wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink()


class FileLock:
    """A lock on a file or folder.

    `place`: what is locked; it need not exist. `file`: the lock file. Default: the one beside the place. `wait`: seconds to wait
    for another holder. Raises `BrokenFileError` on entry: if another process, or another thread of this one, holds the lock; and
    if the lock file cannot be made.
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


MOST_ROUNDS = 10_000_000
"""A file that claims more rounds is damaged: they would take weeks."""


@dataclass(frozen=True, eq=False)
class Stored:
    """What a checkpoint holds; a name that is not there is a `BrokenFileError`."""

    arrays: Mapping[str, NDArray[Any]]
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A file of one piece of work."""

    path: Path  # of the file; it need not exist
    owner: str  # fingerprint of the work, by `formulations.stored_arrays.fingerprint`

    def save(self, arrays: Mapping[str, NDArray[Any]], **figures: Any) -> None:
        """Write arrays and figures in the place of those that are there, all of them or none.

        Only one run at a time may write the file, see `one_writer`; it deletes what a killed one left behind.

        Raises `BrokenFileError` where the file cannot be written.
        """
        try:
            with written_whole(self.path) as handle:
                np.savez(handle, allow_pickle=False, owner=self.owner, figures=json.dumps(figures), **arrays)
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot write {self.path}: {error.strerror or error}") from error

    @contextmanager
    def stored(self) -> Iterator[Stored | None]:
        """What the file holds, None where there is none, for a block that takes it apart.

        Raises `BrokenFileError` if the file cannot be read, and for every error in the block that damaged content causes; names
        the file. Raises `InvalidInputError` if it belongs to other work.
        """
        if not os.path.exists(self.path):
            yield None
            return
        try:
            arrays = read_arrays(self.path, ("owner", "figures"))
            figures = stored_json(str(arrays["figures"]), "figures")
            if not isinstance(figures, dict):
                raise BrokenFileError(f"figures is a {type(figures).__name__}")
            if str(arrays["owner"]) == self.owner:
                yield Stored(arrays, figures)
                return
        except KeyError as error:
            raise BrokenFileError(f"checkpoint: {self.path} lacks {error}; delete it to start anew") from error
        except (BrokenFileError, InvalidInputError) as error:
            raise BrokenFileError(f"checkpoint: {self.path} cannot be read ({error}); delete it to start anew") from error
        raise InvalidInputError(
            f"checkpoint: {self.path} belongs to another instance, or to other options; name another, or delete it to start anew"
        )

    @contextmanager
    def one_writer(self, lock_file: Path | None = None) -> Iterator[None]:
        """Keep other runs from the checkpoint during the block; `lock_file` as in `FileLock`.

        Raises `BrokenFileError` where another run has it, and where no lock can be made.
        """
        lock = FileLock(self.path, lock_file)
        try:
            lock.__enter__()
        except BrokenFileError as error:
            raise BrokenFileError(f"checkpoint: {error}") from error
        try:
            yield
        finally:
            lock.__exit__(None, None, None)
