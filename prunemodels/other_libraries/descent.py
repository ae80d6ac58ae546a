"""Pruning a boosted ensemble for one lambda: minimise the majoriser, move there, repeat.

    minimise  loss(pruning) + lam * cost(pruning),                                                     (1)

loss the mean loss of what the ensemble predicts, not of its trees. One step solves, exactly, the pruning problem whose error is
the majoriser around the current pruning; the majoriser lies above the loss and touches it at the current pruning, so (1) never
rises. It is a pessimistic bound where trees' changes cancel, so each step first tries it with a share of the curvature and takes
a candidate only if (1) itself falls; the share grows up to 1. Where not even 1 brings a fall, the current pruning is optimal for
its own majoriser: stationary. (If it is optimal for a smaller share already, then also for 1: more curvature only raises the
others.) That is what is proven; there may be prunings that are better.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solver
from formulations.errors import SolverFailedError
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Usage
from prunemodels.other_libraries.losses import Loss
from prunemodels.other_libraries.majoriser import State, majorise, state_of
from prunemodels.other_libraries.model_forest import ModelForest

BOLDEST, FACTOR = 1 / 64, 4.0
"""The first share of the curvature that is tried, and by what it grows after a failure."""

NOTICEABLE = 1e-12
"""A fall of (1) counts from this part of it on: less is rounding."""


@dataclass(frozen=True, eq=False)
class Point:
    """A pruning with its loss and its cost.

    Parameters
    ----------
    share
        of the curvature that led there; 0: where a descent started, and where none led.
    trees
        how many of the trees count, from the first on: the others add nothing, not even as single leaves. None: all.
    """

    kept: NDArray[np.bool_]
    loss: float
    cost: float
    share: float = 0.0
    trees: int | None = None

    def value(self, lam: float) -> float:
        """(1)."""
        return self.loss + lam * self.cost


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent led.

    Parameters
    ----------
    points
        every pruning that was accepted, the first being the start; (1) falls from each to the next.
    stationary
        whether the last one was shown to be optimal for its own majoriser.
    solved
        number of pruning problems solved.
    """

    points: tuple[Point, ...]
    stationary: bool
    solved: int


def descend(
    forest: ModelForest,
    usage: Usage,
    loss: Loss,
    lam: float,
    start: NDArray[np.bool_],
    *,
    solver: Solver,
    rounds: int,
    deadline: float = math.inf,
) -> Descent:
    """Lower (1) from a given pruning on.

    Parameters
    ----------
    start
        bool, shape (n,): the splits that it keeps.
    rounds
        most steps that are taken.
    deadline
        on the clock of ``time.perf_counter``, looked at before each problem is solved.
    """
    state = state_of(forest, usage, loss, start)
    points, worked, solved = [point_of(usage, state)], BOLDEST, 0
    while len(points) <= rounds:
        for share in _shares(worked):
            if time.perf_counter() > deadline:
                return Descent(tuple(points), False, solved)
            bound = majorise(forest, usage, loss, state, share).problem
            best = _minimiser(solver, bound, lam)
            solved += 1
            here = Pruning(bound, state.kept).value(lam)
            if best.value(lam) >= here - NOTICEABLE * abs(here):
                return Descent(tuple(points), True, solved)
            tried = state_of(forest, usage, loss, best.kept)
            point, last = point_of(usage, tried, share), points[-1].value(lam)
            if point.value(lam) < last - NOTICEABLE * abs(last):
                state, worked = tried, share
                points.append(point)
                break
        else:
            return Descent(tuple(points), True, solved)
    return Descent(tuple(points), False, solved)


def point_of(usage: Usage, state: State, share: float = 0.0) -> Point:
    """The state's pruning with its cost."""
    return Point(state.kept, state.loss, usage.cost(state.kept), share)


def _shares(last: float) -> Iterator[float]:
    """The shares of the curvature to try: from one step bolder than the last that worked up to 1."""
    share = max(BOLDEST, last / FACTOR)
    while share < 1.0:
        yield share
        share *= FACTOR
    yield 1.0


def _minimiser(solver: Solver, bound: PruningProblem, lam: float) -> Pruning:
    solution = solver(bound, lam)
    if solution.pruning is None:
        raise SolverFailedError(f"the solver ended {solution.stopped} without a pruning; use one that finds the optimum")
    return solution.pruning
