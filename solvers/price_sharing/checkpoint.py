"""The state of a run in one small file: a score for each split.

The file is written beside its place and then renamed. So a reader finds a complete file at any moment, even after the writing
process was killed. A lock keeps a second run from the file as long as the first one is at work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Natural, checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.file_lock import FileLock, hidden_name
from formulations.instance.problem import PruningProblem
from formulations.stored_arrays import fingerprint, read_arrays, stored_array, whole_number

MOST_ROUNDS = 10_000_000
"""A file that claims more rounds is damaged: they would take weeks."""


@checked
@dataclass(frozen=True, eq=False)
class Scores:
    """Where a run has got to, or where one for another lambda may start.

    Parameters
    ----------
    score
        float64, shape (n,): s_h of every node, finite; only differences among the users of a purchase matter.
    iteration
        number of rounds made: the step size goes on from there.

    Raises
    ------
    InvalidInputError
        for scores that are no numbers, or none that a float32 can hold.
    """

    score: NDArray[np.float64]
    iteration: Natural = 0

    def __post_init__(self) -> None:
        numbers = self.score.ndim == 1 and self.score.dtype.kind in "iuf"
        if not numbers or not (np.abs(self.score) <= np.finfo(np.float32).max).all():  # NaN is not either
            raise InvalidInputError("score: give one number for each node that a float32 can hold, without NaN")


def problem_fingerprint(problem: PruningProblem, *more: Any) -> str:
    """The fingerprint of an instance and of what else a state depends on. Of the rows it has the routes, not the features."""
    return fingerprint(replace(problem, usage=replace(problem.usage, X=None)), *more)


@dataclass(frozen=True)
class ScoreFile:
    """A file with the scores of a run.

    Parameters
    ----------
    path
        of the file; it need not exist.
    instance
        fingerprint of the instance that the scores belong to.
    """

    path: Path
    instance: str

    def save(self, scores: Scores) -> None:
        """Write the scores, replacing those that are there.

        Raises
        ------
        BrokenFileError
            where the file cannot be written.
        """
        write_atomically(self.path, {"score": scores.score, "iteration": scores.iteration, "instance": self.instance})

    def load(self) -> Scores | None:
        """The scores in the file; None where there is no file.

        Raises
        ------
        BrokenFileError
            if it holds no scores.
        InvalidInputError
            if they are another instance's.
        """
        if not os.path.exists(self.path):
            return None
        try:
            stored = read_arrays(self.path, ("score", "iteration", "instance"))
            score = stored_array(stored["score"], "score", "f").astype(np.float64)
            scores = Scores(score, whole_number(stored["iteration"], "iteration", MOST_ROUNDS))
            instance = str(stored["instance"])
        except BrokenFileError as error:
            raise BrokenFileError(f"checkpoint: {self.path} holds no scores ({error}); delete it to start anew") from error
        if instance != self.instance:
            raise InvalidInputError(
                f"checkpoint: {self.path} belongs to another instance; name another file, or delete it to start anew"
            )
        return scores


@contextmanager
def one_writer(place: Path, file: Path | None = None) -> Iterator[None]:
    """Keep other runs from a checkpoint during the block; arguments as in `FileLock`.

    Raises
    ------
    BrokenFileError
        where another run has it, and where no lock can be made.
    """
    lock = FileLock(place, file)
    try:
        lock.__enter__()
    except BrokenFileError as error:
        raise BrokenFileError(f"checkpoint: {error}") from error
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def write_atomically(file: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a file beside the place where they belong, and rename it: at no time is there half a file in that place.

    Only one run at a time may write the file, see `one_writer`; it deletes what a killed one left behind.

    Raises
    ------
    BrokenFileError
        where the file cannot be written.
    """
    partial = hidden_name(file, "partial")
    try:
        with partial.open("wb") as handle:
            np.savez(handle, **arrays)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(partial, file)
    except OSError as error:
        raise BrokenFileError(f"checkpoint: cannot write {file}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()
