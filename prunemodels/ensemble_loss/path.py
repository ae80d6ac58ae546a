"""Prunings for the forest's own loss at several lambdas, and all prunings whose loss the searches computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formulations.answers.ensemble_solution import EnsembleSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.ensemble_loss import EnsembleProblem
from formulations.instance.limit import limit_of_mean_cost
from solvers.ensemble_loss import LevelSets

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EnsemblePath:
    """Trade-off between the forest's loss and its cost.

    Row k is the answer for ``lam[k]``. Unlike a `PruningPath` it is not complete: between two rows there may be others, and a
    row's gap may be positive.

    Parameters
    ----------
    solutions
        one for each lambda, lambdas ascending.
    candidates
        prunings whose loss and cost are known, as level sets: those of `tree_path`, of every solution's point, of the mean of
        these points, and of the paths that were added for budgets.
    tree_path
        the per-tree path on the same cost sample.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> found = pm.ensemble_loss.ensemble_path(forest, X_valid, y_valid, costs=costs, lams=3)
    >>> print(found.to_frame().round(3).to_string())
       lambda  cost   loss  value  bound  splits
    0   0.010  6.72  0.095  0.160  0.152      13
    1   0.022  6.72  0.095  0.241  0.227      13
    """

    problem: EnsembleProblem
    solutions: tuple[EnsembleSolution, ...]
    candidates: tuple[LevelSets, ...]
    tree_path: PruningPath

    @cached_property
    def lam(self) -> NDArray[np.float64]:
        """Lambda of each row: loss per unit of cost."""
        return np.array([s.lam for s in self.solutions])

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Cost of each row: per example of the cost sample, in the unit of the prices."""
        return np.array([s.pruning.cost for s in self.solutions])

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """Loss of each row's forest on the error sample."""
        return np.array([s.loss for s in self.solutions])

    @cached_property
    def bound(self) -> NDArray[np.float64]:
        """Proven lower bound of loss + lam * cost of every pruning, for each row's lambda."""
        return np.array([s.bound for s in self.solutions])

    def __len__(self) -> int:
        return len(self.solutions)

    @checked
    def __getitem__(self, k: int) -> Pruning:
        """The pruning of row k."""
        return self.solutions[k].pruning

    @checked
    def at_lam(self, lam: Price) -> Pruning:
        """The best known pruning for lambda, which is at least as good as every row of the per-tree path."""
        rate = float(exact(lam, "lam"))
        best = [s.best(rate) for s in self.candidates] + [(s.pruning, s.loss + rate * s.pruning.cost) for s in self.solutions]
        return min(best, key=lambda pair: pair[1])[0]

    @checked
    def at_cost(self, budget: Price) -> Pruning:
        """The known pruning of least loss whose cost on the cost sample is at most the budget.

        Costs are compared exactly if the prices are exact. The answer is at least as good as every row of the per-tree path
        within the budget. For a pruning closer to a budget, give the budget to `ensemble_path`.

        Raises
        ------
        InvalidInputError
            if the budget is negative, NaN, or below what the cheapest pruning costs.
        """
        limit = limit_of_mean_cost(self.problem.problem, budget)
        cost, loss, where, row = self._pool
        for k in np.lexsort((cost, loss)).tolist():
            if cost[k] <= float(limit) * (1 + 1e-9) + 1e-12:
                pruning = self._pooled(int(where[k]), int(row[k]))
                if pruning.exact_cost <= limit:
                    return pruning
        raise InvalidInputError(f"budget is {budget}, the cheapest known pruning costs {cost.min():g}; give at least that")

    @checked
    def bound_at_cost(self, budget: Price) -> float:
        """Proven lower bound of the loss of all prunings within the budget: max over rows of bound - lam * budget."""
        limit = float(exact(budget, "budget"))
        return float(np.max(self.bound - self.lam * limit))

    @cached_property
    def _pool(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Cost and loss of all known prunings, and where each is: a candidate and its row, or -1 and a row of `solutions`."""
        cost = np.concatenate([self.cost, *(s.cost for s in self.candidates)])
        loss = np.concatenate([self.loss, *(s.loss for s in self.candidates)])
        sizes = [s.loss.size for s in self.candidates]
        where = np.concatenate([np.full(len(self), -1), np.repeat(np.arange(len(sizes)), sizes)])
        row = np.concatenate([np.arange(len(self)), *(np.arange(n) for n in sizes)])
        return cost, loss, where, row

    def _pooled(self, where: int, row: int) -> Pruning:
        return self[row] if where < 0 else self.candidates[where].pruning(row)

    def to_frame(self) -> pd.DataFrame:
        """One row for each lambda: lambda, cost, loss, value, bound, splits."""
        import pandas as pd

        return pd.DataFrame(
            {
                "lambda": self.lam,
                "cost": self.cost,
                "loss": self.loss,
                "value": [s.value for s in self.solutions],
                "bound": self.bound,
                "splits": [s.pruning.n_splits for s in self.solutions],
            }
        )

    def __repr__(self) -> str:
        return (
            f"EnsemblePath({len(self)} lambdas, cost {self.cost.min():.4g} to {self.cost.max():.4g}, "
            f"loss {self.loss.min():.4g} to {self.loss.max():.4g})"
        )
