"""The restricted master of LP1: IP3's with the error alone as objective, and the budget row.

    minimise  sum_t sum_j alpha_{t,j} e_t theta_j                                                                          (1)
    coupling     sum_j alpha_{t,j} kept_j(u) - w_c <= 0       for every row (u, c), t the tree of u   dual -q_{u,c}         (2)
    convexity    sum_j alpha_{t,j} = 1                        for every tree t                       dual  r_t             (3)
    budget       sum_c p_c w_c + sum_t sum_j alpha_{t,j} own theta_j <= B                             dual -lambda          (4)
    alpha, w >= 0

A w has the reduced cost lambda p_c - sum of its q >= 0, a column theta  e theta + (lambda own + q D) theta - r_t. (4) is divided
by its largest coefficient, so that the tolerance of the simplex does not depend on the unit of the prices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.instance.merging import starts_by_tail
from solvers.column_generation.budgets.coupling import BudgetCoupling
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.full_master import kept_levels
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.pricing import TreePruning
from solvers.column_generation.simplex import GrowingProgram
from solvers.programs.engines.scaling import exponent_of


class BudgetMaster:
    """(1) to (4); every solve starts from the last basis."""

    def __init__(self, coupling: BudgetCoupling, incumbent: BudgetIncumbent) -> None:
        self.coupling, self.incumbent = coupling, incumbent
        self.columns: list[TreePruning] = []
        self.alpha = np.zeros(0)
        self.value, self.lam = np.inf, 0.0
        unit, trees = coupling.unit, coupling.problem.ensemble.n_trees
        k, one = unit.n_rows, np.ones(trees)
        exponent = exponent_of(unit.stop)
        self._scale = max(float(unit.price.max(initial=0.0)), float(unit.own.max(initial=0.0))) or 1.0
        upper = np.concatenate([np.zeros(k), one, [coupling.limit / self._scale]])
        self._program = GrowingProgram(np.concatenate([np.full(k, -np.inf), one, [-np.inf]]), upper, exponent, presolve=False)
        self.tolerance = float(np.ldexp(1e-7, -exponent))
        self._start = starts_by_tail(unit.node, unit.stop.size)
        bought = np.unique(unit.purchase)
        place = np.searchsorted(bought, unit.purchase)
        rows = np.concatenate([np.arange(k), np.full(bought.size, k + trees)])
        entries = np.concatenate([np.full(k, -1.0), unit.price[bought] / self._scale])
        columns = np.concatenate([place, np.arange(bought.size)])
        shape = (k + trees + 1, bought.size)
        self._program.add(np.zeros(bought.size), sparse.csc_array((entries, (rows, columns)), shape=shape))
        self._first = bought.size

    @property
    def n_columns(self) -> int:
        """The number of columns, which are prunings of trees."""
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        """The number of coupling and convexity rows, plus the budget row."""
        return self.coupling.unit.n_rows + self.coupling.problem.ensemble.n_trees + 1

    @property
    def iterations(self) -> float:
        """Simplex iterations of all solves."""
        return self._program.iterations

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Add the columns (D theta, e_t, own theta), whose cost is the error."""
        k, last = self.coupling.unit.n_rows, self.n_rows - 1
        rows = [np.concatenate([self._arcs(c), [k + c.tree, last]]) for c in columns]
        entries = [np.append(np.ones(r.size - 1), self._own(c)) for c, r in zip(columns, rows, strict=True)]
        ends = np.cumsum([0, *(r.size for r in rows)])
        flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        data = np.concatenate([*entries, np.zeros(0)])
        matrix = sparse.csc_array((data, flat, ends), shape=(self.n_rows, len(rows)))
        self._program.add(np.array([c.cost for c in columns]), matrix)
        self.columns += columns

    def _own(self, column: TreePruning) -> float:
        return float(self.coupling.unit.own[column.kept].sum()) / self._scale

    def _arcs(self, column: TreePruning) -> NDArray[np.int64]:
        """The coupling rows of a column's splits."""
        first, last = self._start[column.kept], self._start[column.kept + 1]
        count = last - first
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        arcs: NDArray[np.int64] = np.repeat(first, count) + within
        return arcs

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """Solve (1) to (4). `upper` is the exact value of the best mixture of two nested prunings if that is lower."""
        program = self._program
        if not program.solve(time_limit):
            return None
        dual, k = program.row_dual, self.coupling.unit.n_rows
        self.alpha, self.value = program.x[self._first :], program.value
        self.lam = max(0.0, -float(dual[-1]) / self._scale)
        y = kept_levels(self.coupling.unit, self.columns, np.where(self.alpha > 1e-9, self.alpha, 0.0))
        upper = min(program.value, self.incumbent.offer_levels(y, self.lam))
        return MasterAnswer(program.value, upper, np.append(np.maximum(-dual[:k], 0.0), self.lam), dual[k:-1])

    def refine(self) -> bool:
        """False: there is nothing to refine, the master is exact."""
        return False
