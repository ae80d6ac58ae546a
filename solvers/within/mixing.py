"""What the point and the dual values of LP1's relaxation are worth in exact numbers.

At an optimum of the relaxation every level set {h : y_h >= theta} is optimal for the Lagrangian at lambda*. A mixture of one that
costs at most B and a dearer one is an optimum again, and of any point an upper bound:

    value = weight error_dearer + (1 - weight) error_cheaper,       weight cost_dearer + (1 - weight) cost_cheaper = B      (1)

The coupling rows' dual values prove a lower bound of (OBJ) at any lambda >= 0 (`solvers.closures.duals`), and so of LP1:

    error  >=  (bound of (OBJ) at lambda)  -  lambda B                                                                      (2)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limited_solution import LP1Relaxation
from formulations.answers.nested_prunings import NestedPrunings, level_sets
from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns
from solvers.closures.duals import integer_duals, worth_of_trees
from solvers.closures.integer_objective import integer_objective


def best_of_levels(
    problem: PruningProblem, y: NDArray[np.float64], budget: Fraction, lam: float
) -> tuple[Pruning, LP1Relaxation]:
    """The best level set of y within the budget, and the best mixture (1) of two of them.

    Parameters
    ----------
    y
        the fraction to which each split is kept, shape (n,); it never rises on the way down a tree.
    lam
        recorded as the mixture's lambda if the mixture is a single pruning that costs exactly the budget.
    """
    sets, numbers = level_sets(problem, y), problem.exact_numbers
    gain, cost, room = sets.integer_gain, sets.integer_cost, budget / numbers.price_unit
    within = _best_within(sets, room)
    inner, outer = _edge(sets, room, within)
    cheaper, spare = sets[inner], room - cost[inner]
    if outer is None or spare == 0:
        rate = Fraction(repr(lam)) if spare == 0 else Fraction(0)
        return sets[within], LP1Relaxation.of_budget(budget, rate, cheaper, cheaper, Fraction(1))
    weight = spare / (cost[outer] - cost[inner])
    slope = Fraction(gain[outer] - gain[inner], cost[outer] - cost[inner]) * numbers.lam_unit
    return sets[within], LP1Relaxation.of_budget(budget, slope, cheaper, sets[outer], weight)


def bound_within(
    problem: PruningProblem, columns: PurchaseColumns, row_dual: NDArray[np.float64], budget: Fraction, lam: Fraction
) -> float:
    """(2) in exact integers, from any dual values; parameters as in `solvers.closures.duals.integer_duals`.

    A split that alone needs a purchase pays its full price. No other pays more than the sum of its tree's gains, for which no
    closure keeps it; so more of a price that `objective` reduced is left for the others.
    """
    objective, ensemble = integer_objective(problem, lam).refined(), problem.ensemble
    gains = np.add.reduceat(np.maximum(problem.gain, 0.0), ensemble.roots)[ensemble.tree_of[columns.node]]
    alone = np.bincount(columns.column, minlength=columns.n_columns)[columns.column] == 1
    dual = np.where(alone, math.inf, np.minimum(row_dual, gains))
    best = worth_of_trees(problem, objective, integer_duals(problem, objective, columns, dual))
    # objective.lam may be slightly below lambda, but any lambda >= 0 gives a valid bound
    return math.nextafter(float(problem.roots_error - best * objective.unit - objective.lam * budget), -math.inf)


def _best_within(sets: NestedPrunings, room: Fraction) -> int:
    """The row of most gain that costs at most so much; among several the cheapest, the smallest. The last one costs nothing."""
    gain, cost = sets.integer_gain, sets.integer_cost
    return max((k for k in reversed(range(len(sets))) if cost[k] <= room), key=lambda k: (gain[k], -cost[k]))


def _edge(sets: NestedPrunings, room: Fraction, inner: int) -> tuple[int, int | None]:
    """The two rows whose mixture of this cost gains most; the second is None if the budget is not binding."""
    gain, cost = sets.integer_gain, sets.integer_cost

    def slope(cheaper: int, dearer: int) -> Fraction:
        return Fraction(gain[dearer] - gain[cheaper], cost[dearer] - cost[cheaper])

    smallest_first = range(len(sets) - 1, -1, -1)
    inside = [k for k in smallest_first if cost[k] <= room]
    outside = [k for k in smallest_first if cost[k] > room and gain[k] > gain[inner]]
    if not outside:
        return inner, None
    while True:  # improve the line through both until no other row lies above it
        outer = max(outside, key=lambda k: slope(inner, k))
        better = min(inside, key=lambda k: slope(k, outer))
        if slope(better, outer) == slope(inner, outer):
            return inner, outer
        inner = better
