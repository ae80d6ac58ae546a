"""LP1's optimum, a mixture of two prunings, rounded to one: a chain of prunings from its cheaper end to the dearer one.

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
from formulations.shown import Card, Shown


@dataclass(frozen=True, eq=False)
class LP1Solution(Shown):
    """The mixture that solves LP1, its dual value, and the pruning that it is rounded to, the last of a chain (1) that fits.

    Parameters
    ----------
    relaxation
        the mixture: value, lambda*, cheaper and dearer.
    step
        int32, shape (n,): K_i keeps the splits with ``step <= i``; r + 1 for splits that the dearer end prunes, and for leaves.
    cost
        of K_0 to K_r, in the unit of the prices: fractions. They never fall.
    row
        i of (2): the last of the chain that costs at most the budget.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> lp1 = pm.budgets.solve_lp1(problem, 10)
    >>> print(f"error {lp1.value:.5f}; another unit of the budget changes it by {lp1.dual:.5f}")
    error 0.11823; another unit of the budget changes it by -0.03119
    >>> lp1.pruning
    Pruning(cost=6, error=0.243, 6 splits)
    >>> print(f"at most {float(lp1.bound):.5f} above LP1")
    at most 0.12477 above LP1
    """

    relaxation: Mixture
    step: NDArray[np.int32]
    cost: tuple[Fraction, ...]
    row: int

    @property
    def value(self) -> float:
        """The error of the mixture: no pruning within the budget has less."""
        return float(self.relaxation.value)

    @property
    def dual(self) -> float:
        """The dual value of the budget's row, d value / d B = -lambda* <= 0."""
        return 0.0 - float(self.relaxation.lam)

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

    def _card(self) -> Card:
        mixture, pruning = self.relaxation, self.pruning
        parts = [(mixture.weight, mixture.dearer), (1 - mixture.weight, mixture.cheaper)]
        rows = [("LP1", f"{self.value:.6g}", f"{float(mixture.budget):.6g}", "")]
        for name, end in [(f"{100 * float(part):.3g} % of", end) for part, end in parts if part] + [("rounded", pruning)]:
            rows.append((name, f"{end.error:.6g}", f"{end.cost:.6g}", f"{end.n_splits:,}"))
        notes = (
            f"Another unit of the budget changes LP1's error by {self.dual:.6g}, the dual value of its row.",
            f"The best pruning within the budget errs at most {float(self.bound):.6g} more than LP1.",
        )
        return Card(f"LP1 at the budget {float(mixture.budget):.6g}", tuple(rows), ("", "error", "cost", "splits"), notes)

    def __repr__(self) -> str:
        rounded = f"cost {self.pruning.cost:.6g}, error at most {float(self.bound):.6g} above LP1"
        return f"LP1Solution({self.relaxation!r}, dual {self.dual:.6g}; rounded: {rounded})"
