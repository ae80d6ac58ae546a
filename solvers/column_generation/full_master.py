"""The restricted master of NWS15's LP3 as it stands in the paper, with a row for each usage arc.

    minimise  sum_t sum_j alpha_{t,j} c_t theta_j + sum_c p_c w_c                                                          (1)
    coupling     sum_j alpha_{t,j} kept_j(u) - w_c <= 0       for every row (u, c), t the tree of u        dual -q_{u,c}    (2)
    convexity    sum_j alpha_{t,j} = 1                        for every tree t                            dual  r_t        (3)
    alpha, w >= 0

q >= 0 and r give a column theta the reduced cost  c_t theta + sum over its kept u and their rows of q_{u,c} - r_t. The rows
are built once. Columns are added to the program, which keeps its basis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.instance.merging import starts_by_tail
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.pricing import TreePruning
from solvers.column_generation.simplex import GrowingProgram
from solvers.programs.engines.scaling import exponent_of


class FullMaster:
    """(1) to (3); every solve starts from the last basis."""

    def __init__(self, coupling: Coupling, incumbent: Incumbent | None = None) -> None:
        self.coupling, self.incumbent = coupling, incumbent
        self.columns: list[TreePruning] = []
        self.y: NDArray[np.float64] | None = None
        k, trees = coupling.n_rows, coupling.problem.ensemble.n_trees
        one = np.ones(trees)
        exponent = exponent_of(np.append(coupling.price, coupling.stop))
        lower, upper = np.concatenate([np.full(k, -np.inf), one]), np.concatenate([np.zeros(k), one])
        self._program = GrowingProgram(lower, upper, exponent, presolve=False)
        self.tolerance = float(np.ldexp(1e-7, -exponent))
        self._start = starts_by_tail(coupling.node, coupling.stop.size)
        bought = np.unique(coupling.purchase)
        place = np.searchsorted(bought, coupling.purchase)
        matrix = sparse.csc_array((np.full(k, -1.0), (np.arange(k), place)), shape=(k + trees, bought.size))
        self._program.add(coupling.price[bought], matrix)
        self._first = bought.size

    @property
    def n_columns(self) -> int:
        """The number of columns, which are prunings of trees."""
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        """The number of coupling rows."""
        return self.coupling.n_rows

    @property
    def iterations(self) -> float:
        """Simplex iterations of all solves."""
        return self._program.iterations

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Add the columns (D theta, e_t)."""
        rows = [self._rows(c) for c in columns]
        ends = np.cumsum([0, *(r.size for r in rows)])
        flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        shape = (self.n_rows + self.coupling.problem.ensemble.n_trees, len(rows))
        self._program.add(np.array([c.cost for c in columns]), sparse.csc_array((np.ones(flat.size), flat, ends), shape=shape))
        self.columns += columns

    def _rows(self, column: TreePruning) -> NDArray[np.int64]:
        """The rows in which a column has an entry; all entries are 1."""
        first, last = self._start[column.kept], self._start[column.kept + 1]
        count = last - first
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return np.append(np.repeat(first, count) + within, self.n_rows + column.tree)

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """Solve (1) to (3) with the columns so far."""
        program = self._program
        if not program.solve(time_limit):
            return None
        dual, k = program.row_dual, self.n_rows
        self.y = kept_levels(self.coupling, self.columns, program.x[self._first :])
        upper = program.value
        if self.incumbent is not None:
            upper = min(upper, self.incumbent.offer_levels(self.y))
        return MasterAnswer(program.value, upper, np.maximum(-dual[:k], 0.0), dual[k:])

    def refine(self) -> bool:
        """False: there is nothing to refine, the master is exact."""
        return False


def kept_levels(coupling: Coupling, columns: Sequence[TreePruning], alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """The fraction to which each split is kept: y_h = sum_j alpha_j kept_j(h), shape (n,)."""
    y = np.zeros(coupling.stop.size)
    for j in np.flatnonzero(alpha > 0).tolist():
        y[columns[j].kept] += alpha[j]
    return y
