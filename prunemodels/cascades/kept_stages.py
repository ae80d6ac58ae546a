"""What a fit has found, in the folder of its checkpoint, so that a fit that was stopped trains no model twice.

The folder holds a file for each fitted stage, named by the fingerprint of its estimator, columns and rows; one for each loss of a
set and each step of the search for sets; one for each choice of kinds of models; and a file ``owner`` with the fingerprint of the
examples and settings. Each file is written whole or not at all. They are pickles, which `joblib` reads: the folder must be one
that nobody else writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import sklearn

from formulations.checkpoints import FileLock, written_whole
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.stored_arrays import fingerprint


@dataclass(frozen=True)
class KeptStages:
    """The folder of one fit; without one nothing is kept."""

    folder: Path | None = None
    owner: str = ""  # fingerprint of the examples and settings
    of: str | None = None  # fingerprint of the part of the work that results belong to

    @classmethod
    def of_fit(cls, checkpoint: Path, *work: Any) -> KeptStages:
        """The folder for this work; models of another version of scikit-learn are other work."""
        return cls(checkpoint, fingerprint(sklearn.__version__, *work))

    def part(self, *of: Any) -> KeptStages:
        """The same for a part of the work."""
        return self if self.folder is None else replace(self, of=fingerprint(*of))

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs from the folder during the block.

        Raises
        ------
        InvalidInputError
            if it belongs to other work.
        BrokenFileError
            if it cannot be made, or another run has it.
        """
        if self.folder is None:
            yield
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot make the folder {self.folder}: {error.strerror or error}") from error
        with FileLock(self.folder):
            owner = self.folder / "owner"
            if not owner.exists():
                with written_whole(owner) as handle:
                    handle.write(self.owner.encode())
            elif owner.read_bytes() != self.owner.encode():
                raise InvalidInputError(
                    f"checkpoint: {self.folder} belongs to another instance, or to other options; name another, or delete it to "
                    "start anew"
                )
            yield

    def _place(self, folder: Path, work: Any) -> Path:
        return folder / f"{fingerprint(self.owner, work if self.of is None else (self.of, work))[:32]}.joblib"

    def find(self, work: Any) -> Any:
        """The result of some work, mostly a model, from its file; None where there is none."""
        if self.folder is None or not (place := self._place(self.folder, work)).exists():
            return None
        try:
            return joblib.load(place)
        except Exception as error:  # a damaged pickle raises almost anything
            raise BrokenFileError(
                f"checkpoint: {place} cannot be read ({error}); delete it to find what it held again"
            ) from error

    def keep(self, work: Any, result: Any) -> Any:
        """Write the result of some work; it is returned."""
        if self.folder is not None:
            with written_whole(self._place(self.folder, work)) as handle:
                joblib.dump(result, handle)
        return result


NOWHERE = KeptStages()
"""Nothing is kept."""
