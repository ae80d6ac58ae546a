"""Pruning for the loss of the whole forest: conditional gradients with minimum cuts, then level sets.

L is convex in the forest's predictions F. Its slope dL/dF at the predictions F0 of a mixture of prunings defines a plain pruning
instance with gains g, see (5) of `formulations.instance.ensemble_loss`. Every pruning x satisfies

    L(x) + lam cost(x)  >=  L(F0) + dL/dF.(F at the roots - F0)  +  min over prunings x of [ -g.x + lam cost(x) ]         (1)

The minimum is one cut (`oracle`), so that (1) is a lower bound of (ENS). The cut's pruning joins the mixture, and all weights of
the mixture are then computed again (`mixing`). This is the fully corrective form of Frank and Wolfe's method (simplicial
decomposition: Holloway 1974, von Hohenbalken 1977), generalised because only L is linearised and the cost is not. Every step
yields a pruning, and the level sets of the mixture yield more. The best one found is the answer.
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

LEAST_WEIGHT = 1e-10
"""A pruning leaves the mixture if its weight is at most this."""

LEAST_DECREASE = 1e-13
"""A relative decrease of the relaxation's value up to this counts as rounding."""


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
        seconds; checked before each step. Most of a step's time is one minimum cut.
    tolerance
        the search ends when (relaxed - bound) / (value of the all-roots forest - bound) is at most this.
    iterations
        largest number of steps, >= 1.
    start
        prunings to start from, for instance the `active` ones of a neighbouring lambda. The answer is at least as good as each.

    Returns
    -------
    EnsembleSolution
        CONVERGED means that the relaxation is solved. A gap to the pruning may remain, because no relaxation of this kind is
        always tight.

    Raises
    ------
    InvalidInputError
        for a negative lambda, tolerance or number of steps, and prunings of another problem.
    InterruptedSolveError
        on Ctrl-C.
    """
    started = time.perf_counter()
    rate = exact(lam, "lam")
    if not tolerance >= 0 or iterations < 1:
        raise InvalidInputError(f"tolerance is {tolerance!r}, iterations {iterations!r}; give at least 0, and at least 1")
    for pruning in start:
        if pruning.problem.ensemble is not problem.ensemble:
            raise InvalidInputError("start: a pruning belongs to another forest; give prunings of problem.problem")
    try:
        run = _FrankWolfe(problem, float(lam), Oracle(problem, rate), start)
        stopped = run.drive(started + time_limit, tolerance, iterations)
        run.round()
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while pruning for the forest's loss; nothing was changed") from stop
    return run.solution(stopped, tolerance, time.perf_counter() - started)


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
        """Make steps until the relaxation is solved or a limit is reached."""
        for _ in range(iterations):
            if time.perf_counter() > deadline:
                return StopReason.TIME_LIMIT
            moved = self._step()
            self.history.append((self.mixture.value, self.bound))
            if self.mixture.value - self.bound <= tolerance * (self.roots - self.bound) or not moved:
                return StopReason.CONVERGED
        return StopReason.ITERATION_LIMIT

    def _step(self) -> bool:
        """Linearise, cut, and compute the best weights; False if the cut's pruning did not improve the mixture."""
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
        return self.mixture.value < before - LEAST_DECREASE * abs(before)

    def _join(self, pruning: Pruning) -> None:
        """Add a pruning to the mixture, and remember it if it is the best."""
        member = _Member(pruning, self.problem.of_pruning(pruning), pruning.cost)
        self.members.append(member)
        value = self.problem.loss_of(member.predictions) + self.lam * member.cost
        if value < self.best_value:
            self.best_value, self.best = value, pruning

    def _mixed(self, start: NDArray[np.float64]) -> ConvexCombination:
        """The mixture with the best weights, from the weights `start`; prunings without weight leave it."""
        F = np.stack([m.predictions for m in self.members])
        costs = self.lam * np.array([m.cost for m in self.members])
        if not start.any():
            values = [self.problem.loss_of(f) + c for f, c in zip(F, costs, strict=True)]
            start[int(np.argmin(values))] = 1.0
        mixture = best_combination(self.problem, F, costs, start)
        stays = mixture.weights > LEAST_WEIGHT
        if stays.all():
            return mixture
        self.members = [m for m, stay in zip(self.members, stays, strict=True) if stay]
        weights = mixture.weights[stays] / mixture.weights[stays].sum()
        return ConvexCombination(weights, mixture.predictions, mixture.value)

    def round(self) -> None:
        """Keep the best level set of the mixture, if it is better than the best pruning so far."""
        y = np.zeros(self.problem.ensemble.n_nodes)
        for a, m in zip(self.mixture.weights, self.members, strict=True):
            y += a * m.pruning.kept
        pruning, value = level_sets_of(self.problem, y).best(self.lam)
        if value < self.best_value:
            self.best_value, self.best = value, pruning

    def solution(self, stopped: StopReason, tolerance: float, seconds: float) -> EnsembleSolution:
        """The answer, its value computed from the best pruning."""
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
