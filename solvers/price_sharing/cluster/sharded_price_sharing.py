"""Price sharing with rows on a cluster: the optimum of an instance that no machine holds.

The algorithm is that of `solvers.price_sharing.solve`, and so is the code: only the `Rows` are other ones. Where the instance is
exact in integers, the optimum, its value and its bound are those of `solvers.price_sharing` on the whole, bit for bit, however
the rows are divided and whichever workers are lost: sums of floats only steer the run, and decisions are made in integers.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

from formulations.answers.solution import StopReason
from formulations.arguments import Natural, NotNegative, Seconds, checked
from formulations.instance.cost_items import exact
from solvers.closures.cut import Ties
from solvers.price_sharing.checkpoint import Scores
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.cluster.sharded_rows import ShardedRows, sharded_objective
from solvers.price_sharing.cluster.sharded_solution import ShardedSolution
from solvers.price_sharing.loop import interruption_explained, run_to_goal
from solvers.price_sharing.memory import warn_if_undecided
from solvers.price_sharing.run import Run
from solvers.price_sharing.solve import stats_of, tolerance_of
from solvers.price_sharing.stopping import SMALL_CORE, Goal

BYTES_PER_SPLIT = 12.0
"""Bytes that a round exchanges with a worker for each open split: a score of 4, and a charge of 8."""


@checked
def sharded_price_sharing(
    problem: ShardedProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    gap: NotNegative = 0.0,
    ties: Ties = "smallest",
    start: Scores | None = None,
    checkpoint: str | Path | None = None,
    rounds: Natural = 100_000,
    small_core: Natural = SMALL_CORE,
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
        ``stats``: rounds, checks, seconds, splits and usage arcs of the core, workers lost, and the bytes of scores and charges
        that the first round exchanges with each worker.

    Raises
    ------
    InvalidInputError
        for a negative lambda or gap, and a checkpoint of another instance.
    BrokenFileError
        for a checkpoint that cannot be read or written.
    SolverFailedError
        where a worker is lost again and again.
    InterruptedSolveError
        on Ctrl-C; the workers stay, and can be asked again.
    """
    started = time.perf_counter()
    rate = exact(lam, "lam")
    goal = Goal(started + time_limit, gap, rounds, small_core)
    lost_before = problem.workers.lost
    with interruption_explained(checkpoint):
        with ThreadPoolExecutor(1) as pool:
            rows = ShardedRows(problem, sharded_objective(problem, rate), pool)
            run, stopped, core_arcs = run_to_goal(rows, goal, ties=ties, start=start, checkpoint=checkpoint, progress=progress)
        open_at_first = run.stages[0].nodes if run.stages else run.remaining.nodes
        stats = stats_of(run, core_arcs, started) | {
            "checks": float(run.checks),
            "workers_lost": float(problem.workers.lost - lost_before),
            "bytes_a_round_and_worker": BYTES_PER_SPLIT * open_at_first.size,
        }
        solution = _solution(problem, run, lam, gap, stopped, stats)
    warn_if_undecided(lam, stopped, stats, float(solution.value - solution.bound), solution.relative_gap)
    return solution


def _solution(
    problem: ShardedProblem, run: Run, lam: float, gap: float, stopped: StopReason, stats: dict[str, float]
) -> ShardedSolution:
    """The answer of a run, with its proof."""
    objective, driver, kept = run.objective, problem.driver, run.best_kept
    ints = driver.integers
    # The driver pays for the items that are paid once, and for evaluation; the shards' rows pay for the others.
    once = int(ints.price[driver.usage.once(kept)].sum()) * int(ints.weight.sum())
    bill = once + problem.shards.bill(kept, ints.price) + int(ints.evaluation[kept].sum())
    roots = driver.errors.of_all_roots(driver.ensemble)
    error, cost = roots - int(ints.gain[kept].sum()) * ints.gain_unit, bill * ints.price_unit
    # True at `lam` too: `objective.lam` is at most a little below it, and nothing is dearer there.
    bound = roots - run.bound * objective.unit - Fraction(objective.slack)
    return ShardedSolution(
        problem,
        lam,
        kept,
        error,
        cost,
        bound,
        roots,
        objective,
        run.bound,
        stopped,
        tolerance_of(objective, lam, gap),
        run.certificate(),
        stats,
    )
