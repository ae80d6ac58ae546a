"""The restricted master as a linear program, that of NWS15's LP3, with a row for each usage arc.

    minimise  sum_t sum_j alpha_{t,j} c_t theta_j + sum_c p_c w_c                                                          (1)
    coupling     sum_j alpha_{t,j} kept_j(u) - w_c <= 0       for every row (u, c), t the tree of u        dual -q_{u,c}    (2)
    convexity    sum_j alpha_{t,j} = 1                        for every tree t                            dual  r_t        (3)
    alpha, w >= 0

q >= 0 and r give a column theta the reduced cost  c_t theta + sum over its kept u and their rows of q_{u,c} - r_t. The rows
are built once. Columns are added to the program, which keeps its basis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import SolverFailedError
from formulations.extras import package
from formulations.instance.merging import starts_by_tail
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.pricing import TreePruning
from solvers.programs.engines.answer import exponent_of, scaled, unscaled
from solvers.programs.engines.highs import run_highs
from solvers.programs.params import PARAMS


class GrowingProgram:
    """Rows with lower and upper sides. Columns x >= 0 are added block by block. HiGHS gets the costs multiplied by 2^k.

    After every solve, `value`, `x` and `row_dual` (d value / d side) are those of the unscaled objective; `iterations` counts the
    simplex iterations of all solves.
    """

    def __init__(self, lower: NDArray[np.float64], upper: NDArray[np.float64], k: int) -> None:
        highspy = package("highspy")

        self._highs: Any = highspy.Highs()
        self._highs.silent()
        self._k = k
        options = {"presolve": "off", "solver": "simplex"}
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, PARAMS.tolerance)
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        n, none = lower.size, np.zeros(0, dtype=np.int32)
        self._checked(self._highs.addRows(n, lower, upper, 0, np.zeros(n, dtype=np.int32), none, np.zeros(0)), "rows")
        self.iterations = 0.0
        self.value = 0.0
        self.x = np.zeros(0)
        self.row_dual = np.zeros(n)

    def add(self, cost: NDArray[np.float64], matrix: sparse.csc_array) -> None:
        """Add columns x >= 0 with their costs. The basis is kept; new columns start at 0."""
        n = cost.size
        if n == 0:
            return
        starts, rows = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
        entries = matrix.data.astype(np.float64)
        floor, top, cost = np.zeros(n), np.full(n, np.inf), scaled(cost, self._k)
        self._checked(self._highs.addCols(n, cost, floor, top, entries.size, starts, rows, entries), "columns")

    def solve(self, time_limit: float) -> bool:
        """Solve; returns whether an optimum was found within the time limit."""
        highspy = package("highspy")

        # HiGHS' clock is not reset between two solves
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + time_limit)

        run_highs(self._highs)
        state, info = self._highs.getModelStatus(), self._highs.getInfo()
        self.iterations += max(0, int(info.simplex_iteration_count))
        if state == highspy.HighsModelStatus.kTimeLimit:
            return False
        if state != highspy.HighsModelStatus.kOptimal:
            raise SolverFailedError(
                f"HiGHS ended a restricted master with the status {self._highs.modelStatusToString(state)!r}; "
                "restricted masters are feasible and bounded, so check prices and errors"
            )
        point = self._highs.getSolution()
        self.x = np.array(point.col_value, dtype=np.float64)
        self.row_dual = unscaled(np.array(point.row_dual, dtype=np.float64), self._k)
        self.value = float(np.ldexp(info.objective_function_value, -self._k))
        return True

    def _checked(self, status: Any, what: str) -> None:
        highspy = package("highspy")

        if status == highspy.HighsStatus.kError:
            raise SolverFailedError(
                f"HiGHS refuses the {what} of a restricted master: numbers must be finite, and column starts must fit 32 bits"
            )


Offer = Callable[[NDArray[np.float64]], float]
"""Takes the fraction to which each split is kept, shape (n,); returns the best known value of the relaxation."""


class FullMaster:
    """(1) to (3); every solve starts from the last basis.

    Parameters
    ----------
    offer
        is told every optimum; None: only the program's own value counts.
    """

    def __init__(self, coupling: Coupling, offer: Offer | None = None) -> None:
        self.coupling, self.offer = coupling, offer
        self.columns: list[TreePruning] = []
        self.y: NDArray[np.float64] | None = None
        k, trees, price = coupling.n_rows, coupling.problem.ensemble.n_trees, coupling.price
        exponent = exponent_of(np.append(price, coupling.stop))
        self.tolerance = float(np.ldexp(1e-7, -exponent))
        one = np.ones(trees)
        lower = np.concatenate([np.full(k, -np.inf), one])
        self._program = GrowingProgram(lower, np.concatenate([np.zeros(k), one]), exponent)
        self._start = starts_by_tail(coupling.node, coupling.stop.size)
        bought = np.unique(coupling.purchase)
        self._first = bought.size
        where = np.arange(k), np.searchsorted(bought, coupling.purchase)
        self._program.add(price[bought], sparse.csc_array((np.full(k, -1.0), where), shape=(lower.size, bought.size)))

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
        k, trees = self.coupling.n_rows, self.coupling.problem.ensemble.n_trees
        rows = [np.zeros(0, dtype=np.int64), *(np.append(self._arcs(c), k + c.tree) for c in columns)]
        ends = np.cumsum([r.size for r in rows])
        matrix = sparse.csc_array((np.ones(ends[-1]), np.concatenate(rows), ends), shape=(k + trees, len(columns)))
        self._program.add(np.array([c.cost for c in columns]), matrix)
        self.columns += columns

    def _arcs(self, column: TreePruning) -> NDArray[np.int64]:
        """The coupling rows of a column's splits; all entries are 1."""
        first, last = self._start[column.kept], self._start[column.kept + 1]
        count = last - first
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        arcs: NDArray[np.int64] = np.repeat(first, count) + within
        return arcs

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """Solve the program with the columns so far."""
        program = self._program
        if not program.solve(time_limit):
            return None
        k, trees = self.coupling.n_rows, self.coupling.problem.ensemble.n_trees
        dual, charge = program.row_dual, np.maximum(-program.row_dual[:k], 0.0)
        self.y = kept_levels(self.coupling, self.columns, program.x[self._first :])
        upper = program.value if self.offer is None else min(program.value, self.offer(self.y))
        return MasterAnswer(program.value, upper, charge, dual[k : k + trees])

    def refine(self) -> bool:
        """False: there is nothing to refine, the master is exact."""
        return False


def kept_levels(coupling: Coupling, columns: Sequence[TreePruning], alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """The fraction to which each split is kept: y_h = sum_j alpha_j kept_j(h), shape (n,)."""
    y = np.zeros(coupling.stop.size)
    for j in np.flatnonzero(alpha > 0).tolist():
        y[columns[j].kept] += alpha[j]
    return y
