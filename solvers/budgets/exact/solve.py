"""The least error within a budget, with a proof: branch and bound over the splits that reduced costs leave undecided.

    maximise the gain  s.t.  cost <= B                                                                      (LP1, 0-1)

This is a knapsack problem with precedences. The path gives the hull edge at B with its lambda*, the best breakpoint and the
relaxation's bound. Fixing (`edge`) and branching (`search`) follow; each bound is a minimum cut in integers.

Of real numbers a window has integers of its own: gains rounded up, prices rounded down. So the search covers every pruning that
costs at most B, and it accepts a pruning only if its exact cost fits.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from formulations.answers.budget_solution import BudgetSolution, Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status, StopReason
from formulations.arguments import NotNegative, Seconds, checked
from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from solvers.budgets.by_path import error_of, gain_of, gap_of, path_of, relaxed_optimum, row_within, solution
from solvers.budgets.effort import Effort
from solvers.budgets.exact.core import KnapsackCore, Window, window_between, windows
from solvers.budgets.exact.search import GapProgress, Search
from solvers.budgets.listing import best_allowed, is_tiny


@checked
def exact_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    time_limit: Seconds = math.inf,
    work: NotNegative = math.inf,
    path: PruningPath | None = None,
    incumbent: Pruning | None = None,
    progress: bool = False,
) -> BudgetSolution:
    """The pruning of least error that costs at most the budget, with a proven bound.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        seconds. When they are over, the call returns the best pruning and the bound so far. The limit is checked after every cut,
        which takes seconds on a large forest.
    work
        the most seconds of cuts by formula, see `solvers.budgets.effort`: a limit that does not depend on the clock.
    path
        `pruning_path(problem)`, if it is known already.
    incumbent
        a pruning within the budget to start from. The answer is never worse than it, nor than the best breakpoint.
    progress
        show the gap on stderr.

    Returns
    -------
    BudgetSolution
        the gap is 0 unless a limit or Ctrl-C (StopReason.INTERRUPTED) came first, or rounding hides whether a pruning fits. Of
        tiny forests (`solvers.budgets.listing`) all prunings are then listed, in exact numbers.
        Stats: work; nodes and cuts; splits, fixed_splits and left_splits of the last window, before branching; bound_raised and
        error_lowered, the changes of bound and error as parts of the distance from the relaxation's value to the best
        breakpoint's error; seconds.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, an incumbent that exceeds it, and a path or an incumbent of another
        problem.
    CapacityOverflowError
        if the path takes cuts that do not fit memory. Whole numbers whose products do not fit 62 bits end the search: the answer
        says ITERATION_LIMIT.
    InterruptedSolveError
        on Ctrl-C while the path is computed.
    """
    started = time.perf_counter()
    limit = limit_of_mean_cost(problem, budget)
    path = path_of(problem, path)
    relaxation = relaxed_optimum(path, limit)
    first = path[row_within(path, limit)]
    best = _BestPruning(problem, limit, first)
    if incumbent is not None:
        best.start_from(incumbent)
    search = _WindowSearch(path, relaxation, best, Effort(work, started + time_limit))
    stopped = search.run(progress=progress)
    answer = search.answer(first, stopped, started)
    limited = stopped in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED) or search.effort.is_over
    if answer.status is Status.OPTIMAL or limited or not is_tiny(problem):
        return answer
    return _listed(best, answer)


def _listed(best: _BestPruning, answer: BudgetSolution) -> BudgetSolution:
    """The optimum of a tiny instance, of which rounded prices or an overflow left something open."""
    optimum = best_allowed(best.problem, lambda pruning: pruning.exact_cost <= best.budget)
    assert optimum is not None, "the forest of single leaves costs nothing"
    error = error_of(optimum)
    return replace(answer, pruning=optimum, error=error, bound=error, stopped=StopReason.CONVERGED)


class _BestPruning:
    """The best pruning so far."""

    def __init__(self, problem: PruningProblem, budget: Fraction, pruning: Pruning) -> None:
        self.problem = problem
        self.budget = budget
        self.pruning = pruning
        self.gain = gain_of(pruning)

    def start_from(self, incumbent: Pruning) -> None:
        """Replace the best pruning by the incumbent if that is better."""
        if incumbent.problem is not self.problem:
            raise InvalidInputError("incumbent belongs to another problem; give a pruning of this one")
        if incumbent.exact_cost > self.budget:
            raise InvalidInputError(
                f"incumbent costs {float(incumbent.exact_cost):.9g}, the budget is {float(self.budget):.9g}; give one within it"
            )
        gain = gain_of(incumbent)
        if (gain, -error_of(incumbent)) > (self.gain, -error_of(self.pruning)):
            self.pruning, self.gain = incumbent, gain

    def offer(self, window: Window, core: KnapsackCore) -> int:
        """Keep the pruning that a core has taken if it is better and fits; returns the gain to beat in the core."""
        goal = window.goal(self.gain)
        if core.gained > goal and core.room >= 0:
            groups = self.problem.reduced("smallest").groups
            kept = np.zeros(groups.payer.size, dtype=bool)
            kept[np.concatenate(core.taken)] = True
            pruning = Pruning(self.problem, groups.kept(kept))
            gain = gain_of(pruning)
            if gain > self.gain and pruning.exact_cost <= self.budget:
                self.pruning, self.gain = pruning, gain
        return window.goal(self.gain)


class _WindowSearch:
    """Branch and bound in wider and wider windows of the path."""

    def __init__(self, path: PruningPath, relaxation: Mixture, best: _BestPruning, effort: Effort) -> None:
        self.path = path
        self.relaxation = relaxation
        self.best = best
        self.effort = effort
        self.most = self.most_gain()
        self.splits = self.left_splits = self.nodes = self.cuts = 0

    def run(self, *, progress: bool) -> StopReason:
        """Search wider and wider windows; returns the reason why the search ended."""
        best = self.best
        if self.most <= best.gain:
            return StopReason.CONVERGED
        with GapProgress(shown=progress) as bar:
            for outer, inner in windows(self.path, self.relaxation.budget):
                if self.effort.is_over:
                    return self.effort.reason
                try:
                    window = window_between(self.path, outer, inner, best.budget)
                    search = self._start(window)
                except KeyboardInterrupt:
                    return StopReason.INTERRUPTED
                stopped = self._follow(search, window, bar)
                if stopped is not StopReason.CONVERGED or self.most <= window.gain(window.goal(best.gain)):
                    return stopped
        return StopReason.CONVERGED

    def _start(self, window: Window) -> Search:
        core, best = window.core, self.best
        self.splits = core.nodes.size
        lam = self.relaxation.lam / window.gain_unit * window.price_unit
        return Search(core, window.goal(best.gain), partial(best.offer, window), self.effort, lam)

    def _follow(self, search: Search, window: Window, bar: GapProgress) -> StopReason:
        """Search one window. Bound and counts are kept, whatever ends the search."""
        nodes, cuts = self.nodes, self.cuts
        stopped = StopReason.CONVERGED
        try:
            for _ in search.run():
                bar.show(search, window.goal(self.most))
        except KeyboardInterrupt:
            stopped = StopReason.INTERRUPTED
        except CapacityOverflowError:  # a bound of such a part is out of reach; what was found and proven before it stays
            stopped = StopReason.ITERATION_LIMIT
        if search.bound is not None:
            self.most = min(self.most, window.gain(search.bound))
        self.left_splits, self.nodes, self.cuts = search.left_splits, nodes + search.nodes, cuts + search.cuts
        return self.effort.reason if stopped is StopReason.CONVERGED and search.is_open else stopped

    def most_gain(self) -> Fraction:
        """The largest gain that the relaxation allows, a whole number of units where gains are."""
        numbers = self.best.problem.numbers
        gain = self.best.problem.roots_error - self.relaxation.value
        return gain // numbers.gain_unit * numbers.gain_unit if numbers.exact else gain

    def answer(self, first: Pruning, stopped: StopReason, started: float) -> BudgetSolution:
        """The best pruning with the bound so far."""
        best, problem, relaxed = self.best, self.best.problem, self.relaxation.value
        proven = max(problem.roots_error - self.most, relaxed)
        at_first = Fraction(error_of(first))
        stats = {
            "seconds": time.perf_counter() - started,
            "work": self.effort.spent,
            "nodes": float(self.nodes),
            "cuts": float(self.cuts),
            "splits": float(self.splits),
            "fixed_splits": float(self.splits - self.left_splits),
            "left_splits": float(self.left_splits),
            "bound_raised": _share(proven - relaxed, at_first - relaxed),
            "error_lowered": _share(at_first - Fraction(error_of(best.pruning)), at_first - relaxed),
        }
        hidden = 2 * gap_of(self.path)
        return solution(problem, best.budget, best.pruning, self.relaxation, stats, bound=proven, stopped=stopped, hidden=hidden)


def _share(part: Fraction, total: Fraction) -> float:
    """Part / total; 0 if the total is 0."""
    return float(part / total) if total > 0 else 0.0
