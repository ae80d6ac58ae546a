"""The answer within a budget, or within any number of limits: the best pruning found, and how much better it could be.

    minimise error      s.t.  use_r <= B_r  for every row r of the limits        (`formulations.programs.limit_rows`)        (LP1)

A budget is one limit, of the mean cost. For multipliers mu >= 0 no pruning within the limits errs less than

    D(mu)  =  min over all prunings of  error + sum_r mu_r (use_r - B_r)                                                     (1)

and the largest D(mu) is what LP1's relaxation is worth: a mixture of at most one more pruning than there are tight limits. Within
a budget these are the two breakpoints of the path around it, and mu is lambda*. Between them lies a chain of prunings that are
optimal at lambda*, too,

    cheaper = K_0  in  K_1  in ... in  K_r = dearer,        error(K_i) + lambda* cost(K_i)  =  value + lambda* B             (2)

With i the last one that costs at most B,

    error(K_i)  =  value + lambda* (B - cost(K_i))  <  value + lambda* (cost(K_{i+1}) - cost(K_i))                          (3)

A step of the chain adds a *component*: splits of which every pruning between the two ends that is optimal at lambda* keeps all or
none. The theorem is proven in ``docs/budgets.md``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning, before_and_after
from formulations.answers.search_proof import SearchProof
from formulations.answers.solution import Status, StopReason, open_share, rounding_in_words
from formulations.arguments import checked
from formulations.errors import SolverFailedError
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit
from formulations.instance.numbers import is_rounding
from formulations.instance.problem import PruningProblem
from formulations.shown import Brief, Card, Shown, rate


@dataclass(frozen=True, eq=False, repr=False)
class Chain(Brief):
    """Optimal prunings from the cheaper end of a mixture to the dearer one, (2), and the last of them within the budget.

    Parameters
    ----------
    step
        int32, shape (n,): K_i keeps the splits with ``step <= i``; r + 1 for splits that the dearer end prunes, and for leaves.
    cost
        of K_0 to K_r, in the unit of the prices: fractions. They never fall.
    row
        i of (3): the last of the chain that costs at most the budget.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> chain = pm.budgets.solve_lp1(problem, 10, path=path).chain
    >>> print([round(float(cost), 2) for cost in chain.cost], chain.row)  # one component, which costs too much
    [6.0, 11.03] 0
    """

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


@dataclass(frozen=True, eq=False)
class LP1Relaxation(Shown):
    """The optimum of LP1's relaxation: its value, multipliers and mixture; of a budget with the chain between its two prunings.

    Parameters
    ----------
    value
        the error of the mixture: no pruning within the limits has less. Of a budget a fraction; inf where the search for the
        mixture ended early.
    multipliers
        by limit: by how much the error falls for another unit of it, minus the dual value of its row; 0 where it is slack.
    mixture
        prunings with their weights > 0, which sum to 1; of a budget the dearer one comes first.
    budget
        B, where there is one limit and that a budget.
    chain
        of `prunemodels.budgets.solve_lp1`: the prunings between the two ends of a budget's mixture.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> lp1 = pm.budgets.solve_lp1(problem, 10)
    >>> print(f"error {float(lp1.value):.5f}; another unit of the budget changes it by {lp1.dual:.5f}")
    error 0.11823; another unit of the budget changes it by -0.03119
    >>> lp1.pruning
    Pruning(cost=6, error=0.243, 6 splits)
    >>> print(f"at most {float(lp1.bound):.5f} above LP1")
    at most 0.12477 above LP1
    """

    value: Fraction | float
    multipliers: tuple[Fraction | float, ...]
    mixture: tuple[tuple[Pruning, Fraction | float], ...]
    budget: Fraction | None = None
    chain: Chain | None = None

    @classmethod
    @checked
    def of_budget(cls, budget: Fraction, lam: Fraction, cheaper: Pruning, dearer: Pruning, weight: Fraction) -> LP1Relaxation:
        """The mixture of two prunings, the dearer one with the weight."""
        value = weight * dearer.exact_error + (1 - weight) * cheaper.exact_error
        parts = ((dearer, weight), (cheaper, 1 - weight))
        return cls(value, (lam,), tuple((pruning, part) for pruning, part in parts if part > 0), budget)

    @property
    def lam(self) -> Fraction | float:
        """lambda*: the multiplier of the first limit."""
        return self.multipliers[0]

    @property
    def dual(self) -> float:
        """The dual value of the first limit's row, d value / d B = -lambda* <= 0."""
        return 0.0 - float(self.lam)

    @property
    def is_integral(self) -> bool:
        """Whether it is a single pruning."""
        return len(self.mixture) == 1

    @property
    def dearer(self) -> Pruning:
        """The first pruning of the mixture."""
        return self.mixture[0][0]

    @property
    def cheaper(self) -> Pruning:
        """The last pruning of the mixture."""
        return self.mixture[-1][0]

    @property
    def weight(self) -> Fraction | float:
        """Of the first pruning of the mixture."""
        return self.mixture[0][1]

    @property
    def pruning(self) -> Pruning:
        """K_i of (3), the pruning of the chain within the budget; without a chain the cheaper end."""
        if self.chain is None:
            return self.cheaper
        return Pruning(self.cheaper.problem, self.chain.kept(self.chain.row))

    @property
    def bound(self) -> Fraction:
        """lambda* (B - cost of `pruning`): its error less LP1's value. The best pruning within B lies between the two."""
        spent = self.cheaper.exact_cost if self.chain is None else self.chain.cost[self.chain.row]
        return Fraction(self.lam) * ((self.budget or Fraction(0)) - spent)

    @property
    def largest_bound(self) -> Fraction:
        """lambda* times the cost of the dearest component: `bound` is smaller at every budget between the two ends."""
        costs = () if self.chain is None else self.chain.component_costs
        return Fraction(self.lam) * max(costs, default=Fraction(0))

    def _card(self) -> Card:
        rows = [("LP1", f"{float(self.value):.6g}", "" if self.budget is None else f"{float(self.budget):.6g}", "")]
        ends = [(f"{100 * float(part):.3g} % of", end) for end, part in self.mixture]
        for name, end in ends + ([("rounded", self.pruning)] if self.chain is not None else []):
            rows.append((name, f"{end.error:.6g}", f"{end.cost:.6g}", f"{end.n_splits:,}"))
        notes: tuple[str, ...] = ()
        if self.budget is not None:
            notes = (f"Another unit of the budget changes LP1's error by {self.dual:.6g}, the dual value of its row.",)
        if self.chain is not None:
            notes += (f"The best pruning within the budget errs at most {float(self.bound):.6g} more than LP1.",)
        return Card("LP1, relaxed", tuple(rows), ("", "error", "cost", "splits"), notes)

    def __repr__(self) -> str:
        if self.is_integral:
            mixed = repr(self.dearer)
        else:
            mixed = ", ".join(f"{float(weight):.3g} of cost {pruning.cost:.6g}" for pruning, weight in self.mixture)
        found = f"LP1Relaxation(error {float(self.value):.6g}: {mixed}"
        if self.chain is not None:
            found += f"; dual {self.dual:.6g}; rounded: cost {self.pruning.cost:.6g}, at most {float(self.bound):.6g} above LP1"
        return found + ")"


@dataclass(frozen=True, eq=False)
class LimitedSolution(Shown):
    """The best pruning found within a budget or within all limits, with a proven bound.

    Parameters
    ----------
    limits
        as they were given; of a budget the one limit of the mean cost.
    at_most
        B by limit, exactly.
    uses
        what `pruning` uses by limit, exactly, at most B; where a limit is about every example, the most that one of them uses.
    pruning
        the best pruning.
    error
        of `pruning`, computed from the problem.
    bound
        proven: no pruning within the limits has a smaller error. At least the relaxation's value, up to rounding; minus infinity
        of an engine that proves nothing.
    relaxation
        the optimum of LP1's relaxation.
    proof
        the tree of the search, which proves `bound`: `prunemodels.checks.check_solution` checks it. None where it would have more
        than 20,000 leaves, take more than 1 GiB or the rest of a time limit, and of engines that have none: then the bound is the
        engine's word.
    stopped
        why the search ended.
    stats
        seconds and counts: for reports only.
    method
        how it was found, as in `solvers.within.BUDGET_SOLVERS`; "" if the engine does not say.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem, y_valid
    >>> solution = pm.solve(problem, budget=10)
    >>> solution
    LimitedSolution(optimal, cost 10 of 10, error 0.137, bound 0.137)
    >>> print(solution.status, round(solution.bound, 4))
    optimal 0.137
    >>> malignant = (y_valid == 0).to_numpy()
    >>> groups = [pm.Limit(7, rows=malignant, name="malignant"), pm.Limit(4, rows=~malignant, name="benign")]
    >>> solution = pm.solve(problem, limits=groups)
    >>> [round(float(use), 2) for use in solution.uses]
    [4.16, 1.4]
    """

    problem: PruningProblem
    limits: tuple[Limit, ...]
    at_most: tuple[Fraction, ...]
    uses: tuple[Fraction, ...]
    pruning: Pruning
    error: float
    bound: float
    relaxation: LP1Relaxation
    proof: SearchProof | None = None
    stopped: StopReason = StopReason.CONVERGED
    stats: Mapping[str, float] = field(default_factory=dict)
    method: str = ""

    def __post_init__(self) -> None:
        """Refuse a bound that the pruning's error refutes."""
        if not is_rounding(self.bound - self.error, self.error, self.problem.largest_error):
            raise SolverFailedError(
                f"the bound {self.bound!r} is above the error {self.error!r} of a pruning within the limits: a defect of the "
                "engine or of a solver that it calls; please report the instance, and take another method"
            )

    @property
    def gap(self) -> float:
        """How much less error there could be at most: error - bound; 0 where the bound is above the error by rounding."""
        return max(0.0, self.error - self.bound)

    @property
    def relative_gap(self) -> float:
        """Gap / (error of the all-roots forest - bound), as `Solution.relative_gap`; inf of an engine that proves nothing."""
        return open_share(self.problem, self.gap, self.bound)

    @property
    def status(self) -> Status:
        """OPTIMAL where the gap is at most what rounding can hide, see `is_rounding`."""
        return Status.OPTIMAL if is_rounding(self.gap, self.error, self.problem.largest_error) else Status.FEASIBLE

    @property
    def cost(self) -> float:
        """Cost of `pruning`."""
        return self.pruning.cost

    @property
    def is_budget(self) -> bool:
        """Whether there is one limit, and that of the mean cost."""
        return len(self.limits) == 1 and self.limits[0].is_plain

    @property
    def budget(self) -> Fraction | None:
        """B of the limit of the mean cost; None where there is none."""
        return next((most for limit, most in zip(self.limits, self.at_most, strict=True) if limit.is_plain), None)

    def kept_to(self) -> list[tuple[str, Fraction, Fraction]]:
        """By limit its title, what `pruning` uses, and B."""
        return [(limit.title, use, b) for limit, use, b in zip(self.limits, self.uses, self.at_most, strict=True)]

    def in_words(self) -> str:
        """What is used of each limit, and what is known of the error."""
        if self.is_budget:
            budget = float(self.at_most[0])
            spent = f"Budget {budget:.6g}: met, {self.cost:.4g} spent on average"
            spent += f" ({100 * self.cost / budget:.1f} %)." if budget > 0 else "."
            return f"{spent} {self.known()}"
        uses = ", ".join(f"{title} {float(use):.4g} of {float(most):.6g}" for title, use, most in self.kept_to())
        return f"Limits met: {uses}. {self.known()}"

    def known(self) -> str:
        """What is proven of the error; what the search alone says where it left no proof."""
        within = "it" if self.is_budget else "the limits"
        if self.status is Status.OPTIMAL:
            how = f"Proven{rounding_in_words(self.gap, self.error)}" if self.proof else "Bound by search, without a certificate"
            return f"{how}: no pruning within {within} has less error of single trees."
        measure = self.problem.ensemble.measure
        if self.bound == -math.inf:
            least = f"The least error of single trees within {within} is at most {rate(self.error, measure, 2)}"
            return f"{least}; the engine proves nothing."
        how = "is proven to lie" if self.proof else "lies, by the bound of a search without a certificate,"
        return (
            f"The least error of single trees within {within} {how} between {rate(self.bound, measure, 2)} and "
            f"{rate(self.error, measure, 2)}."
        )

    def _card(self) -> Card:
        title = f"LimitedSolution: {self.status}" + (f" by {self.method}" if self.method else "")
        header = ("", "unpruned", "pruned")
        if self.is_budget:
            return Card(title, before_and_after(self.pruning), header, (self.in_words(),))
        rows = tuple((name, f"at most {float(most):.4g}", f"{float(use):.4g}") for name, use, most in self.kept_to())
        return Card(title, (*before_and_after(self.pruning), *rows), header, (self.known(),))

    def __repr__(self) -> str:
        uses = ", ".join(f"{title} {float(use):.6g} of {float(most):.6g}" for title, use, most in self.kept_to())
        bound = "unproven" if self.bound == -math.inf else f"bound {self.bound:.9g}"
        return f"LimitedSolution({self.status}, {uses}, error {self.error:.9g}, {bound})"


class LimitedSolver(Protocol):
    """The one signature of all engines that minimise the error within a budget."""

    def __call__(self, problem: PruningProblem, budget: Price, *, time_limit: float = math.inf) -> LimitedSolution:
        """Minimise the error over prunings with cost <= budget, >= 0 in the unit of the prices; time_limit in seconds."""
        ...
