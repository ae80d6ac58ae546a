"""The figures of an answer to a budget, for terminals and for programs: relaxation, gap, confidence, held-out cost.

Exact fractions are also given as text, such as ``"37/8"``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from prunemodels.command_line.terminal import styled
from prunemodels.evaluation.certified_budget import CertifiedBudget
from prunemodels.evaluation.held_out import HeldOut
from prunemodels.evaluation.overrun import budget_verdict, is_overrun
from solvers.budgets.exact.cost import exact_cost

WIDTH = 100
"""Characters of a line."""


@dataclass(frozen=True)
class Point:
    """Cost and error of a pruning on the samples."""

    cost: float
    error: float


@dataclass(frozen=True)
class RelaxationFigures:
    """The optimum of LP1's relaxation: its value, lambda*, the two prunings that it mixes, and the weight of the dearer one."""

    value: float
    lam: float
    exact_lam: str
    weight: float
    exact_weight: str
    cheaper: Point
    dearer: Point


@dataclass(frozen=True)
class ConfidenceFigures:
    """The rows that certified the budget, and the smaller budget that the pruning keeps on the rows that chose it."""

    confidence: float
    method: str
    smaller_budget: float
    exact_smaller_budget: str
    choosing_rows: int
    certifying_rows: int
    certified_cost: float
    upper_bound: float


@dataclass(frozen=True)
class BudgetFigures:
    """The answer to a budget.

    Parameters
    ----------
    budget, exact_cost
        fractions as text. The exact cost, on the cost sample, is at most the budget.
    method, status, stopped, seconds
        of the search for the pruning.
    bound, gap
        no pruning within the budget errs less than the bound; the gap is that of `BudgetSolution`.
    confidence
        None where the budget holds on the cost sample, not for the population.
    """

    budget: str
    method: str
    status: str
    stopped: str
    seconds: float
    cost: float
    exact_cost: str
    error: float
    bound: float
    gap: float
    relaxation: RelaxationFigures
    confidence: ConfidenceFigures | None

    @classmethod
    def of(cls, solution: BudgetSolution, method: str, pruning: Pruning, certified: CertifiedBudget | None) -> BudgetFigures:
        """The figures of a solution and of the chosen pruning, which is not the solution's where the budget was certified."""
        mixture = solution.relaxation
        relaxation = RelaxationFigures(
            float(mixture.value),
            float(mixture.lam),
            str(mixture.lam),
            float(mixture.weight),
            str(mixture.weight),
            Point(mixture.cheaper.cost, mixture.cheaper.error),
            Point(mixture.dearer.cost, mixture.dearer.error),
        )
        answer = solution if certified is None else replace(solution, pruning=pruning, error=pruning.error)
        return cls(
            budget=str(solution.budget),
            method=method,
            status=str(solution.status),
            stopped=str(solution.stopped),
            seconds=float(solution.stats.get("seconds", 0.0)),
            cost=pruning.cost,
            exact_cost=str(exact_cost(pruning)),
            error=answer.error,
            bound=answer.bound,
            gap=answer.gap,
            relaxation=relaxation,
            confidence=None if certified is None else _confidence(certified),
        )

    def lines(self, shown: Callable[[float], str], budget: float) -> list[str]:
        """The lines for a terminal; `shown` formats an error."""
        proven = f"no pruning of cost {budget:g} has trees that err less than {shown(self.bound)}"
        proven += "; this one reaches it" if self.gap == 0 else f"; this one {shown(self.error)}, gap {shown(self.gap)}"
        if self.confidence is None:
            spent = f"cost {self.cost:.6g} of {budget:g} on the cost sample; {self.method}: {self.status}, {self.seconds:.1f} s"
            return [f"budget         {spent}", f"proven         {proven}"]
        c = self.confidence
        return [
            f"budget         {budget:g} for the population with {100 * c.confidence:g} % confidence; "
            f"mean cost at most {c.upper_bound:.6g},",
            f"               certified by {c.certifying_rows:,} rows of mean cost {c.certified_cost:.6g}; "
            f"the budget on the other {c.choosing_rows:,} was {c.smaller_budget:.6g}",
            f"proven         {proven}",
        ]

    def mixture_lines(self, shown: Callable[[float], str]) -> list[str]:
        """The two forests of ``--mixture``; `shown` formats an error."""
        r = self.relaxation
        mixed = f"one pruning, of cost {r.dearer.cost:.6g}"
        if r.exact_weight != "1":
            mixed = " and ".join(
                f"{share:.4g} of cost {p.cost:.6g} (error {shown(p.error)})"
                for share, p in ((r.weight, r.dearer), (1 - r.weight, r.cheaper))
            )
        return [
            f"mixture        trees' error {shown(r.value)} at lambda* = {r.lam:.6g}:",
            f"               {mixed}",
        ]


@dataclass(frozen=True)
class HeldOutFigures:
    """Cost and error on held-out rows, with the ends of their intervals.

    Parameters
    ----------
    overrun, budget_verdict
        whether the rows cost more than the budget, and what they say about it; None without a budget.
    """

    file: str
    examples: int
    confidence: float
    method: str
    cost: float
    cost_low: float
    cost_high: float
    error: float | None
    error_low: float | None
    error_high: float | None
    overrun: bool | None = None
    budget_verdict: str | None = None

    @classmethod
    def of(cls, held_out: HeldOut, file: str, budget: float | None = None) -> HeldOutFigures:
        """The figures of a pruning on a file."""
        cost, error = held_out.cost, held_out.error
        ends = (None, None, None) if error is None else (error.mean, error.low, error.high)
        kept = (None, None) if budget is None else (is_overrun(budget, cost), budget_verdict(budget, cost).replace("\u00a0", " "))
        return cls(file, cost.n, cost.confidence, cost.method, cost.mean, cost.low, cost.high, *ends, *kept)

    def lines(self, shown: Callable[[float], str]) -> list[str]:
        """The lines for a terminal, with a warning where a budget is overrun; `shown` formats an error."""
        certain = f"{100 * self.confidence:g} % interval"
        lines = [
            f"held out       cost {self.cost:.4g}, {certain} {self.cost_low:.4g} to {self.cost_high:.4g}, "
            f"on {self.examples:,} examples of {self.file}"
        ]
        if self.error is not None and self.error_low is not None and self.error_high is not None:
            ends = f"{certain} {shown(self.error_low)} to {shown(self.error_high)}"
            lines.append(f"               forest's error {shown(self.error)}, {ends}")
        if self.budget_verdict is not None:
            wrapped = textwrap.wrap(self.budget_verdict, WIDTH - 15)
            lines += [f"               {styled(line, 'warning') if self.overrun else line}" for line in wrapped]
        return lines


def _confidence(certified: CertifiedBudget) -> ConfidenceFigures:
    return ConfidenceFigures(
        certified.confidence,
        certified.method,
        float(certified.smaller_budget),
        str(certified.smaller_budget),
        certified.n_choosing,
        certified.n_certifying,
        certified.certified_cost,
        certified.upper_bound,
    )
