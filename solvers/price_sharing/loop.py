"""The loop of price sharing: rounds and checks until a goal, checkpoints on the way, and what Ctrl-C says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from formulations.answers.solution import StopReason
from formulations.checkpoints import Checkpoint
from formulations.errors import InterruptedSolveError
from formulations.long_steps import Progress
from solvers.closures.cut import Ties
from solvers.price_sharing.checkpoint import Scores, load_scores, save_scores
from solvers.price_sharing.rows import Rows
from solvers.price_sharing.run import Run
from solvers.price_sharing.stopping import ROUNDS_PER_CHECK, StopRule, negligible_gain, without_progress

SECONDS_BETWEEN_WRITES = 1.0
"""Least seconds between two writes of a checkpoint: on small instances writing takes longer than the rounds."""


def run_to_goal(
    rows: Rows, goal: StopRule, *, ties: Ties, start: Scores | None, checkpoint: str | Path | None, progress: bool
) -> tuple[Run, StopReason, int]:
    """Make a run over some rows, or go on with the one whose scores are in the checkpoint, and drive it to the goal.

    Returns
    -------
    tuple
        the run, why it stopped, and the number of arcs of the core's network, 0 where no core was cut.
    """
    if checkpoint is None:
        run = Run(rows, ties, start)
        return run, *drive(run, goal, None, progress=progress)
    file = Checkpoint(Path(checkpoint), rows.fingerprint())
    with file.one_writer():
        run = Run(rows, ties, load_scores(file) or start)

        def save() -> None:
            save_scores(file, run.scores())

        stopped, core_arcs = drive(run, goal, save, progress=progress)
        save()
    return run, stopped, core_arcs


def drive(run: Run, goal: StopRule, save: Callable[[], None] | None, *, progress: bool) -> tuple[StopReason, int]:
    """Rounds and checks until the goal: why the run stopped, and the number of arcs of the core's network.

    Parameters
    ----------
    save
        writes a checkpoint; called after a check unless the last call was less than `SECONDS_BETWEEN_WRITES` ago.
    """
    negligible = negligible_gain(run.objective)
    saved_at = time.perf_counter()
    with Progress("price sharing", run.remaining.nodes.size, shown=progress) as bar:
        while True:
            if goal.is_met(run.bound, run.best_value, negligible):
                return StopReason.CONVERGED, 0
            if goal.cuts_now(run):
                return StopReason.CONVERGED, run.finish()
            if goal.gives_up(run):
                return StopReason.MEMORY_LIMIT, 0
            for _ in range(ROUNDS_PER_CHECK):
                limit = goal.limit(run.iteration)
                if limit is not None:
                    return limit, 0
                run.round()
            n_arcs, n_open = run.n_arcs, run.remaining.nodes.size
            run.check()
            run.rounds_without_progress = without_progress(run.rounds_without_progress, n_arcs, run.n_arcs)
            bar.advance(n_open - run.remaining.nodes.size)
            if save is not None and time.perf_counter() - saved_at >= SECONDS_BETWEEN_WRITES:
                save()
                saved_at = time.perf_counter()


@contextmanager
def interruption_explained(checkpoint: str | Path | None) -> Iterator[None]:
    """Turn Ctrl-C into an error that says where a run can go on from."""
    try:
        yield
    except KeyboardInterrupt as stop:
        found = checkpoint is not None and os.path.exists(checkpoint)
        raise InterruptedSolveError(
            "interrupted while sharing prices" + (f"; {checkpoint} holds the scores to go on from" if found else "")
        ) from stop
