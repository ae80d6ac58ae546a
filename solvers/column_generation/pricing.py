"""The pricing problem: the cheapest pruning of every tree at given charges (NWS15 SUB1).

    OPT_t = min over prunings of tree t of  sum over its leaves of stop_h + sum over kept splits of (own_u + sum_j q_{u,j})    (1)

Charges are first cut down to the prices, so that  sum_t OPT_t  is a lower bound of IP3's relaxation: no w_j has a negative
reduced cost then. That is NWS15's master value + sum_t (OPT_t - r_t) where the charges are the master's.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import MasterAnswer, PricingAnswer

if TYPE_CHECKING:
    from solvers.column_generation.shortest_paths import CheapestPrunings


class TreePricer(Protocol):
    """Any other way to solve (1) for all trees, for example with the trees on several machines."""

    def __call__(self, problem: PruningProblem, stop: NDArray[np.float64], bears: NDArray[np.float64], /) -> CheapestPrunings:
        """Every tree's cheapest pruning, when stopping costs `stop` and splits bear `bears`; float64, shape (n,)."""
        ...


How = Literal["tree pass", "shortest paths"] | TreePricer


@dataclass(frozen=True, eq=False)
class TreePruning:
    """A column: a pruning of one tree, an extreme point of NWS15's P^(t).

    Parameters
    ----------
    tree
        t.
    kept
        int64: the splits kept, ascending.
    cost
        c_t theta^t, in (OBJ), without charges.
    """

    tree: int
    kept: NDArray[np.int64]
    cost: float

    @property
    def key(self) -> Hashable:
        """Equal for equal prunings only."""
        return self.tree, self.kept.tobytes()


def columns_of(coupling: Coupling, kept: NDArray[np.bool_]) -> list[TreePruning]:
    """One column a tree, from the splits that a pruning of the forest keeps."""
    ends = coupling.problem.ensemble.tree_start
    ids, cost = np.flatnonzero(kept), coupling.tree_costs(kept)
    at = np.searchsorted(ids, ends)
    return [TreePruning(t, ids[at[t] : at[t + 1]], float(cost[t])) for t in range(len(cost))]


class TreePricing:
    """(1) for all trees, by a pass over the trees, as shortest paths in integers, or by another `TreePricer`."""

    def __init__(self, coupling: Coupling, how: How = "tree pass", incumbent: Incumbent | None = None) -> None:
        if not callable(how) and how not in ("tree pass", "shortest paths"):
            raise InvalidInputError(f"pricing is {how!r}; there are 'tree pass' and 'shortest paths'")
        self.coupling, self.how, self.incumbent = coupling, how, incumbent
        self.networks = None
        if how == "shortest paths":
            from formulations.programs.shortest_path import tree_networks

            self.networks = tree_networks(coupling.problem)

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[TreePruning]:
        """(1) at charges, the bound less what rounding may hide."""
        from solvers.column_generation.shortest_paths import price_by_shortest_paths, price_by_tree_pass

        q = self.coupling.within_prices(charge)
        bears = self.coupling.own + self.coupling.by_node(q)
        problem = self.coupling.problem
        if callable(self.how):
            found = self.how(problem, self.coupling.stop, bears)
        elif self.networks is None:
            found = price_by_tree_pass(problem, self.coupling.stop, bears)
        else:
            found = price_by_shortest_paths(problem, self.coupling.stop, bears, self.networks)
        bound = float(found.value.sum() - found.rounding.sum())
        upper = np.inf if self.incumbent is None else self.incumbent.offer(found.kept)
        return PricingAnswer(columns_of(self.coupling, found.kept), q, bound, float(upper))

    def reduced_costs(self, columns: Sequence[TreePruning], answer: MasterAnswer) -> NDArray[np.float64]:
        """c_t theta + q D theta - r_t of each column."""
        bears = self.coupling.by_node(answer.charge)
        return np.array([c.cost + float(bears[c.kept].sum()) - answer.convexity[c.tree] for c in columns])

    def key(self, column: TreePruning) -> Hashable:
        """Equal for equal columns only."""
        return column.key
