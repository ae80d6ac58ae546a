"""Pruning a boosted ensemble for one lambda: minimise the majoriser, move there, repeat.

    minimise  loss(pruning) + lam * cost(pruning),                                                     (1)

where loss is the mean loss of the ensemble's prediction, not of its trees'. One step solves, exactly, the pruning problem whose
error is the majoriser around the current pruning. The majoriser lies above the loss and touches it at the current pruning, so (1)
never rises. It is a pessimistic bound where trees' changes cancel, so each step first tries it with a share of the curvature and
takes a candidate only if (1) itself falls; the share grows up to 1. If not even 1 makes (1) fall, the current pruning is optimal
for its own majoriser: it is stationary. (If it is optimal for a smaller share, then also for 1: more curvature only raises the
value of the others.) That is what is proven; there may be better prunings.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solver
from formulations.errors import SolverFailedError
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Usage
from prunemodels.models.boosting.majoriser import State, majorise, state_of
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.losses import SampleLoss

SMALLEST_SHARE, SHARE_GROWTH = 1 / 64, 4.0
"""The first share of the curvature that is tried, and the factor by which it grows after a failure."""

NOTICEABLE_FALL = 1e-12
"""A fall of (1) counts if it is at least this share of (1): less is rounding."""


@dataclass(frozen=True, eq=False)
class PricedPruning:
    """A pruning with its loss and its cost.

    Parameters
    ----------
    share
        of the curvature with which a descent found it; 0 for a descent's start, and for prunings that no descent found.
    trees
        how many trees count, from the first on: the others add nothing, not even as single leaves. None: all.
    """

    kept: NDArray[np.bool_]
    loss: float
    cost: float
    share: float = 0.0
    trees: int | None = None

    def value(self, lam: float) -> float:
        """The objective (1)."""
        return self.loss + lam * self.cost


@dataclass(frozen=True, eq=False)
class Descent:
    """The prunings of a descent.

    Parameters
    ----------
    points
        the start, and every pruning that was accepted after it; (1) falls from each to the next.
    stationary
        whether the last one was shown to be optimal for its own majoriser.
    solved
        number of pruning problems solved.
    """

    points: tuple[PricedPruning, ...]
    stationary: bool
    solved: int


def descend(
    forest: ModelForest,
    usage: Usage,
    loss: SampleLoss,
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
        largest number of steps.
    deadline
        on the clock of ``time.perf_counter``, checked before each problem is solved.
    """
    state = state_of(forest, usage, loss, start)
    points, last_share, solved = [point_of(usage, state)], SMALLEST_SHARE, 0
    while len(points) <= rounds:
        for share in _shares(last_share):
            if time.perf_counter() > deadline:
                return Descent(tuple(points), False, solved)
            bound = majorise(forest, usage, loss, state, share).problem
            best = _minimiser(solver, bound, lam)
            solved += 1
            current = Pruning(bound, state.kept).value(lam)
            if best.value(lam) >= current - NOTICEABLE_FALL * abs(current):
                return Descent(tuple(points), True, solved)
            tried = state_of(forest, usage, loss, best.kept)
            point, last = point_of(usage, tried, share), points[-1].value(lam)
            if point.value(lam) < last - NOTICEABLE_FALL * abs(last):
                state, last_share = tried, share
                points.append(point)
                break
        else:
            return Descent(tuple(points), True, solved)
    return Descent(tuple(points), False, solved)


def point_of(usage: Usage, state: State, share: float = 0.0) -> PricedPruning:
    """The state's pruning with its cost."""
    return PricedPruning(state.kept, state.loss, usage.cost(state.kept), share)


def _shares(last: float) -> Iterator[float]:
    """The shares of the curvature to try: from one step below the last that was accepted up to 1."""
    share = max(SMALLEST_SHARE, last / SHARE_GROWTH)
    while share < 1.0:
        yield share
        share *= SHARE_GROWTH
    yield 1.0


def _minimiser(solver: Solver, bound: PruningProblem, lam: float) -> Pruning:
    solution = solver(bound, lam)
    if solution.pruning is None:
        raise SolverFailedError(f"the solver ended {solution.stopped} without a pruning; use one that finds the optimum")
    return solution.pruning


class Pool:
    """Points by rising cost and strictly falling loss; for all others only (cost, loss) is kept.

    Attributes
    ----------
    visited
        (cost, loss) of every point that was visited.
    """

    def __init__(self) -> None:
        self._cost: list[float] = []
        self._points: list[PricedPruning] = []
        self.visited: list[tuple[float, float]] = []

    @property
    def points(self) -> tuple[PricedPruning, ...]:
        """The points of the pool, by rising cost and falling loss."""
        return tuple(self._points)

    def see(self, cost: float, loss: float) -> bool:
        """Record a visited pruning. Returns whether `add` would keep it: no pruning of the pool is as cheap and as good."""
        self.visited.append((cost, loss))
        k = bisect_right(self._cost, cost)
        return k == 0 or loss < self._points[k - 1].loss

    def add(self, point: PricedPruning) -> None:
        """Add a pruning unless another one beats it, and remove those that it beats."""
        k = bisect_right(self._cost, point.cost)
        if k and self._points[k - 1].loss <= point.loss:
            return
        start = k - 1 if k and self._cost[k - 1] == point.cost else k
        stop = k
        while stop < len(self._points) and self._points[stop].loss >= point.loss:
            stop += 1
        self._points[start:stop] = [point]
        self._cost[start:stop] = [point.cost]

    def best(self, lam: float) -> PricedPruning:
        """The point of least loss + lam * cost, the cheapest of equals."""
        return min(self._points, key=lambda p: (p.value(lam), p.cost))

    def within(self, budget: float) -> PricedPruning:
        """The point of least loss within the budget."""
        k = bisect_right(self._cost, budget)
        return self._points[max(0, k - 1)]

    def above(self, budget: float) -> PricedPruning | None:
        """The cheapest pruning that costs more than the budget."""
        k = bisect_right(self._cost, budget)
        return self._points[k] if k < len(self._points) else None
