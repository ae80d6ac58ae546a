"""Several budgets, each at a price of its own: one minimum cut, and what it proves.

    L(lambda)  =  min over prunings of  error + sum_c lambda_c (cost_c - B_c)   <=   the least error within the budgets    (1)

for every lambda >= 0. A purchase costs sum_c lambda_c price_{c,j}, so (1) is a maximum closure like (OBJ). It is solved in
integers, profits rounded up and prices down, so the bound holds whatever the floats were; the pruning is the best one up to that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.programs.budget_rows import BudgetRows
from formulations.programs.columns import usage_columns
from solvers.closures.cut import ClosureProblem, best_closure
from solvers.closures.numbering import local_forest

BITS = 59
"""Of all profits together, and of all prices together."""


@dataclass(frozen=True, eq=False)
class CutAnswer:
    """The smallest optimum of (1) and the value that is proven."""

    pruning: Pruning
    bound: float


class ClassCut:
    """(1), ready for any lambda; and every group's cost in floats, for searches."""

    def __init__(self, rows: BudgetRows) -> None:
        self.rows, problem = rows, rows.problem
        columns = usage_columns(problem, merge=True)
        self.purchases, self.splits = rows.of_purchases(columns), rows.of_splits()
        self.node, self.column = columns.node, columns.column
        self._parent, self._tail = local_forest(problem.ensemble.parent, problem.splits, self.node)
        ints = problem.integers
        self.gain = ints.gain.astype(np.float64) * float(ints.gain_unit)
        # a price is a sum of products over the rows and over the groups: one relative rounding error a term at the most
        self._margin = (64 + problem.n_rows + len(rows.names)) * 2.0**-53
        self.limits = np.array([float(b) for b in rows.limits])
        self.roots = problem.errors.of_all_roots(problem.ensemble)

    def cut(self, lam: NDArray[np.float64]) -> CutAnswer:
        """(1) at lambda >= 0, one a group."""
        problem = self.rows.problem
        price, own = self.purchases.T @ lam, self.splits.T @ lam
        total = float(np.abs(self.gain).sum()) or 1.0
        # nothing dearer than all gains together is ever kept; twice that, so that rounding does not make it a tie
        price, profit = np.minimum(price, 2.0 * total), np.maximum(self.gain - own, -2.0 * total)[problem.splits]
        largest = max(float(np.abs(profit).sum()), float(price.sum()), total)
        exponent = BITS - math.frexp(largest)[1]
        spare = self._margin * (np.abs(self.gain) + np.minimum(own, 2.0 * total))[problem.splits]
        whole = np.ceil(np.ldexp(profit + spare, exponent)).astype(np.int64)
        prices = np.floor(np.ldexp(price * (1.0 - self._margin), exponent)).astype(np.int64)
        closure = best_closure(ClosureProblem(whole, self._parent, self._tail, self.column, prices))
        kept = np.zeros(problem.ensemble.n_nodes, dtype=bool)
        kept[problem.splits] = closure.keep
        spent = sum((Fraction(float(x)) * b for x, b in zip(lam, self.rows.limits, strict=True)), Fraction(0))
        bound = self.roots - int(closure.value) * Fraction(2) ** -exponent - spent
        return CutAnswer(Pruning(problem, kept), float(bound) - problem.integers.error_rounding)

    def costs(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Every group's cost, up to floating point."""
        paid = np.zeros(self.purchases.shape[1])
        paid[self.column[kept[self.node]]] = 1.0
        costs: NDArray[np.float64] = self.purchases @ paid + self.splits @ kept.astype(np.float64)
        return costs

    def error(self, pruning: Pruning) -> float:
        """The error, rounded once where the instance is exact."""
        return float(self.roots - pruning.integer_gain * self.rows.problem.integers.gain_unit)
