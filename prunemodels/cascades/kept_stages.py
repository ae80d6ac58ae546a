"""Fitted stages in files beside a checkpoint, so that a fit that was stopped trains no stage twice.

For the checkpoint ``NAME`` the folder ``NAME.stages`` holds a file for each fitted model, named by the fingerprint of its
estimator, columns and rows, and a file ``owner`` with the fingerprint of the examples and settings. Each file is written whole or
not at all. Models are pickles, which `joblib` reads: the folder must be one that nobody else writes.
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
    """A folder of fitted models of one fit."""

    folder: Path
    owner: str  # fingerprint of the examples and settings

    @classmethod
    def beside(cls, checkpoint: Path, *work: Any) -> KeptStages:
        """The folder beside a checkpoint, for this work; models of another version of scikit-learn are other work."""
        return cls(checkpoint.with_name(f"{checkpoint.name}.stages"), fingerprint(sklearn.__version__, *work))

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

    def fitted(self, work: Any, fit: Callable[[], Any]) -> Any:
        """The model of this work: from its file, else fitted now and written there."""
        place = self.folder / f"{fingerprint(self.owner, work)[:32]}.joblib"
        if place.exists():
            try:
                return joblib.load(place)
            except Exception as error:  # a damaged pickle raises almost anything
                raise BrokenFileError(
                    f"checkpoint: {place} cannot be read ({error}); delete it to fit this stage again"
                ) from error
        model = fit()
        with written_whole(place) as handle:
            joblib.dump(model, handle)
        return model
