"""Pruning for the loss of the forest's own predictions: ``objective="ensemble"``.

The path of `pruning_path` minimises the mean of the trees' errors, and is exact for all lambdas. Users, however, see the error of
the forest, and trees that err on different examples correct each other. Here the forest's own loss is minimised. It couples all
trees through every example, which makes the problem harder. The answers therefore have a bound and a gap, and no proof of
optimality.
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
from formulations.arguments import Count, NotNegative, Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.ensemble_loss import EnsembleProblem
from prunemodels.ensemble_loss.path import EnsemblePath
from prunemodels.ensemble_loss.samples import LossName, ensemble_problem
from prunemodels.models.costs import Costs
from prunemodels.models.forests.error_samples import Given, OutOfBag
from prunemodels.points import falling_hull
from solvers.ensemble_loss import LevelSets, evaluate_levels, frank_wolfe, level_sets_of, linearised_path
from solvers.path.pruning_path import pruning_path

REFINEMENTS = 3
"""Largest number of lambdas tried for one budget, beyond those given."""

NEAR_BUDGET = 0.98
"""The search for a budget stops when a pruning within it costs at least this share of it."""


@checked
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
    tolerance: NotNegative = 1e-3,
    iterations: Count = 50,
    time_limit: Seconds = math.inf,
) -> EnsemblePath:
    """Prune a fitted forest for its own loss at several lambdas.

    Parameters
    ----------
    forest
        as for `problem_from_forest`.
    X, y
        labelled examples that the forest was not grown on; cost and loss are measured on them.
    costs, sample_weight, evaluation_cost
        as for `problem_from_forest`; `sample_weight` weighs costs and losses.
    lams
        lambdas, loss per unit of cost, >= 0; or how many, which are then chosen so that the costs are evenly spread.
    budgets
        budgets for which `at_cost` will be called. For each, further lambdas are tried until a pruning costs nearly as much as
        the budget; then the loss is linearised there, and the linear problem's optimal prunings for all lambdas are added.
    loss, smoothing
        see `ensemble_problem`.
    errors
        where losses are measured instead of on X and y: ``Given(X, y)`` or ``OutOfBag(X_train, y_train)``.
    tolerance, iterations
        of each search, see `solvers.ensemble_loss.frank_wolfe`.
    time_limit
        seconds, for the whole call; at least one step is made at the first lambda.

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

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> found = pm.ensemble_loss.ensemble_path(forest, X_valid, y_valid, costs=costs, lams=3)
    >>> found.at_cost(12)
    Pruning(cost=11.8133, error=0.068, 26 splits)
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
    tolerance: NotNegative = 1e-3,
    iterations: Count = 50,
    time_limit: Seconds = math.inf,
) -> EnsemblePath:
    """`ensemble_path` for a problem that `ensemble_problem` set up."""
    deadline = time.perf_counter() + time_limit
    limits = [float(exact(b, "budgets")) for b in budgets]
    tree_path = pruning_path(problem.problem, certificate=False)
    rows = evaluate_levels(problem, tree_path)
    search = _LambdaSearch(problem, rows, tolerance, iterations, deadline)
    for lam in sorted(_lambdas(rows, lams)):
        search.at(lam)
    for budget in limits:
        search.near(budget)
    solutions = tuple(sorted(search.solutions, key=lambda s: s.lam))
    points = [s.point for s in solutions]
    mean = np.mean(points, axis=0)
    level_sets = [level_sets_of(problem, y) for y in (*points, mean)]
    return EnsemblePath(problem, solutions, (rows, *level_sets, *search.dense), tree_path)


class _LambdaSearch:
    """One search for each lambda, started from the mixtures of the neighbouring lambdas and the best row of the per-tree path."""

    def __init__(self, problem: EnsembleProblem, rows: LevelSets, tolerance: float, iterations: int, deadline: float) -> None:
        self.problem, self.rows = problem, rows
        self.tolerance, self.iterations, self.deadline = tolerance, iterations, deadline
        self.solutions: list[EnsembleSolution] = []
        self.dense: list[LevelSets] = []

    def at(self, lam: float) -> None:
        """Solve for lambda, unless time is up and there is an answer for another lambda."""
        seconds_left = self.deadline - time.perf_counter()
        if self.solutions and seconds_left <= 0:
            return
        solution = frank_wolfe(
            self.problem,
            lam,
            tolerance=self.tolerance,
            iterations=self.iterations if seconds_left > 0 else 1,
            time_limit=seconds_left if seconds_left > 0 else math.inf,
            start=self._start(lam),
        )
        self.solutions.append(solution)

    def _start(self, lam: float) -> list[Pruning]:
        """The best row of the per-tree path, and the answers and mixed prunings of the nearest lambda on either side."""
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
        """Bisect lambda until an answer costs at most the budget and at least `NEAR_BUDGET` of it."""
        for _ in range(REFINEMENTS):
            dearer = [s.lam for s in self.solutions if s.pruning.cost > budget]
            within = [s for s in self.solutions if s.pruning.cost <= budget]
            if any(s.pruning.cost >= NEAR_BUDGET * budget for s in within) or time.perf_counter() > self.deadline:
                return
            low, high = max(dearer, default=0.0), min((s.lam for s in within), default=math.inf)
            lam = 4 * low if high == math.inf else high / 4 if low == 0.0 else math.sqrt(low * high)
            if not low < lam < high:
                return
            self.at(lam)


def _lambdas(rows: LevelSets, lams: Sequence[float] | int) -> list[float]:
    """The given lambdas; or slopes, at evenly spaced costs, of the hull of the per-tree path's costs and losses."""
    if not isinstance(lams, int):
        given = [float(exact(lam, "lams")) for lam in lams]
        if not given:
            raise InvalidInputError("lams is empty; give at least one lambda, or how many")
        return sorted(set(given))
    if lams < 1:
        raise InvalidInputError(f"lams is {lams}; give at least one lambda, or how many")
    at = np.asarray(
        np.round(rows.cost / (rows.cost.max() or 1.0), 12), dtype=np.float64
    )  # sums of the same prices may differ in the last digits
    corners = falling_hull(at, rows.loss)
    if len(corners) == 1:
        return [0.0]
    cost, loss = rows.cost[corners], rows.loss[corners]
    slope = -np.diff(loss) / np.diff(cost)
    wanted = np.linspace(cost[-1], cost[0], lams + 2)[1:-1]
    place = np.clip(np.searchsorted(cost, wanted) - 1, 0, slope.size - 1)
    return sorted({float(slope[k]) for k in place})
