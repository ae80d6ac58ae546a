"""Dantzig-Wolfe decomposition of LP1's relaxation.

Columns are prunings of single trees. Pricing at the master's q and lambda is the same as for a fixed lambda. The relaxation is
not integral: its optimum is a mixture of two nested prunings, which are level sets of the master's mixture of columns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.solution import History, StopReason
from formulations.arguments import NotNegative, Seconds, checked
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from formulations.long_steps import interruption_as_error
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.column_generation.budgets.bundle import BudgetBundleMaster
from solvers.column_generation.budgets.coupling import BudgetCoupling, BudgetPricing
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.history import Generated, Round
from solvers.column_generation.loop import generate_columns, relative_gap
from solvers.column_generation.pricing import PricingMethod, TreePruning
from solvers.column_generation.scheme import AnyScheme, Scheme, scheme_of

PROVEN = 1e-6
"""Up to this relative gap, or the requested one if that is larger, a run that ends has converged."""


@dataclass(frozen=True, eq=False)
class BudgetDecomposition:
    """LP1's relaxation, solved by column generation.

    Parameters
    ----------
    value
        of the best known point: the restricted master's, or `mixture`'s if that is lower.
    bound
        a lower bound of the relaxation, proven in integers. It exceeds `value` at most by the master's floating-point errors.
    lam
        by how much the error falls for another unit of the budget: the negative dual value of the budget row; 0 if it is slack.
    columns
        for every tree, prunings whose mixture is the optimal point, and their weights, which sum to 1: those of the linear
        program, or else the prunings of `mixture`.
    mixture
        the best mixture of two nested prunings of the forest; the relaxation's optimum once bound and value meet.
    pruning
        the best pruning within the budget that was found on the way.
    history
        by name, one number for each round: the fields of `solvers.column_generation.history.Round`.
    stats
        seconds and counts: for reports only.
    """

    problem: PruningProblem
    budget: Fraction
    value: float
    bound: float
    lam: float
    columns: tuple[tuple[tuple[TreePruning, float], ...], ...]
    mixture: Mixture
    pruning: Pruning
    history: History
    stopped: StopReason
    stats: Mapping[str, float]

    @property
    def gap(self) -> float:
        """Value - bound, >= 0."""
        return max(0.0, self.value - self.bound)

    def __repr__(self) -> str:
        return (
            f"BudgetDecomposition(value {self.value:.9g}, bound {self.bound:.9g}, lambda {self.lam:.6g}, "
            f"{len(self.history['gap'])} rounds, {self.stopped})"
        )


@checked
def dantzig_wolfe_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    time_limit: Seconds = math.inf,
    tolerance: NotNegative = 1e-6,
    rounds: NotNegative = math.inf,
    pricing: PricingMethod = "shortest paths",
    scheme: AnyScheme = "bundle",
    progress: Callable[[Round], None] | None = None,
) -> BudgetDecomposition:
    """LP1's relaxation by Dantzig-Wolfe decomposition.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        seconds, including the start. When they are over, the call returns the best point and the best bound so far.
    tolerance
        stop when (value - bound) / (error of the all-roots forest - bound) is at most that.
    rounds
        largest number of solves of the master.
    pricing, scheme
        as in `dantzig_wolfe`. A bundle changes lambda from round to round, a linear program has a budget row. Prunings of the
        forest are valued in every round, whatever the scheme says.
    progress
        called after every round.

    Raises
    ------
    InvalidInputError
        for numbers out of range.
    SolverFailedError
        if HiGHS fails, or if pricing returns a column that the master already has.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    limit = limit_of_mean_cost(problem, budget)
    with interruption_as_error("during Dantzig-Wolfe decomposition"):
        run = _BudgetDantzigWolfe(problem, limit, scheme_of(scheme), pricing)
        return run.solve(time_limit, tolerance, rounds, progress)


class _BudgetDantzigWolfe:
    """One run of the decomposition."""

    def __init__(self, problem: PruningProblem, budget: Fraction, scheme: Scheme, pricing: PricingMethod) -> None:
        self.started = time.perf_counter()
        self.problem, self.scheme = problem, scheme
        self.coupling = BudgetCoupling.build(problem, budget, merge=scheme.merge)
        self.cheap, self.dear = (Pruning(problem, kept(problem, "smallest")) for kept in (free_of_charge, without_prices))
        self.incumbent = BudgetIncumbent(self.cheap, budget)
        self.incumbent.offer_levels(self.dear.kept.astype(np.float64), 0.0)
        self.pricing = BudgetPricing(self.coupling, self.incumbent, pricing)
        self.master: BudgetBundleMaster | FullMaster | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def solve(
        self, time_limit: float, tolerance: float, rounds: float, progress: Callable[[Round], None] | None
    ) -> BudgetDecomposition:
        """Find first columns, generate the others, and prove the bound."""
        coupling, charge, bound = self.coupling, np.zeros(self.coupling.unit.n_rows + 1), self.dear.error
        upper, reference = float(self.incumbent.mixture.value), coupling.unit.reference
        if relative_gap(upper, bound, reference) <= tolerance:  # the budget does not bind, or no budget helps
            return self._answer(Generated(StopReason.CONVERGED, charge, bound, upper, ()))
        bundle = None
        if self.scheme.master == "bundle":
            self.master = bundle = BudgetBundleMaster(coupling, self.incumbent, self.cheap, self.dear)
        else:
            self.master = self._linear_program()
        ends = (np.zeros_like(self.cheap.kept), self.cheap.kept, self.dear.kept)
        columns = list({c.key: c for kept in ends for c in coupling.columns_of(kept)}.values())
        self.master.add(columns)
        found = generate_columns(
            self.master,
            self.pricing,
            reference=reference,
            gap=tolerance,
            tolerance=self.master.tolerance,
            time_limit=time_limit - self.seconds,
            rounds=rounds,
            smoothing=self.scheme.smoothing,
            best=(charge, bound),
            known=columns,
            judge=bundle.judge if bundle else None,
            exact_master=self._textbook_master if bundle else None,
            progress=progress,
        )
        answer = self._answer(found)
        proven = relative_gap(answer.value, answer.bound, reference)
        if found.stopped is StopReason.CONVERGED and min(found.gap, proven) > max(tolerance, PROVEN):
            return replace(answer, stopped=StopReason.STALLED)
        return answer

    def _linear_program(self) -> FullMaster:
        """The exact master, without columns."""
        return FullMaster(self.coupling.unit, self.incumbent.offer_levels, self.coupling.limit)

    def _textbook_master(self) -> FullMaster:
        """The linear program with the bundle's columns."""
        assert isinstance(self.master, BudgetBundleMaster), "it follows a bundle"
        columns, self.master = self.master.bundle.columns, self._linear_program()
        self.master.add(columns)
        return self.master

    def _answer(self, found: Generated[TreePruning]) -> BudgetDecomposition:
        mixture, master = self.incumbent.mixture, self.master
        bound = self._bound(found)
        stats = {"seconds": self.seconds, **found.stats()}
        value = float(mixture.value)
        # a single pruning that costs B is optimal for many lambdas: that of the best bound is one of them
        lam = float(mixture.lam if mixture.weight < 1 or found.charge is None else found.charge[-1])
        if master is not None:
            stats |= {"columns": float(master.n_columns), "rows": float(master.n_rows), "iterations": master.iterations}
            value = min(master.value, value)
        return BudgetDecomposition(
            self.problem,
            self.coupling.budget,
            value,
            bound,
            lam,
            self._mixed(),
            mixture,
            self.incumbent.pruning,
            found.history(),
            found.stopped,
            stats,
        )

    def _bound(self, found: Generated[TreePruning]) -> float:
        """The better of two proven bounds of the best charges: at their own lambda, and at the mixture's, in the end lambda*."""
        if found.charge is None:
            return self.coupling.proven_bound(np.zeros(self.coupling.unit.n_rows), Fraction(0))
        charge, lam = found.charge[:-1], exact(float(found.charge[-1]), "lam")
        return max(self.coupling.proven_bound(charge, rate) for rate in {lam, self.incumbent.mixture.lam})

    def _mixed(self) -> tuple[tuple[tuple[TreePruning, float], ...], ...]:
        """The columns with a positive weight, tree by tree; the weights sum to 1 up to rounding."""
        mixture, master = self.incumbent.mixture, self.master
        pairs: list[tuple[TreePruning, float]] = []
        if isinstance(master, FullMaster):
            pairs = list(zip(master.columns, master.alpha.tolist(), strict=False))
        if not pairs:
            for pruning, share in ((mixture.dearer, mixture.weight), (mixture.cheaper, 1 - mixture.weight)):
                pairs += [(column, float(share)) for column in self.coupling.columns_of(pruning.kept)]
        trees: list[list[tuple[TreePruning, float]]] = [[] for _ in range(self.problem.ensemble.n_trees)]
        for column, weight in pairs:
            if weight > 0:
                trees[column.tree].append((column, weight))
        return tuple(map(tuple, trees))
