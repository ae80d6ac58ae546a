"""Restricted masters as linear programs: that of NWS15's LP3, with a row for each usage arc, and one of a user's own.

    minimise  sum_t sum_j alpha_{t,j} c_t theta_j + sum_c p_c w_c                                                          (1)
    coupling     sum_j alpha_{t,j} kept_j(u) - w_c <= 0       for every row (u, c), t the tree of u        dual -q_{u,c}    (2)
    convexity    sum_j alpha_{t,j} = 1                        for every tree t                            dual  r_t        (3)
    alpha, w >= 0

q >= 0 and r give a column theta the reduced cost  c_t theta + sum over its kept u and their rows of q_{u,c} - r_t. The rows
are built once. Columns are added to the program, which keeps its basis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import InvalidInputError, SolverFailedError
from formulations.extras import package
from formulations.instance.usage_arcs import starts_by_tail
from solvers.column_generation.loop import Master, MasterAnswer
from solvers.column_generation.params import ColumnParams
from solvers.column_generation.pricing import Coupling, TreePruning
from solvers.programs.engines import PARAMS, exponent_of, scaled, unscaled
from solvers.programs.highs import run_highs


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

    `offer`: is told every optimum; None: only the program's own value counts.
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


class TreeMaster(Master[TreePruning], Protocol):
    """A restricted master of prunings of trees, for `Scheme` or `dantzig_wolfe(master=...)`.

    Examples
    --------
    NWS15's LP3 by SciPy. A column is a pruning of a tree, with its ``cost`` and the numbers of the splits that it has ``kept``.

    >>> import numpy as np
    >>> import prunemodels as pm
    >>> from scipy.optimize import linprog
    >>> class LP3:
    ...     def __init__(self, coupling):
    ...         self.rows, self.columns, self.n_columns = coupling, [], 0
    ...
    ...     def add(self, columns):
    ...         self.columns += columns
    ...         self.n_columns = len(self.columns)
    ...
    ...     def refine(self):
    ...         return False  # it is exact
    ...
    ...     def solve(self, time_limit):
    ...         rows, trees = self.rows, self.rows.problem.ensemble.n_trees
    ...         uses = np.array([np.isin(rows.node, column.kept) for column in self.columns]).T
    ...         pays = np.arange(rows.price.size) == rows.purchase[:, None]
    ...         of_tree = np.array([[column.tree == t for column in self.columns] for t in range(trees)])
    ...         found = linprog(
    ...             np.append([column.cost for column in self.columns], rows.price),
    ...             A_ub=np.hstack([uses, -1.0 * pays]), b_ub=np.zeros(rows.n_rows),
    ...             A_eq=np.hstack([of_tree, np.zeros((trees, rows.price.size))]), b_eq=np.ones(trees),
    ...         )
    ...         self.alpha = found.x[: self.n_columns]
    ...         return pm.engines.MasterAnswer(found.fun, found.fun, -found.ineqlin.marginals, found.eqlin.marginals)
    ...
    >>> pm.engines.dantzig_wolfe(pm.datasets.two_trees(), 0.1, master=LP3)
    Solution(optimal, value=0.425, bound=0.425, Pruning(cost=3, error=0.125, 5 splits))
    """

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The weight of each column in the last optimum, in the order in which columns were added; those of a tree sum to 1."""
        ...


class MasterBuilder(Protocol):
    """Makes a restricted master without columns."""

    def __call__(self, coupling: Coupling) -> TreeMaster:
        """A master for these trees and coupling rows."""
        ...


class OwnMaster:
    """A master that a user's function built."""

    def __init__(
        self,
        coupling: Coupling,
        build: MasterBuilder,
        offer: Callable[[NDArray[np.float64]], float] | None,
        params: ColumnParams,
    ) -> None:
        self.coupling, self.offer, self.inner = coupling, offer, build(coupling)
        self.columns: list[TreePruning] = []
        self.tolerance = params.own_tolerance * coupling.reference
        self.iterations = 0.0
        self.y: NDArray[np.float64] | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        """The number of coupling rows."""
        return self.coupling.n_rows

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Add columns."""
        self.columns += columns
        self.inner.add(columns)

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """The user's answer, if its numbers are as many as there are rows, trees and columns."""
        answer = self.inner.solve(time_limit)
        if answer is None:
            return None
        self.iterations += 1
        trees = self.coupling.problem.ensemble.n_trees
        for name, amount, count in (
            ("charge", answer.charge, self.n_rows),
            ("convexity", answer.convexity, trees),
            ("alpha", self.inner.alpha, self.n_columns),
        ):
            if np.shape(amount) != (count,) or not np.isfinite(amount).all():
                raise InvalidInputError(f"master: {name} has shape {np.shape(amount)}; give {count} finite numbers")
        self.y = kept_levels(self.coupling, self.columns, np.asarray(self.inner.alpha))
        return answer if self.offer is None else replace(answer, upper=min(answer.upper, self.offer(self.y)))

    def refine(self) -> bool:
        """As the user's master says."""
        return self.inner.refine()
