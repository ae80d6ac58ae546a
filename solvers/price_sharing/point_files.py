"""The points of a path in a folder, one file each, and the state of the one at work.

Each is written aside and renamed, so a path that is killed at any moment goes on from the last check of the point at work, and
ends with the points that it would have had. A folder serves one path at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import FixingStage, SharedPrices, Solution, StopReason
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.problem import PruningProblem
from solvers.price_sharing.checkpoint import write_aside
from solvers.price_sharing.path_point import PathPoint
from solvers.price_sharing.run import RunState

RUNNING = "running.state"

FIGURES = ("lowest", "bound", "best_value", "k", "since", "still")
"""Of a run's state, what is no array."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class PointFiles:
    """A folder of points; `instance` says what they are points of."""

    folder: Path
    instance: str

    def open(self) -> None:
        """Make the folder if need be, and clear away what a killed process was writing.

        Raises
        ------
        BrokenFileError
            where that cannot be.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for half_written in self.folder.glob(".*.partial"):
                half_written.unlink()
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot make the folder {self.folder}: {error.strerror or error}") from error

    @property
    def running(self) -> Path:
        """Where the state of the point at work is kept."""
        return self.folder / RUNNING

    def begun(self, whose: str) -> RunState | None:
        """The state that a point was left in; None where there is none, or another point's.

        Raises
        ------
        BrokenFileError
            if its file holds no state.
        InvalidInputError
            if it is another instance's.
        """
        if not self.running.exists():
            return None
        found, told = self._read(self.running)
        try:
            return _state(found, told) if told["whose"] == whose else None
        except KeyError as error:
            raise BrokenFileError(f"checkpoint: {self.running} lacks {error}; delete it to start its point anew") from error

    def keep(self, state: RunState, whose: str) -> None:
        """Write the state of the point at work; `whose` tells points and their neighbours apart.

        Raises
        ------
        BrokenFileError
            where it cannot be written.
        """
        told = {name: getattr(state, name) for name in FIGURES}
        told |= {"whose": whose, "stages": [stage.iteration for stage in state.stages]}
        arrays = {"instance": self.instance, "told": json.dumps(told), "best_kept": state.best_kept}
        arrays |= {"score": state.score, "ybar": state.ybar, "at_lowest": state.at_lowest}
        write_aside(self.running, arrays | _stage_arrays(state.stages))

    def save(self, point: PathPoint, rate: Fraction) -> None:
        """Write a point, and forget the state on the way to it.

        Raises
        ------
        BrokenFileError
            where it cannot be written.
        """
        write_aside(self._file(rate), _arrays(point, self.instance))
        self.running.unlink(missing_ok=True)

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
        found, told = self._read(file)
        try:
            return _point(problem, rate, found, told)
        except KeyError as error:
            raise BrokenFileError(f"checkpoint: {file} lacks {error}; delete it to start it anew") from error

    def _read(self, file: Path) -> tuple[Arrays, Mapping[str, Any]]:
        """What a file of this instance holds."""
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
        return found, told

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
    }
    arrays: dict[str, Any] = {"instance": instance, "told": json.dumps(told), "pruning": solution.pruning.kept}
    arrays |= {"kept": point.kept, "pruned": point.pruned}
    arrays |= {"left": proof.nodes, "left_score": proof.score}
    if proof.load is not None:
        arrays["load"] = proof.load
    return arrays | _stage_arrays(proof.stages)


def _stage_arrays(stages: Iterable[FixingStage]) -> dict[str, Any]:
    """The arrays of some stages by name."""
    arrays: dict[str, Any] = {}
    for k, stage in enumerate(stages):
        arrays |= {f"nodes{k}": stage.nodes, f"score{k}": stage.score, f"in{k}": stage.fixed_in, f"out{k}": stage.fixed_out}
    return arrays


def _stages(a: Arrays, iterations: Iterable[int]) -> tuple[FixingStage, ...]:
    """The stages of a file."""
    return tuple(
        FixingStage(a[f"nodes{k}"], a[f"score{k}"], a[f"in{k}"], a[f"out{k}"], iteration)
        for k, iteration in enumerate(iterations)
    )


def _state(a: Arrays, told: Mapping[str, Any]) -> RunState:
    """The state that a file holds."""
    arrays: Mapping[str, Any] = {name: a[name] for name in ("score", "ybar", "at_lowest", "best_kept")}
    return RunState(_stages(a, told["stages"]), **arrays, **{name: told[name] for name in FIGURES})


def _point(problem: PruningProblem, rate: Fraction, a: Arrays, told: Mapping[str, Any]) -> PathPoint:
    """What a file says."""
    lam = Fraction(told["lam"])
    proof = SharedPrices(
        _stages(a, told["stages"]), a["left"], a["left_score"], a.get("load"), Fraction(told["unit"]), lam, told["iteration"]
    )
    smaller, larger = (None if told[key] is None else Fraction(told[key]) for key in ("smaller", "larger"))
    pruning = Pruning(problem, a["pruning"])
    kept = pruning.kept if np.array_equal(pruning.kept, a["kept"]) else a["kept"]  # one array for both, as it mostly is
    solution = Solution(
        problem,
        rate,
        pruning,
        told["value"],
        told["bound"],
        StopReason(told["stopped"]),
        told["tolerance"],
        proof if told["alone"] else None,
        told["stats"],
    )
    return PathPoint(solution, lam, proof, smaller, larger, kept, a["pruned"])
