"""Dantzig-Wolfe decomposition of LP1's relaxation: the master has the budget row, whose dual value is -lambda*.

Columns are prunings of single trees. Pricing at the master's q and lambda is the same as for a fixed lambda. The relaxation is
not integral: its optimum is a mixture of two nested prunings, which are level sets of the master's mixture of columns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.answers.budget_solution import Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.solution import History, StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from solvers.closures.tree_pass import free_of_charge
from solvers.column_generation.budgets.coupling import BudgetCoupling, BudgetPricing
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.budgets.master import BudgetMaster
from solvers.column_generation.budgets.start import BudgetStart, secants
from solvers.column_generation.history import Generated, Round
from solvers.column_generation.loop import generate_columns, relative_gap
from solvers.column_generation.pricing import TreePruning


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
        for every tree, the prunings that the master mixes and their weights, which sum to 1. If no master was solved, because the
        start closed the gap or the time was over: the prunings of `mixture`.
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


def dantzig_wolfe_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    time_limit: float = math.inf,
    tolerance: float = 1e-6,
    rounds: float = math.inf,
    start: int = 200,
    smoothing: float = 0.5,
    progress: Callable[[Round], None] | None = None,
) -> BudgetDecomposition:
    """LP1's relaxation by Dantzig-Wolfe decomposition with the budget row in the master.

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
    start
        rounds of price sharing at each lambda that is tried before the first master. They often make a master unnecessary. With 0
        each tree starts with two or three columns.
    smoothing
        alpha in [0, 1). Pricing uses alpha times the charges and lambda of the best bound plus 1 - alpha times the master's.
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
    limit = exact(budget, "budget")
    for name, number in (("time_limit", time_limit), ("tolerance", tolerance), ("rounds", rounds), ("start", start)):
        if not number >= 0:
            raise InvalidInputError(f"{name} is {number!r}; it must be 0 or more")
    if not 0 <= smoothing < 1:
        raise InvalidInputError(f"smoothing is {smoothing!r}; it must be at least 0 and below 1")
    try:
        run = _BudgetDantzigWolfe(problem, limit)
        return run.solve(time_limit, tolerance, rounds, start, smoothing, progress)
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted during Dantzig-Wolfe decomposition; nothing was changed") from stop


class _BudgetDantzigWolfe:
    """One run of the decomposition."""

    def __init__(self, problem: PruningProblem, budget: Fraction) -> None:
        self.started = time.perf_counter()
        self.problem = problem
        self.coupling = BudgetCoupling.build(problem, budget)
        self.incumbent = BudgetIncumbent(Pruning(problem, free_of_charge(problem, "smallest")), budget)
        self.master = BudgetMaster(self.coupling, self.incumbent)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def solve(
        self,
        time_limit: float,
        tolerance: float,
        rounds: float,
        start: int,
        smoothing: float,
        progress: Callable[[Round], None] | None,
    ) -> BudgetDecomposition:
        """Find first columns, generate the others, and prove the bound."""
        first = secants(self.coupling, self.incumbent, rounds=start, gap=tolerance, time_limit=time_limit - self.seconds)
        start_seconds, columns = self.seconds, list(first.columns.values())
        upper, reference = float(self.incumbent.mixture.value), self.coupling.unit.reference
        if relative_gap(upper, first.bound, reference) <= tolerance:  # a master could not improve this
            return self._answer(Generated(StopReason.CONVERGED, first.charge, first.bound, upper, ()), first, start_seconds)
        self.master.add(columns)
        found = generate_columns(
            self.master,
            BudgetPricing(self.coupling, self.incumbent),
            reference=reference,
            gap=tolerance,
            tolerance=self.master.tolerance,
            time_limit=time_limit - start_seconds,
            rounds=rounds,
            smoothing=smoothing,
            best=None if first.charge is None else (first.charge, first.bound),
            known=columns,
            progress=progress,
        )
        return self._answer(found, first, start_seconds)

    def _answer(self, found: Generated, first: BudgetStart, start_seconds: float) -> BudgetDecomposition:
        master, mixture = self.master, self.incumbent.mixture
        bound = self._bound(found)
        stats = {
            "seconds": self.seconds,
            "start_seconds": start_seconds,
            "secants": float(first.secants),
            **found.stats(),
            "columns": float(master.n_columns),
            "rows": float(master.n_rows),
            "iterations": master.iterations,
        }
        lam = float(mixture.lam) if not found.rounds or mixture.weight < 1 else master.lam
        value = min(master.value, float(mixture.value))
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

    def _bound(self, found: Generated) -> float:
        """The better of two proven bounds of the best charges: at their own lambda, and at the mixture's, in the end lambda*."""
        if found.charge is None:
            return self.coupling.proven_bound(np.zeros(self.coupling.unit.n_rows), Fraction(0))
        charge, lam = found.charge[:-1], exact(float(found.charge[-1]), "lam")
        return max(self.coupling.proven_bound(charge, rate) for rate in {lam, self.incumbent.mixture.lam})

    def _mixed(self) -> tuple[tuple[tuple[TreePruning, float], ...], ...]:
        """The columns with a positive weight, tree by tree; the weights sum to 1 up to rounding."""
        trees: list[list[tuple[TreePruning, float]]] = [[] for _ in range(self.problem.ensemble.n_trees)]
        pairs = list(zip(self.master.columns, self.master.alpha.tolist(), strict=False))
        if not pairs:
            mixture = self.incumbent.mixture
            for pruning, share in ((mixture.dearer, mixture.weight), (mixture.cheaper, 1 - mixture.weight)):
                pairs += [(column, float(share)) for column in self.coupling.columns_of(pruning.kept)]
        for column, weight in pairs:
            if weight > 0:
                trees[column.tree].append((column, weight))
        return tuple(map(tuple, trees))
