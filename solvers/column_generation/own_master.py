"""A restricted master of a user's own, with what a run asks of a master beside (1) of `solvers.column_generation.loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.full_master import kept_levels
from solvers.column_generation.loop import Master, MasterAnswer
from solvers.column_generation.params import ColumnParams
from solvers.column_generation.pricing import TreePruning


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
