"""Price sharing with rows on a cluster: the optimum of an instance that no machine holds.

The algorithm is that of `solvers.price_sharing.solve`. Where the instance is exact in integers, the optimum, its value and its
bound are those of `solvers.price_sharing` on the whole, bit for bit, however rows are parted and whatever workers are lost: sums
of floats only steer, and what is decided is decided in integers.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from formulations.answers.solution import SharedPrices, StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import exact
from solvers.closures.cut import Ties
from solvers.price_sharing.checkpoint import Scores, fingerprint, load, save
from solvers.price_sharing.cluster.driver_run import DriverRun, sharded_whole
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.cluster.sharded_solution import ShardedSolution
from solvers.price_sharing.solve import CHECK, PATIENCE, SMALL_CORE, in_vain
from solvers.progress import Progress


def sharded_price_sharing(
    problem: ShardedProblem,
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
) -> ShardedSolution:
    """The optimal pruning for one lambda; the rows stay where they are.

    Parameters
    ----------
    lam, time_limit, gap, ties, start, rounds, small_core, progress
        as of `solvers.price_sharing`.
    checkpoint
        a file at the driver to keep the scores in: a run whose driver was killed goes on from it.

    Returns
    -------
    ShardedSolution
        ``stats``: rounds, seconds, what is left of splits and usage arcs, workers lost, bytes of scores and charges that a round
        exchanges with each worker at the start.

    Raises
    ------
    InvalidInputError
        for a negative lambda or gap, and a checkpoint of another instance.
    BrokenFileError
        for a checkpoint that cannot be read or written.
    SolverFailedError
        where a worker is lost again and again.
    InterruptedSolveError
        on Ctrl-C; the workers stay, and may be asked again.
    """
    began = time.perf_counter()
    rate = exact(lam, "lam")
    if not gap >= 0:
        raise InvalidInputError(f"gap is {gap!r}; give a relative gap >= 0")
    file, instance = None, ""
    if checkpoint is not None:
        file, instance = Path(checkpoint), fingerprint(problem.driver)
        start = load(file, instance) or start
    goal = _Goal(began + time_limit, gap, rounds, small_core, file, instance)
    lost = problem.workers.lost
    try:
        with ThreadPoolExecutor(1) as pool:
            run = DriverRun(problem, sharded_whole(problem, rate), ties, start, pool)
            first = 12.0 * run.left.nodes.size
            stopped, core_arcs = _drive(run, goal, progress=progress)
            stats = {
                "seconds": time.perf_counter() - began,
                "iterations": float(run.k),
                "checks": float(run.checks),
                "core_splits": float(run.left.nodes.size),
                "core_usage_arcs": float(run.n_arcs),
                "arcs": float(core_arcs),
                "workers_lost": float(problem.workers.lost - lost),
                "bytes_a_round_and_worker": first,
            }
            return _solution(run, lam, gap, stopped, stats)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(
            "interrupted while sharing prices" + ("" if file is None else f"; {file} holds the scores to go on from")
        ) from stop


@dataclass(frozen=True)
class _Goal:
    """When to stop, and where the scores are kept meanwhile."""

    deadline: float
    gap: float
    rounds: int
    small_core: int
    file: Path | None
    instance: str

    def passed(self, k: int) -> StopReason | None:
        """The limit that is reached before round k + 1."""
        if time.perf_counter() > self.deadline:
            return StopReason.TIME_LIMIT
        return StopReason.ITERATION_LIMIT if k >= self.rounds else None


def _drive(run: DriverRun, goal: _Goal, *, progress: bool) -> tuple[StopReason, int]:
    """Rounds and checks until the goal; why it stopped, and the arcs of the core's network."""
    still = 0
    with Progress("price sharing", run.left.nodes.size, shown=progress) as bar:
        while True:
            if goal.gap == 0.0 and (run.n_arcs <= goal.small_core or still >= PATIENCE):
                return StopReason.CONVERGED, run.finish()
            for _ in range(CHECK):
                limit = goal.passed(run.k)
                if limit is not None:
                    return limit, 0
                run.round()
            arcs, nodes = run.n_arcs, run.left.nodes.size
            run.check()
            still = in_vain(still, arcs, run.n_arcs)
            bar.advance(nodes - run.left.nodes.size)
            if goal.file is not None:
                save(run.scores(), goal.file, goal.instance)
            if goal.gap > 0.0 and run.bound - run.best_value <= goal.gap * run.bound:
                return StopReason.CONVERGED, 0


def _solution(run: DriverRun, lam: float, gap: float, stopped: StopReason, stats: dict[str, float]) -> ShardedSolution:
    """What was found, with the proof."""
    integers, driver = run.whole, run.whole.problem
    ints, ensemble = driver.integers, driver.ensemble
    rate = exact(lam, "lam")
    kept = run.best_kept
    # the driver pays what is paid once
    buying = np.repeat(kept, np.diff(driver.charges.start))
    once = int(ints.price[np.unique(driver.charges.item[buying])].sum()) * int(ints.weight.sum())
    bill = once + sum(run.problem.workers.ask("bill", kept, ints.price)) + int(ints.evaluation[kept].sum())
    roots = driver.errors.of_all_roots(ensemble)
    error, cost = roots - int(ints.gain[kept].sum()) * ints.gain_unit, bill * ints.price_unit
    # at a lambda that may be a little below, where nothing is dearer
    bound = roots - run.bound * integers.unit - Fraction(integers.slack)
    certificate = SharedPrices(
        tuple(run.stages), run.left.nodes, run.at_lowest, run.core_load, integers.unit, integers.lam, run.k
    )
    exactly = integers.slack == 0.0 and integers.lam == rate
    tolerance = max(gap, 0.0 if exactly else 1e-9)
    return ShardedSolution(
        run.problem, lam, kept, error, cost, bound, roots, integers, run.bound, stopped, tolerance, certificate, stats
    )
