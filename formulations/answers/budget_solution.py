"""A solver's answer for a budget: the relaxation's mixture, the best pruning found within the budget, and the gap.

    minimise error      s.t.  cost <= B                                                                              (LP1)

LP1's relaxation is worth what the lower convex hull of all prunings' (cost, error) is worth at B: a mixture of the two
neighbouring breakpoints of the path,

    B      =  weight cost_dearer   + (1 - weight) cost_cheaper                                                        (1)
    value  =  weight error_dearer  + (1 - weight) error_cheaper      <=      error of every pruning within B            (2)

Where B is at least the dearest breakpoint's cost, the row is slack and the dearest is the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from formulations.answers.pruning import NEXT, Pruning, before_and_after
from formulations.answers.solution import Status, StopReason, rounding_in_words, status_of
from formulations.errors import SolverFailedError
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.shown import Card, Shown, rate


@dataclass(frozen=True, eq=False)
class Mixture:
    """The optimum of LP1's relaxation: (1) and (2).

    Parameters
    ----------
    budget
        B.
    lam
        lambda*: what another unit of the budget is worth, minus the dual value of the budget row; 0 where the row is slack.
    cheaper, dearer
        nested prunings; the same one at a breakpoint, and where the budget is slack.
    weight
        of the dearer one, 0 <= weight <= 1; 1 where they are the same.
    value
        error of the mixture, a fraction.
    """

    budget: Fraction
    lam: Fraction
    cheaper: Pruning
    dearer: Pruning
    weight: Fraction
    value: Fraction

    @property
    def is_integral(self) -> bool:
        """Whether it is a single pruning."""
        return self.weight == 1

    def __repr__(self) -> str:
        if self.is_integral:
            return f"Mixture(error {float(self.value):.6g}: {self.dearer!r})"
        mu = float(self.weight)
        return (
            f"Mixture(error {float(self.value):.6g}: "
            f"{mu:.3g} of cost {self.dearer.cost:.6g}, {1 - mu:.3g} of cost {self.cheaper.cost:.6g})"
        )


class Bounded:
    """Gap and status of a pruning, from its error and a proven bound of the least error."""

    problem: PruningProblem
    error: float
    bound: float

    def __post_init__(self) -> None:
        """Refuse a bound that the pruning's error refutes."""
        if status_of(self.bound - self.error, self.error, self.problem.largest_error) is Status.FEASIBLE:
            raise SolverFailedError(
                f"the bound {self.bound!r} is above the error {self.error!r} of a pruning within the budget: a defect of the "
                "engine or of a solver that it calls; please report the instance, and take another method"
            )

    @property
    def gap(self) -> float:
        """How much less error there could be at most: error - bound; 0 where the bound is above the error by rounding."""
        return max(0.0, self.error - self.bound)

    @property
    def status(self) -> Status:
        """OPTIMAL where the gap is at most what rounding can hide, see `status_of`."""
        return status_of(self.gap, self.error, self.problem.largest_error)


@dataclass(frozen=True, eq=False)
class BudgetSolution(Bounded, Shown):
    """The answer of a budget engine.

    Parameters
    ----------
    budget
        B, exactly.
    pruning
        the best found whose cost, in exact numbers, is at most B.
    error
        of `pruning`, computed from the problem.
    bound
        proven: no pruning within B has a smaller error. At least the relaxation's value, up to rounding.
    relaxation
        the optimum of LP1's relaxation.
    stopped
        why the search ended.
    stats
        seconds and counts: for reports only.
    method
        how it was found, as in `solvers.budgets.BUDGET_SOLVERS`; "" if the engine does not say.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.solve(problem, budget=10)
    >>> solution
    BudgetSolution(optimal, cost 10 of 10, error 0.137, bound 0.137)
    >>> print(solution.status, round(solution.bound, 4))
    optimal 0.137
    """

    problem: PruningProblem
    budget: Fraction
    pruning: Pruning
    error: float
    bound: float
    relaxation: Mixture
    stopped: StopReason = StopReason.CONVERGED
    stats: Mapping[str, float] = field(default_factory=dict)
    method: str = ""

    @property
    def cost(self) -> float:
        """Cost of `pruning`."""
        return self.pruning.cost

    def in_words(self) -> str:
        """How the cost compares with the budget, and what is proven of the error."""
        measure, budget = self.problem.ensemble.measure, float(self.budget)
        spent = f"Budget {budget:.6g}: met, {self.cost:.4g} spent on average"
        spent += f" ({100 * self.cost / budget:.1f} %)." if budget > 0 else "."
        if self.status is Status.OPTIMAL:
            hidden = rounding_in_words(self.gap, self.error)
            return f"{spent} Proven{hidden}: no pruning within it has less error of single trees."
        return (
            f"{spent} The least error of single trees within it is proven to lie between {rate(self.bound, measure, 2)} and "
            f"{rate(self.error, measure, 2)}."
        )

    def _card(self) -> Card:
        title = f"BudgetSolution: {self.status}" + (f" by {self.method}" if self.method else "")
        return Card(title, before_and_after(self.pruning), ("", "unpruned", "pruned"), (self.in_words(), NEXT))

    def __repr__(self) -> str:
        return (
            f"BudgetSolution({self.status}, cost {self.cost:.6g} of {float(self.budget):.6g}, "
            f"error {self.error:.9g}, bound {self.bound:.9g})"
        )


class BudgetSolver(Protocol):
    """The one signature of all engines that minimise the error within a budget."""

    def __call__(self, problem: PruningProblem, budget: Price, *, time_limit: float = math.inf) -> BudgetSolution:
        """Minimise the error over prunings with cost <= budget, >= 0 in the unit of the prices; time_limit in seconds."""
        ...
