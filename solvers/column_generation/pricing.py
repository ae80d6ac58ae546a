"""IP3's relaxation at one lambda, as trees and the rows that couple them (NWS15 LP2).

    minimise  sum_t c_t theta^t + sum_j p_j w_j      theta^t in P^t,      y_u - w_j <= 0   for every row (u, j)              (1)

y_u is w^t_j of NWS15: the fraction to which split u is kept, where u is the split of its tree that needs purchase j. p_j is
lambda times the price of the purchase. c_t holds the errors of the leaves and the prices that a split shares with no other:

    stop_h = error_h,      own_h = lambda * evaluation price + sum of p_j over the purchases that only h needs               (2)

Charges q >= 0 on the rows whose sum is at most p_j for each j make the trees independent: split u then costs
own_u + sum_j q_{u,j}, and the sum of the trees' optima is a lower bound of (1).

The pricing problem is the cheapest pruning of every tree at given charges (NWS15 SUB1).

    OPT_t = min over prunings of tree t of  sum over its leaves of stop_h + sum over kept splits of (own_u + sum_j q_{u,j})    (3)

Charges are first reduced so that those on a purchase sum to at most its price. Then no w_j has a negative reduced cost, and
sum_t OPT_t  is a lower bound of IP3's relaxation. If the charges are the master's own duals, this bound equals NWS15's
master value + sum_t (OPT_t - r_t).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from solvers.closures.tree_pass import best_level_set
from solvers.column_generation.loop import MasterAnswer, PricingAnswer

if TYPE_CHECKING:
    from solvers.column_generation.shortest_paths import CheapestPrunings
from formulations.answers.solution import ItemDuals
from formulations.instance.ensemble import Forest
from formulations.programs.linear_program import PurchaseColumns, usage_columns
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


PricingMethod = Literal["shortest paths", "tree pass"]


class TreePricer(Protocol):
    """Finds the cheapest pruning of every tree, as `price_by_tree_pass` does: a pricing of one's own."""

    def __call__(
        self, problem: PruningProblem, node_cost: NDArray[np.float64], split_charge: NDArray[np.float64]
    ) -> CheapestPrunings:
        """The prunings, what each costs, and by how much the least cost of each tree may be another.

        `node_cost`, `split_charge`: shape (n,): what every node costs as a leaf, and every split if it is kept.
        """
        ...


AnyPricing = PricingMethod | TreePricer


@dataclass(frozen=True, eq=False)
class TreePruning:
    """A column: a pruning of one tree, an extreme point of NWS15's P^(t)."""

    tree: int  # t
    kept: NDArray[np.int64]  # the kept splits, ascending
    cost: float  # c_t theta^t in the unit of (OBJ), without charges

    @property
    def key(self) -> Hashable:
        """A key that two columns share if and only if they are the same pruning of the same tree."""
        return self.tree, self.kept.tobytes()


def columns_of(coupling: Coupling, kept: NDArray[np.bool_]) -> list[TreePruning]:
    """One column for each tree, from the splits that a pruning of the forest keeps."""
    nodes, cost = np.flatnonzero(kept), coupling.tree_costs(kept)
    first = np.searchsorted(nodes, coupling.problem.ensemble.tree_start)
    return [TreePruning(t, nodes[first[t] : first[t + 1]], float(cost[t])) for t in range(len(cost))]


class Incumbent:
    """The best of all prunings of the forest that it is offered; its value is (OBJ) at `lam`, computed from the problem."""

    def __init__(self, first: Pruning, lam: float) -> None:
        self.pruning, self.lam = first, lam
        self.value = first.value(lam)

    @property
    def problem(self) -> PruningProblem:
        """The instance."""
        return self.pruning.problem

    def offer(self, kept: NDArray[np.bool_]) -> float:
        """Offer a pruning; returns the best value so far."""
        self._take(Pruning(self.problem, kept))
        return self.value

    def offer_levels(self, y: NDArray[np.float64]) -> float:
        """Offer the best level set of y, the fraction to which each split is kept, shape (n,); returns the best value so far."""
        self._take(best_level_set(self.problem, y, self.lam))
        return self.value

    def _take(self, pruning: Pruning) -> None:
        value = pruning.value(self.lam)
        if value < self.value:
            self.pruning, self.value = pruning, value


class TreeSolver:
    """Solves (3) for all trees of a problem: as shortest paths in integers, by a pass over the trees, or as its user does."""

    def __init__(self, problem: PruningProblem, method: AnyPricing) -> None:
        self.problem, self.method, self.batches = problem, method, None
        if method == "shortest paths":
            from formulations.programs.shortest_path import tree_networks
            from solvers.column_generation.shortest_paths import batches_of

            self.batches = batches_of(tree_networks(problem))

    def cheapest(self, stop: NDArray[np.float64], split_cost: NDArray[np.float64]) -> CheapestPrunings:
        """The cheapest pruning of every tree, given the costs of leaves and of kept splits, both of shape (n,)."""
        from solvers.column_generation.shortest_paths import price_by_shortest_paths, price_by_tree_pass

        if callable(self.method):
            return checked_prunings(self.problem, stop, split_cost, self.method(self.problem, stop.copy(), split_cost.copy()))
        if self.batches is None:
            return price_by_tree_pass(self.problem, stop, split_cost)
        return price_by_shortest_paths(self.problem, stop, split_cost, self.batches)


def checked_prunings(
    problem: PruningProblem, stop: NDArray[np.float64], split_cost: NDArray[np.float64], found: CheapestPrunings
) -> CheapestPrunings:
    """What a user's pricing found, if these are prunings that cost what it says; else an InvalidInputError."""
    ensemble, wrong = problem.ensemble, ""
    kept, value, rounding = (np.asarray(getattr(found, name, None)) for name in ("kept", "value", "rounding"))
    if kept.dtype != np.bool_ or kept.shape != (ensemble.n_nodes,):
        wrong = f"kept is {kept.dtype} of shape {kept.shape}; give bool of shape ({ensemble.n_nodes},), one for each node"
    elif (bad := np.flatnonzero(kept & ~(ensemble.is_split & (kept[ensemble.parent] | (ensemble.parent < 0))))).size:
        wrong = f"it keeps node {bad[0]}, which is a leaf or stands below a split that it does not keep"
    elif value.shape != (ensemble.n_trees,) or rounding.shape != (ensemble.n_trees,):
        wrong = f"value and rounding have the shapes {value.shape} and {rounding.shape}; give ({ensemble.n_trees},), one a tree"
    else:
        cost = tree_values(ensemble, kept, stop, split_cost)
        apart = ~(np.abs(cost - value) <= rounding + 1e-9 * (np.abs(stop).sum() + np.abs(split_cost).sum()))
        if apart.any():
            t = int(apart.argmax())
            wrong = f"tree {t}: value is {value[t]:.9g}, but what it keeps costs {cost[t]:.9g}"
    if wrong:
        raise InvalidInputError(f"pricing: {wrong}")
    return found


class TreePricing:
    """The pricing problem of IP3's relaxation at one lambda."""

    def __init__(self, coupling: Coupling, method: AnyPricing = "shortest paths", incumbent: Incumbent | None = None) -> None:
        self.coupling, self.incumbent = coupling, incumbent
        self.trees = TreeSolver(coupling.problem, method)

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[TreePruning]:
        """Solve (3) at the given charges. The bound is lowered by the largest possible rounding error."""
        q = self.coupling.within_prices(charge)
        found = self.trees.cheapest(self.coupling.stop, self.coupling.own + self.coupling.by_node(q))
        bound = float(found.value.sum() - found.rounding.sum())
        upper = np.inf if self.incumbent is None else self.incumbent.offer(found.kept)
        return PricingAnswer(columns_of(self.coupling, found.kept), q, bound, float(upper))

    def reduced_costs(self, columns: Sequence[TreePruning], answer: MasterAnswer) -> NDArray[np.float64]:
        """c_t theta + q D theta - r_t of each column."""
        charge = self.coupling.by_node(answer.charge)
        return np.array([c.cost + float(charge[c.kept].sum()) - answer.convexity[c.tree] for c in columns])

    def key(self, column: TreePruning) -> Hashable:
        """A key that two columns share if and only if they are equal."""
        return column.key
