"""Pruning for what the forest predicts: ``objective="ensemble"``.

The path of `pruning_path` minimises the mean of the trees' errors, for which all prunings can be had exactly. What a user sees is
the error of the forest, and trees that err on different examples help each other. Here the forest's own loss is minimised, which
couples all trees through every example: harder, so there are a bound and a gap in the place of a proof of optimality.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.ensemble_solution import EnsembleSolution
from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.ensemble_loss import EnsembleProblem
from prunemodels.ensemble_loss.path import EnsemblePath
from prunemodels.ensemble_loss.samples import LossName, ensemble_problem
from prunemodels.forests.costs import Costs
from prunemodels.forests.error_samples import Given, OutOfBag
from solvers.ensemble_loss import LevelSets, evaluate_levels, frank_wolfe, level_sets_of, linearised_path
from solvers.path.pruning_path import pruning_path

REFINEMENTS = 3
"""Most lambdas tried for one budget, beyond those given."""

NEAR = 0.98
"""A pruning that costs at least this part of a budget is near it."""


def ensemble_path(
    forest: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs,
    lams: Sequence[float] | int = 10,
    budgets: Sequence[Price] = (),
    loss: LossName | None = None,
    errors: Given | OutOfBag | None = None,
    smoothing: float = 0.5,
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    tolerance: float = 1e-3,
    iterations: int = 50,
    time_limit: float = math.inf,
) -> EnsemblePath:
    """Prune a fitted forest for its own loss at several lambdas.

    Parameters
    ----------
    forest
        as for `problem_from_forest`.
    X, y
        labelled examples that the forest was not grown on: cost and loss are measured on them.
    costs, sample_weight, evaluation_cost
        as for `problem_from_forest`; `sample_weight` weighs costs and losses.
    lams
        lambdas, loss per unit of cost, >= 0; or their number: then chosen so that costs spread evenly.
    budgets
        costs for which `at_cost` will be asked: lambdas between are tried until a pruning costs nearly as much, and then all
        prunings that the loss linearised there has for any lambda.
    loss, smoothing
        see `ensemble_problem`.
    errors
        where losses are measured, in the place of X and y: ``Given(X, y)`` or ``OutOfBag(X_train, y_train)``.
    tolerance, iterations
        of each search, see `solvers.ensemble_loss.frank_wolfe`.
    time_limit
        seconds, over all; at least one step is made at the first lambda.

    Returns
    -------
    EnsemblePath
        ``path.at_cost(24.0)`` is a pruning for `apply_pruning`.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        as `ensemble_problem`.
    InterruptedSolveError
        on Ctrl-C.
    """
    problem = ensemble_problem(
        forest,
        X,
        costs=costs,
        errors=Given(X, y, sample_weight) if errors is None else errors,
        loss=loss,
        smoothing=smoothing,
        sample_weight=sample_weight,
        evaluation_cost=evaluation_cost,
    )
    return solve_ensemble_path(
        problem, lams=lams, budgets=budgets, tolerance=tolerance, iterations=iterations, time_limit=time_limit
    )


def solve_ensemble_path(
    problem: EnsembleProblem,
    *,
    lams: Sequence[float] | int = 10,
    budgets: Sequence[Price] = (),
    tolerance: float = 1e-3,
    iterations: int = 50,
    time_limit: float = math.inf,
) -> EnsemblePath:
    """`ensemble_path` of a problem that was set up by `ensemble_problem`."""
    deadline = time.perf_counter() + time_limit
    limits = [float(exact(b, "budgets")) for b in budgets]
    tree_path = pruning_path(problem.problem, certificate=False)
    rows = evaluate_levels(problem, tree_path.level)
    sweep = _Sweep(problem, rows, tolerance, iterations, deadline)
    for lam in sorted(_lambdas(rows, lams)):
        sweep.at(lam)
    for budget in limits:
        sweep.near(budget)
    solutions = tuple(sorted(sweep.solutions, key=lambda s: s.lam))
    points = [s.point for s in solutions]
    mean = np.mean(points, axis=0)
    level_sets = [level_sets_of(problem, y) for y in (*points, mean)]
    return EnsemblePath(problem, solutions, (rows, *level_sets, *sweep.dense), tree_path)


class _Sweep:
    """One search a lambda, each started from its neighbours' mixtures and the best row of the per-tree path."""

    def __init__(self, problem: EnsembleProblem, rows: LevelSets, tolerance: float, iterations: int, deadline: float) -> None:
        self.problem, self.rows = problem, rows
        self.tolerance, self.iterations, self.deadline = tolerance, iterations, deadline
        self.solutions: list[EnsembleSolution] = []
        self.dense: list[LevelSets] = []

    def at(self, lam: float) -> None:
        """Solve for lambda; nothing once time is up and there is an answer."""
        left = self.deadline - time.perf_counter()
        if self.solutions and left <= 0:
            return
        solution = frank_wolfe(
            self.problem,
            lam,
            tolerance=self.tolerance,
            iterations=self.iterations if left > 0 else 1,
            time_limit=left if left > 0 else math.inf,
            start=self._start(lam),
        )
        self.solutions.append(solution)

    def _start(self, lam: float) -> list[Pruning]:
        """The best row of the per-tree path, and what the nearest lambda on either side mixed."""
        below = max((s for s in self.solutions if s.lam <= lam), key=lambda s: s.lam, default=None)
        above = min((s for s in self.solutions if s.lam > lam), key=lambda s: s.lam, default=None)
        return [self.rows.best(lam)[0], *(p for s in (below, above) if s is not None for p in (s.pruning, *s.active))]

    def near(self, budget: float) -> None:
        """Bisect lambda for a budget, then add the path of the loss linearised at the dearest answer within it."""
        self._bisect(budget)
        if time.perf_counter() > self.deadline:
            return
        within = [s for s in self.solutions if s.pruning.cost <= budget]
        nearest = min(within, key=lambda s: s.lam) if within else max(self.solutions, key=lambda s: s.lam)
        self.dense.append(linearised_path(self.problem, nearest.point))

    def _bisect(self, budget: float) -> None:
        """Until some answer costs between `NEAR` of the budget and the budget."""
        for _ in range(REFINEMENTS):
            dearer = [s.lam for s in self.solutions if s.pruning.cost > budget]
            within = [s for s in self.solutions if s.pruning.cost <= budget]
            if any(s.pruning.cost >= NEAR * budget for s in within) or time.perf_counter() > self.deadline:
                return
            low, high = max(dearer, default=0.0), min((s.lam for s in within), default=math.inf)
            lam = 4 * low if high == math.inf else high / 4 if low == 0.0 else math.sqrt(low * high)
            if not low < lam < high:
                return
            self.at(lam)


def _lambdas(rows: LevelSets, lams: Sequence[float] | int) -> list[float]:
    """The given lambdas, or slopes of the hull of what the per-tree path costs and loses, at evenly spaced costs."""
    if not isinstance(lams, int):
        given = [float(exact(lam, "lams")) for lam in lams]
        if not given:
            raise InvalidInputError("lams is empty; give at least one lambda, or how many")
        return sorted(set(given))
    if lams < 1:
        raise InvalidInputError(f"lams is {lams}; give at least one lambda, or how many")
    cost, slope = _hull(rows.cost, rows.loss)
    if not slope.size:
        return [0.0]
    wanted = np.linspace(cost[-1], cost[0], lams + 2)[1:-1]
    place = np.clip(np.searchsorted(cost, wanted) - 1, 0, slope.size - 1)
    return sorted({float(slope[k]) for k in place})


def _hull(cost: NDArray[np.float64], loss: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower convex hull of points while it falls: costs of its corners, ascending, and what a unit of cost gains after each."""
    at = np.round(cost / (cost.max() or 1.0), 12)  # sums of the same prices may differ in the last places

    def gained(a: int, b: int) -> float:
        return float((loss[a] - loss[b]) / (at[b] - at[a]))

    corners: list[int] = []
    for k in np.lexsort((loss, at)).tolist():
        if corners and loss[k] >= loss[corners[-1]]:
            continue
        while len(corners) > 1 and gained(corners[-2], corners[-1]) <= gained(corners[-2], k):
            corners.pop()
        corners.append(k)
    return cost[corners], -np.diff(loss[corners]) / np.diff(cost[corners])
