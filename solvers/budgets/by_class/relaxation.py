"""The relaxation of LP1 with several budgets, by column generation; a column is a pruning of the whole forest.

    minimise  sum_k alpha_k error_k                                                                                         (1)
    budget       sum_k alpha_k cost_{c,k} <= B_c         for every group c               dual -lambda_c <= 0                (2)
    convexity    sum_k alpha_k = 1                                                       dual  r                            (3)

IP3's polytope has integral vertices, so each of its points is a mixture of prunings. Pricing is one minimum cut at the master's
lambda, and its value is a bound. An optimum mixes at most one pruning more than there are tight budgets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.instance.problem import PruningProblem
from formulations.programs.budget_matrix import budget_rows_matrix
from solvers.budgets.by_class.cut import ClassCut
from solvers.closures.level_sets import splits_kept
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.column_generation.loop import MasterAnswer, PricingAnswer, generate_columns
from solvers.column_generation.simplex import GrowingProgram
from solvers.programs.engines.highs import highs
from solvers.programs.engines.scaling import exponent_of

MOST_ROUNDS = 500
"""Most rounds, with one cut each. With a few groups ten to fifty are enough."""


@dataclass(frozen=True, eq=False)
class ClassRelaxation:
    """The relaxation's optimum.

    Parameters
    ----------
    value
        the value of the mixture, up to rounding errors.
    bound
        a proven lower bound.
    lam
        float64, shape (C,): by how much the error falls for another unit of each budget.
    mixture
        prunings with their weights, which sum to 1.
    met
        every pruning that was found on the way.
    rounds
        the number of cuts, or of iterations of the simplex.
    """

    value: float
    bound: float
    lam: NDArray[np.float64]
    mixture: tuple[tuple[Pruning, float], ...]
    met: tuple[Pruning, ...]
    rounds: int
    stopped: StopReason


@dataclass(frozen=True, eq=False)
class _Column:
    pruning: Pruning
    error: float
    costs: NDArray[np.float64]


class _Master:
    """(1) to (3)."""

    def __init__(self, cut: ClassCut) -> None:
        self.columns: list[_Column] = []
        groups = len(cut.limits)
        self._scale = np.maximum(cut.purchases.sum(axis=1) + cut.splits.sum(axis=1), 1e-300)
        upper = np.append(cut.limits / self._scale, 1.0)
        lower = np.append(np.full(groups, -np.inf), 1.0)
        exponent = exponent_of(np.array([float(cut.roots), float(np.abs(cut.gain).sum())]))
        self._program = GrowingProgram(lower, upper, exponent, presolve=False)
        self.tolerance = float(np.ldexp(1e-7, -exponent))
        self.alpha, self.lam, self.value = np.zeros(0), np.zeros(groups), math.inf

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def add(self, columns: Sequence[_Column]) -> None:
        if columns:
            entries = np.array([np.append(c.costs / self._scale, 1.0) for c in columns]).T
            self._program.add(np.array([c.error for c in columns]), sparse.csc_array(entries))
            self.columns += columns

    def solve(self, time_limit: float) -> MasterAnswer | None:
        if not self._program.solve(time_limit):
            return None
        dual = self._program.row_dual
        self.alpha, self.value = self._program.x, self._program.value
        self.lam = np.maximum(-dual[:-1], 0.0) / self._scale
        return MasterAnswer(self.value, self.value, self.lam, dual[-1:])

    def refine(self) -> bool:
        return False


class _Pricing:
    """One minimum cut."""

    def __init__(self, cut: ClassCut) -> None:
        self.cut = cut

    def column(self, pruning: Pruning) -> _Column:
        return _Column(pruning, self.cut.error(pruning), self.cut.costs(pruning.kept))

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[_Column]:
        found = self.cut.cut(charge)
        return PricingAnswer([self.column(found.pruning)], charge, found.bound)

    def reduced_costs(self, columns: Sequence[_Column], answer: MasterAnswer) -> NDArray[np.float64]:
        return np.array([c.error + float(c.costs @ answer.charge) - float(answer.convexity[0]) for c in columns])

    def key(self, column: _Column) -> Hashable:
        return column.pruning.kept.tobytes()


def relaxation_by_cuts(cut: ClassCut, *, gap: float = 1e-9, time_limit: float = math.inf) -> ClassRelaxation:
    """Solve (1) to (3) up to a relative gap. The first columns are the best pruning free of charge and the one at price 0."""
    problem, pricing, master = cut.rows.problem, _Pricing(cut), _Master(cut)
    ends = [Pruning(problem, free_of_charge(problem, "smallest")), Pruning(problem, without_prices(problem, "smallest"))]
    first = list({pricing.key(c): c for c in map(pricing.column, ends)}.values())
    master.add(first)
    found = generate_columns(
        master,
        pricing,
        reference=float(cut.roots),
        gap=gap,
        tolerance=master.tolerance,
        time_limit=time_limit,
        rounds=MOST_ROUNDS,
        smoothing=0.3,
        best=(np.zeros(cut.limits.size), cut.error(ends[1]) - problem.integers.error_rounding),
        known=first,
    )
    mixture = tuple((c.pruning, float(a)) for c, a in zip(master.columns, master.alpha, strict=False) if a > 0)
    met = tuple(c.pruning for c in master.columns)
    return ClassRelaxation(found.upper, found.bound, master.lam, mixture, met, len(found.rounds), found.stopped)


def relaxation_by_program(cut: ClassCut, *, time_limit: float = math.inf) -> ClassRelaxation:
    """Solve the closure's linear program with the budget rows by HiGHS. One cut at its dual values gives the bound."""
    problem, program = cut.rows.problem, budget_rows_matrix(cut.rows, relax=True)
    answer = highs(program, time_limit=time_limit)
    if answer.x is None or answer.row_dual is None or answer.stopped is not StopReason.CONVERGED:
        bound = cut.error(Pruning(problem, without_prices(problem, "smallest"))) - problem.integers.error_rounding
        return ClassRelaxation(math.inf, bound, np.zeros(cut.limits.size), (), (), int(answer.iterations), answer.stopped)
    lam = np.maximum(-answer.row_dual[program.rows.of("budget")], 0.0)
    found = cut.cut(lam)
    mixture = level_sets(problem, splits_kept(problem, program, answer.x))
    met = (*(pruning for pruning, _ in mixture), found.pruning)
    return ClassRelaxation(answer.objective, found.bound, lam, mixture, met, int(answer.iterations), answer.stopped)


def level_sets(problem: PruningProblem, y: NDArray[np.float64]) -> tuple[tuple[Pruning, float], ...]:
    """A point of the relaxation as a mixture of its nested level sets {y >= theta}, the smallest first.

    Values of y that differ by no more than the tolerance of the simplex count as equal.
    """
    parent, depth = problem.ensemble.parent, problem.ensemble.depth
    falling = np.clip(np.where(problem.ensemble.is_split, y, 0.0), 0.0, 1.0)
    for d in range(1, int(depth.max(initial=0)) + 1):
        level = np.flatnonzero(depth == d)
        falling[level] = np.minimum(falling[level], falling[parent[level]])
    falling = np.round(falling, 7)
    theta = np.unique(np.append(falling, [0.0, 1.0]))[::-1]
    return tuple((Pruning(problem, falling >= high), float(high - low)) for high, low in itertools.pairwise(theta))
