"""The points of a path in a folder, one file each, and the scores of the one at work.

Each is written aside and renamed, so a path that is killed at any moment goes on from the last whole point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.problem import PruningProblem
from formulations.pruning import Pruning
from formulations.solution import FixingStage, SharedPrices, Solution, StopReason
from solvers.shared_prices.checkpoint import Scores, load, write_aside
from solvers.shared_prices.path_point import PathPoint

RUNNING = "running.scores"

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class PointFiles:
    """A folder of points; `instance` says what they are points of."""

    folder: Path
    instance: str

    def open(self) -> None:
        """Make the folder if need be.

        Raises
        ------
        BrokenFileError
            where that cannot be.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot make the folder {self.folder}: {error.strerror or error}") from error

    @property
    def running(self) -> tuple[Path, str]:
        """Where the scores of the point at work are kept, and whose they are."""
        return self.folder / RUNNING, self.instance

    def begun(self) -> Scores | None:
        """The scores of a point that was interrupted."""
        return load(*self.running)

    def save(self, point: PathPoint, rate: Fraction) -> None:
        """Write a point, and forget the scores on the way to it.

        Raises
        ------
        BrokenFileError
            where it cannot be written.
        """
        write_aside(self._file(rate), _arrays(point, self.instance))
        self.running[0].unlink(missing_ok=True)

    def load(self, problem: PruningProblem, rate: Fraction) -> PathPoint | None:
        """A point that is done; None where it is not.

        Raises
        ------
        BrokenFileError
            if its file holds no point.
        InvalidInputError
            if it is another instance's, or was made with other options.
        """
        file = self._file(rate)
        if not file.exists():
            return None
        try:
            with np.load(file, allow_pickle=False) as stored:
                found = dict(stored)
            theirs, told = str(found["instance"]), json.loads(str(found["told"]))
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise BrokenFileError(f"checkpoint: {file} holds no point ({error}); delete it to start it anew") from error
        if theirs != self.instance:
            raise InvalidInputError(
                f"checkpoint: {file} is of another instance, or was made with other options; name another folder"
            )
        return _point(problem, rate, found, told)

    def _file(self, rate: Fraction) -> Path:
        return self.folder / f"{float(rate):.6g}-{sha256(str(rate).encode()).hexdigest()[:8]}.point"


def _arrays(point: PathPoint, instance: str) -> dict[str, Any]:
    """What a file holds."""
    solution, proof = point.solution, point.proof
    assert solution.pruning is not None
    told = {
        "value": solution.value,
        "bound": solution.bound,
        "stopped": solution.stopped.value,
        "tolerance": solution.tolerance,
        "stats": dict(solution.stats),
        "alone": solution.certificate is not None,
        "lam": str(point.lam),
        "smaller": None if point.smaller is None else str(point.smaller),
        "larger": None if point.larger is None else str(point.larger),
        "unit": str(proof.unit),
        "iteration": proof.iteration,
        "stages": [stage.iteration for stage in proof.stages],
        "start": point.scores.iteration,
    }
    arrays: dict[str, Any] = {"instance": instance, "told": json.dumps(told), "pruning": solution.pruning.kept}
    arrays |= {"kept": point.kept, "pruned": point.pruned, "score": point.scores.score}
    arrays |= {"left": proof.nodes, "left_score": proof.score}
    if proof.load is not None:
        arrays["load"] = proof.load
    for k, stage in enumerate(proof.stages):
        arrays |= {f"nodes{k}": stage.nodes, f"score{k}": stage.score, f"in{k}": stage.fixed_in, f"out{k}": stage.fixed_out}
    return arrays


def _point(problem: PruningProblem, rate: Fraction, a: Arrays, told: Mapping[str, Any]) -> PathPoint:
    """What a file says."""
    stages = tuple(
        FixingStage(a[f"nodes{k}"], a[f"score{k}"], a[f"in{k}"], a[f"out{k}"], iteration)
        for k, iteration in enumerate(told["stages"])
    )
    lam = Fraction(told["lam"])
    proof = SharedPrices(stages, a["left"], a["left_score"], a.get("load"), Fraction(told["unit"]), lam, told["iteration"])
    smaller, larger = (None if told[key] is None else Fraction(told[key]) for key in ("smaller", "larger"))
    solution = Solution(
        problem,
        rate,
        Pruning(problem, a["pruning"]),
        told["value"],
        told["bound"],
        StopReason(told["stopped"]),
        told["tolerance"],
        proof if told["alone"] else None,
        told["stats"],
    )
    return PathPoint(solution, lam, proof, smaller, larger, a["kept"], a["pruned"], Scores(a["score"], told["start"]))
