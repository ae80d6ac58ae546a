"""LP1's optimum rounded to a pruning: a chain of prunings from the cheaper end of its mixture to the dearer one.

Every pruning of the chain is optimal at lambda*, as both ends are,

    cheaper = K_0  in  K_1  in ... in  K_r = dearer,        error(K_i) + lambda* cost(K_i)  =  value + lambda* B             (1)

where value is that of LP1's relaxation at B. With i the last one that costs at most B, no pruning within B has an error below
value, and K_i has

    error(K_i)  =  value + lambda* (B - cost(K_i))  <  value + lambda* (cost(K_{i+1}) - cost(K_i))                          (2)

A step of the chain adds a *component*: splits of which every pruning between the two ends that is optimal at lambda* keeps all or
none. The theorem is proven in ``docs/budgets.md``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning import Pruning
from formulations.arguments import checked


@dataclass(frozen=True, eq=False)
class BudgetRounding:
    """A chain (1), and the pruning of it that fits the budget.

    Parameters
    ----------
    relaxation
        the optimum of LP1's relaxation: value, lambda*, cheaper and dearer.
    step
        int32, shape (n,): K_i keeps the splits with ``step <= i``; r + 1 for splits that the dearer end prunes, and for leaves.
    cost
        of K_0 to K_r, in the unit of the prices: fractions, exact up to ``problem.integers.cost_rounding``. They never fall.
    row
        i of (2): the last of the chain that costs at most the budget.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> rounding = pm.budgets.round_relaxation(problem, 10)
    >>> rounding.pruning
    Pruning(cost=6, error=0.243, 6 splits)
    >>> print(f"at most {float(rounding.bound):.5f} above the relaxation")
    at most 0.12477 above the relaxation
    """

    relaxation: Mixture
    step: NDArray[np.int32]
    cost: tuple[Fraction, ...]
    row: int

    @property
    def n_components(self) -> int:
        """r: the number of components between the two ends; 0 if the relaxation's optimum is a single pruning."""
        return len(self.cost) - 1

    @property
    def component_costs(self) -> tuple[Fraction, ...]:
        """What each component adds to the cost, in the order of the chain; the same in every chain up to the order."""
        return tuple(after - before for before, after in itertools.pairwise(self.cost))

    @checked
    def kept(self, i: int) -> NDArray[np.bool_]:
        """K_i: bool, shape (n,)."""
        return np.asarray(self.step <= i)

    @property
    def pruning(self) -> Pruning:
        """K_i of (2), the pruning within the budget."""
        return Pruning(self.relaxation.cheaper.problem, self.kept(self.row))

    @property
    def bound(self) -> Fraction:
        """Lambda* (B - cost of `pruning`): its error less LP1's value. The best pruning within B lies between the two."""
        return self.relaxation.lam * (self.relaxation.budget - self.cost[self.row])

    @property
    def largest_bound(self) -> Fraction:
        """Lambda* times the cost of the dearest component: `bound` is smaller at every budget between the two ends."""
        return self.relaxation.lam * max(self.component_costs, default=Fraction(0))

    def __repr__(self) -> str:
        components = f"{self.n_components} component{'s' if self.n_components != 1 else ''}"
        return (
            f"BudgetRounding({components}, {self.row} within the budget, error at most "
            f"{float(self.bound):.6g} above LP1's {float(self.relaxation.value):.6g})"
        )
