"""The bundle master under a budget: lambda is the slope between two prunings on either side of B.

    lambda  =  (error_cheap - error_dear) / (cost_dear - cost_cheap)                                                       (1)

cheap and dear are the best known prunings that cost less and more than B. Every solve of the master is a bundle step at (1). The
best level set of its mixture, if it lies below the chord of cheap and dear, replaces one of them, and lambda changes. Otherwise
the chord is an edge of the hull once the bound meets it, and lambda is LP1's lambda*. The centre's scores share prices in any
proportion to lambda, so they stay when lambda changes; only its bound has to be found anew.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from solvers.closures.level_sets import best_level_set
from solvers.column_generation.budgets.coupling import BudgetCoupling
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.bundle import CentredMaster
from solvers.column_generation.loop import MasterAnswer


class BudgetBundleMaster(CentredMaster):
    """The master of LP1.

    Parameters
    ----------
    cheap, dear
        the first prunings of (1): one that costs at most B, and one that costs more and errs less.
    """

    def __init__(self, coupling: BudgetCoupling, incumbent: BudgetIncumbent, cheap: Pruning, dear: Pruning) -> None:
        super().__init__(coupling.unit, np.zeros(coupling.unit.stop.size), -math.inf)
        self.coupling, self.incumbent = coupling, incumbent
        self.cheap, self.dear = cheap, dear
        self.lam = self._slope()
        self._join(cheap, dear)

    @property
    def value(self) -> float:
        """The value of the best mixture of two nested prunings."""
        return float(self.incumbent.mixture.value)

    @property
    def n_rows(self) -> int:
        """A row for each tree, and the budget row."""
        return self.coupling.problem.ensemble.n_trees + 1

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """A bundle step at (1)."""
        bundle, problem, lam = self.bundle, self.coupling.problem, self._slope()
        if lam != self.lam:
            self.lam, bundle.bound, self._best = lam, -math.inf, -math.inf
        at = self.coupling.at(lam)
        cost = bundle.cost(at.own, problem.gain, at.stop[problem.ensemble.roots])
        deadline, spent = time.perf_counter() + time_limit, lam * self.coupling.limit
        y, charge, least = bundle.step(self.soft.at(at), cost, self.tolerance, deadline, offset=spent)
        self._promised = float(least.sum()) - spent
        self._improve(y)
        return MasterAnswer(self.value, self.value, np.append(charge, lam), least)

    def _slope(self) -> float:
        """(1)."""
        cheap, dear = self.cheap, self.dear
        return float((cheap.exact_error - dear.exact_error) / (dear.exact_cost - cheap.exact_cost))

    def _improve(self, y: NDArray[np.float64]) -> None:
        """Offer the level sets of y, and let the best of them replace an end of the chord if it lies below."""
        self.incumbent.offer_levels(y, self.lam)
        best = best_level_set(self.coupling.problem, y, self.lam)
        self._join(self.cheap, best)
        self._join(best, self.dear)
        chord = self.cheap.value(self.lam)
        if best.value(self.lam) >= chord - self.tolerance:
            return
        # where no pruning costs more than B, the dearer end is not beyond it, and the ends must not meet
        if best.exact_cost <= self.coupling.budget and best.exact_cost < self.dear.exact_cost:
            self.cheap = best
        else:
            self.dear = best
        self._join(self.cheap, self.dear)

    def _join(self, one: Pruning, other: Pruning) -> None:
        """Offer the intersection and the union of two prunings: nested, and optimal at lambda if the two prunings are."""
        for share in (0.75, 0.25):
            self.incumbent.offer_levels(np.where(one.kept, share, 0.0) + np.where(other.kept, 1.0 - share, 0.0), self.lam)
