"""The best pruning within a budget and the best mixture of two nested prunings that a decomposition has found.

The master's point y is a mixture of prunings of trees. At an optimum of LP1 it is optimal for the Lagrangian at lambda* too, so
every level set {y >= theta} is, and a mixture of one that costs less than B and one that costs more is an optimum again:

    value = weight error_dearer + (1 - weight) error_cheaper,       weight cost_dearer + (1 - weight) cost_cheaper = B      (1)

Costs and errors are counted in integers, so (1) is an upper bound of LP1's relaxation for any y.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem


class BudgetIncumbent:
    """Keeps the best pruning within the budget, and the best mixture (1), of all that it is offered."""

    def __init__(self, first: Pruning, budget: Fraction) -> None:
        self.pruning, self.budget = first, budget
        self.mixture = Mixture(budget, Fraction(0), first, first, Fraction(1), first.exact_error)

    @property
    def problem(self) -> PruningProblem:
        """The instance."""
        return self.pruning.problem

    def offer(self, kept: NDArray[np.bool_]) -> None:
        """Keep a pruning if its error is smaller and it certainly fits the budget."""
        pruning = Pruning(self.problem, kept)
        if pruning.integer_gain <= self.pruning.integer_gain:
            return
        if pruning.exact_cost + Fraction(self.problem.integers.cost_rounding) <= self.budget:
            self.pruning = pruning

    def offer_levels(self, y: NDArray[np.float64], lam: float) -> float:
        """Offer the mixtures of level sets of y; returns the value of the best mixture so far.

        Parameters
        ----------
        y
            the fraction to which each split is kept, shape (n,); it never rises on the way down a tree.
        lam
            recorded as the mixture's lambda if the mixture is a single pruning that costs exactly the budget.
        """
        chain = _Chain(self.problem, y)
        inner, outer = chain.edge(self.budget)
        if inner is None:
            return float(self.mixture.value)
        found = chain.mixture(self.budget, inner, outer, lam)
        if found.value <= self.mixture.value:  # among equals keep the last one, whose lambda is nearest to lambda*
            self.mixture = found
        self.offer(chain.kept(chain.best_within(self.budget)))
        return float(self.mixture.value)


class _Chain:
    """All level sets of y, from the smallest to the largest, in integers."""

    def __init__(self, problem: PruningProblem, y: NDArray[np.float64]) -> None:
        self.problem, ints, splits = problem, problem.integers, problem.splits
        values, rank = np.unique(y[splits], return_inverse=True)
        self.top = int(values.size)
        self.level = np.zeros(problem.ensemble.n_nodes, dtype=np.int32)
        self.level[splits] = np.where(values[rank] > 0, rank + 1, 0)
        users = splits[self.level[splits] > 0]
        bought = np.maximum(problem.usage.highest_user(users, self.level), 0)
        self.gain = self._from_top(self.level[splits], ints.gain[splits])
        paid = self._from_top(bought, problem.purchase_price())
        self.cost = [a + b for a, b in zip(paid, self._from_top(self.level[splits], ints.evaluation[splits]), strict=True)]

    def _from_top(self, level: NDArray[np.int32], amount: NDArray[np.int64]) -> list[int]:
        """Sums at each level and above, from the empty set (above the top) to level 1."""
        at = np.zeros(self.top + 2, dtype=np.int64)
        np.add.at(at, level, amount)
        return [int(x) for x in np.cumsum(at[:0:-1])]

    def kept(self, k: int) -> NDArray[np.bool_]:
        """The k-th level set; 0 is empty."""
        return self.level >= self.top + 1 - k

    def best_within(self, budget: Fraction) -> int:
        """The level set of most gain that costs at most B; among several the cheapest."""
        room = budget / self.problem.integers.price_unit
        return max((k for k, c in enumerate(self.cost) if c <= room), key=lambda k: (self.gain[k], -self.cost[k]))

    def edge(self, budget: Fraction) -> tuple[int | None, int | None]:
        """The two level sets whose mixture of cost B gains most; the second is None if the budget is not binding."""
        room = budget / self.problem.integers.price_unit
        inside = [k for k, c in enumerate(self.cost) if c <= room]
        if not inside:
            return None, None
        i = self.best_within(budget)
        outside = [k for k, c in enumerate(self.cost) if c > room and self.gain[k] > self.gain[i]]
        if not outside:
            return i, None
        while True:  # improve the line through i and j until no other set lies above it
            j = max(outside, key=lambda k: self._slope(i, k))
            better = min(inside, key=lambda k: self._slope(k, j))
            if self._slope(better, j) == self._slope(i, j):
                return i, j
            i = better

    def _slope(self, i: int, j: int) -> Fraction:
        return Fraction(self.gain[j] - self.gain[i], self.cost[j] - self.cost[i])

    def mixture(self, budget: Fraction, i: int, j: int | None, lam: float) -> Mixture:
        """(1) of the sets i and j."""
        ints = self.problem.integers
        cheaper = Pruning(self.problem, self.kept(i))
        room = budget / ints.price_unit
        if j is None or self.cost[i] == room:
            rate = Fraction(0) if self.cost[i] < room else Fraction(repr(lam))
            return Mixture(budget, rate, cheaper, cheaper, Fraction(1), cheaper.exact_error)
        dearer = Pruning(self.problem, self.kept(j))
        weight = (room - self.cost[i]) / (self.cost[j] - self.cost[i])
        value = weight * dearer.exact_error + (1 - weight) * cheaper.exact_error
        return Mixture(budget, self._slope(i, j) * ints.lam_unit, cheaper, dearer, weight, value)
