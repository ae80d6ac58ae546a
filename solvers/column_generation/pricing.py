"""The pricing problem: the cheapest pruning of every tree at given charges (NWS15 SUB1).

    OPT_t = min over prunings of tree t of  sum over its leaves of stop_h + sum over kept splits of (own_u + sum_j q_{u,j})    (1)

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
from solvers.closures.tree_levels import best_level_set
from solvers.column_generation.coupling import Coupling, tree_values
from solvers.column_generation.loop import MasterAnswer, PricingAnswer

if TYPE_CHECKING:
    from solvers.column_generation.shortest_paths import CheapestPrunings

PricingMethod = Literal["shortest paths", "tree pass"]


class TreePricer(Protocol):
    """Finds the cheapest pruning of every tree, as `price_by_tree_pass` does: a pricing of one's own."""

    def __call__(
        self, problem: PruningProblem, node_cost: NDArray[np.float64], split_charge: NDArray[np.float64]
    ) -> CheapestPrunings:
        """The prunings, what each costs, and by how much the least cost of each tree may be another.

        Parameters
        ----------
        node_cost, split_charge
            shape (n,): what every node costs as a leaf, and every split if it is kept.
        """
        ...


AnyPricing = PricingMethod | TreePricer


@dataclass(frozen=True, eq=False)
class TreePruning:
    """A column: a pruning of one tree, an extreme point of NWS15's P^(t).

    Parameters
    ----------
    tree
        t.
    kept
        int64: the kept splits, ascending.
    cost
        c_t theta^t in the unit of (OBJ), without charges.
    """

    tree: int
    kept: NDArray[np.int64]
    cost: float

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
    """Solves (1) for all trees of a problem: as shortest paths in integers, by a pass over the trees, or as its user does."""

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
        """Solve (1) at the given charges. The bound is lowered by the largest possible rounding error."""
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
