"""The least error within a budget or within any number of limits, and what proves its bound.

    minimise error      s.t.  use_r <= B_r  for every row r                                                                  (1)

1. Find multipliers mu for the rows: within a budget from the path, else by cutting planes (`solvers.within.relaxation`).
2. Solve LP1's relaxation at these multipliers: a mixture of a few prunings, and the bound D(mu).
3. Improve the best pruning inside the mixture, and both it and the bound by branch and bound.
4. Prove the bound again for strangers (`solvers.within.proof`).

Within a budget the path gives the multipliers and windows, within other limits cutting planes do. Either way branch and bound
works on windows (`solvers.within.windows`). Where only the budget's row has a multiplier, the budget is solved alone. If its
answer keeps to the other limits, it is the answer: a limit that does not bind changes nothing.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Literal

import numpy as np
from tqdm import tqdm

from formulations.answers.limited_solution import LimitedSolution, LP1Relaxation
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import StopReason
from formulations.arguments import NotNegative, Seconds, checked, checking
from formulations.errors import CapacityOverflowError
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit, limit_of_mean_cost
from formulations.instance.numbers import float_rounding, is_rounding
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from formulations.long_steps import timed_step
from formulations.programs.limit_rows import LimitRows, limit_rows
from solvers.brute_force import count_prunings
from solvers.path.pruning_path import OutOfTime, PathOptions, divide_and_conquer
from solvers.within.brackets import improve
from solvers.within.by_path import best_allowed, error_of, gap_of, path_of, raised, relaxed_optimum, row_within
from solvers.within.core import Effort, rates_of
from solvers.within.params import DEFAULTS, WithinParams
from solvers.within.proof import Found
from solvers.within.prover import LagrangianOracle
from solvers.within.relaxation import LimitsRelaxation, relax
from solvers.within.search import Search
from solvers.within.windows import (
    BestPruning,
    Between,
    Window,
    between_around,
    between_rows,
    first_window_arcs,
    rows_window,
    window_between,
    windows,
)

LOG = logging.getLogger(__name__)

Method = Literal["path", "best", "exact"]

METHODS: tuple[Method, ...] = ("path", "best", "exact")


@checked
def solve_limits(
    problem: PruningProblem,
    limits: Sequence[Limit],
    *,
    method: Method = "best",
    time_limit: Seconds | None = None,
    work: NotNegative | None = None,
    path: PruningPath | None = None,
    incumbent: Pruning | None = None,
    progress: bool | None = False,
    params: WithinParams = DEFAULTS,
) -> LimitedSolution:
    """The least error of all prunings within the limits, and how much better it could be.

        minimise error      s.t.  every limit                                                        (LP1, in 0-1 variables)

    Parameters
    ----------
    method
        ``"path"``: the relaxation, and the best pruning met on the way. ``"best"``: that, improved by a search. ``"exact"``: the
        same, then branch and bound until the gap is 0 or the limit is reached. Each is at least as good as the one before. On
        instances with a small first window "best" begins with branch and bound, too.
    time_limit
        seconds, the path and the proof included, but not what compiling takes in the first call on a new machine. Default: no
        limit of time, only one of `work`; then the same call gives the same answer under any load.
    work
        the most work of cuts, see `solvers.within.core`. Default, without a time limit: 10 for "best", 300 for "exact".
    path
        `pruning_path(problem)`, if it is known already. Without it "path" and "best" compute the part of it around the budget.
    incumbent
        a pruning within the limits to start from. The answer is never worse than it.
    progress
        True: show the progress of the path and of branch and bound on stderr. None: of a path that takes long.
    params
        other numbers for the search than the default ones.

    Returns
    -------
    LimitedSolution
        the pruning, within all limits in exact numbers; LP1's relaxation; the proven bound, and its proof.

    Raises
    ------
    InvalidInputError
        for limits that name no such item, currency or row, are negative, or less than every pruning uses; for an incumbent that
        exceeds the limits; for a path or an incumbent of another problem.
    InterruptedSolveError
        on Ctrl-C while the relaxation is computed. Later Ctrl-C ends the search, and the answer says `StopReason.INTERRUPTED`.
    """
    rows = limit_rows(problem, limits)
    if method != "path":
        _compile()
    started = time.perf_counter()
    by_clock = math.inf if time_limit is None else time_limit
    usual = {"path": math.inf, "best": params.best_work, "exact": params.exact_work}[method]
    most = work if work is not None else usual if time_limit is None else math.inf
    effort = Effort(most, started + (1.0 - params.proof_share) * by_clock, params=params)
    call = LimitedCall(rows, method, effort, started, started + by_clock, progress=progress)
    with timed_step(LOG, "pruning of %s within %d limits by %s", problem, len(limits), method):
        return call.solve(path, incumbent)


@checking
def within_budget(
    problem: PruningProblem,
    budget: Price,
    *,
    method: Method = "best",
    time_limit: Seconds | None = None,
    work: NotNegative | None = None,
    path: PruningPath | None = None,
    incumbent: Pruning | None = None,
    progress: bool | None = False,
    params: WithinParams = DEFAULTS,
) -> LimitedSolution:
    """`solve_limits` within a budget, the one limit of the mean cost."""
    limit_of_mean_cost(problem, budget)  # refuses what is no budget
    return solve_limits(
        problem,
        [Limit(budget)],
        method=method,
        time_limit=time_limit,
        work=work,
        path=path,
        incumbent=incumbent,
        progress=progress,
        params=params,
    )


best_breakpoint = partial(within_budget, method="path")
best_within = partial(within_budget, method="best")
exact_budget = partial(within_budget, method="exact")


@cache
def _compile() -> None:
    """Compile the kernels, which on a new machine would take the whole limit of a stage, by solving the papers' two trees.

    With a budget of 1 the search works inside an edge of their path; with other prices and one or two limits it branches.
    """
    branching = two_trees(prices=(2, 2, 3))
    for problem, limits in (
        (two_trees(), [Limit(1)]),
        (branching, [Limit(3)]),
        (branching, [Limit(3), Limit(4, "splits")]),
    ):
        rows = limit_rows(problem, limits)
        LimitedCall(rows, "exact", Effort(), time.perf_counter(), math.inf, progress=False).solve(None, None)


Job = tuple[Window, Fraction, Between | None]
"""A window, the lambda to try first in it, and what it is between; None: the whole instance."""


class LimitedCall:
    """The state of one call; seconds count from `started`, and `deadline` is that of all."""

    def __init__(
        self, rows: LimitRows, method: Method, effort: Effort, started: float, deadline: float, *, progress: bool | None
    ) -> None:
        self.rows, self.problem, self.method, self.effort, self.params = rows, rows.problem, method, effort, effort.params
        self.started, self.deadline, self.progress = started, deadline, progress
        self.stopped = StopReason.CONVERGED

    @cached_property
    def oracle(self) -> LagrangianOracle:
        """Closures of the metered instance."""
        return LagrangianOracle(self.rows, self.params)

    def solve(self, path: PruningPath | None, incumbent: Pruning | None) -> LimitedSolution:
        """Within a budget branch and bound in windows of its path, before and after a search inside the edge; else by rows."""
        if path is None and self.rows.is_budget:
            # the path, or the part of it that the method needs, in half of the time
            around = None if self.method == "exact" else self.rows.rows[0].at_most
            half = self.started + 0.5 * (self.deadline - self.started)
            asked = PathOptions(certificate=False, around=around, progress=self.progress, deadline=half)
            with suppress(OutOfTime):
                path = divide_and_conquer(self.problem, asked)
        if path is not None:
            path = path_of(self.problem, path)
        if path is None or not self.rows.is_budget:
            return self._within_rows(path, incumbent)
        relaxation = relaxed_optimum(path, self.rows.rows[0].at_most)
        first = path[row_within(path, self.rows.rows[0].at_most)]
        best = BestPruning(self.rows, self.problem.reduced("smallest").groups, first)
        if incumbent is not None:
            best.start_from(incumbent)
        found = Found(Fraction(relaxation.value), (Fraction(relaxation.lam),))
        if self.method != "path":
            try:
                # a small first window is searched before the edge, with half of the work
                if first_window_arcs(path, self.rows.rows[0].at_most, self.params) <= self.params.searched_first:
                    whole, self.effort.work = self.effort.work, 0.5 * self.effort.work
                    self._search(self._windows(path, relaxation, best, found), best, found)
                    self.effort.work = whole
                if self._goes_on(best, found):
                    self.stopped = improve(path, best, relaxation, self.effort, 1.0 if self.method == "best" else 0.25)
                if self.method == "exact" and self._goes_on(best, found):
                    self._search(self._windows(path, relaxation, best, found), best, found)
            except KeyboardInterrupt:
                self.stopped = StopReason.INTERRUPTED
            self._end(best, found)
        first_gap = Fraction(error_of(first)) - Fraction(relaxation.value)
        moved = {
            "bound_raised": found.bound - Fraction(relaxation.value),
            "error_lowered": Fraction(error_of(first)) - Fraction(error_of(best.pruning)),
        }
        found.counts |= {name: float(by / first_gap) if first_gap > 0 else 0.0 for name, by in moved.items()}
        return self._answer(best, relaxation, found, hidden=2 * gap_of(path))

    def _goes_on(self, best: BestPruning, found: Found) -> bool:
        """Whether a further step may and should follow."""
        over = self.stopped is StopReason.INTERRUPTED or self.effort.is_over
        return not over and not self._closed(best, found.bound)

    def _windows(self, path: PruningPath, relaxation: LP1Relaxation, best: BestPruning, found: Found) -> Iterator[Job]:
        """Wider and wider windows of the path, until one closes the gap or the effort is over."""
        budget, found.bound = self.rows.rows[0].at_most, raised(self.problem, found.bound)
        for outer, inner in windows(path, budget, self.params):
            if not self._goes_on(best, found):
                return
            window = window_between(path, outer, inner, budget)
            yield (
                window,
                Fraction(relaxation.lam) / window.gain_unit * window.price_unit,
                between_rows(path, outer, inner, self.rows.metered),
            )

    # the multipliers of any limits: cutting planes

    def _within_rows(self, path: PruningPath | None, incumbent: Pruning | None) -> LimitedSolution:
        """Branch and bound at surrogate rows; a budget's own answer where no other limit binds."""
        relaxed = relax(self.oracle, deadline=self.effort.deadline)
        self.effort.spent += self.oracle.calls * self.oracle.work
        plain = None if self.rows.is_budget else self._plain_alone(relaxed)
        if plain is not None:
            alone = limit_rows(self.problem, [self.rows.limits[plain]])
            call = LimitedCall(alone, self.method, self.effort, self.started, self.deadline, progress=self.progress)
            answer = call.solve(path, None)
            if self.rows.within(answer.pruning):
                return self._answer_to_all_limits(answer, plain, self._relaxation(relaxed))
        best = BestPruning(self.rows, self.oracle.groups, Pruning(self.problem, relaxed.columns[0].kept))
        if incumbent is not None:
            best.start_from(incumbent)
        for column in relaxed.columns:
            best.offer_pruning(Pruning(self.problem, column.kept))
        found = Found(raised(self.problem, Fraction(relaxed.bound)), rates_of(relaxed.proof.mu))
        if self.method != "path":
            try:
                self._search(self._window_of_rows(relaxed, best, found), best, found)
            except KeyboardInterrupt:
                self.stopped = StopReason.INTERRUPTED
            self._end(best, found)
        found.counts |= {"rounds": float(relaxed.rounds), "columns": float(len(relaxed.columns))}
        return self._answer(best, self._relaxation(relaxed), found)

    def _plain_alone(self, relaxed: LimitsRelaxation) -> int | None:
        """The limit that is a budget, where no other one has a multiplier."""
        with_one = {row.limit for row, mu in zip(self.rows.rows, relaxed.proof.mu, strict=True) if mu > 0}
        return next((k for k in with_one if len(with_one) == 1 and self.rows.limits[k].is_plain), None)

    def _relaxation(self, relaxed: LimitsRelaxation) -> LP1Relaxation:
        """What cutting planes found, by limit."""
        multipliers = [0.0] * len(self.rows.limits)
        for row, mu in zip(self.rows.rows, relaxed.mu.tolist(), strict=True):
            multipliers[row.limit] += mu
        mixture = tuple((Pruning(self.problem, column.kept), weight) for column, weight in relaxed.mixture)
        budget = self.rows.rows[0].at_most if self.rows.is_budget else None
        return LP1Relaxation(relaxed.value, tuple(multipliers), mixture, budget)

    def _answer_to_all_limits(self, answer: LimitedSolution, k: int, relaxation: LP1Relaxation) -> LimitedSolution:
        """A budget's answer that keeps to all limits, as the answer for all of them."""
        uses, at_most = self.rows.by_limit(answer.pruning)
        proof = None if answer.proof is None else answer.proof.of_limit(k)
        return replace(answer, limits=self.rows.limits, at_most=at_most, uses=uses, relaxation=relaxation, proof=proof)

    def _window_of_rows(self, relaxed: LimitsRelaxation, best: BestPruning, found: Found) -> Iterator[Job]:
        """The whole instance, or a window around the multipliers; none where nothing more may or should be searched."""
        if not self._goes_on(best, found):
            return
        mu = relaxed.proof.mu
        if not mu.any():  # the mixture keeps to the limits but for a hair, and a pruning does not
            size = np.maximum(self.rows.at_most, np.max([column.use for column in relaxed.columns], axis=0))
            mu = 1.0 / np.where(size > 0, size, 1.0)
        between = between_around(self.oracle, mu, self.effort)
        if between is not None:
            window = rows_window(self.oracle, mu, between)
            yield window, 1 / window.core.surrogate.unit, None if between.high is None else between

    # what both share

    def _search(self, windows: Iterator[Job], best: BestPruning, found: Found) -> None:
        """Branch and bound in one window after the other. Bound, log and counts are kept, whatever ends it."""
        roots, counts = self.problem.roots_error, found.counts
        for window, first_lam, between in windows:
            search = Search(window, best, self.effort, first_lam)
            self.stopped = StopReason.CONVERGED
            try:
                words = "branch and bound: {desc}, {n:,} nodes, {elapsed}"
                with tqdm(bar_format=words, file=sys.stderr, leave=False, disable=not self.progress, delay=1) as bar:
                    for _ in search.run():
                        search.show(bar, window.goal(roots - found.bound))
            except KeyboardInterrupt:
                self.stopped = StopReason.INTERRUPTED
            except CapacityOverflowError:  # a bound of such a part is out of reach; what was found and proven before it stays
                self.stopped = StopReason.ITERATION_LIMIT
            if search.bound is not None and roots - window.gain(search.bound) >= found.bound:
                found.bound, found.log = roots - window.gain(search.bound), search.log
                found.gain_of, found.between = window.gain, between
            splits = window.core.nodes.size
            counts |= {"nodes": counts["nodes"] + search.nodes, "cuts": counts["cuts"] + search.cuts, "splits": float(splits)}
            counts |= {"left_splits": float(search.left_splits), "fixed_splits": float(splits - search.left_splits)}
            if self.stopped is StopReason.CONVERGED and search.is_open:
                self.stopped = self.effort.reason

    def _closed(self, best: BestPruning, bound: Fraction) -> bool:
        error = best.pruning.exact_error
        return is_rounding(float(error - bound), float(error), self.problem.largest_error)

    def _end(self, best: BestPruning, found: Found) -> None:
        """Why the search ended. Of a tiny instance, of which rounding left something open, all prunings are listed."""
        if self._goes_on(best, found) and count_prunings(self.problem.ensemble) <= self.params.most_listed:
            optimum = best_allowed(self.problem, self.rows.within)
            if optimum is not None:
                best.offer_pruning(optimum)
            found.bound = best.pruning.exact_error
        if self._closed(best, found.bound):
            self.stopped = StopReason.CONVERGED
        elif self.stopped is StopReason.CONVERGED and self.effort.is_over:
            self.stopped = self.effort.reason

    def _answer(self, best: BestPruning, relaxation: LP1Relaxation, found: Found, hidden: float = 0.0) -> LimitedSolution:
        """The best pruning, the bound less what rounding may have `hidden` of it, and its proof."""
        pruning, error, began = best.pruning, error_of(best.pruning), time.perf_counter()
        stated = float(found.bound) if hidden == 0 else max(0.0, math.nextafter(float(found.bound) - hidden, -math.inf))
        # after Ctrl-C there is little time for the proof
        soon = began + self.params.after_ctrl_c if self.stopped is StopReason.INTERRUPTED else math.inf
        proof, proven = found.proof(self.oracle, min(self.deadline, soon))
        if proven is not None and float(proven) < stated - float_rounding(self.problem.largest_error):
            stated = math.nextafter(float(proven), -math.inf)
        now = time.perf_counter()
        stats = {**found.counts, "work": self.effort.spent, "seconds": now - self.started, "proof_seconds": now - began}
        stats |= {"closures": float(self.oracle.calls)}
        stats |= {"proof_leaves": float(proof.n_leaves) if proof else 0.0, "proof_bytes": float(proof.n_bytes) if proof else 0.0}
        uses, at_most = self.rows.by_limit(pruning)
        bound, limits = min(stated, error), self.rows.limits
        return LimitedSolution(
            self.problem, limits, at_most, uses, pruning, error, bound, relaxation, proof, self.stopped, stats, self.method
        )
