"""Checkpoints: files from which long work goes on where it was stopped, one format for all.

A file holds arrays, ``figures`` (numbers, texts and lists, as JSON), and ``owner``, the fingerprint of all that the work depends
on. It is written beside its place and then renamed. So a reader finds a complete file at any moment, even after the writing
process was killed. A lock keeps a second run from the file as long as the first one is at work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.file_lock import FileLock, hidden_name
from formulations.stored_arrays import read_arrays, stored_json

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

        Raises
        ------
        BrokenFileError
            where the file cannot be written.
        """
        partial = hidden_name(self.path, "partial")
        try:
            with partial.open("wb") as handle:
                np.savez(handle, allow_pickle=False, owner=self.owner, figures=json.dumps(figures), **arrays)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(partial, self.path)
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot write {self.path}: {error.strerror or error}") from error
        finally:
            with suppress(OSError):
                partial.unlink()

    @contextmanager
    def stored(self) -> Iterator[Stored | None]:
        """What the file holds, None where there is none, for a block that takes it apart.

        Raises
        ------
        BrokenFileError
            if the file cannot be read, and for every error in the block that damaged content causes; names the file.
        InvalidInputError
            if it belongs to other work.
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

        Raises
        ------
        BrokenFileError
            where another run has it, and where no lock can be made.
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
