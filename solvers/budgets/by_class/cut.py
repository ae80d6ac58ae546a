"""Several budgets, each with its own lambda: one minimum cut, and the bound that it proves.

    L(lambda)  =  min over prunings of  error + sum_c lambda_c (cost_c - B_c)   <=   the least error within the budgets    (1)

for every lambda >= 0. A purchase costs sum_c lambda_c price_{c,j}, so (1) is a maximum closure like (OBJ). It is solved in
integers, with profits rounded up and prices rounded down. So the bound holds in spite of floating-point errors, and the pruning
is the best one up to this rounding.
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

SUM_BITS = 59
"""Bits of the sum of all profits, and of the sum of all prices."""


@dataclass(frozen=True, eq=False)
class CutAnswer:
    """The smallest optimum of (1), and its proven value."""

    pruning: Pruning
    bound: float


class ClassCut:
    """Solves (1) for any lambda, and computes every group's cost in floating point, for searches."""

    def __init__(self, rows: BudgetRows) -> None:
        self.rows, problem = rows, rows.problem
        columns = usage_columns(problem, merge=True)
        self.purchases, self.splits = rows.of_purchases(columns), rows.of_splits()
        self.node, self.column = columns.node, columns.column
        self._parent, self._tail = local_forest(problem.ensemble.parent, problem.splits, self.node)
        ints = problem.integers
        self.gain = ints.gain.astype(np.float64) * float(ints.gain_unit)
        # a price is a sum of products over the rows and the groups, with at most one relative rounding error for each term
        self._margin = (64 + problem.n_rows + len(rows.names)) * 2.0**-53
        self.limits = np.array([float(b) for b in rows.limits])
        self.roots = problem.errors.of_all_roots(problem.ensemble)

    def cut(self, lam: NDArray[np.float64]) -> CutAnswer:
        """Solve (1) at lambda >= 0, one number for each group."""
        problem = self.rows.problem
        price, own = self.purchases.T @ lam, self.splits.T @ lam
        total = float(np.abs(self.gain).sum()) or 1.0
        # what costs more than all gains together is never kept; twice that, so that rounding cannot make it a tie
        price, profit = np.minimum(price, 2.0 * total), np.maximum(self.gain - own, -2.0 * total)[problem.splits]
        largest = max(float(np.abs(profit).sum()), float(price.sum()), total)
        exponent = SUM_BITS - math.frexp(largest)[1]
        spare = self._margin * (np.abs(self.gain) + np.minimum(own, 2.0 * total))[problem.splits]
        profits = np.ceil(np.ldexp(profit + spare, exponent)).astype(np.int64)
        prices = np.floor(np.ldexp(price * (1.0 - self._margin), exponent)).astype(np.int64)
        closure = best_closure(ClosureProblem(profits, self._parent, self._tail, self.column, prices))
        kept = np.zeros(problem.ensemble.n_nodes, dtype=bool)
        kept[problem.splits] = closure.keep
        spent = sum((Fraction(float(x)) * b for x, b in zip(lam, self.rows.limits, strict=True)), Fraction(0))
        bound = self.roots - int(closure.value) * Fraction(2) ** -exponent - spent
        return CutAnswer(Pruning(problem, kept), float(bound) - problem.integers.error_rounding)

    def costs(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Every group's cost, up to rounding errors."""
        paid = np.zeros(self.purchases.shape[1])
        paid[self.column[kept[self.node]]] = 1.0
        costs: NDArray[np.float64] = self.purchases @ paid + self.splits @ kept.astype(np.float64)
        return costs

    def error(self, pruning: Pruning) -> float:
        """The error as a float; if the instance is exact, the exact error rounded once."""
        return float(self.roots - pruning.integer_gain * self.rows.problem.integers.gain_unit)
