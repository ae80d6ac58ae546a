"""What a fit has found, in the folder of its checkpoint, so that a fit that was stopped trains no model twice.

The folder holds a file for each fitted stage, named by the fingerprint of its estimator, columns and rows; one for the losses
of each set, shuffled or not, in the search for sets; one for each choice of kinds of models; and a file ``owner`` with the
fingerprint of the examples and settings. Each file is written whole or not at all. They are pickles, which `joblib` reads: the
folder must be one that nobody else writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import sklearn

from formulations.checkpoints import FileLock, written_whole
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.stored_arrays import fingerprint


@dataclass(frozen=True)
class KeptStages:
    """The folder of one fit."""

    folder: Path
    owner: str  # fingerprint of the examples and settings

    @classmethod
    def of_fit(cls, checkpoint: Path, *work: Any) -> KeptStages:
        """The folder for this work; models of another version of scikit-learn are other work."""
        return cls(checkpoint, fingerprint(sklearn.__version__, *work))

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

    def result(self, of: tuple[Any, ...], work: Any, make: Callable[[], Any]) -> Any:
        """See `Keep`: the result, mostly a model, comes from its file, or goes there."""
        place = self.folder / f"{fingerprint(self.owner, (fingerprint(*of), work) if of else work)[:32]}.joblib"
        if not place.exists():
            result = make()
            with written_whole(place) as handle:
                joblib.dump(result, handle)
            return result
        try:
            return joblib.load(place)
        except Exception as error:  # a damaged pickle raises almost anything
            raise BrokenFileError(
                f"checkpoint: {place} cannot be read ({error}); delete it to find what it held again"
            ) from error
