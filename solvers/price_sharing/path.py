"""Several lambdas, each from what the others decided.

Smallest optima shrink as lambda grows, and so do largest ones:

    lam < lam'   =>   kept(lam') is a part of kept(lam)                                                                   (1)

so a split that is proven to be kept at a larger lambda is kept here, with all its purchases, and one that is proven to be pruned
at a smaller lambda is pruned here; `proofs_checks.optimality.shared_path` checks what all points prove together. The two ends
come first, then always the middle between two that are done: what is left to decide there is small. Besides, scores start from
those of the nearest lambda that is done, and its pruning is tried first.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from formulations.errors import InterruptedSolveError, InvalidInputError, SolverFailedError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.price_sharing.checkpoint import fingerprint
from solvers.price_sharing.memory import warn_if_short
from solvers.price_sharing.path_point import PathPoint
from solvers.price_sharing.point_files import PointFiles
from solvers.price_sharing.run import Known, Run
from solvers.price_sharing.solve import SMALL_CORE, Goal, drive, solution_of
from solvers.price_sharing.whole import whole

if TYPE_CHECKING:
    from formulations.answers.solution import SharedPrices


def price_sharing_path(
    problem: PruningProblem,
    lams: Sequence[Price],
    *,
    gap: float = 0.0,
    ties: Ties = "smallest",
    nested: bool = True,
    time_limit: float = math.inf,
    rounds: int = 100_000,
    small_core: int = SMALL_CORE,
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
        whether (1) is used; then the points together are the proof, see `proofs_checks.check_shared_path`. Without it every point
        has a certificate that stands alone; scores and prunings are handed on all the same. Instances that were rounded to fit
        integers are rounded anew at each lambda: there (1) is never used.
    time_limit, rounds, small_core
        for each point, as in `price_sharing`.
    checkpoint
        a folder, made if need be: every point that is done is written to it, and the state of the one at work. The same call,
        interrupted or killed, goes on from there, to the same points.
    done
        called with each point as it is done, or read back: in the order of work, not of lambda.
    progress
        a bar on stderr for each point.

    Returns
    -------
    tuple of PathPoint
        by rising lambda.

    Raises
    ------
    InvalidInputError
        for no lambdas, negative or equal ones, a negative gap, and a checkpoint of another instance or other options.
    BrokenFileError
        for a checkpoint that cannot be read or written.
    InterruptedSolveError
        on Ctrl-C; the points that are done are in the checkpoint.
    """
    if not gap >= 0:
        raise InvalidInputError(f"gap is {gap!r}; give a relative gap >= 0")
    asked = _ascending(lams)
    warn_if_short(problem, len(asked))
    store = None if checkpoint is None else PointFiles(Path(checkpoint), f"{fingerprint(problem)} {gap!r} {ties} {nested}")
    if store is not None:
        store.open()
    goal = Goal(math.inf, gap, rounds, small_core)
    use_order = nested and problem.integers.exact
    points: dict[int, PathPoint] = {}
    try:
        for k in _ends_then_middles(len(asked)):
            point = None if store is None else store.load(problem, asked[k])
            if point is None:
                limited = replace(goal, deadline=time.perf_counter() + time_limit)
                point = _solve(problem, asked[k], limited, ties, _neighbours(points, k), use_order, store, progress=progress)
                if store is not None:
                    store.save(point, asked[k])
            points[k] = point
            if done is not None:
                done(point)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(
            f"interrupted with {len(points)} of {len(asked)} lambdas done"
            + ("; give a checkpoint to keep them" if checkpoint is None else f"; the same call goes on from {checkpoint}")
        ) from stop
    return tuple(points[k] for k in range(len(asked)))


def _ascending(lams: Sequence[Price]) -> list[Fraction]:
    """The lambdas as fractions, by size."""
    asked = sorted(exact(lam, f"lams[{k}]") for k, lam in enumerate(lams))
    if not asked:
        raise InvalidInputError("lams is empty; give at least one lambda")
    for a, b in pairwise(asked):
        if a == b:
            raise InvalidInputError(f"lams has {float(a):g} twice; give every lambda once")
    return asked


def _ends_then_middles(n: int) -> Iterator[int]:
    """0 to n - 1: the last, the first, then the middle between neighbours that are done, the widest apart first."""
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
    """The points that are done with the next smaller and the next larger lambda."""
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
    store: PointFiles | None,
    *,
    progress: bool,
) -> PathPoint:
    """One point."""
    started = time.perf_counter()
    integers = whole(problem, rate)
    smaller, larger = neighbours
    if not use_order or (smaller is not None and smaller.lam > integers.lam):
        smaller = None
    if not use_order or (larger is not None and larger.lam < integers.lam):
        larger = None
    near = [point for point in neighbours if point is not None]
    near.sort(key=lambda point: abs(point.lam - rate))
    asked_smaller, asked_larger = (None if point is None else exact(point.solution.lam, "lam") for point in (smaller, larger))
    with ThreadPoolExecutor(1) as pool:
        known = _known(problem, smaller, larger, near)
        run = Run(integers, ties, near[0].scores if near else None, pool, known)
        keep, file = None, None
        if store is not None:
            whose = f"{rate} {asked_smaller} {asked_larger}"
            begun = store.begun(whose)
            if begun is not None:
                run.go_on(begun)
            keep, file = lambda: store.keep(run.state(), whose), store.running
        stopped, core_arcs = drive(run, goal, keep, file, progress=progress)
    solution = solution_of(run, rate, goal.gap, stopped, core_arcs, started)
    proof = cast("SharedPrices", solution.certificate)
    none = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    kept, pruned = run.decided() if problem.integers.exact else (none, none)
    return PathPoint(
        solution=replace(
            solution,
            certificate=proof if smaller is None and larger is None else None,
            stats={**solution.stats, "decided_by_order": float((known.kept | known.pruned)[problem.splits].sum())},
        ),
        lam=integers.lam,
        proof=proof,
        smaller=asked_smaller,
        larger=asked_larger,
        kept=kept,
        pruned=pruned,
    )


def _known(problem: PruningProblem, smaller: PathPoint | None, larger: PathPoint | None, near: Sequence[PathPoint]) -> Known:
    """What (1) tells, and the neighbours' prunings.

    Raises
    ------
    SolverFailedError
        if the neighbours contradict (1): a defect.
    """
    none = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    kept = none if larger is None else larger.kept
    pruned = none if smaller is None else smaller.pruned
    if (kept & pruned).any():
        raise SolverFailedError(
            f"split {np.flatnonzero(kept & pruned)[0]} is pruned at a smaller lambda and kept at a larger one"
        )
    return Known(kept, pruned, tuple(point.solution.pruning.kept for point in near if point.solution.pruning is not None))
