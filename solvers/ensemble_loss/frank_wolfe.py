"""Prune for the forest's own loss: conditional gradients with minimum cuts, then level sets.

L is convex in the forest's predictions F, and its slope dL/dF at those of a mixture of prunings, F0, makes a plain pruning
instance with gains g, see (3) there. Every pruning x obeys

    L(x) + lam cost(x)  >=  L(F0) + dL/dF.(F at the roots - F0)  +  min over prunings x of [ -g.x + lam cost(x) ]         (1)

The minimum is one cut (`oracle`); (1) bounds (ENS) of `formulations.instance.ensemble_loss` from below, and the cut's pruning
joins the mixture, whose weights are then all chosen anew (`mixing`). That is the fully corrective form of Frank and Wolfe's
method (simplicial decomposition: Holloway 1974, von Hohenbalken 1977), generalised in that the cost is kept as it is and only L
is linearised. Every step also yields a pruning, and y's level sets yield many; the best one found is the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.ensemble_solution import EnsembleSolution
from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.ensemble_loss import EnsembleProblem
from solvers.ensemble_loss.level_values import level_sets_of
from solvers.ensemble_loss.mixing import ConvexCombination, best_combination
from solvers.ensemble_loss.oracle import Oracle

NO_WEIGHT = 1e-10
"""A pruning with no more weight than this leaves the mixture."""

SAME = 1e-13
"""Two values of the relaxation that differ by this part of them are the same to floating point."""


def frank_wolfe(
    problem: EnsembleProblem,
    lam: float,
    *,
    time_limit: float = math.inf,
    tolerance: float = 1e-3,
    iterations: int = 50,
    start: Sequence[Pruning] = (),
) -> EnsembleSolution:
    """A pruning of least forest loss + lam * cost, with a proven bound.

    Parameters
    ----------
    lam
        loss per unit of cost, >= 0.
    time_limit
        seconds; looked at before each step. A step is mostly one minimum cut.
    tolerance
        the search ends when (relaxed - bound) / (value of the all-roots forest - bound) is at most this.
    iterations
        most steps, >= 1.
    start
        prunings to begin with, for instance the `active` ones of a neighbouring lambda: the answer is never worse than any.

    Returns
    -------
    EnsembleSolution
        CONVERGED says that the relaxation is solved. The gap to the pruning may stay open: no relaxation of this kind is always
        tight.

    Raises
    ------
    InvalidInputError
        for a negative lambda, tolerance or number of steps, and prunings of another problem.
    InterruptedSolveError
        on Ctrl-C.
    """
    began = time.perf_counter()
    rate = exact(lam, "lam")
    if not tolerance >= 0 or iterations < 1:
        raise InvalidInputError(f"tolerance is {tolerance!r}, iterations {iterations!r}; give at least 0, and at least 1")
    for pruning in start:
        if pruning.problem.ensemble is not problem.ensemble:
            raise InvalidInputError("start: a pruning belongs to another forest; give prunings of problem.problem")
    try:
        run = _FrankWolfe(problem, float(lam), Oracle(problem, rate), start)
        stopped = run.drive(began + time_limit, tolerance, iterations)
        run.round()
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while pruning for the forest's loss; nothing was changed") from stop
    return run.solution(stopped, tolerance, time.perf_counter() - began)


@dataclass(eq=False)
class _Member:
    """A pruning of the mixture."""

    pruning: Pruning
    predictions: NDArray[np.float64]
    cost: float


class _FrankWolfe:
    """The mixture, the best pruning, and the bound."""

    def __init__(self, problem: EnsembleProblem, lam: float, oracle: Oracle, start: Sequence[Pruning]) -> None:
        self.problem, self.lam, self.oracle = problem, lam, oracle
        self.roots_predictions = problem.of_pruning(Pruning.all_roots(problem.problem))
        self.roots = problem.loss_of(self.roots_predictions)
        self.bound = 0.0  # no loss and no cost is negative
        self.best_value, self.best = math.inf, Pruning.all_roots(problem.problem)
        self.members: list[_Member] = []
        for pruning in start or [Pruning.all_roots(problem.problem), Pruning.unpruned(problem.problem)]:
            self._join(pruning)
        self.mixture = self._mixed(np.zeros(len(self.members)))
        self.history: list[tuple[float, float]] = []
        self.arcs = 0

    def drive(self, deadline: float, tolerance: float, iterations: int) -> StopReason:
        """Steps until the relaxation is solved, or a limit."""
        for _ in range(iterations):
            if time.perf_counter() > deadline:
                return StopReason.TIME_LIMIT
            moved = self._step()
            self.history.append((self.mixture.value, self.bound))
            if self.mixture.value - self.bound <= tolerance * (self.roots - self.bound) or not moved:
                return StopReason.CONVERGED
        return StopReason.ITERATION_LIMIT

    def _step(self) -> bool:
        """Linearise, cut, mix anew; False if the cut found nothing that makes the mixture better."""
        problem, F = self.problem, self.mixture.predictions
        slopes = problem.slopes(F)
        answer = self.oracle.best(slopes)
        self.arcs += answer.n_arcs
        at_roots = problem.loss_of(F) + float((slopes * (self.roots_predictions - F)).sum())
        self.bound = max(self.bound, at_roots + answer.bound - problem.rounding(F))
        if any(np.array_equal(m.pruning.kept, answer.kept) for m in self.members):
            return False
        before = self.mixture.value
        self._join(Pruning(self.problem.problem, answer.kept))
        self.mixture = self._mixed(np.append(self.mixture.weights, 0.0))
        return self.mixture.value < before - SAME * abs(before)

    def _join(self, pruning: Pruning) -> None:
        """Add a pruning to the mixture, and remember it if it is the best."""
        member = _Member(pruning, self.problem.of_pruning(pruning), pruning.cost)
        self.members.append(member)
        value = self.problem.loss_of(member.predictions) + self.lam * member.cost
        if value < self.best_value:
            self.best_value, self.best = value, pruning

    def _mixed(self, start: NDArray[np.float64]) -> ConvexCombination:
        """The best weights; members without weight leave."""
        F = np.stack([m.predictions for m in self.members])
        costs = self.lam * np.array([m.cost for m in self.members])
        if not start.any():
            values = [self.problem.loss_of(f) + c for f, c in zip(F, costs, strict=True)]
            start[int(np.argmin(values))] = 1.0
        mixture = best_combination(self.problem, F, costs, start)
        stays = mixture.weights > NO_WEIGHT
        if stays.all():
            return mixture
        self.members = [m for m, stay in zip(self.members, stays, strict=True) if stay]
        weights = mixture.weights[stays] / mixture.weights[stays].sum()
        return ConvexCombination(weights, mixture.predictions, mixture.value)

    def round(self) -> None:
        """The best of the mixture's level sets."""
        y = np.zeros(self.problem.ensemble.n_nodes)
        for a, m in zip(self.mixture.weights, self.members, strict=True):
            y += a * m.pruning.kept
        pruning, value = level_sets_of(self.problem, y).best(self.lam)
        if value < self.best_value:
            self.best_value, self.best = value, pruning

    def solution(self, stopped: StopReason, tolerance: float, seconds: float) -> EnsembleSolution:
        """The answer, its value computed anew."""
        loss = self.problem.loss_of(self.problem.of_pruning(self.best))
        value = loss + self.lam * self.best.cost
        stats = {"seconds": seconds, "iterations": float(len(self.history)), "arcs": float(self.arcs)}
        return EnsembleSolution(
            self.problem,
            self.lam,
            self.best,
            loss,
            value,
            min(self.bound, value),
            self.mixture.value,
            stopped,
            tolerance,
            tuple(m.pruning for m in self.members),
            self.mixture.weights,
            dict(zip(("relaxed", "bound"), np.array(self.history).reshape(-1, 2).T, strict=True)),
            stats,
        )
