"""Price sharing: proportional response with one score for each split, then fixing, then an exact cut of what is left.

    share the prices by the scores y                 (1) of `shares`: every state is dual feasible
    level_h  of the trees at profit and charge       (5) of `tree_pass`;   bound = value of the trees' best closures        (1)
    s_h'     = y_h + log level_h                     at most 5 / (k + 5) up or down in round k                               (2)
    y_h'     = s_h' + min((r - 1) / (r + 2), 0.95) (s_h' - s_h)                      after r rounds of this run              (3)

A split that could pay level_h times its charge takes level_h times its share next time. Where the users of a purchase that have
a share of it are on the same level, the highest one among its users, the shares stay as they are and prove the optimum. They
prove it for every lambda, because at x times the prices all levels are divided by x. So a lambda beside a long edge of the hull
is hardly harder than others. The prunings that are tried are the splits above some level, in one round or on average over rounds.

In (3) the difference is cut to three times the limit of (2), since otherwise scores drift apart by hundreds. Purchases with the
same open users share alike, so the passes read them as one: `solvers.price_sharing.merged_usage`.

A check follows every ten rounds. It computes the bound again in integers, rounded so that it is true whatever
floating point did. A split is fixed out (or in) where forcing it in (or out) brings the bound strictly below the best value
found. The open splits become fewer by orders of magnitude, and an exact cut of them, the core, ends the proof. The dual state is
one number for each split, however many rows there are; it is all that a checkpoint needs.

(2) without its limit is the proportional response of Wu and Zhang (2007). It is mirror descent with steps of 1 (Birnbaum, Devanur
and Xiao, 2011) on sum_j load_j log(load_j / price_j), where split u loads level_u times its share on j. Every strictly convex
function of load_j / price_j, weighted by the prices, has the same levels at its minimum (Fujishige, 1980). (3) is Nesterov's
momentum. That splits, trees and purchases are such a market is ours; BP16's Algorithm 1 makes additive subgradient steps instead.

How many bytes an instance and its solution take is predicted from its sizes alone: N rows, T trees with n nodes in all, n / 2 of
them splits, M items, F features, B blocks of rows.

    table    4 N F                      the cost sample as float32
    routing  4 N T + 24 N               who reaches which node; weights, numbers of the rows
    nodes    105 n                      the trees, their errors and integers                                              (4)
    blocks   2 N T + 8 n B + 4 N        the routing again, in blocks of rows; see `formulations.instance.routing`
    run      51 n + 3 M N + 2 A         profits, scores, slices, levels of the splits; which purchases are paid; merged arcs

The bytes for each node are measured. A is at most N T M, and at most 32 million: where more would be left, rounds do not list
them, see `solvers.price_sharing.merged_usage`. The usage arcs of the core that is cut in the end are stored too, and their number
is not known beforehand: 50,000, or 2 n, or 20 million at a hard lambda. The cut takes 125 bytes for each that merging leaves, or
85 for each where nothing is merged, its proof 8 for each. So what the cut takes is predicted when the core is known, and no core
is cut that does not fit: `solvers.price_sharing.loop`.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from formulations.answers.pruning import Pruning
from formulations.answers.solution import FixingStage, SharedPrices, Solution, StopReason, what_memory_left_open
from formulations.arguments import Natural, NotNegative, Seconds, checked, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.instance.reduction import Groups
from formulations.instance.routing import BLOCK_ROWS
from formulations.memory import memory_free, readable
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import integer_objective
from solvers.closures.min_cut import bound_of_closure
from solvers.price_sharing.loop import StopRule, interruption_explained, run_to_goal
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.rows import LocalRows, Scores
from solvers.price_sharing.run import Run, check_size, scores_after


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes by (4).

    Examples
    --------
    >>> import prunemodels as pm
    >>> needs = pm.engines.memory_needed(rows=1_000_000, trees=100, nodes=50_000, items=30)
    >>> print(f"{needs.total / 1e9:.1f} GB")
    0.8 GB
    """

    table: int
    routing: int
    nodes: int
    blocks: int
    run: int

    @property
    def total(self) -> int:
        """The sum; the interpreter and its libraries are not in it."""
        return self.table + self.routing + self.nodes + self.blocks + self.run

    def __str__(self) -> str:
        free = memory_free()
        return f"needs {readable(self.total)}" + ("" if free is None else f", {readable(free)} free")


@checked
def memory_needed(*, rows: int, trees: int, nodes: int, items: int, features: int = 0, on_disk: bool = False) -> MemoryNeeds:
    """Bytes that an instance of these sizes takes, from its table of rows to its solution by `price_sharing`.

    Parameters
    ----------
    rows, trees, nodes, items
        rows of the cost sample; trees of the forest; nodes in all trees together, leaves included; items of the costs.
    features
        columns of the table; 0: do not count the table.
    on_disk
        whether the routing is in a scratch folder: then no term of (4) that grows with N T or M N is in memory.

    Examples
    --------
    >>> import prunemodels as pm
    >>> needs = pm.engines.memory_needed(rows=1_000_000, trees=100, nodes=50_000, items=30)
    >>> print(f"{needs.total / 1e9:.1f} GB, of which the table of rows {needs.table / 1e9:.1f} GB")
    0.8 GB, of which the table of rows 0.0 GB
    """
    n_blocks = max(1, -(-rows // BLOCK_ROWS))
    return MemoryNeeds(
        table=4 * rows * features,
        routing=24 * rows + (0 if on_disk else 4 * rows * trees),
        nodes=105 * nodes,
        blocks=4 * rows + (0 if on_disk else 2 * rows * trees + 8 * nodes * n_blocks),
        run=51 * nodes + (0 if on_disk else 3 * items * rows) + min(SharingParams.most_bytes, 2 * rows * trees * items),
    )


def memory_of_run(problem: PruningProblem) -> int:
    """Bytes that `price_sharing` takes besides the instance itself."""
    needs = memory_needed(
        rows=problem.usage.n_rows,
        trees=problem.ensemble.n_trees,
        nodes=problem.ensemble.n_nodes,
        items=problem.costs.n_items,
        on_disk=problem.usage.routing.scratch is not None,
    )
    return needs.run + (0 if "row_blocks" in problem.usage.__dict__ else needs.blocks)


def warn_if_short(problem: PruningProblem) -> None:
    """Warn before a run that will not fit into memory.

    Warns
    -----
    RuntimeWarning
        with the bytes that it needs, and those that are free.
    """
    needed, free = memory_of_run(problem), memory_free()
    if free is not None and needed > free:
        warnings.warn(
            f"price sharing needs {readable(needed)} for {problem!r}, {readable(free)} are free: it may be stopped by "
            "the system; give fewer cost rows, fewer trees, or a machine with more memory",
            RuntimeWarning,
            stacklevel=4,  # the caller of the engine, whose arguments are checked in between
        )


def warn_if_undecided(
    lam: float | Fraction, stopped: StopReason, stats: Mapping[str, float], gap: float, relative_gap: float
) -> None:
    """Warn where the core did not fit into memory, so that the answer may not be the optimum; call it from an engine.

    Warns
    -----
    RuntimeWarning
        with what is left to decide, and what helps.
    """
    if stopped is StopReason.MEMORY_LIMIT:
        left = what_memory_left_open(stats, gap, relative_gap)
        warnings.warn(
            f"price sharing at lambda = {float(lam):.6g} stopped at the memory limit: {left}",
            RuntimeWarning,
            stacklevel=4,  # as above
        )


@checking
def price_sharing(
    problem: PruningProblem,
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
    params: SharingParams = SharingParams(),
) -> Solution:
    """The optimal pruning for one lambda without a network of all usage arcs.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds, looked at before every round. Past it: the best pruning so far, with the bound so far.
    gap
        `Solution.relative_gap` at which to stop; where the bound on the gain is less than a hundredth of the all-roots forest's
        error, the gap is relative to that hundredth. 0 (default): the exact optimum, by fixing and an exact cut of what is left.
    ties
        which optimum, where there are several: the one with the fewest splits or the one with the most. With a gap, any.
    start
        scores of another lambda, see `final_scores`, or of an earlier run.
    checkpoint
        a file to keep the scores in. An interrupted or killed run goes on from it; it is left there at the end.
    rounds
        at most so many; then as for the time limit.
    small_core
        usage arcs of a core that is cut at once, purchases with the same users counted once; 0: the core is cut only when rounds
        do not make it smaller any more.
    progress
        show a bar on stderr.
    params
        tuning numbers, see `solvers.price_sharing.params`; they change the time, never the optimum.

    Returns
    -------
    Solution
        with gap 0 where the instance is exact in integers, as of `min_cut`. Certificate: `SharedPrices`. ``stats``: rounds,
        seconds, splits and usage arcs of the core, and the bytes that a cut of the core takes. Where these are not free, and
        rounds do not help any more, the run ends with the best pruning so far and the bound so far (`StopReason.MEMORY_LIMIT`).

    Raises
    ------
    InvalidInputError
        for a negative lambda or gap, and a checkpoint of another instance.
    BrokenFileError
        for a checkpoint that cannot be read or written.
    InterruptedSolveError
        on Ctrl-C. The checkpoint, if there is one, is not damaged.

    Warns
    -----
    RuntimeWarning
        where memory will not be enough, see `solvers.price_sharing.solve`, and where it was not enough to end with the optimum.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.price_sharing(problem, 0.01)
    >>> bool((solution.pruning.kept == pm.engines.min_cut(problem, 0.01).pruning.kept).all())
    True
    """
    started = time.perf_counter()
    rate = exact(lam, "lam")
    warn_if_short(problem)
    goal = StopRule(started + time_limit, gap, rounds, small_core)
    with interruption_explained(checkpoint), ThreadPoolExecutor(1) as pool:
        reduced = problem.reduced(ties)
        start = None if start is None else _of_groups(start, reduced.groups)
        rows = LocalRows(integer_objective(problem, rate).refined().of_groups(reduced), pool, params)
        run, stopped, core_arcs = run_to_goal(rows, goal, ties=ties, start=start, checkpoint=checkpoint, progress=progress)
        solution = solution_of(run, problem, reduced.groups, lam, stopped, core_arcs, started)
    warn_if_undecided(lam, stopped, solution.stats, solution.gap, solution.relative_gap)
    return solution


@checked
def final_scores(solution: Solution, iteration: int = SharingParams.warm_start_iteration) -> Scores:
    """The scores that a solution of `price_sharing` ended with: where a neighbouring lambda may start.

    Parameters
    ----------
    iteration
        from which the step size goes on: small enough for the scores to move, large enough not to forget them.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> near = pm.engines.price_sharing(problem, 0.01)
    >>> pm.engines.price_sharing(problem, 0.011, start=pm.engines.final_scores(near)).status.value
    'optimal'
    """
    proof = solution.certificate
    if not isinstance(proof, SharedPrices):
        raise InvalidInputError("the solution carries no scores; give one of price_sharing")
    n_nodes = solution.problem.ensemble.n_nodes
    return Scores(scores_after(proof.stages, proof.nodes, proof.score, n_nodes), iteration)


def _of_groups(start: Scores, groups: Groups) -> Scores:
    """Scores of all nodes of a forest as scores of its groups."""
    check_size(start, groups.of.size)
    return Scores(start.score[groups.payer], start.iteration)


def solution_of(
    run: Run,
    problem: PruningProblem,
    groups: Groups,
    lam: float | Fraction,
    stopped: StopReason,
    core_arcs: int,
    started: float,
) -> Solution:
    """The answer of a run on the reduction of a problem, with its proof."""
    objective = run.objective
    pruning = Pruning(problem, groups.kept(run.best_kept))
    proof = proof_for_forest(run.certificate(), groups, problem)
    bound = bound_of_closure(problem, objective, run.bound, pruning, exact(lam, "lam"))
    stats = stats_of(run, core_arcs, started) | {"usage_arcs": float(problem.n_usage_arcs)}
    return Solution(problem, lam, pruning, pruning.value(float(lam)), bound, stopped, proof, stats, "price_sharing")


def proof_for_forest(proof: SharedPrices, groups: Groups, problem: PruningProblem) -> SharedPrices:
    """A proof for all splits from one for their groups: (7) to (9) of `formulations.instance.reduction`."""
    payer, fixed = groups.payer, np.zeros(groups.of.size, dtype=bool)
    stages = tuple(
        FixingStage(
            payer[stage.nodes],
            stage.score,
            groups.fixed_in(stage.fixed_in, problem.ensemble.parent, fixed),
            payer[stage.fixed_out],
            stage.iteration,
        )
        for stage in proof.stages
    )
    return replace(proof, stages=stages, nodes=payer[proof.nodes])


def stats_of(run: Run, core_arcs: int, started: float) -> dict[str, float]:
    """What every engine of price sharing reports of its run."""
    return {
        "seconds": time.perf_counter() - started,
        "iterations": float(run.iteration),
        "core_splits": float(run.remaining.nodes.size),
        "core_usage_arcs": float(run.n_arcs),
        "core_cut_bytes": float(run.rows.cut_bytes),
        "arcs": float(core_arcs),
    }
