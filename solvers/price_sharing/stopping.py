"""When a run of price sharing stops, and when it cuts the core.

The open splits with their usage arcs are the *core*, which a minimum cut solves exactly. Rounds make it smaller. A run for the
optimum cuts a core of few arcs, counted after merging, at once: where few splits are open, purchases have few different sets of
users, and hardly an arc is left of tens of millions. It cuts a larger core after as many rounds without progress as cost what the
cut costs,

    rounds that one cut costs  =  (CORE_ARC a' + CUT_SPLIT k) / (ROUND_ARC a + ROUND_SPLIT k)                             (1)

for a usage arcs, a' of them after merging, and k splits; the cut starts from the shares. Where bound and value already agree,
only ties are open, and it cuts after the first check without progress. Rounds are without progress except where the core shrank:
each 10 % by which it shrank takes back 40 rounds,

    rounds without progress  =  max(0, before + ROUNDS_PER_CHECK - IDLE_ROUNDS (a_before - a_after) / a_before)          (2)

No core is cut that does not fit into memory. A run that has to do without the cut ends after

    rounds without progress  >=  IDLE_ROUNDS, or 100 where the relative gap is at most 1e-6                              (3)

or, where only ties are open, after the first check without progress: StopReason.MEMORY_LIMIT, with the gap that is proven. More
rounds would not help. A run to a gap that has not been reached by (3) cuts the core as well, or ends if that does not fit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from formulations.answers.solution import StopReason
from formulations.memory import too_large
from solvers.closures.cut import CUT_SPLIT
from solvers.closures.integer_objective import IntegerObjective
from solvers.price_sharing.rows import Rows
from solvers.price_sharing.run import Run

ROUNDS_PER_CHECK = 10
"""Rounds between two checks of value, bound and what can be fixed; a check costs about two rounds."""

SMALL_CORE = 50_000
"""A core of at most so many usage arcs, merged, is cut at once: the cut costs about as much as ten more rounds."""

SMALL_PROOF = 500_000
"""Usage arcs, merged ones counted one by one, of a core that is cut without a look at memory: its proof has 8 bytes for each."""

IDLE_ROUNDS = 400
"""Rounds without progress after which a run that can't cut its core ends; a core that all but vanishes takes back as many."""

CLOSE, IDLE_ROUNDS_WHEN_CLOSE = 1e-6, 100
"""The same where the relative gap is so small: very many splits then go at nearly this lambda, and rounds do not part them."""

CORE_ARC = 0.25e-6
"""The same for an arc of the core, merged, by push-relabel from the shares, on a default forest's 14.6 million."""

ROUND_ARC, ROUND_SPLIT = 1.5e-9, 26e-9
"""CPU seconds of a round for each usage arc, most of which are merged, and each split, likewise."""

LARGE_CORE = 20_000_000
"""Usage arcs, merged, above which (1) grows in proportion, because the cut takes more memory than everything else."""


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
        if self.gap > 0.0:
            patience = cut_in_rounds(run.rows) if run.n_arcs <= SMALL_CORE else idle_rounds(run)
        elif run.rows.cut_arcs <= min(self.small_core, SMALL_CORE) and run.n_arcs <= SMALL_PROOF:
            return True
        elif run.rows.cut_arcs <= self.small_core:
            patience = 0
        else:
            patience = ROUNDS_PER_CHECK if run.is_closed else min(cut_in_rounds(run.rows), idle_rounds(run))
        return run.rounds_without_progress >= patience and cut_fits_memory(run.rows)

    def gives_up(self, run: Run) -> bool:
        """Whether (3) holds, and the core does not fit into memory."""
        patience = ROUNDS_PER_CHECK if run.is_closed else idle_rounds(run)
        return run.rounds_without_progress >= patience and not cut_fits_memory(run.rows)


def idle_rounds(run: Run) -> int:
    """Those of (3)."""
    return IDLE_ROUNDS_WHEN_CLOSE if run.bound - run.best_value <= CLOSE * run.bound else IDLE_ROUNDS


def negligible_gain(objective: IntegerObjective) -> float:
    """A hundredth of the all-roots forest's error, in integers: a gap refers to it at lambdas where less can be gained."""
    return float(objective.problem.roots_error) / float(objective.unit) / 100


def without_progress(rounds: int, before: int, after: int) -> int:
    """(2), after `ROUNDS_PER_CHECK` more rounds, which made a core of `before` usage arcs one of `after`."""
    return max(0, rounds + ROUNDS_PER_CHECK - round(IDLE_ROUNDS * (before - after) / max(before, 1)))


def cut_in_rounds(rows: Rows) -> float:
    """(1), but at least the rounds of two checks; more where the core is large."""
    arcs, splits = rows.n_arcs, rows.remaining.nodes.size
    if not arcs:
        return 2 * ROUNDS_PER_CHECK
    scarce, cut = max(1.0, rows.cut_arcs / LARGE_CORE), CORE_ARC * rows.cut_arcs + CUT_SPLIT * splits
    return max(2 * ROUNDS_PER_CHECK, scarce * cut / round_seconds(arcs, splits))


def round_seconds(n_arcs: int, n_splits: int) -> float:
    """What a round takes, about."""
    return ROUND_ARC * n_arcs + ROUND_SPLIT * n_splits


def cut_fits_memory(rows: Rows) -> bool:
    """Whether there is memory to cut the core; if not, more rounds may make it small enough."""
    return too_large(rows.cut_bytes) is None and rows.workers_have_memory()
