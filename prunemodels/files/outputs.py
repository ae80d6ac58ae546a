"""Files that are written whole or not at all, by one process at a time.

Each file is first written under a hidden name in its folder, ``.path.partial.csv`` for ``path.csv``. When all of them are
complete, they are renamed. A reader never sees half a file, and after an error or Ctrl-C the folder is as it was. After SIGKILL
the hidden file may stay; the next run that writes the same file deletes it.

A lock beside each file, see `formulations.checkpoints`, keeps two processes from writing it at the same time.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from formulations.checkpoints import FileLock, hidden_name
from formulations.errors import BrokenFileError, InvalidInputError


def check_output(path: str | Path, name: str, *, endings: Sequence[str] = (), force: bool = False) -> Path:
    """Refuse a path that cannot be written, before long work begins; `name` is the argument that the message blames.

    Without `endings` any is allowed; with `force` an existing file may be replaced.
    """
    place = Path(path)
    if endings and place.suffix not in endings:
        raise InvalidInputError(f"{name}: {place} has the ending {place.suffix!r}; give one of {', '.join(endings)}")
    try:
        with suppress(FileNotFoundError):
            os.stat(place)  # newer versions of pathlib keep to themselves that a name is too long
        if not place.parent.is_dir():
            raise InvalidInputError(f"{name}: the folder {place.parent} of {place.name} does not exist; create it first")
        if place.is_dir():
            raise InvalidInputError(f"{name}: {place} is a folder; give a file name in it")
        if not os.access(place.parent, os.W_OK):
            raise InvalidInputError(f"{name}: no permission to write in the folder {place.parent}; choose another")
        if place.exists() and not force:
            raise InvalidInputError(f"{name}: {place} exists; choose another name, or allow replacing it with --force")
    except OSError as error:  # a name that is too long
        raise InvalidInputError(f"{name}: {place} cannot be a file ({error.strerror or error}); choose another name") from error
    return place


class OutputFiles:
    """A group of files that appear together, or not at all.

    Parameters
    ----------
    force
        whether to replace files that exist. Otherwise a file that appears in the meantime is kept, and none of the group is
        written.
    inputs
        files that must not be written, by the names that messages give them.

    Examples
    --------
    >>> with OutputFiles() as outputs:                              # doctest: +SKIP
    ...     frame.to_csv(outputs.aside("path.csv"))
    ...     figure.savefig(outputs.aside("path.png"))
    """

    def __init__(self, *, force: bool = True, inputs: Mapping[str, str | Path] | None = None) -> None:
        self._force, self._inputs = force, inputs or {}
        self._locks = ExitStack()
        self._reserved: dict[Path, str | Path] = {}
        self._aside: dict[Path, Path] = {}
        self._folders: list[Path] = []
        self.committed = False
        """Whether the files are in their places."""

    def reserve(self, path: str | Path, name: str, *, endings: Sequence[str] = ()) -> Path:
        """Refuse a path that cannot be written, and keep other processes from writing it until the block ends."""
        place = check_output(path, name, endings=endings, force=self._force)
        for what, file in self._inputs.items():
            if _same_file(place, Path(file)):
                raise InvalidInputError(
                    f"{name}: {place} is also the file of {what}, and an input is never overwritten; choose another name"
                )
        real = _real(place)
        if real in self._reserved:
            raise InvalidInputError(f"{name}: {path} is named for two outputs; give each a name of its own")
        self._reserve(real, path, wait=0.0)
        return place

    def folder(self, path: str | Path, name: str) -> Path:
        """A folder for the files, made if it is not there; it is removed again if they are not written."""
        place = Path(path)
        if not place.exists():
            check_output(place, name)
            with _errors_naming(place):
                place.mkdir()
            self._folders.append(place)
        if not place.is_dir():
            raise InvalidInputError(f"{name}: {place} is a file; give a folder")
        return place

    def aside(self, path: str | Path) -> Path:
        """A new empty file to write to instead: it has the same ending and folder, and is renamed at the end of the block."""
        place = _real(Path(path))
        if place in self._aside:
            raise InvalidInputError(f"{path} is named for two outputs; give each a name of its own")
        if place not in self._reserved:
            # seconds for another process that writes the same file, as this was not reserved before long work
            self._reserve(place, path, wait=10.0)
        hidden = hidden_name(place, "partial")
        self._aside[place] = hidden
        with _errors_naming(place):
            hidden.unlink(missing_ok=True)  # of a process that was killed
            hidden.open("xb").close()  # tempfile would make the file private to the user, whatever the umask
        return hidden

    def _reserve(self, place: Path, path: str | Path, *, wait: float) -> None:
        self._locks.enter_context(FileLock(place, wait=wait))
        self._reserved[place] = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with _signals_deferred():
            try:
                if kind is None:
                    self._commit()
                    self.committed = True
            finally:
                for hidden in self._aside.values():
                    with suppress(OSError):
                        hidden.unlink()
                self._locks.close()
                for folder in self._folders if not self.committed else ():
                    with suppress(OSError):  # something else is in it by now
                        folder.rmdir()
        if self._aside and isinstance(error, OSError) and not isinstance(error, BrokenFileError):
            files = ", ".join(str(place) for place in self._aside)
            raise BrokenFileError(f"cannot write {files}: {error.strerror or error}") from error

    def _commit(self) -> None:
        for place, hidden in self._aside.items():
            with _errors_naming(place):
                _flush(hidden)
        new: list[Path] = []
        try:
            for place, hidden in self._aside.items():
                with _errors_naming(place):
                    if self._force:
                        os.replace(hidden, place)
                    else:
                        _rename_to_new(hidden, place)
                        new.append(place)
        except BaseException:
            for place in new:
                with suppress(OSError):
                    place.unlink()
            raise


def _real(path: Path) -> Path:
    """The path without symbolic links: a link is kept, and its target replaced."""
    return Path(os.path.realpath(path))


def _same_file(a: Path, b: Path) -> bool:
    """Whether two paths name one file: links followed, hard links included."""
    if _real(a) == _real(b):
        return True
    with suppress(OSError):
        return os.path.samefile(a, b)
    return False


def _rename_to_new(hidden: Path, place: Path) -> None:
    """Give a file the name of its place, where no file may be."""
    try:
        try:
            os.link(hidden, place)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if place.exists():
                raise FileExistsError from None
            os.replace(hidden, place)
    except FileExistsError:
        raise BrokenFileError(
            f"cannot write {place}: it did not exist at the beginning, but does now; it was kept. Choose another name, or allow "
            "replacing it with --force"
        ) from None


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
    except BrokenFileError:
        raise
    except OSError as error:
        raise BrokenFileError(f"cannot write {place}: {error.strerror or error}") from error


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Keep signals that end the process until the block ends, which takes a moment only and must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def keep(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {n: handler for n in numbers if (handler := signal.getsignal(n)) not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, keep)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)
