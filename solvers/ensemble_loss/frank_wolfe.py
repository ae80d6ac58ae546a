"""Pruning for the loss of the whole forest: conditional gradients with minimum cuts, then level sets.

L is convex in the forest's predictions F. Its slope dL/dF at the predictions F0 of a mixture of prunings defines a plain pruning
instance with gains g, see (5) of `formulations.instance.ensemble_loss`. Every pruning x satisfies

    L(x) + lam cost(x)  >=  L(F0) + dL/dF.(F at the roots - F0)  +  min over prunings x of [ -g.x + lam cost(x) ]         (1)

The minimum is one cut, so that (1) is a lower bound of (ENS). The cut's pruning joins the mixture, and all weights of
the mixture are then computed again (`mixing`). This is the fully corrective form of Frank and Wolfe's method (simplicial
decomposition: Holloway 1974, von Hohenbalken 1977), generalised because only L is linearised and the cost is not. Every step
yields a pruning, and the level sets of the mixture yield more. The best one found is the answer.

The linearised problem

    minimise  -sum_h gain_h x_h + lam * cost(x)       over prunings x                                                     (2)

is solved by one minimum cut (`Oracle`).
Only the gains change from call to call. The usage arcs do not, so purchases with the same users are merged once.
The bound of (2) is computed from the cut's flow, tree by tree, as in `solvers.closures.duals`. It holds for the real numbers,
because prices are rounded down to the grid, and the largest effect of rounding the gains is subtracted.

The method is a cut and not price sharing: near the relaxation's optimum all prunings of the mixture are nearly equally good for
(2), and price sharing then needs hundreds of rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.ensemble_solution import EnsembleSolution
from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError, SolverFailedError
from formulations.instance.cost_items import exact
from formulations.instance.ensemble_loss import EnsembleProblem
from formulations.instance.merging import merge_purchases
from solvers.closures.cut import ClosureProblem, best_closure, compact
from solvers.closures.grids import Grid
from solvers.closures.subproblem import subproblem
from solvers.closures.tree_pass import best_tree_closures
from solvers.ensemble_loss.level_values import level_sets_of
from solvers.ensemble_loss.mixing import ConvexCombination, best_combination

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


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """A pruning that solves (2), with a proven bound."""

    kept: NDArray[np.bool_]  # bool, shape (n,)
    bound: float  # a lower bound of (2) for all prunings
    n_arcs: int  # the number of arcs of the network that was cut


class Oracle:
    """(2) for one lambda and the gains of any dL/dF.

    Parameters
    ----------
    lam
        >= 0.
    """

    def __init__(self, ensemble_problem: EnsembleProblem, lam: Fraction) -> None:
        self.ensemble_problem = ensemble_problem
        self.problem = problem = ensemble_problem.problem
        ints = problem.numbers
        rate = float(lam * ints.price_unit)
        self._evaluation = np.asarray(rate * ints.evaluation, dtype=np.float64)
        arcs, price = problem.usage_arcs(), problem.purchase_price()
        paid = price[arcs.head] > 0 if rate > 0 else np.zeros(arcs.head.size, dtype=bool)
        tail, head = arcs.tail[paid], arcs.head[paid]
        purchases, head = compact(head, problem.n_purchases)
        merged = merge_purchases(tail, head, price[purchases])
        occurring, self._head = compact(head[merged.arc], purchases.size)
        self._tail = tail[merged.arc]
        self._price = np.asarray(rate * merged.price[occurring], dtype=np.float64)

    def best(self, slopes: NDArray[np.float64]) -> OracleAnswer:
        """Solve (2) for dL/dF, shape (R, C)."""
        ensemble = self.problem.ensemble
        gain = self.ensemble_problem.gains(slopes)
        grid = Grid.of(gain, self._evaluation, self._price, 2.0**-50 * np.abs(gain))
        profit = grid.profit
        wanted = best_tree_closures(ensemble.parent, profit, ensemble.is_split)[0]
        nodes = np.flatnonzero(wanted).astype(np.int32)
        arcs = np.flatnonzero(wanted[self._tail])
        instance = self._instance(nodes, arcs, profit, grid.price)
        closure = best_closure(instance)
        kept = np.zeros(ensemble.n_nodes, dtype=bool)
        kept[nodes] = closure.keep
        worth = self._proven(profit, instance, nodes, closure.duals())
        return OracleAnswer(kept, -math.ldexp(float(worth), -grid.exponent), closure.n_arcs)

    def _instance(
        self, nodes: NDArray[np.int32], arcs: NDArray[np.int64], profit: NDArray[np.int64], price: NDArray[np.int64]
    ) -> ClosureProblem:
        """The splits that would be kept at price 0, with their purchases merged again, because more now have the same users."""
        part = subproblem(self.problem.ensemble.parent, nodes, self._tail[arcs], self._head[arcs], price.size)
        merged = merge_purchases(part.tail, part.head, price[part.purchases])
        return ClosureProblem(profit[nodes], part.parent, part.tail[merged.arc], part.head[merged.arc], merged.price)

    def _proven(
        self, profit: NDArray[np.int64], instance: ClosureProblem, nodes: NDArray[np.int32], dual: NDArray[np.int64]
    ) -> int:
        """An upper bound of every closure's value: each purchase is paid by the duals of its users."""
        dual_sum = np.zeros(instance.price.size, dtype=np.int64)
        np.add.at(dual_sum, instance.head, dual)
        if (dual < 0).any() or (dual_sum > instance.price).any():
            raise SolverFailedError("a minimum cut's flow charges a purchase more than its price")
        charged = profit.copy()
        np.subtract.at(charged, nodes[instance.tail], dual)
        return int(best_tree_closures(self.problem.ensemble.parent, charged, self.problem.ensemble.is_split)[1])
