"""The loop of price sharing: rounds and checks until a goal, when the core is cut, and what Ctrl-C says.

The open splits with their usage arcs are the *core*, which a minimum cut solves exactly. Rounds make it smaller. A run for the
optimum cuts a core of few arcs, counted after merging, at once: where few splits are open, purchases have few different sets of
users, and hardly an arc is left of tens of millions. It cuts a larger core after as many rounds without progress as cost what the
cut costs,

    rounds that one cut costs  =  (core_arc a' + cut_split k) / (round_arc a + round_split k)                             (1)

for a usage arcs, a' of them after merging, and k splits; the cut starts from the shares. Where bound and value already agree,
only ties are open, and it cuts after the first check without progress. Rounds are without progress except where the core shrank:
each 10 % by which it shrank takes back 40 rounds,

    rounds without progress  =  max(0, before + rounds_per_check - idle_rounds (a_before - a_after) / a_before)          (2)

No core is cut that does not fit into memory. A run that has to do without the cut ends after

    rounds without progress  >=  idle_rounds, or 100 where the relative gap is at most 1e-6                              (3)

or, where only ties are open, after the first check without progress: StopReason.MEMORY_LIMIT, with the gap that is proven. More
rounds would not help. A run to a gap that has not been reached by (3) cuts the core as well, or ends if that does not fit.
Numbers are those of `solvers.price_sharing.params`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from formulations.answers.solution import StopReason
from formulations.checkpoints import Checkpoint
from formulations.errors import InterruptedSolveError
from formulations.long_steps import Progress
from formulations.memory import too_large
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import IntegerObjective
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.rows import Rows, Scores, load_scores, save_scores
from solvers.price_sharing.run import Run


@dataclass(frozen=True)
class StopRule:
    """When to stop."""

    deadline: float  # by `time.perf_counter`
    gap: float  # relative gap that is enough; 0: the optimum
    rounds: int  # at most so many
    # usage arcs of a core that is cut at once, where the gap is 0; where purchases are merged, those that are left.
    small_core: int

    def limit(self, iteration: int) -> StopReason | None:
        """The limit that is reached after so many rounds; None where there is time for another."""
        if time.perf_counter() > self.deadline:
            return StopReason.TIME_LIMIT
        return StopReason.ITERATION_LIMIT if iteration >= self.rounds else None

    def is_met(self, bound: int, value: int, negligible: float) -> bool:
        """Whether the gap is small enough: relative to the bound, or to a gain that is `negligible` anyway."""
        return self.gap > 0.0 and bound - value <= self.gap * max(bound, negligible)

    def cuts_now(self, run: Run) -> bool:
        """Whether to cut the core now. A run to a gap cuts only a core that more rounds do not make smaller."""
        params = run.params
        if self.gap > 0.0:
            patience = cut_in_rounds(run.rows) if run.n_arcs <= params.small_core else idle_rounds(run)
        elif run.rows.cut_arcs <= min(self.small_core, params.small_core) and run.n_arcs <= params.small_proof:
            return True
        elif run.rows.cut_arcs <= self.small_core:
            patience = 0
        else:
            patience = params.rounds_per_check if run.is_closed else min(cut_in_rounds(run.rows), idle_rounds(run))
        return run.rounds_without_progress >= patience and cut_fits_memory(run.rows)

    def gives_up(self, run: Run) -> bool:
        """Whether (3) holds, and the core does not fit into memory."""
        patience = run.params.rounds_per_check if run.is_closed else idle_rounds(run)
        return run.rounds_without_progress >= patience and not cut_fits_memory(run.rows)


def idle_rounds(run: Run) -> int:
    """Those of (3)."""
    params = run.params
    return params.idle_rounds_when_close if run.bound - run.best_value <= params.close * run.bound else params.idle_rounds


def negligible_gain(objective: IntegerObjective) -> float:
    """A hundredth of the all-roots forest's error, in integers: a gap refers to it at lambdas where less can be gained."""
    return float(objective.problem.roots_error) / float(objective.unit) / 100


def without_progress(params: SharingParams, rounds: int, before: int, after: int) -> int:
    """(2), after as many more rounds as between two checks, which made a core of `before` usage arcs one of `after`."""
    return max(0, rounds + params.rounds_per_check - round(params.idle_rounds * (before - after) / max(before, 1)))


def cut_in_rounds(rows: Rows) -> float:
    """(1), but at least the rounds of two checks; more where the core is large."""
    params, arcs, splits = rows.params, rows.n_arcs, rows.remaining.nodes.size
    least = 2 * params.rounds_per_check
    if not arcs:
        return least
    scarce, cut = max(1.0, rows.cut_arcs / params.large_core), params.core_arc * rows.cut_arcs + params.cut_seconds(0, splits)
    return max(least, scarce * cut / params.round_seconds(arcs, splits))


def cut_fits_memory(rows: Rows) -> bool:
    """Whether there is memory to cut the core; if not, more rounds may make it small enough."""
    return too_large(rows.cut_bytes) is None and rows.workers_have_memory()


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

    `save`: writes a checkpoint; called after a check unless the last call was less than `SharingParams.seconds_between_writes`
    ago.
    """
    negligible = negligible_gain(run.objective)
    saved_at = time.perf_counter()
    with Progress("price sharing", run.remaining.nodes.size, shown=progress) as bar:
        while True:
            # stop, or cut the core, or give up where it does not fit into memory
            if goal.is_met(run.bound, run.best_value, negligible):
                return StopReason.CONVERGED, 0
            if goal.cuts_now(run):
                return StopReason.CONVERGED, run.finish()
            if goal.gives_up(run):
                return StopReason.MEMORY_LIMIT, 0
            # rounds, each within the limits
            for _ in range(run.params.rounds_per_check):
                limit = goal.limit(run.iteration)
                if limit is not None:
                    return limit, 0
                run.round()
            # a check, which may fix splits; what it left tells whether rounds still make progress
            n_arcs, n_open = run.n_arcs, run.remaining.nodes.size
            run.check()
            run.rounds_without_progress = without_progress(run.params, run.rounds_without_progress, n_arcs, run.n_arcs)
            bar.advance(n_open - run.remaining.nodes.size)
            if save is not None and time.perf_counter() - saved_at >= run.params.seconds_between_writes:
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
