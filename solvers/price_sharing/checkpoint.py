"""The state of a run in one small file: a score for each split, as a checkpoint of `formulations.checkpoints`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Natural, checked
from formulations.checkpoints import MOST_ROUNDS, Checkpoint
from formulations.errors import InvalidInputError
from formulations.instance.problem import Core
from formulations.instance.usage import Usage
from formulations.shown import Brief
from formulations.stored_arrays import fingerprint, stored_array, whole_number


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Scores(Brief):
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


def problem_fingerprint(problem: Core, *more: Any) -> str:
    """The fingerprint of an instance and of what else a state depends on. Of the rows it has the routes, not the features."""
    usage = replace(problem.usage, X=None) if isinstance(problem.usage, Usage) else problem.usage
    return fingerprint(Core(usage, problem.errors, problem.numbers), *more)


def save_scores(checkpoint: Checkpoint, scores: Scores) -> None:
    """Write the scores in the place of those that are there."""
    checkpoint.save({"score": scores.score}, iteration=scores.iteration)


def load_scores(checkpoint: Checkpoint) -> Scores | None:
    """The scores in the file; None where there is no file."""
    with checkpoint.stored() as stored:
        if stored is None:
            return None
        score = stored_array(stored.arrays["score"], "score", "f").astype(np.float64)
        return Scores(score, whole_number(stored.figures["iteration"], "iteration", MOST_ROUNDS))
