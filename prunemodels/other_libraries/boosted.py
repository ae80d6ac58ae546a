"""Pruning boosted ensembles: one lambda, a budget, or a whole trade-off.

Everything that any descent visits goes into one pool, and a lambda's answer is the pool's best for it. Because descents from
different sides end in different places, lambdas are swept twice, each descent starting where the one before ended: from the bare
roots through falling lambdas and from the whole model through rising ones; then each lambda descends from the pool's best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.cost_items import Price, exact
from formulations.errors import InvalidInputError
from formulations.node_errors import ErrorComponent, NodeErrors
from formulations.problem import PruningProblem
from formulations.solution import Solver
from prunemodels.costs import Costs, cost_items
from prunemodels.other_libraries.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.other_libraries.descent import Point, descend, point_of
from prunemodels.other_libraries.losses import Loss, loss_of
from prunemodels.other_libraries.majoriser import state_of
from prunemodels.other_libraries.model_forest import ModelForest
from prunemodels.other_libraries.reading import read_model
from solvers import price_sharing

Evaluation = Price | Sequence[Price] | NDArray[np.float64]

WIDTH = 100.0
"""Largest over smallest lambda of a trade-off's default grid, 0 aside."""

GRID, BISECTIONS = 12, 8
"""Lambdas that are tried for one lambda or a budget, and for a budget after them."""

PASSES = 2
"""How often each lambda descends from the pool's best, which others may have changed; not where that is stationary."""


def prune_boosted(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: Costs,
    lam: float | None = None,
    budget: float | None = None,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Evaluation = 0,
    rounds: int = 30,
    solver: Solver = price_sharing,
    time_limit: float = math.inf,
) -> BoostedPruning:
    """Prune an ensemble whose trees add up, so that its loss and its cost are low together.

        minimise  loss + lam * cost,      or      loss  subject to  cost <= budget                        (1)

    Loss is the ensemble's own, on X and y: log loss for classes, squares for numbers, in the mean over the rows; cost as in
    `problem_from_forest`. No optimum of (1) is claimed: see `descent` for what is proven.

    Parameters
    ----------
    model
        what `read_model` reads, or its answer. It is not changed.
    X, y
        labelled examples that the model was not trained on, as for early stopping: with them the loss is measured, and the cost.
    costs, evaluation_cost
        as in `problem_from_forest`.
    lam, budget
        one of them: loss per unit of cost, or the cost per example that must not be exceeded on X. Both are searched for along a
        trade-off as `boosted_path` has it; for a budget lambda is bisected then.
    sample_weight
        weights of the rows, in the loss and in the cost.
    rounds
        most steps of one descent.
    solver
        an exact engine of ``SOLVERS`` for each step's pruning problem.
    time_limit
        seconds, looked at before each pruning problem is solved; past it the answer is the best so far.

    Returns
    -------
    BoostedPruning

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        each says which argument, which value, and what to do.
    """
    if (lam is None) == (budget is None):
        raise InvalidInputError(f"lam is {lam} and budget is {budget}: give one of them")
    search = _Search(model, X, y, costs, sample_weight, evaluation_cost, rounds, solver, time_limit)
    if lam is not None:
        exact(lam, "lam")
        return search.at(float(lam))
    assert budget is not None
    limit, lams = float(exact(budget, "budget")), search.grid(GRID)
    search.sweep(lams)
    return search.within(limit, lams)


def boosted_path(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: Costs,
    lams: Sequence[float] | int = 15,
    budgets: Sequence[float] = (),
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Evaluation = 0,
    rounds: int = 30,
    solver: Solver = price_sharing,
    time_limit: float = math.inf,
) -> BoostedPath:
    """The trade-off of loss and cost of an ensemble whose trees add up.

    Parameters
    ----------
    model, X, y, costs, sample_weight, evaluation_cost, rounds, solver, time_limit
        as in `prune_boosted`.
    lams
        the lambdas, or how many: then 0 and a geometric grid around (loss of the bare roots - loss of the model) / (cost of
        the model).

    budgets
        costs per example, for each of which the trade-off is to have a pruning that costs no more: lambda is bisected there.

    Returns
    -------
    BoostedPath
        the prunings that no other one visited beats in both loss and cost.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        see `prune_boosted`.
    """
    limits = [float(exact(budget, f"budgets[{k}]")) for k, budget in enumerate(budgets)]
    search = _Search(model, X, y, costs, sample_weight, evaluation_cost, rounds, solver, time_limit)
    if isinstance(lams, int):
        if lams < 1:
            raise InvalidInputError(f"lams is {lams}; give at least one lambda, or how many")
        return search.path(search.grid(lams), limits)
    if not len(lams):
        raise InvalidInputError("lams is empty; give at least one lambda, or how many")
    return search.path([float(exact(lam, f"lams[{k}]")) for k, lam in enumerate(lams)], limits)


class _Search:
    """The pool of one model and sample."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: ArrayLike,
        costs: Costs,
        sample_weight: ArrayLike | None,
        evaluation_cost: Evaluation,
        rounds: int,
        solver: Solver,
        time_limit: float,
    ) -> None:
        self.started = time.perf_counter()
        self.deadline = self.started + time_limit
        self.forest = model if isinstance(model, ModelForest) else read_model(model)
        rows = self.forest.rows(X)
        everyone = loss_of(self.forest, y, len(rows))  # checks all labels, also of rows without weight
        self.problem = priced(self.forest, rows, costs, sample_weight, evaluation_cost)
        some = len(self.problem.rows) < len(rows)
        self.loss: Loss = loss_of(self.forest, np.asarray(y)[self.problem.rows], self.problem.n_rows) if some else everyone
        self.rounds, self.solver, self.solved = rounds, solver, 0
        is_split = self.forest.ensemble.is_split
        self.roots, self.unpruned = (self._point(kept) for kept in (np.zeros_like(is_split), is_split))
        self.pool = [self.roots, self.unpruned]
        self.stationary: set[tuple[int, float]] = set()

    def _point(self, kept: NDArray[np.bool_]) -> Point:
        return point_of(self.problem, state_of(self.forest, self.problem, self.loss, kept))

    def grid(self, n: int) -> list[float]:
        """0 and n - 1 lambdas, geometrically."""
        fall = self.roots.loss - self.unpruned.loss
        if n == 1 or fall <= 0 or self.unpruned.cost <= 0:
            return [0.0]
        top = math.sqrt(WIDTH) / 3.0 * fall / self.unpruned.cost
        return [0.0, *np.geomspace(top / WIDTH, top, n - 1).tolist()]

    def best(self, lam: float) -> Point:
        """The pool's best for lambda, the cheapest of equals."""
        return min(self.pool, key=lambda p: (p.value(lam), p.cost))

    def descend_from(self, start: Point, lam: float) -> Point:
        """One descent into the pool; its end."""
        if (id(start), lam) in self.stationary:
            return start
        found = descend(
            self.forest,
            self.problem,
            self.loss,
            lam,
            start.kept,
            solver=self.solver,
            rounds=self.rounds,
            deadline=self.deadline,
        )
        self.solved += found.solved
        self.pool += found.points[1:]
        end = found.points[-1] if len(found.points) > 1 else start
        if found.stationary:
            self.stationary.add((id(end), lam))
        return end

    def answer(self, point: Point, lam: float) -> BoostedPruning:
        """A point of the pool for the user."""
        stationary = (id(point), lam) in self.stationary
        seconds = time.perf_counter() - self.started
        stats = {"seconds": seconds, "problems_solved": float(self.solved), "visited": float(len(self.pool))}
        return BoostedPruning(self.forest, self.problem, point.kept, lam, point.loss, point.cost, stationary, stats)

    def at(self, lam: float) -> BoostedPruning:
        """The pool's best for one lambda, after a sweep that includes it."""
        self.sweep([*self.grid(GRID), lam])
        return self.answer(self.best(lam), lam)

    def sweep(self, lams: Sequence[float]) -> None:
        """From the bare roots through falling lambdas, from the whole model through rising ones, then from the best for each."""
        rising = sorted(set(lams))
        for start, order in ((self.roots, rising[::-1]), (self.unpruned, rising)):
            for lam in order:
                start = self.descend_from(start, lam)
        for _ in range(PASSES):
            for lam in rising:
                self.descend_from(self.best(lam), lam)

    def path(self, lams: Sequence[float], budgets: Sequence[float]) -> BoostedPath:
        """The pool's best for every lambda and every budget."""
        self.sweep(lams)
        within = [self.within(budget, lams) for budget in budgets]
        found = [self.answer(self.best(lam), lam) for lam in sorted(set(lams))]
        return BoostedPath(
            tuple(sorted([*found, *within], key=lambda p: (p.lam, -p.cost))),
            self.answer(self.unpruned, 0.0),
            tuple((p.cost, p.loss) for p in self.pool),
        )

    def within(self, budget: float, lams: Sequence[float]) -> BoostedPruning:
        """The pool's lowest loss at no more than the budget, after bisecting lambda between what is too dear and what is not."""
        low, high = 0.0, WIDTH * max(1.0, *lams)
        for lam in sorted(lams):
            low, high = (lam, high) if self.best(lam).cost > budget else (low, min(high, lam))
        for _ in range(BISECTIONS if self.best(0.0).cost > budget else 0):
            lam = math.sqrt(low * high) if low > 0 else high / 4.0
            self.descend_from(self.best(lam), lam)
            low, high = (lam, high) if self.best(lam).cost > budget else (low, lam)
        point = min((p for p in self.pool if p.cost <= budget), key=lambda p: (p.loss, p.cost))
        return self.answer(point, high)


def priced(
    forest: ModelForest,
    rows: NDArray[np.float32],
    costs: Costs,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Evaluation = 0,
) -> PruningProblem:
    """The instance of a model's trees with prices and without errors."""
    ensemble = forest.ensemble
    nothing = NodeErrors((ErrorComponent(np.zeros(ensemble.n_nodes), np.ones(ensemble.n_trees)),))
    return PruningProblem.build(
        ensemble, nothing, rows, cost_items(costs, ensemble), sample_weight=sample_weight, evaluation_cost=evaluation_cost
    )
