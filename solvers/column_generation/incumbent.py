"""The best pruning of the forest found so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem
from solvers.closures.level_sets import best_level_set


class Incumbent:
    """Keeps the best of all prunings that it is offered; its value is (OBJ) at `lam`, computed from the problem."""

    def __init__(self, first: Pruning, lam: float) -> None:
        self.pruning, self.lam = first, lam
        self.value = first.value(lam)

    @property
    def problem(self) -> PruningProblem:
        """The instance."""
        return self.pruning.problem

    def offer(self, kept: NDArray[np.bool_]) -> float:
        """Offer a pruning; returns the best value so far."""
        self._take(Pruning(self.problem, kept))
        return self.value

    def offer_levels(self, y: NDArray[np.float64], _: float = 0.0) -> float:
        """Offer the best level set of y, the fraction to which each split is kept, shape (n,); returns the best value so far."""
        self._take(best_level_set(self.problem, y, self.lam))
        return self.value

    def _take(self, pruning: Pruning) -> None:
        value = pruning.value(self.lam)
        if value < self.value:
            self.pruning, self.value = pruning, value
