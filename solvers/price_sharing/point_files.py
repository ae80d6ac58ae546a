"""The points of a path in a folder, one file each, and the state of the point at work.

Each file is written beside its place and then renamed. So a path that is killed at any moment goes on from the last state written
of the point at work, and ends with the points that it would have had. A folder serves one path at a time, which locks it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import FixingStage, SharedPrices, Solution, StopReason
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.stored_arrays import read_arrays, stored_array, stored_fraction, stored_json, whole_number
from solvers.price_sharing.checkpoint import MOST_ROUNDS, one_writer, write_atomically
from solvers.price_sharing.path_point import PathPoint
from solvers.price_sharing.run import RunState
from solvers.price_sharing.stopping import fits_memory

STATE_FILE = "running.state"

LOCK_FILE = ".lock"

STATE_FIGURES = (
    "lowest_bound",
    "bound",
    "best_value",
    "iteration",
    "rounds_made",
    "rounds_without_progress",
)
"""The fields of a run's state that are single numbers."""

STATE_ARRAYS = ("score", "stepped", "mean_log_level", "score_at_lowest")
"""The fields with a float32 for each open split."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Limits:
    """The limits of each point: seconds, and rounds."""

    time_limit: float
    rounds: int

    def allow_no_more(self, found: Solution, earlier: Limits) -> bool:
        """Whether a run with this answer under `earlier` limits would not go further under these, and with the memory now."""
        if found.stopped is StopReason.TIME_LIMIT:
            return self.time_limit <= earlier.time_limit
        if found.stopped is StopReason.ITERATION_LIMIT:
            return self.rounds <= earlier.rounds
        if found.stopped is StopReason.MEMORY_LIMIT:
            return not fits_memory(found.stats["core_cut_bytes"])
        return found.stopped is StopReason.CONVERGED


@dataclass(frozen=True)
class PointFiles:
    """A folder of points.

    Parameters
    ----------
    instance
        fingerprint of what they are points of: the instance and the options of the path.
    """

    folder: Path
    instance: str

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs from the folder during the block. It is made if it does not exist.

        Files that a killed process had not finished are deleted.

        Raises
        ------
        BrokenFileError
            where the folder cannot be made, and where another run has it.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot make the folder {self.folder}: {error.strerror or error}") from error
        with one_writer(self.folder, self.folder / LOCK_FILE):
            for half_written in self.folder.glob(".*.partial*"):
                with suppress(OSError):
                    half_written.unlink()
            yield

    @property
    def state_file(self) -> Path:
        """The file with the state of the point at work."""
        return self.folder / STATE_FILE

    def load_state(self, point_key: str) -> RunState | None:
        """The state of the point with this key; None where there is none, or where the state is another point's.

        Raises
        ------
        BrokenFileError
            if the file holds no state.
        InvalidInputError
            if the state is of another instance.
        """
        if not os.path.exists(self.state_file):
            return None
        arrays, figures = self._read(self.state_file)
        with errors_naming(self.state_file):
            return _state(arrays, figures) if figures["point_key"] == point_key else None

    def save_state(self, state: RunState, point_key: str) -> None:
        """Write the state of the point at work; the key tells points, and the neighbours that they build on, apart.

        Raises
        ------
        BrokenFileError
            where it cannot be written.
        """
        figures = {name: getattr(state, name) for name in STATE_FIGURES}
        figures |= {"point_key": point_key, "stages": [stage.iteration for stage in state.stages]}
        arrays = {"instance": self.instance, "figures": json.dumps(figures), "best_kept": state.best_kept}
        arrays |= {name: getattr(state, name) for name in STATE_ARRAYS}
        write_atomically(self.state_file, arrays | _stage_arrays(state.stages))

    def save(self, point: PathPoint, rate: Fraction, limits: Limits) -> None:
        """Write a point that is done, or was stopped by one of these limits, and delete the state on the way to it.

        Raises
        ------
        BrokenFileError
            where it cannot be written.
        """
        write_atomically(self._file(rate), _arrays(point, self.instance, limits))
        self.state_file.unlink(missing_ok=True)

    def load(self, problem: PruningProblem, rate: Fraction, limits: Limits, done: Container[Fraction]) -> PathPoint | None:
        """A point that need not be solved again; None where there is no such point.

        A point that was stopped by a limit is returned only where the limits allow no more than at that time. A point that
        rests on what others decided is returned only where these are as they were.

        Parameters
        ----------
        limits
            of this call.
        done
            the lambdas of points that were read back unchanged.

        Raises
        ------
        BrokenFileError
            if its file holds no point.
        InvalidInputError
            if the point is of another instance, or was made with other options.
        """
        file = self._file(rate)
        if not os.path.exists(file):
            return None
        arrays, figures = self._read(file)
        with errors_naming(file):
            point = _point(problem, rate, arrays, figures)
            earlier = Limits(*(stored_number(figures, name, finite=False) for name in ("time_limit", "rounds")))
            final = limits.allow_no_more(point.solution, earlier)
        rests_on = [lam for lam in (point.smaller, point.larger) if lam is not None]
        return point if final and all(lam in done for lam in rests_on) else None

    def _read(self, file: Path) -> tuple[Arrays, Mapping[str, Any]]:
        """The arrays in a file of this instance, and its figures."""
        with errors_naming(file):
            arrays = read_arrays(file, ("instance", "figures"))
            instance, figures = str(arrays["instance"]), stored_json(str(arrays["figures"]), "figures")
            if not isinstance(figures, dict):
                raise BrokenFileError(f"figures is a {type(figures).__name__}")
        if instance != self.instance:
            raise InvalidInputError(
                f"checkpoint: {file} is of another instance, or was made with other options; name another folder"
            )
        return arrays, figures

    def _file(self, rate: Fraction) -> Path:
        return self.folder / f"{float(rate):.6g}-{sha256(str(rate).encode()).hexdigest()[:8]}.point"


@contextmanager
def errors_naming(file: Path) -> Iterator[None]:
    """Have errors name the file that holds no point, and the remedy."""
    try:
        yield
    except KeyError as error:
        raise BrokenFileError(f"checkpoint: {file} lacks {error}; delete it to start its point anew") from error
    except (BrokenFileError, InvalidInputError) as error:
        raise BrokenFileError(f"checkpoint: {file} holds no point ({error}); delete it to start it anew") from error


def _arrays(point: PathPoint, instance: str, limits: Limits) -> dict[str, Any]:
    """The arrays of a point's file; its figures are one of them, as JSON."""
    solution, proof = point.solution, point.proof
    assert solution.pruning is not None
    figures = {
        "rate": str(exact(solution.lam, "lam")),
        "bound": solution.bound,
        "stopped": solution.stopped.value,
        "time_limit": limits.time_limit,
        "rounds": limits.rounds,
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
    arrays: dict[str, Any] = {"instance": instance, "figures": json.dumps(figures), "pruning": solution.pruning.kept}
    arrays |= {"kept": point.kept, "pruned": point.pruned}
    arrays |= {"open_nodes": proof.nodes, "open_score": proof.score}
    if proof.dual is not None:
        arrays["load"] = proof.dual
    return arrays | _stage_arrays(proof.stages)


def _stage_arrays(stages: Iterable[FixingStage]) -> dict[str, Any]:
    """The arrays of some stages, named by the number of the stage."""
    arrays: dict[str, Any] = {}
    for k, stage in enumerate(stages):
        arrays |= {f"nodes{k}": stage.nodes, f"score{k}": stage.score, f"in{k}": stage.fixed_in, f"out{k}": stage.fixed_out}
    return arrays


def _stages(arrays: Arrays, iterations: Any, n: int) -> tuple[FixingStage, ...]:
    """The stages that a file holds, of a forest with n nodes."""
    if not isinstance(iterations, list):
        raise BrokenFileError(f"stages is {str(iterations)[:40]}, not a list")
    stages = []
    for k, iteration in enumerate(iterations):
        nodes, fixed_in, fixed_out = (
            stored_array(arrays[f"{part}{k}"], f"{part}{k}", "i", end=n) for part in ("nodes", "in", "out")
        )
        score = stored_array(arrays[f"score{k}"], f"score{k}", "f", len(nodes))
        stages.append(FixingStage(nodes, score, fixed_in, fixed_out, whole_number(iteration, "stages", MOST_ROUNDS)))
    return tuple(stages)


def stored_number(figures: Mapping[str, Any], name: str, *, finite: bool = True) -> Any:
    """A figure that is a number."""
    value = figures[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (finite and not abs(value) <= sys.float_info.max):
        raise BrokenFileError(f"{name} is {str(value)[:40]}, not a number")
    return value


def _state(arrays: Arrays, figures: Mapping[str, Any]) -> RunState:
    """The state that a file holds."""
    n = arrays["best_kept"].size
    size = arrays["score"].size
    for name in ("bound", "best_value"):
        if isinstance(figures[name], bool) or not isinstance(figures[name], int) or abs(figures[name]) >= 1 << 63:
            raise BrokenFileError(f"{name} is {str(figures[name])[:40]}, not a whole number of 64 bits")
    of_splits: dict[str, Any] = {name: stored_array(arrays[name], name, "f", size) for name in STATE_ARRAYS}
    rounds: dict[str, Any] = {name: whole_number(figures[name], name, MOST_ROUNDS) for name in STATE_FIGURES[3:]}
    return RunState(
        stages=_stages(arrays, figures["stages"], n),
        **of_splits,
        best_kept=stored_array(arrays["best_kept"], "best_kept", "b", n),
        lowest_bound=stored_number(figures, "lowest_bound", finite=False),
        bound=figures["bound"],
        best_value=figures["best_value"],
        **rounds,
    )


def _point(problem: PruningProblem, rate: Fraction, arrays: Arrays, figures: Mapping[str, Any]) -> PathPoint:
    """The point that a file holds. Its value is recomputed."""
    n = problem.ensemble.n_nodes
    if figures["rate"] != str(rate):
        raise BrokenFileError(f"it is of the lambda {str(figures['rate'])[:40]}, not of {rate}")
    lam, unit = (stored_fraction(figures[name], name) for name in ("lam", "unit"))
    nodes = stored_array(arrays["open_nodes"], "open_nodes", "i", end=n)
    load = arrays.get("load")
    proof = SharedPrices(
        _stages(arrays, figures["stages"], n),
        nodes,
        stored_array(arrays["open_score"], "open_score", "f", len(nodes)),
        None if load is None else stored_array(load, "load", "i"),
        unit,
        lam,
        whole_number(figures["iteration"], "iteration", MOST_ROUNDS),
    )
    smaller, larger = (None if figures[key] is None else stored_fraction(figures[key], key) for key in ("smaller", "larger"))
    kept, pruned, of_solution = (stored_array(arrays[name], name, "b", n) for name in ("kept", "pruned", "pruning"))
    pruning = Pruning(problem, of_solution)
    # One array for both where they are equal, as they are once the core was cut.
    kept = pruning.kept if np.array_equal(pruning.kept, kept) else kept
    value, bound = pruning.value(float(rate)), stored_number(figures, "bound")
    if not bound <= value * (1 + 1e-9) + 1e-300:
        raise BrokenFileError(f"its bound {bound:g} is above its pruning's value {value:g}")
    stats, stopped = figures["stats"], figures["stopped"]
    if not isinstance(stats, dict) or any(not isinstance(x, (int, float)) for x in stats.values()):
        raise BrokenFileError("stats are not numbers by name")
    if stopped not in {reason.value for reason in StopReason} or not isinstance(figures["alone"], bool):
        raise BrokenFileError(f"stopped is {str(stopped)[:40]!r}, alone is {str(figures['alone'])[:40]}")
    if stopped == StopReason.MEMORY_LIMIT.value:
        for name in ("core_splits", "core_usage_arcs", "core_cut_bytes"):
            stored_number(stats, name)
    solution = Solution(
        problem,
        rate,
        pruning,
        value,
        bound,
        StopReason(stopped),
        stored_number(figures, "tolerance"),
        proof if figures["alone"] else None,
        stats,
        "price_sharing",
    )
    return PathPoint(solution, lam, proof, smaller, larger, kept, pruned)
