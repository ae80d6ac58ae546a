"""IP3's relaxation at one lambda, as trees and the rows that couple them (NWS15 LP2).

    minimise  sum_t c_t theta^t + sum_j p_j w_j      theta^t in P^t,      y_u - w_j <= 0   for every row (u, j)              (1)

y_u is w^t_j of NWS15: the fraction to which split u is kept, where u is the split of its tree that needs purchase j. p_j is
lambda times the price of the purchase. c_t holds the errors of the leaves and the prices that a split shares with no other:

    stop_h = error_h,      own_h = lambda * evaluation price + sum of p_j over the purchases that only h needs               (2)

Charges q >= 0 on the rows whose sum is at most p_j for each j make the trees independent: split u then costs
own_u + sum_j q_{u,j}, and the sum of the trees' optima is a lower bound of (1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import ItemDuals
from formulations.instance.ensemble import Forest
from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns, usage_columns
from solvers.closures.integer_objective import IntegerObjective
from solvers.closures.min_cut import integer_duals


@dataclass(frozen=True, eq=False)
class Coupling:
    """(1), with its k coupling rows and J purchases."""

    problem: PruningProblem
    columns: PurchaseColumns  # the purchases and usage arcs, merged or not
    arc: NDArray[np.int64]  # int64, shape (k,): the usage arc that each row stands for
    # node, purchase: int32, shape (k,): u and j; rows are sorted by u.
    node: NDArray[np.int32]
    purchase: NDArray[np.int32]
    price: NDArray[np.float64]  # float64, shape (J,): p_j, in (OBJ)
    # stop, own: float64, shape (n,): (2).
    stop: NDArray[np.float64]
    own: NDArray[np.float64]

    @classmethod
    def build(cls, problem: PruningProblem, lam: float, *, merge: bool = True) -> Coupling:
        """Set up (1). With `merge`, purchases with the same users become one, and those with a single user go into (2)."""
        columns = usage_columns(problem, merge=merge)
        price = lam * columns.price
        users = np.bincount(columns.column, minlength=columns.n_columns)
        priced = price[columns.column] > 0
        alone = priced & (users[columns.column] == 1) if merge else np.zeros(priced.size, dtype=bool)
        own = lam * problem.usage.evaluation_price
        np.add.at(own, columns.node[alone], price[columns.column[alone]])
        arc = np.flatnonzero(priced & ~alone)
        return cls(problem, columns, arc, columns.node[arc], columns.column[arc], price, problem.node_error, own)

    @property
    def n_rows(self) -> int:
        """The number k of coupling rows."""
        return int(self.arc.size)

    @property
    def reference(self) -> float:
        """The value of the all-roots forest."""
        return float(self.stop[self.problem.ensemble.roots].sum())

    def by_purchase(self, amount: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows' amounts over each purchase, shape (J,)."""
        return np.bincount(self.purchase, amount, minlength=self.price.size).astype(np.float64, copy=False)

    def by_node(self, amount: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the rows' amounts over each split, shape (n,)."""
        return np.bincount(self.node, amount, minlength=self.stop.size).astype(np.float64, copy=False)

    def within_prices(self, charge: NDArray[np.float64]) -> NDArray[np.float64]:
        """Charges >= 0 whose sum over each purchase is at most its price: larger sums are scaled down."""
        q = np.maximum(charge, 0.0)
        total = self.by_purchase(q)
        over = total > self.price
        if not over.any():
            return q
        factor = np.ones_like(total)
        factor[over] = self.price[over] / total[over]
        return q * factor[self.purchase]

    def tree_costs(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """c_t theta^t of each tree of a pruning; shape (T,)."""
        return tree_values(self.problem.ensemble, kept, self.stop, self.own)

    def duals(self, charge: NDArray[np.float64], objective: IntegerObjective) -> ItemDuals:
        """The charges as a certificate. A split that alone needs a purchase pays its full price.

        The integers of `objective` may hold lower prices: those above the sum of all gains are reduced, and its lambda may be
        slightly smaller. Charges are then scaled down in proportion.
        """
        column, price = self.columns.of_purchase, objective.prices()
        full_price = np.bincount(
            column[column >= 0], price[column >= 0] * float(objective.unit), minlength=self.price.size
        ).astype(np.float64)
        total = self.by_purchase(charge)
        factor = np.divide(full_price, total, out=np.ones_like(full_price), where=total > full_price)
        amount = self.price[self.columns.column].copy()
        amount[self.arc] = charge * factor[self.purchase]
        return integer_duals(self.problem, objective, self.columns, amount)


def tree_values(
    forest: Forest, kept: NDArray[np.bool_], stop: NDArray[np.float64], split_cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What each tree of a pruning costs, by its leaves and its kept splits; shape (T,)."""
    leaf = ~kept & (kept[forest.parent] | (forest.parent < 0))
    return np.add.reduceat(np.where(leaf, stop, 0.0) + np.where(kept, split_cost, 0.0), forest.roots)
