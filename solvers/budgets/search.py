"""A heuristic inside a hull edge: narrow brackets under other prices from many starts, then ruin and recreate the best pruning.

LP1's relaxation mixes the two ends of an edge, and at the edge's own price ratio perhaps no pruning lies between them. So

    narrow     from a bracket, descend under several draws of other prices; continue with the most promising end (1)
    ruin       remove a part of the best pruning, also by a descent                                                (2)
    recreate   narrow what is open then, up to the edge's more expensive end                                       (3)

The promise of a bracket is the gain of the mixture of its ends that costs the budget, less a deduction for its width, because a
wide bracket keeps less of its promise. Nothing is proven here; the bound is the relaxation's.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import StopReason
from formulations.errors import InterruptedSolveError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from solvers.budgets.by_path import path_of, row_within, solution
from solvers.budgets.descent import Bracket, descend
from solvers.budgets.exact.cost import room
from solvers.budgets.hull import relaxed_optimum
from solvers.budgets.open_part import open_part
from solvers.budgets.other_prices import OtherPrices

WIDTH = 0.1
"""What a bracket as wide as the edge must promise more than an empty one, as a share of the relaxation's gain."""

DRAWS = 2
"""Draws of other prices before the best is gone on with."""

MOST_FAILED_ROUNDS = 8
"""Rounds of draws that leave a bracket undivided before it is given up."""

STARTS = 2
"""Starts from the whole edge before the first ruin, and one in STARTS + 1 ever after."""


LEAST_OPEN = 64
"""The least number of open splits; where the edge has fewer, neighbours on the path are opened too."""


@dataclass(eq=False)
class _BracketSearch:
    """One edge, one budget; gains and costs are counted from the edge's cheaper end.

    Parameters
    ----------
    cheaper
        the best breakpoint within the budget.
    floor, ceiling
        nested around it: what may be taken away, and what may be added, lies between them.
    room
        what the cheaper end leaves of the budget.
    goal
        the relaxation's gain.
    until
        `time.perf_counter()` at which to stop.
    """

    problem: PruningProblem
    cheaper: NDArray[np.bool_]
    floor: NDArray[np.bool_]
    ceiling: NDArray[np.bool_]
    room: int
    goal: float
    seed: int
    until: float

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.prices = OtherPrices(self.problem, self.seed)
        whole = open_part(self.problem, self.ceiling, self.cheaper)
        self.start = Bracket(self.cheaper, 0, self.room, whole)
        self.width = whole.total_cost
        below = open_part(self.problem, self.cheaper, self.floor)
        self.floor_gain, self.floor_room = -below.total_gain, self.room + below.total_cost
        self.best_gain, self.best = 0, self.cheaper
        self.descents = 0

    @property
    def over(self) -> bool:
        """Out of time, or as good as the relaxation."""
        return time.perf_counter() >= self.until or self.best_gain >= self.goal

    def run(self, rounds: int) -> int:
        """Some starts and ruins; how many there were."""
        for k in range(rounds):
            if self.over:
                return k
            self.narrow(self.start if k < STARTS or k % (STARTS + 1) == STARTS else self.ruined())
        return rounds

    def narrow(self, bracket: Bracket) -> None:
        """(1)."""
        failed = 0
        while bracket.part.nodes.size and failed < MOST_FAILED_ROUNDS and not self.over:
            ends = [end for end in self._draws(bracket) if end.part.nodes.size < bracket.part.nodes.size]
            if not ends:
                failed += 1
                continue
            failed, bracket = 0, max(ends, key=self._worth)
            if bracket.promise <= self.best_gain:
                return

    def _draws(self, bracket: Bracket) -> list[Bracket]:
        ends = []
        for _ in range(DRAWS):
            if self.over:
                break
            end = descend(bracket, self.prices.draw(bracket.part))
            self.descents += 1
            if end.gain > self.best_gain:
                self.best_gain, self.best = end.gain, end.kept
            ends.append(end)
        return ends

    def _worth(self, bracket: Bracket) -> float:
        return bracket.promise - WIDTH * self.goal * bracket.part.total_cost / max(1, self.width)

    def ruined(self) -> Bracket:
        """(2): what is left of the best pruning, with everything open again up to the ceiling."""
        mine = open_part(self.problem, self.best, self.floor)
        spared = int(self.random.uniform(0.5, 0.9) * mine.total_cost)
        left = descend(Bracket(self.floor, self.floor_gain, spared, mine), self.prices.draw(mine))
        still_open = open_part(self.problem, self.ceiling, left.kept)
        return Bracket(left.kept, left.gain, self.floor_room - (spared - left.room), still_open)


def best_within(
    problem: PruningProblem,
    budget: Price,
    *,
    time_limit: float = 30.0,
    rounds: int = 60,
    seed: int = 0,
    path: PruningPath | None = None,
) -> BudgetSolution:
    """A good pruning within the budget: the path's best breakpoint, improved inside the hull edge.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        seconds for the search, the path not counted; 0 gives the best breakpoint.
    rounds
        starts and ruins at most.
    seed
        of the prices that are drawn; the same seed gives the same answer if the time limit does not cut it short.
    path
        `pruning_path(problem)`, if it is at hand.

    Returns
    -------
    BudgetSolution
        its error is at most the best breakpoint's, its bound is the relaxation's.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or no number.
    InterruptedSolveError
        on Ctrl-C.
    """
    start = time.perf_counter()
    limit = exact(budget, "budget")
    path = path_of(problem, path)
    relaxation = relaxed_optimum(path, limit)
    row = row_within(path, limit)
    pruning, stopped = path[row], StopReason.CONVERGED
    stats = {"descents": 0.0, "rounds": 0.0}
    if row > 0 and not relaxation.is_integral and time_limit > 0:
        search = _search(path, row, limit, seed, time.perf_counter() + time_limit)
        try:
            stats["rounds"] = float(search.run(rounds))
        except KeyboardInterrupt as stop:
            raise InterruptedSolveError("interrupted while looking inside the hull edge; nothing was changed") from stop
        stats["descents"] = float(search.descents)
        pruning = Pruning(problem, search.best)
        if search.best_gain < search.goal:
            stopped = StopReason.TIME_LIMIT if time.perf_counter() >= search.until else StopReason.ITERATION_LIMIT
    stats["seconds"] = time.perf_counter() - start
    return solution(problem, limit, pruning, relaxation, stats, stopped=stopped)


def _search(path: PruningPath, row: int, budget: Fraction, seed: int, until: float) -> _BracketSearch:
    """The edge above a row, and a little more on both sides where it is short."""
    problem = path.problem
    here = path[row]
    size = path.n_splits
    up = next((k for k in range(row - 1, -1, -1) if size[k] - size[row] >= LEAST_OPEN), 0)
    down = next((k for k in range(row, len(path)) if size[row] - size[k] >= LEAST_OPEN), len(path) - 1)
    left = room(problem, budget) - here.integer_cost
    cost, gain = path.integer_cost, path.integer_gain
    share = min(Fraction(1), Fraction(left, cost[row - 1] - cost[row]))
    goal = math.floor(share * (gain[row - 1] - gain[row]))
    return _BracketSearch(problem, here.kept, path[down].kept, path[up].kept, left, goal, seed, until)
