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
from formulations.answers.nested_prunings import NestedPrunings, level_sets
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
        if pruning.exact_cost <= self.budget:
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
        sets = level_sets(self.problem, y)
        room = self.budget / self.problem.exact_numbers.price_unit
        inner, outer = _edge(sets, room)
        found = self._mixture(sets[inner], None if outer is None else sets[outer], lam)
        if found.value <= self.mixture.value:  # among equals keep the last one, whose lambda is nearest to lambda*
            self.mixture = found
        self.offer(sets[_best_within(sets, room)].kept)
        return float(self.mixture.value)

    def _mixture(self, cheaper: Pruning, dearer: Pruning | None, lam: float) -> Mixture:
        """(1); the cheaper pruning alone where the budget is not binding."""
        ints, spare = self.problem.exact_numbers, self.budget - cheaper.exact_cost
        if dearer is None or spare == 0:
            rate = Fraction(repr(lam)) if spare == 0 else Fraction(0)
            return Mixture(self.budget, rate, cheaper, cheaper, Fraction(1), cheaper.exact_error)
        gain, cost = dearer.integer_gain - cheaper.integer_gain, dearer.integer_cost - cheaper.integer_cost
        weight = spare / ints.price_unit / cost
        value = weight * dearer.exact_error + (1 - weight) * cheaper.exact_error
        return Mixture(self.budget, Fraction(gain, cost) * ints.lam_unit, cheaper, dearer, weight, value)


def _best_within(sets: NestedPrunings, room: Fraction) -> int:
    """The row of most gain that costs at most so much; among several the cheapest, the smallest. The last one costs nothing."""
    gain, cost = sets.integer_gain, sets.integer_cost
    return max((k for k in reversed(range(len(sets))) if cost[k] <= room), key=lambda k: (gain[k], -cost[k]))


def _edge(sets: NestedPrunings, room: Fraction) -> tuple[int, int | None]:
    """The two rows whose mixture of this cost gains most; the second is None if the budget is not binding."""
    gain, cost, i = sets.integer_gain, sets.integer_cost, _best_within(sets, room)

    def slope(inner: int, outer: int) -> Fraction:
        return Fraction(gain[outer] - gain[inner], cost[outer] - cost[inner])

    smallest_first = range(len(sets) - 1, -1, -1)
    inside = [k for k in smallest_first if cost[k] <= room]
    outside = [k for k in smallest_first if cost[k] > room and gain[k] > gain[i]]
    if not outside:
        return i, None
    while True:  # improve the line through i and j until no other row lies above it
        j = max(outside, key=lambda k: slope(i, k))
        better = min(inside, key=lambda k: slope(k, j))
        if slope(better, j) == slope(i, j):
            return i, j
        i = better
