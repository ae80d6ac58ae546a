"""A forest and how it was pruned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.instance.problem import PruningProblem
from prunemodels.ensemble_loss.path import EnsemblePath
from prunemodels.evaluation.path import PathEvaluation


@dataclass(frozen=True, eq=False)
class PrunedForest:
    """A forest and how it was pruned.

    Parameters
    ----------
    estimator
        the pruned forest, a scikit-learn forest.
    pruning
        which splits it keeps.
    path
        all optimal prunings.
    row
        the row of `path` that `pruning` is; None if there was a budget, and for the unpruned forest.
    solution
        the solution for a budget, with bound, gap and relaxation; None without a budget.
    evaluation
        the path on the held-out examples, if the choice used them; else None.
    ensemble
        the prunings found for the forest's own loss, with ``objective="ensemble"``; then the search started from `path`.
    """

    estimator: Any
    pruning: Pruning
    path: PruningPath
    row: int | None
    solution: BudgetSolution | None
    evaluation: PathEvaluation | None
    ensemble: EnsemblePath | None = None

    @property
    def problem(self) -> PruningProblem:
        """The instance."""
        return self.path.problem

    @property
    def cost(self) -> float:
        """Mean cost of an example of the cost sample, in the unit of the prices."""
        return self.pruning.cost

    @cached_property
    def feature_usage(self) -> NDArray[np.float64]:
        """Share of the cost sample that acquires each feature, shape (n_features,)."""
        return feature_usage(self.pruning)

    def __repr__(self) -> str:
        before = Pruning.unpruned(self.problem)
        return (
            f"PrunedForest({type(self.estimator).__name__}: cost {self.cost:.4g} of {before.cost:.4g}, "
            f"{self.pruning.n_splits:,} of {before.n_splits:,} splits)"
        )


def feature_usage(pruning: Pruning) -> NDArray[np.float64]:
    """Share of the cost sample's weight that meets a kept split on each feature, shape (n_features,)."""
    bill = pruning.problem.usage.counting_features().bill(pruning.kept)
    return bill.payers / bill.total
