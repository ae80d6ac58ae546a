"""A linear program in HiGHS that gets more and more columns and is solved again after each addition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import SolverFailedError
from formulations.extras import package
from solvers.programs.engines.highs import run_highs
from solvers.programs.engines.scaling import scaled, unscaled

TOLERANCE = 1e-9
"""Feasibility of rows and reduced costs, in the scaled objective."""


class GrowingProgram:
    """Rows with lower and upper sides. Columns x >= lower are added block by block. HiGHS gets the costs multiplied by 2^k.

    After every solve, `value`, `x` and `row_dual` (d value / d side) are those of the unscaled objective; `iterations` counts the
    simplex iterations of all solves.
    """

    def __init__(self, lower: NDArray[np.float64], upper: NDArray[np.float64], k: int, *, presolve: bool) -> None:
        highspy = package("highspy")

        self._highs: Any = highspy.Highs()
        self._highs.silent()
        self._k = k
        options = {"presolve": "choose" if presolve else "off", "solver": "simplex"}
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, TOLERANCE)
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        n, none = lower.size, np.zeros(0, dtype=np.int32)
        self._checked(self._highs.addRows(n, lower, upper, 0, np.zeros(n, dtype=np.int32), none, np.zeros(0)), "rows")
        self.iterations = 0.0
        self.value = 0.0
        self.x = np.zeros(0)
        self.row_dual = np.zeros(n)

    def add(self, cost: NDArray[np.float64], matrix: sparse.csc_array, lower: NDArray[np.float64] | None = None) -> None:
        """Add columns x >= lower (default 0) with their costs. The basis is kept; new columns start at their lower bounds."""
        n = cost.size
        if n == 0:
            return
        floor = np.zeros(n) if lower is None else lower
        starts, rows = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
        entries = matrix.data.astype(np.float64)
        top = np.full(n, np.inf)
        self._checked(self._highs.addCols(n, scaled(cost, self._k), floor, top, entries.size, starts, rows, entries), "columns")

    def solve(self, time_limit: float) -> bool:
        """Solve; returns whether an optimum was found within the time limit.

        Raises
        ------
        SolverFailedError
            if HiGHS ends with any other status.
        InterruptedSolveError
            if Ctrl-C arrived meanwhile.
        """
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
