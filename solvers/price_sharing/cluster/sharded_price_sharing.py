"""Price sharing with rows on a cluster: the optimum of an instance that no machine holds.

The algorithm is that of `solvers.price_sharing.solve`, and so is the code: only the `Rows` are other ones. Where the instance is
exact in integers, the optimum, its value and its bound are those of `solvers.price_sharing` on the whole, bit for bit, however
the rows are divided and whichever workers are lost: sums of floats only steer the run, and decisions are made in integers. The
answer becomes an ordinary `Solution` where the whole instance is at hand.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import SharedPrices, Solution, Status, StopReason
from formulations.arguments import Natural, NotNegative, Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.numbers import is_rounding
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import IntegerObjective
from solvers.closures.min_cut import bound_of_closure
from solvers.price_sharing.cluster.row_shard import RowShard
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.cluster.sharded_rows import ShardedRows, sharded_objective
from solvers.price_sharing.loop import StopRule, interruption_explained, run_to_goal
from solvers.price_sharing.params import ClusterParams, SharingParams
from solvers.price_sharing.rows import Scores
from solvers.price_sharing.run import Run
from solvers.price_sharing.solve import stats_of, warn_if_undecided


@dataclass(frozen=True, eq=False)
class ShardedSolution:
    """A pruning, its value, and its proof; error, cost and bound are exact in the integers of the instance.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits kept.
    error, cost
        of that pruning; the cost is what all rows pay.
    bound
        proven lower bound of the optimum.
    roots
        error of the all-roots forest.
    objective
        (OBJ) in the integers of the run.
    best
        no closure is worth more in these integers.
    certificate, stopped, stats
        as of `formulations.Solution`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, problem
    >>> parts = pm.cluster.array_parts(X_valid.to_numpy(), 3)
    >>> recipes = pm.cluster.shard_recipes(problem.ensemble, problem.costs, parts)
    >>> with pm.cluster.start_workers(recipes, ray=False) as workers:
    ...     sharded = pm.cluster.ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)
    ...     found = pm.cluster.sharded_price_sharing(sharded, 0.01)
    ...
    >>> found.status.value, float(found.error), float(found.cost)
    ('optimal', 0.0485, 13.493333333333334)
    """

    problem: ShardedProblem
    lam: float | Fraction
    kept: NDArray[np.bool_]
    error: Fraction
    cost: Fraction
    bound: Fraction
    roots: Fraction
    objective: IntegerObjective
    best: int
    stopped: StopReason
    certificate: SharedPrices
    stats: Mapping[str, float]

    @property
    def value(self) -> Fraction:
        """(OBJ): error + lambda * cost."""
        return self.error + exact(self.lam, "lam") * self.cost

    @property
    def relative_gap(self) -> float:
        """Gap / (value of the all-roots forest - bound): the share of the attainable gain that is not yet proven; 0 for gap 0."""
        return 0.0 if self.value <= self.bound else float((self.value - self.bound) / (self.roots - self.bound))

    @property
    def status(self) -> Status:
        """OPTIMAL where the gap is at most what rounding can hide, see `formulations.instance.numbers.is_rounding`."""
        closed = is_rounding(float(self.value - self.bound), float(self.value), float(self.roots))
        return Status.OPTIMAL if closed else Status.FEASIBLE

    @checked
    def on(self, problem: PruningProblem) -> Solution:
        """The answer as one to the whole instance, which `proofs_checks.check_solution` can check.

        Parameters
        ----------
        problem
            the same forest, errors, costs and rows, these in the order of the parts.
        """
        ours, theirs = self.problem.driver, problem
        rows = int(self.problem.n_rows.sum())
        same = ours.ensemble.n_nodes == theirs.ensemble.n_nodes and rows == theirs.usage.n_rows
        if not (
            same
            and np.array_equal(ours.node_error, theirs.node_error)
            and (ours.costs.prices, ours.usage.evaluation) == (theirs.costs.prices, theirs.usage.evaluation)
            and np.array_equal(self.problem.start, theirs.usage.routing.start)
            and math.isclose(ours.usage.total_weight, theirs.usage.total_weight, rel_tol=1e-12)
        ):
            raise InvalidInputError(
                f"problem has {theirs.ensemble.n_nodes:,} nodes and {theirs.usage.n_rows:,} cost rows, the solution is about "
                f"{ours.ensemble.n_nodes:,} and {rows:,}; give the instance of all parts, in their order"
            )
        pruning = Pruning(problem, self.kept)
        value = pruning.value(float(self.lam))
        if self.problem.error_rounding:
            bound = min(value, math.nextafter(float(self.bound), -math.inf))
        else:
            bound = bound_of_closure(problem, self.objective, self.best, pruning, exact(self.lam, "lam"))
        stats = dict(self.stats)
        return Solution(problem, self.lam, pruning, value, bound, self.stopped, self.certificate, stats, "price_sharing")

    def __repr__(self) -> str:
        return f"ShardedSolution({self.status}, value={float(self.value):.9g}, bound={float(self.bound):.9g})"


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
    small_core: Natural = SharingParams.small_core,
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

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, problem
    >>> parts = pm.cluster.array_parts(X_valid.to_numpy(), 3)
    >>> recipes = pm.cluster.shard_recipes(problem.ensemble, problem.costs, parts)
    >>> with pm.cluster.start_workers(recipes, ray=False) as workers:
    ...     sharded = pm.cluster.ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)
    ...     found = pm.cluster.sharded_price_sharing(sharded, 0.01)
    ...
    >>> found.on(problem).pruning
    Pruning(cost=13.4933, error=0.0485, 43 splits)
    """
    started = time.perf_counter()
    rate = exact(lam, "lam")
    goal = StopRule(started + time_limit, gap, rounds, small_core)
    lost_before = problem.workers.lost
    with interruption_explained(checkpoint):
        with ThreadPoolExecutor(1) as pool:
            rows = ShardedRows(problem, sharded_objective(problem, rate), pool)
            run, stopped, core_arcs = run_to_goal(rows, goal, ties=ties, start=start, checkpoint=checkpoint, progress=progress)
        open_at_first = run.stages[0].nodes if run.stages else run.remaining.nodes
        stats = stats_of(run, core_arcs, started) | {
            "checks": float(run.checks),
            "workers_lost": float(problem.workers.lost - lost_before),
            "bytes_a_round_and_worker": ClusterParams.bytes_per_split * open_at_first.size,
        }
        solution = _solution(problem, run, lam, stopped, stats)
    warn_if_undecided(lam, stopped, stats, float(solution.value - solution.bound), solution.relative_gap)
    return solution


def _solution(problem: ShardedProblem, run: Run, lam: float, stopped: StopReason, stats: dict[str, float]) -> ShardedSolution:
    """The answer of a run, with its proof."""
    objective, driver, kept = run.objective, problem.driver, run.best_kept
    ints = driver.numbers
    # The driver pays for the items that are paid once, and for evaluation; the shards' rows pay for the others.
    once = int(ints.price[driver.usage.once(kept)].sum()) * int(ints.weight.sum())
    bill = once + sum(problem.shards.ask(RowShard.bill, kept, ints.price)) + int(ints.evaluation[kept].sum())
    roots = driver.roots_error
    error, cost = roots - int(ints.gain[kept].sum()) * ints.gain_unit, bill * ints.price_unit
    # True at `lam` too: `objective.lam` is at most a little below it, and nothing is dearer there.
    bound = roots - run.bound * objective.unit - Fraction(problem.error_rounding)
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
        run.certificate(),
        stats,
    )
