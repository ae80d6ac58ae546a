"""What rounds found about the large parts of a path, in a folder: one file for each part, and the state of the run at work.

A part is named by the fingerprint of its two ends, so the same divisions are found again whatever came before them. Each file is
a `formulations.checkpoints.Checkpoint`. So a path that is killed at any moment goes on from the last state written of the run at
work, and ends as it would have. A folder serves one path at a time, which locks it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import FixingStage
from formulations.checkpoints import MOST_ROUNDS, Checkpoint, Stored
from formulations.errors import BrokenFileError
from formulations.stored_arrays import stored_array, stored_fraction, whole_number
from solvers.price_sharing.run import STATE_ARRAYS, STATE_FIGURES, RunState

STATE_FILE = "running.state"

LOCK_FILE = ".lock"


@dataclass(frozen=True, eq=False)
class FoundInPart:
    """The best pruning that rounds found between two ends, at the lambda at which these are worth the same."""

    kept: NDArray[np.bool_]  # bool, shape (n,): its splits
    bound: Fraction  # in integer gains: no pruning between the ends is worth more at `ratio`
    ratio: Fraction  # lambda in integer gains for one integer price, or the nearest below it that fits 61 bits
    # rounds, seconds: what it took, earlier runs included.
    rounds: int
    seconds: float


@dataclass(frozen=True)
class PartFiles:
    """A folder of parts of one path."""

    folder: Path
    instance: str  # fingerprint of the instance and the options of the path

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs from the folder during the block. It is made if it does not exist.

        Files that a killed process had not finished are deleted. A folder that may only be read needs no lock, see
        `check_writable`.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokenFileError(f"checkpoint: cannot make the folder {self.folder}: {error.strerror or error}") from error
        with ExitStack() as held:
            try:
                held.enter_context(Checkpoint(self.folder, self.instance).one_writer(self.folder / LOCK_FILE))
            except BrokenFileError:
                if self._is_writable():
                    raise
            for half_written in self.folder.glob(".*.partial*"):
                with suppress(OSError):
                    half_written.unlink()
            yield

    def check_writable(self) -> None:
        """Refuse a folder that may only be read, before work whose result it could not hold."""
        if not self._is_writable():
            raise BrokenFileError(
                f"checkpoint: the folder {self.folder} may only be read, and it does not hold all of the path; copy it, and name "
                "the copy"
            )

    def _is_writable(self) -> bool:
        return os.access(self.folder, os.W_OK)

    @property
    def _state(self) -> Checkpoint:
        return Checkpoint(self.folder / STATE_FILE, self.instance)

    def _part(self, part_key: str) -> Checkpoint:
        return Checkpoint(self.folder / f"{part_key[:16]}.part", self.instance)

    def load_state(self, run_key: str) -> RunState | None:
        """The state of the run with this key; None where there is none, or where the state is another run's."""
        with self._state.stored() as stored:
            return _run_state(stored) if stored is not None and stored.figures["run_key"] == run_key else None

    def save_state(self, state: RunState, run_key: str) -> None:
        """Write the state of the run at work; the key tells runs apart."""
        figures = {name: getattr(state, name) for name in STATE_FIGURES}
        arrays = {name: getattr(state, name) for name in STATE_ARRAYS} | _stage_arrays(state.stages)
        stages = [stage.iteration for stage in state.stages]
        self._state.save({"best_kept": state.best_kept, **arrays}, run_key=run_key, stages=stages, **figures)

    def load_part(self, part_key: str, n_nodes: int) -> FoundInPart | None:
        """What was found in the part with this key; None where there is no such file."""
        with self._part(part_key).stored() as stored:
            if stored is None:
                return None
            kept = stored_array(stored.arrays["kept"], "kept", "b", n_nodes)
            bound, ratio = (stored_fraction(stored.figures[name], name) for name in ("bound", "ratio"))
            rounds = whole_number(stored.figures["rounds"], "rounds", MOST_ROUNDS)
            return FoundInPart(kept, bound, ratio, rounds, _stored_number(stored.figures, "seconds"))

    def save_part(self, part_key: str, found: FoundInPart) -> None:
        """Write what was found in a part, and delete the state on the way to it."""
        ends = {"bound": str(found.bound), "ratio": str(found.ratio)}
        self._part(part_key).save({"kept": found.kept}, rounds=found.rounds, seconds=found.seconds, **ends)
        self._state.path.unlink(missing_ok=True)


def _stage_arrays(stages: Iterable[FixingStage]) -> dict[str, NDArray[Any]]:
    """The arrays of some stages, named by the number of the stage."""
    arrays: dict[str, NDArray[Any]] = {}
    for k, stage in enumerate(stages):
        arrays |= {f"nodes{k}": stage.nodes, f"score{k}": stage.score, f"in{k}": stage.fixed_in, f"out{k}": stage.fixed_out}
    return arrays


def _stages(arrays: Mapping[str, NDArray[Any]], iterations: Any, n: int) -> tuple[FixingStage, ...]:
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


def _stored_number(figures: Mapping[str, Any], name: str, *, finite: bool = True) -> Any:
    """A figure that is a number."""
    value = figures[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (finite and not abs(value) <= sys.float_info.max):
        raise BrokenFileError(f"{name} is {str(value)[:40]}, not a number")
    return value


def _run_state(stored: Stored) -> RunState:
    """The state that a file holds."""
    arrays, figures = stored.arrays, stored.figures
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
        lowest_bound=_stored_number(figures, "lowest_bound", finite=False),
        bound=figures["bound"],
        best_value=figures["best_value"],
        **rounds,
    )
