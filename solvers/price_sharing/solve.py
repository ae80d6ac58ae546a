"""Price sharing: entropic dual averaging on one score a split, then fixing, then an exact cut of what is left.

    share out by the scores                          `shares`, (1) there: every state is dual feasible
    keep_h   = h is in the best closure of its tree at profit - charge                        bound = sum of their values  (1)
    s_h     += gamma_k keep_h,                       gamma_k = 15 / (k + 5)                                               (2)
    ybar_h  += 2 / (k + 1) (keep_h - ybar_h)         level sets of the mean are the prunings tried                        (3)

Every `CHECK` rounds the bound is computed again in integers, rounded so that it is true whatever floating point did, and every
split whose forcing in (or out) brings it strictly below the value at hand is fixed out (or in). What is left shrinks by orders
of magnitude, and an exact cut of it ends the proof. The dual state is one number a split, whatever the number of rows; the
scores of one lambda start the next, and are a complete checkpoint.

(2) and (3) are ours: multiplicative weights (dual averaging with the entropy of each purchase's shares), in the place of the
additive subgradient steps of BP16's Algorithm 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from formulations.answers.pruning import Pruning
from formulations.answers.solution import SharedPrices, Solution, StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.loads import bound_of_closure
from solvers.price_sharing.checkpoint import Scores, fingerprint, load, save
from solvers.price_sharing.memory import memory_free, warn_if_short
from solvers.price_sharing.run import Run, scores_after
from solvers.price_sharing.whole import whole
from solvers.progress import Progress

CHECK = 10
"""Rounds between two checks of value, bound and what can be fixed; a check costs about two rounds."""

SMALL_CORE = 50_000
"""Usage arcs of a core that is cut at once: a cut of so many costs about as much as ten more rounds."""

PATIENCE = 400
"""Rounds that cost what a cut costs, where arcs are all they cost: so many in vain, and the core is cut; see `patience`."""

LARGE_CORE = 20_000_000
"""Usage arcs of a core from which on more rounds are rather waited for: cutting it takes more memory than all else."""

CORE_BYTES = 75
"""Bytes that a cut of the core takes for each of its usage arcs; measured at 116 million."""

CELL = 0.6
"""What a pair of row and item costs in a round, in usage arcs: it is zeroed, and its price is divided."""

SPLIT = 25.0
"""What a split costs in a round, in usage arcs: its weight, its slices, its place in the tree's pass."""

PAUSE = 1.0
"""Seconds between two writes of a checkpoint, at least: on small instances writing would take longer than the rounds."""

WARM = 5
"""Rounds that a warm start counts as made."""


def price_sharing(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: float = math.inf,
    gap: float = 0.0,
    ties: Ties = "smallest",
    start: Scores | None = None,
    checkpoint: str | Path | None = None,
    rounds: int = 100_000,
    small_core: int = SMALL_CORE,
    progress: bool = False,
) -> Solution:
    """The optimal pruning for one lambda without a network of all usage arcs.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds. Past it the best pruning so far, with the bound so far; looked at after every round.
    gap
        relative gap at which to stop, or that part of a hundredth of the all-roots forest's error; 0 (default): the exact
        optimum, by fixing and an exact cut of what is left.
    ties
        which optimum, where there are several: the one with the fewest splits or the one with the most. With a gap, any.
    start
        scores of another lambda, see `final_scores`, or of an earlier run.
    checkpoint
        a file to keep the scores in. An interrupted or killed run goes on from it; it is left there at the end.
    rounds
        at most so many; then as for the time limit.
    small_core
        usage arcs up to which what is left is cut at once; 0: only what rounds do not make smaller any more.
    progress
        a bar on stderr.

    Returns
    -------
    Solution
        gap 0 where the instance is exact in integers, as of `min_cut`. Certificate: `SharedPrices`. ``stats``: rounds, seconds,
        splits and usage arcs of the core.

    Raises
    ------
    InvalidInputError
        for a negative lambda or gap, and a checkpoint of another instance.
    BrokenFileError
        for a checkpoint that cannot be read or written.
    InterruptedSolveError
        on Ctrl-C; the checkpoint, if any, is whole.

    Warns
    -----
    RuntimeWarning
        where memory will not do; see `solvers.price_sharing.memory`.
    """
    started = time.perf_counter()
    rate = exact(lam, "lam")
    if not gap >= 0:
        raise InvalidInputError(f"gap is {gap!r}; give a relative gap >= 0")
    warn_if_short(problem)
    file, instance = None, ""
    if checkpoint is not None:
        file, instance = Path(checkpoint), fingerprint(problem)
        start = load(file, instance) or start
    goal = Goal(started + time_limit, gap, rounds, small_core)
    with ThreadPoolExecutor(1) as pool:
        run = Run(whole(problem, rate), ties, start, pool)
        keep = None if file is None else partial(_keep_scores, run, file, instance)
        stopped, core_arcs = drive(run, goal, keep, file, progress=progress)
    if keep is not None:
        keep()
    return solution_of(run, lam, gap, stopped, core_arcs, started)


def final_scores(solution: Solution, iteration: int = WARM) -> Scores:
    """The scores that a solution of `price_sharing` ended with: where a neighbouring lambda may start.

    Parameters
    ----------
    iteration
        from which the step size goes on, see (2): small enough to move, large enough not to forget.

    Raises
    ------
    InvalidInputError
        for a solution of another engine.
    """
    proof = solution.certificate
    if not isinstance(proof, SharedPrices):
        raise InvalidInputError("the solution carries no scores; give one of price_sharing")
    n_nodes = solution.problem.ensemble.n_nodes
    return Scores(scores_after(proof.stages, proof.nodes, proof.score, n_nodes, proof.iteration), iteration)


@dataclass(frozen=True)
class Goal:
    """When to stop."""

    deadline: float
    gap: float
    rounds: int
    small_core: int

    def passed(self, k: int) -> StopReason | None:
        """The limit that is reached before round k + 1."""
        if time.perf_counter() > self.deadline:
            return StopReason.TIME_LIMIT
        return StopReason.ITERATION_LIMIT if k >= self.rounds else None


def drive(run: Run, goal: Goal, keep: Callable[[], None] | None, file: Path | None, *, progress: bool) -> tuple[StopReason, int]:
    """Rounds and checks until the goal; why it stopped, and the arcs of the core's network.

    After a check `keep` is called, to write `file`, unless the last time was less than `PAUSE` ago.
    """
    try:
        with Progress("price sharing", run.left.nodes.size, shown=progress) as bar:
            return _rounds(run, goal, keep, bar)
    except KeyboardInterrupt as stop:
        there = file is not None and file.exists()
        raise InterruptedSolveError(
            "interrupted while sharing prices" + (f"; {file} holds the scores to go on from" if there else "")
        ) from stop


def _keep_scores(run: Run, file: Path, instance: str) -> None:
    save(run.scores(), file, instance)


def _rounds(run: Run, goal: Goal, keep: Callable[[], None] | None, bar: Progress) -> tuple[StopReason, int]:
    kept_at = time.perf_counter()
    # where next to nothing can be gained; see `Solution.status`
    least = Pruning.all_roots(run.whole.problem).error / float(run.whole.unit) / 100
    while True:
        if goal.gap > 0.0 and run.bound - run.best_value <= goal.gap * max(run.bound, least):
            return StopReason.CONVERGED, 0
        if _ready(run, goal):
            return StopReason.CONVERGED, run.finish()
        for _ in range(CHECK):
            limit = goal.passed(run.k)
            if limit is not None:
                return limit, 0
            run.round()
        arcs, nodes = run.n_arcs, run.left.nodes.size
        run.check()
        run.still = in_vain(run.still, arcs, run.n_arcs)
        bar.advance(nodes - run.left.nodes.size)
        if keep is not None and time.perf_counter() - kept_at >= PAUSE:
            keep()
            kept_at = time.perf_counter()


def _ready(run: Run, goal: Goal) -> bool:
    """Whether the core is to be cut now; for a gap, only a small one that more rounds do not make smaller."""
    if goal.gap > 0.0:
        return run.n_arcs <= SMALL_CORE and run.still >= patience(run)
    return run.n_arcs <= goal.small_core or (run.still >= patience(run) and _fits(run))


def in_vain(rounds: int, before: int, after: int) -> int:
    """Rounds spent in vain, after `CHECK` more that made a core of `before` usage arcs one of `after`.

    What they leave less to cut is rounds won: a core that is smaller by a tenth is worth a tenth of `PATIENCE`.
    """
    return max(0, rounds + CHECK - round(PATIENCE * (before - after) / max(before, 1)))


def _fits(run: Run) -> bool:
    """Whether there is memory for a cut of the core; if not, rounds go on, which may make it smaller."""
    free = memory_free()
    return free is None or CORE_BYTES * run.n_arcs <= free


def patience(run: Run) -> float:
    """Rounds that cost about as much as a cut of what is left, at least two checks; more where the cut would take much memory.

    Where many rows, or many splits, have few arcs left a round costs more an arc, and the cut comes sooner.
    """
    if not run.n_arcs:
        return 2 * CHECK
    cells = np.unique(run.left.slices.item).size * run.whole.problem.n_rows
    others = CELL * cells + SPLIT * run.left.nodes.size
    rounds = PATIENCE * max(1.0, run.n_arcs / LARGE_CORE)
    return max(2 * CHECK, rounds * run.n_arcs / (run.n_arcs + others))


def solution_of(run: Run, lam: float | Fraction, gap: float, stopped: StopReason, core_arcs: int, started: float) -> Solution:
    """What was found, with the proof."""
    integers, problem = run.whole, run.whole.problem
    pruning = Pruning(problem, run.best_kept)
    rate = exact(lam, "lam")
    bound = bound_of_closure(problem, integers, run.bound, pruning, rate)
    certificate = SharedPrices(
        tuple(run.stages), run.left.nodes, run.at_lowest, run.core_load, integers.unit, integers.lam, run.k
    )
    stats = {
        "seconds": time.perf_counter() - started,
        "iterations": float(run.k),
        "core_splits": float(run.left.nodes.size),
        "core_usage_arcs": float(run.n_arcs),
        "arcs": float(core_arcs),
        "usage_arcs": float(problem.n_usage_arcs),
    }
    exactly = integers.slack == 0.0 and integers.lam == rate
    tolerance = max(gap, 0.0 if exactly else 1e-9)
    return Solution(problem, lam, pruning, pruning.value(float(lam)), bound, stopped, tolerance, certificate, stats)
