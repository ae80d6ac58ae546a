"""Several lambdas, each from what the others decided.

The smallest optimum shrinks as lambda grows, and so does the largest one:

    lam < lam'   =>   kept(lam') is a subset of kept(lam)                                                                 (1)

So a split that is proven to be kept at a larger lambda is kept here, with all its purchases, and one that is proven to be pruned
at a smaller lambda is pruned here. `proofs_checks.optimality.shared_path` checks what all points prove together. The two ends are
solved first, then always the middle between two lambdas that are done, so that few splits are left to decide. Besides, each point
tries the pruning of the nearest lambda that is done first. It starts from equal shares: the neighbours' scores have drifted far
apart, and undoing that takes more rounds than beginning anew.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from formulations.arguments import Natural, NotNegative, Seconds, checked
from formulations.errors import InterruptedSolveError, InvalidInputError, SolverFailedError
from formulations.fingerprint import fingerprint
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing.checkpoint import problem_fingerprint
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.loop import drive
from solvers.price_sharing.memory import warn_if_short, warn_if_undecided
from solvers.price_sharing.path_point import PathPoint
from solvers.price_sharing.point_files import Limits, PointFiles
from solvers.price_sharing.run import Known, Run
from solvers.price_sharing.solve import solution_of
from solvers.price_sharing.stopping import SMALL_CORE, Goal

if TYPE_CHECKING:
    from formulations.answers.solution import SharedPrices


@checked
def price_sharing_path(
    problem: PruningProblem,
    lams: Sequence[Price],
    *,
    gap: NotNegative = 0.0,
    ties: Ties = "smallest",
    nested: bool = True,
    time_limit: Seconds = math.inf,
    rounds: Natural = 100_000,
    small_core: Natural = SMALL_CORE,
    checkpoint: str | Path | None = None,
    done: Callable[[PathPoint], object] | None = None,
    progress: bool = False,
) -> tuple[PathPoint, ...]:
    """Optimal prunings for several lambdas, by price sharing, without a network of all usage arcs.

    Parameters
    ----------
    lams
        error per unit of cost, each >= 0, no two equal; in any order.
    gap
        relative gap at which each point stops; 0 (default): the exact optimum.
    ties
        which optimum, where there are several: see `price_sharing`.
    nested
        whether to use (1). Then the points together are the proof, see `proofs_checks.check_shared_path`. Without it every point
        has a certificate of its own; prunings are handed on all the same. An instance that was rounded to fit integers
        is rounded at each lambda separately, so (1) is never used for it.
    time_limit, rounds, small_core
        for each point, as in `price_sharing`.
    checkpoint
        a folder, made if it does not exist. Every point that is done is written to it, and so is the state of the one at work.
        After an interruption the same call goes on from there, and ends with the same points. A call with a larger `time_limit`
        or more `rounds`, or with more memory, solves the points again that a limit had stopped, and those that rest on them.
    done
        called with each point when it is solved or read back: in the order of work, not of lambda.
    progress
        show a bar on stderr for each point.

    Returns
    -------
    tuple of PathPoint
        by rising lambda.

    Raises
    ------
    InvalidInputError
        for no lambdas, negative or equal ones, a negative gap, and a checkpoint of another instance or of other options.
    BrokenFileError
        for a checkpoint that cannot be read or written, or that another run is writing.
    InterruptedSolveError
        on Ctrl-C; the points that are done are in the checkpoint.

    Warns
    -----
    RuntimeWarning
        where memory will not be enough, and, when all points are done, for each one that it was not enough for. The others do not
        suffer: such a point hands on only what it has proved.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> points = pm.engines.price_sharing_path(problem, [0.005, 0.01, 0.02])
    >>> [round(point.solution.pruning.cost, 2) for point in points]
    [15.3, 13.49, 11.78]
    """
    rates = _ascending(lams)
    warn_if_short(problem, len(rates))
    files = (
        None if checkpoint is None else PointFiles(Path(checkpoint), problem_fingerprint(problem, float(gap), ties, bool(nested)))
    )
    goal, limits = Goal(math.inf, gap, rounds, small_core), Limits(time_limit, rounds)
    use_order = nested and problem.integers.exact
    points: dict[int, PathPoint] = {}
    unchanged: set[Fraction] = set()
    opened = ExitStack()
    try:
        if files is not None:
            opened.enter_context(files.opened())
        for k in _ends_then_middles(len(rates)):
            point = None if files is None else files.load(problem, rates[k], limits, unchanged)
            if point is not None:
                unchanged.add(rates[k])
            else:
                limited = replace(goal, deadline=time.perf_counter() + time_limit)
                point = _solve(problem, rates[k], limited, ties, _neighbours(points, k), use_order, files, progress=progress)
                if files is not None:
                    files.save(point, rates[k], limits)
            points[k] = point
            if done is not None:
                done(point)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(
            f"interrupted with {len(points)} of {len(rates)} lambdas done"
            + ("; give a checkpoint to keep them" if checkpoint is None else f"; the same call goes on from {checkpoint}")
        ) from stop
    finally:
        opened.close()
    solutions = [points[k].solution for k in range(len(rates))]
    for solution in solutions:
        warn_if_undecided(solution.lam, solution.stopped, solution.stats, solution.gap, solution.relative_gap)
    return tuple(points[k] for k in range(len(rates)))


def _ascending(lams: Sequence[Price]) -> list[Fraction]:
    """The lambdas as fractions, in ascending order."""
    rates = sorted(exact(lam, f"lams[{k}]") for k, lam in enumerate(lams))
    if not rates:
        raise InvalidInputError("lams is empty; give at least one lambda")
    for a, b in pairwise(rates):
        if a == b:
            raise InvalidInputError(f"lams has {float(a):g} twice; give every lambda once")
    return rates


def _ends_then_middles(n: int) -> Iterator[int]:
    """The order of work for 0 to n - 1: the last, the first, then the middles between neighbours, the widest apart first."""
    yield n - 1
    if n > 1:
        yield 0
    spans = deque([(0, n - 1)])
    while spans:
        a, b = spans.popleft()
        if b - a > 1:
            middle = (a + b) // 2
            yield middle
            spans += [(a, middle), (middle, b)]


def _neighbours(points: Mapping[int, PathPoint], k: int) -> tuple[PathPoint | None, PathPoint | None]:
    """Of the points that are done, those with the next smaller and the next larger lambda; None where there is none."""
    below = max((j for j in points if j < k), default=None)
    above = min((j for j in points if j > k), default=None)
    return None if below is None else points[below], None if above is None else points[above]


def _solve(
    problem: PruningProblem,
    rate: Fraction,
    goal: Goal,
    ties: Ties,
    neighbours: tuple[PathPoint | None, PathPoint | None],
    use_order: bool,
    files: PointFiles | None,
    *,
    progress: bool,
) -> PathPoint:
    """Solve one point, from the state in its file if there is one."""
    started = time.perf_counter()
    objective = integer_objective(problem, rate).refined()
    smaller, larger = neighbours
    if not use_order or (smaller is not None and smaller.lam > objective.lam):
        smaller = None
    if not use_order or (larger is not None and larger.lam < objective.lam):
        larger = None
    nearest_first = [point for point in neighbours if point is not None]
    nearest_first.sort(key=lambda point: abs(point.lam - rate))
    smaller_rate, larger_rate = (None if point is None else exact(point.solution.lam, "lam") for point in (smaller, larger))
    with ThreadPoolExecutor(1) as pool:
        known = _known(problem, smaller, larger, nearest_first)
        run = Run(LocalRows(objective, pool), ties, None, known)
        save = None
        if files is not None:
            point_key = fingerprint(rate, smaller_rate, larger_rate, known.kept, known.pruned)
            state = files.load_state(point_key)
            if state is not None:
                run.go_on(state)

            def save() -> None:
                files.save_state(run.state(), point_key)

        stopped, core_arcs = drive(run, goal, save, progress=progress)
        solution = solution_of(run, rate, goal.gap, stopped, core_arcs, started)
    proof = cast("SharedPrices", solution.certificate)
    nothing = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    kept, pruned = run.decided() if problem.integers.exact else (nothing, nothing)
    return PathPoint(
        solution=replace(
            solution,
            certificate=proof if smaller is None and larger is None else None,
            stats={**solution.stats, "decided_by_order": float((known.kept | known.pruned)[problem.splits].sum())},
        ),
        lam=objective.lam,
        proof=proof,
        smaller=smaller_rate,
        larger=larger_rate,
        kept=kept,
        pruned=pruned,
    )


def _known(
    problem: PruningProblem, smaller: PathPoint | None, larger: PathPoint | None, neighbours: Sequence[PathPoint]
) -> Known:
    """What (1) tells, and the neighbours' prunings, in their order.

    Raises
    ------
    SolverFailedError
        if the neighbours contradict (1), which is a defect of this package.
    """
    nothing = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    kept = nothing if larger is None else larger.kept
    pruned = nothing if smaller is None else smaller.pruned
    if (kept & pruned).any():
        raise SolverFailedError(
            f"split {np.flatnonzero(kept & pruned)[0]} is pruned at a smaller lambda and kept at a larger one"
        )
    prunings = (point.solution.pruning for point in neighbours)
    return Known(kept, pruned, tuple(pruning.kept for pruning in prunings if pruning is not None))
