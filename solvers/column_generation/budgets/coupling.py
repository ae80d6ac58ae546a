"""LP1's relaxation, as trees, the rows that couple them, and the budget row.

    minimise  sum_t e_t theta^t                                        theta^t in P^t                                       (1)
    coupling     y_u - w_j <= 0                for every row (u, j)                                 dual  -q_{u,j} <= 0     (2)
    budget       sum_j p_j w_j + sum_h own_h y_h <= B                                               dual  -lambda <= 0      (3)

e_t holds the errors of the leaves; p_j and own_h are those of `solvers.column_generation.coupling` at lambda = 1. The *charges*
are q followed by lambda. They are dual feasible if the q of each purchase sum to at most lambda p_j, and then give the bound

    sum_t min { stop and lambda own_u + sum_j q_{u,j} over the prunings of t }  -  lambda B                                (4)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from solvers.closures.duals import worth_of_trees
from solvers.closures.integer_objective import integer_objective
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.loop import MasterAnswer, PricingAnswer
from solvers.column_generation.pricing import PricingMethod, TreePruning, TreeSolver, columns_of


@dataclass(frozen=True, eq=False)
class BudgetCoupling:
    """(1) to (3)."""

    unit: Coupling  # the rows, purchases and prices of single users at lambda = 1
    budget: Fraction  # B

    @classmethod
    def build(cls, problem: PruningProblem, budget: Fraction, *, merge: bool = True) -> BudgetCoupling:
        """Set up (1) to (3). With `merge`, purchases with the same users become one, and those of a single user go into own."""
        return cls(Coupling.build(problem, 1.0, merge=merge), budget)

    @property
    def problem(self) -> PruningProblem:
        """The instance."""
        return self.unit.problem

    @property
    def limit(self) -> float:
        """B as a float."""
        return float(self.budget)

    def at(self, lam: float) -> Coupling:
        """The same rows with all prices times lambda."""
        return replace(self.unit, lam=lam, price=lam * self.unit.price, own=lam * self.unit.own)

    def columns(self, columns: Iterable[TreePruning]) -> list[TreePruning]:
        """The same prunings, with the error alone as their cost."""
        roots, gain = self.problem.ensemble.roots, self.problem.gain
        return [TreePruning(c.tree, c.kept, float(self.unit.stop[roots[c.tree]] - gain[c.kept].sum())) for c in columns]

    def columns_of(self, kept: NDArray[np.bool_]) -> list[TreePruning]:
        """One column for each tree, from the splits that a pruning of the forest keeps."""
        return self.columns(columns_of(self.unit, kept))

    def proven_bound(self, charge: NDArray[np.float64], lam: Fraction) -> float:
        """(4) in exact integers for any charges q and any lambda >= 0, less the largest rounding error of the instance."""
        objective = integer_objective(self.problem, lam).refined()
        best = worth_of_trees(self.problem, objective, self.at(float(lam)).duals(charge, objective))
        roots = self.problem.roots_error
        # objective.lam may be slightly below lambda, but any lambda >= 0 gives a valid bound
        return math.nextafter(float(roots - best * objective.unit - objective.lam * self.budget), -math.inf)


class BudgetPricing:
    """The cheapest pruning of every tree at charges q and lambda."""

    def __init__(self, coupling: BudgetCoupling, incumbent: BudgetIncumbent, method: PricingMethod = "shortest paths") -> None:
        self.coupling, self.incumbent = coupling, incumbent
        self.trees = TreeSolver(coupling.problem, method)

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[TreePruning]:
        """(4) at the given charges, less the largest possible rounding error."""
        lam = max(0.0, float(charge[-1]))
        at = self.coupling.at(lam)
        q = at.within_prices(charge[:-1])
        found = self.trees.cheapest(at.stop, at.own + at.by_node(q))
        bound = float(found.value.sum() - found.rounding.sum()) - lam * self.coupling.limit
        self.incumbent.offer(found.kept)
        return PricingAnswer(self.coupling.columns_of(found.kept), np.append(q, lam), bound)

    def reduced_costs(self, columns: Sequence[TreePruning], answer: MasterAnswer) -> NDArray[np.float64]:
        """e_t theta + (q D + lambda own) theta - r_t of each column."""
        unit = self.coupling.unit
        split_cost = answer.charge[-1] * unit.own + unit.by_node(answer.charge[:-1])
        return np.array([c.cost + float(split_cost[c.kept].sum()) - answer.convexity[c.tree] for c in columns])

    def key(self, column: TreePruning) -> object:
        """A key that two columns share if and only if they are equal."""
        return column.key
