"""The state of a run in one small file: a score for each split.

It is written beside its place and renamed, so a reader, or a run that is killed at any moment, finds the last whole one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.problem import PruningProblem


@dataclass(frozen=True, eq=False)
class Scores:
    """Where a run stands, or where another lambda may start.

    Parameters
    ----------
    score
        float64, shape (n,): s_h of every node; only differences within a purchase's users matter.
    iteration
        how many have been made: the step size goes on from there.
    """

    score: NDArray[np.float64]
    iteration: int = 0


def fingerprint(problem: PruningProblem) -> str:
    """A number that tells instances apart: trees, gains, prices, routes."""
    digest = hashlib.sha256()
    integers, routing = problem.integers, problem.routing
    for array in (problem.ensemble.left, problem.ensemble.feature, integers.gain, integers.price, integers.weight):
        digest.update(np.ascontiguousarray(array).tobytes())
    for array in (routing.start, routing.stop):
        digest.update(array.tobytes())
    digest.update(repr((integers.gain_unit, integers.price_unit, problem.costs.needs)).encode())
    return digest.hexdigest()


def save(scores: Scores, file: Path, instance: str) -> None:
    """Write the scores aside and put them in place.

    Raises
    ------
    BrokenFileError
        where the file cannot be written.
    """
    write_aside(file, {"score": scores.score, "iteration": scores.iteration, "instance": instance})


def write_aside(file: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays aside and put them in place.

    Raises
    ------
    BrokenFileError
        where the file cannot be written.
    """
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}.partial")
    try:
        with aside.open("wb") as handle:
            np.savez(handle, **arrays)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(aside, file)
    except OSError as error:
        raise BrokenFileError(f"checkpoint: cannot write {file}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            aside.unlink()


def load(file: Path, instance: str) -> Scores | None:
    """The scores of a file; None where there is none.

    Raises
    ------
    BrokenFileError
        if it holds no scores.
    InvalidInputError
        if they are another instance's.
    """
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as stored:
            found = Scores(stored["score"].astype(np.float64), int(stored["iteration"]))
            theirs = str(stored["instance"])
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise BrokenFileError(f"checkpoint: {file} holds no scores ({error}); delete it to start anew") from error
    if theirs != instance:
        raise InvalidInputError(f"checkpoint: {file} belongs to another instance; name another file, or delete it to start anew")
    return found
