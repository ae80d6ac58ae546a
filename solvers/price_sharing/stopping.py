"""When a run of price sharing stops, and when it cuts the core.

The open splits with their usage arcs are the *core*, which a minimum cut solves exactly. Rounds make it smaller. A run for the
optimum cuts a small core at once, and a larger one after as many rounds without progress as cost what the cut costs,

    rounds that one cut costs  =  CUT_IN_ROUNDS a / (a + CELL_COST c + SPLIT_COST k)                                      (1)

for a usage arcs, c pairs of a row and an item, and k splits. Where bound and value already agree, only ties are open, and it cuts
after the first check without progress. Rounds are without progress except where the core shrank: each 10 % by which it shrank
takes back 40 rounds,

    rounds without progress  =  max(0, before + ROUNDS_PER_CHECK - CUT_IN_ROUNDS (a_before - a_after) / a_before)         (2)

No core is cut that does not fit into memory. A run that has to do without the cut ends after

    rounds without progress  >=  CUT_IN_ROUNDS                                                                            (3)

or, where only ties are open, after the first check without progress: StopReason.MEMORY_LIMIT, with the gap that is proven. More
rounds are in vain. A run to a gap that has not been reached by (3) cuts the core as well, or ends if that does not fit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.memory import memory_free
from solvers.closures.integer_objective import IntegerObjective
from solvers.price_sharing.rows import Rows
from solvers.price_sharing.run import Run

ROUNDS_PER_CHECK = 10
"""Rounds between two checks of value, bound and what can be fixed; a check costs about two rounds."""

SMALL_CORE = 50_000
"""A core of at most so many usage arcs is cut at once: the cut costs about as much as ten more rounds."""

CUT_IN_ROUNDS = 400
"""Rounds that cost as much as one cut of the same core, where usage arcs are all that a round costs.

Little depends on it. CPU seconds at 21 lambdas, 16 of them beside the two longest edges of the hull, on BP16's Covertype and
MiniBooNE forests with 3,000 cost rows, relative to those with 400 and a `SMALL_CORE` of 50,000: 1.01 and 0.97 with 200, 1.02 and
0.97 with 800, 1.21 on Covertype with 100. With a `SMALL_CORE` of 20,000 1.03 and 0.99, of 100,000 1.03 and 0.94.
"""

LARGE_CORE = 20_000_000
"""Usage arcs above which (1) grows in proportion, because the cut takes more memory than everything else."""

CELL_COST = 0.6
"""What a pair of row and item costs in a round, in usage arcs: its sum of weights is set to zero, and its price divided by it."""

SPLIT_COST = 25.0
"""What a split costs in a round, in usage arcs: its weight, its slices, and its place in the pass over its tree."""


@dataclass(frozen=True)
class Goal:
    """When to stop.

    Parameters
    ----------
    deadline
        by `time.perf_counter`.
    gap
        relative gap that is enough; 0: the optimum.
    rounds
        at most so many.
    small_core
        usage arcs of a core that is cut at once, where the gap is 0.
    """

    deadline: float
    gap: float
    rounds: int
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
            patience = cut_in_rounds(run.rows) if run.n_arcs <= SMALL_CORE else CUT_IN_ROUNDS
        elif run.n_arcs <= min(self.small_core, SMALL_CORE):
            return True
        elif run.n_arcs <= self.small_core:
            patience = 0
        else:
            patience = ROUNDS_PER_CHECK if run.is_closed else cut_in_rounds(run.rows)
        return run.rounds_without_progress >= patience and cut_fits_memory(run.rows)

    def gives_up(self, run: Run) -> bool:
        """Whether (3) holds, and the core does not fit into memory."""
        patience = ROUNDS_PER_CHECK if run.is_closed else CUT_IN_ROUNDS
        return run.rounds_without_progress >= patience and not cut_fits_memory(run.rows)


def negligible_gain(objective: IntegerObjective) -> float:
    """A hundredth of the all-roots forest's error, in integers: a gap refers to it at lambdas where less can be gained."""
    return Pruning.all_roots(objective.problem).error / float(objective.unit) / 100


def without_progress(rounds: int, before: int, after: int) -> int:
    """(2), after `ROUNDS_PER_CHECK` more rounds, which made a core of `before` usage arcs one of `after`."""
    return max(0, rounds + ROUNDS_PER_CHECK - round(CUT_IN_ROUNDS * (before - after) / max(before, 1)))


def cut_in_rounds(rows: Rows) -> float:
    """(1), but at least the rounds of two checks; more where the core is large."""
    arcs = rows.n_arcs
    if not arcs:
        return 2 * ROUNDS_PER_CHECK
    others = CELL_COST * rows.n_cells + SPLIT_COST * rows.remaining.nodes.size
    rounds = CUT_IN_ROUNDS * max(1.0, arcs / LARGE_CORE)
    return max(2 * ROUNDS_PER_CHECK, rounds * arcs / (arcs + others))


def cut_fits_memory(rows: Rows) -> bool:
    """Whether there is memory to cut the core; if not, more rounds may make it small enough."""
    return fits_memory(rows.cut_bytes) and rows.workers_have_memory()


def fits_memory(n_bytes: float) -> bool:
    """Whether so many bytes are free, as far as the system says."""
    free = memory_free()
    return free is None or n_bytes <= free
