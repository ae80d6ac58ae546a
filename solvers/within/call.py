"""One call for the least error within limits: multipliers, search, repair and proof, on one instance.

Within a budget the path gives the multipliers and windows, within other limits cutting planes do. Either way branch and bound
works on windows (`solvers.within.windows`), and what it proves is proven again for strangers (`solvers.within.proof`).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.answers.limited_solution import LimitedSolution, LP1Relaxation
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.search_proof import Closed, Exceeded, Fixed, SearchProof, Step, TooMuch
from formulations.answers.search_proof import Priced as ProofPriced
from formulations.answers.solution import Status, StopReason, float_rounding, status_of
from formulations.errors import CapacityOverflowError
from formulations.programs.limit_rows import LimitRows, limit_rows
from solvers.brute_force import count_prunings
from solvers.path.pruning_path import OutOfTime, PathOptions, divide_and_conquer
from solvers.within.brackets import improve
from solvers.within.by_path import best_allowed, error_of, gap_of, path_of, raised, relaxed_optimum, row_within
from solvers.within.core import Rates
from solvers.within.oracle import LagrangianOracle
from solvers.within.params import Effort
from solvers.within.proof import Prover, TooLargeProof, proof_multipliers, proof_of, search_window
from solvers.within.relaxation import LimitsRelaxation, relax
from solvers.within.search import Log, Search
from solvers.within.windows import BestPruning, Between, Window, first_window_arcs, rows_window, window_between, windows

Method = Literal["path", "best", "exact"]


@dataclass(eq=False)
class Found:
    """What is known so far: the bound by the search, and the logs that prove it."""

    bound: Fraction  # of the error
    first: Rates  # multipliers of the relaxation's bound
    log: Log | None = None
    between: Between | None = None  # the window of the log; None: the whole instance
    gain_of: Callable[[int], Fraction] = Fraction  # what the log's integer gains stand for
    counts: dict[str, float] = field(default_factory=lambda: {"nodes": 0.0, "cuts": 0.0})


class LimitedCall:
    """The state of one call; seconds count from `started`, and `deadline` is that of all."""

    def __init__(
        self, rows: LimitRows, method: Method, effort: Effort, started: float, deadline: float, *, progress: bool | None
    ) -> None:
        self.rows, self.problem, self.method, self.effort, self.params = rows, rows.problem, method, effort, effort.params
        self.started, self.deadline, self.progress = started, deadline, progress
        self.stopped = StopReason.CONVERGED
        self._oracle: LagrangianOracle | None = None

    @property
    def oracle(self) -> LagrangianOracle:
        """Closures of the metered instance."""
        if self._oracle is None:
            self._oracle = LagrangianOracle(self.rows, self.params)
        return self._oracle

    def solve(self, path: PruningPath | None, incumbent: Pruning | None) -> LimitedSolution:
        """The budget's own answer where that is one; else the search within all rows."""
        if self.rows.is_budget:
            try:
                return self._within_budget(self._path(path), incumbent)
            except OutOfTime:
                pass
        return self._within_rows(path, incumbent)

    # the multipliers of a budget: its path

    def _path(self, path: PruningPath | None) -> PruningPath:
        """The path, or the part of it that the method needs, in half of the time."""
        if path is None:
            around = None if self.method == "exact" else self.rows.rows[0].at_most
            half = self.started + 0.5 * (self.deadline - self.started)
            path = divide_and_conquer(
                self.problem, PathOptions(certificate=False, around=around, progress=self.progress, deadline=half)
            )
        return path_of(self.problem, path)

    def _within_budget(self, path: PruningPath, incumbent: Pruning | None) -> LimitedSolution:
        """Branch and bound in windows of the path, before and after a search inside the hull edge."""
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
                    self._search_windows(path, relaxation, best, found)
                    self.effort.work = whole
                if self._goes_on(best, found):
                    self.stopped = improve(path, best, relaxation, self.effort, 1.0 if self.method == "best" else 0.25)
                if self.method == "exact" and self._goes_on(best, found):
                    self._search_windows(path, relaxation, best, found)
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

    def _search_windows(self, path: PruningPath, relaxation: LP1Relaxation, best: BestPruning, found: Found) -> None:
        """Branch and bound in wider and wider windows, until one closes the gap or the effort is over."""
        budget, found.bound = self.rows.rows[0].at_most, raised(self.problem, found.bound)
        for outer, inner in windows(path, budget, self.params):
            if not self._goes_on(best, found):
                return
            window = window_between(path, outer, inner, budget)
            first_lam = Fraction(relaxation.lam) / window.gain_unit * window.price_unit
            self._search(window, first_lam, best, found, self._between(path, outer, inner))

    def _between(self, path: PruningPath, outer: int, inner: int) -> Between | None:
        """What a window is between, in the groups of the metered instance; None: the whole instance."""
        last = len(path) - 1
        if (outer, inner) == (0, last):
            return None
        groups = self.rows.metered.reduced("smallest").groups
        high = (path.between(inner),) if inner < last else None
        low = (path.between(outer - 1) if outer > 0 else Fraction(0),)
        return Between(groups.of_pruning(path[inner].kept), groups.of_pruning(path[outer].kept), high, low)

    # the multipliers of any limits: cutting planes

    def _within_rows(self, path: PruningPath | None, incumbent: Pruning | None) -> LimitedSolution:
        """Branch and bound at surrogate rows; a budget's own answer where no other limit binds."""
        if path is not None:
            path_of(self.problem, path)
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
                self._search_rows(relaxed, best, found)
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
        uses, at_most = self._by_limit(answer.pruning)
        proof = None if answer.proof is None else renumbered(answer.proof, k)
        return replace(answer, limits=self.rows.limits, at_most=at_most, uses=uses, relaxation=relaxation, proof=proof)

    def _search_rows(self, relaxed: LimitsRelaxation, best: BestPruning, found: Found) -> None:
        """Branch and bound on the whole instance, or in a window around the multipliers."""
        if not self._goes_on(best, found):
            return
        mu = relaxed.proof.mu
        if not mu.any():  # the mixture keeps to the limits but for a hair, and a pruning does not
            size = np.maximum(self.rows.at_most, np.max([column.use for column in relaxed.columns], axis=0))
            mu = 1.0 / np.where(size > 0, size, 1.0)
        between = self._around(mu)
        if between is not None:
            window = rows_window(self.oracle, mu, between)
            first_lam = 1 / window.core.surrogate.unit
            self._search(window, first_lam, best, found, None if between.high is None else between)

    def _around(self, mu: NDArray[np.float64]) -> Between | None:
        """The whole instance where it is small; else what lies between optima at somewhat larger and smaller multipliers."""
        groups, core = self.oracle.groups, self.oracle.problem
        if core.n_usage_arcs <= self.params.first_window_arcs:
            return Between(np.zeros(groups.payer.size, dtype=bool), groups.is_group)
        arcs, found = core.usage.arcs_per_node, None
        for width in self.params.multiplier_widths:
            if self.effort.is_over:
                break
            high, low = mu * (1.0 + width), mu * (1.0 - width)
            inner = groups.of_pruning(self.oracle.solve(high).kept)
            outer = groups.of_pruning(self.oracle.solve(low).kept) | inner
            if found is not None and int(arcs[outer & ~inner].sum()) > self.params.first_window_arcs:
                break
            found = Between(inner, outer, rates_of(high), rates_of(low))
        return found

    # what both share

    def _search(self, window: Window, first_lam: Fraction, best: BestPruning, found: Found, between: Between | None) -> None:
        """Branch and bound in a window. Bound, log and counts are kept, whatever ends it."""
        roots = self.problem.roots_error
        search = Search(window, best, self.effort, first_lam)
        self.stopped = StopReason.CONVERGED
        try:
            words = "branch and bound: {desc}, {n:,} nodes, {elapsed}"
            with tqdm(bar_format=words, file=sys.stderr, leave=False, disable=not self.progress, delay=1) as bar:
                for _ in search.run():
                    show_gap(bar, search, window.goal(roots - found.bound))
        except KeyboardInterrupt:
            self.stopped = StopReason.INTERRUPTED
        except CapacityOverflowError:  # a bound of such a part is out of reach; what was found and proven before it stays
            self.stopped = StopReason.ITERATION_LIMIT
        if search.bound is not None and roots - window.gain(search.bound) >= found.bound:
            found.bound, found.log = roots - window.gain(search.bound), search.log
            found.gain_of, found.between = window.gain, between
        counts, splits = found.counts, window.core.nodes.size
        counts |= {"nodes": counts["nodes"] + search.nodes, "cuts": counts["cuts"] + search.cuts, "splits": float(splits)}
        counts |= {"left_splits": float(search.left_splits), "fixed_splits": float(splits - search.left_splits)}
        if self.stopped is StopReason.CONVERGED and search.is_open:
            self.stopped = self.effort.reason

    def _closed(self, best: BestPruning, bound: Fraction) -> bool:
        error = best.pruning.exact_error
        return status_of(float(error - bound), float(error), self.problem.largest_error) is Status.OPTIMAL

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

    def _by_limit(self, pruning: Pruning) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """What a pruning uses by limit, and B."""
        rows = self.rows
        uses, at_most = [Fraction(0)] * len(rows.limits), [Fraction(0)] * len(rows.limits)
        for row, use in zip(rows.rows, rows.uses(pruning), strict=True):
            uses[row.limit], at_most[row.limit] = max(uses[row.limit], use), row.at_most
        return tuple(uses), tuple(at_most)

    def _answer(self, best: BestPruning, relaxation: LP1Relaxation, found: Found, hidden: float = 0.0) -> LimitedSolution:
        """The best pruning, the bound less what rounding may have `hidden` of it, and its proof."""
        pruning, error, began = best.pruning, error_of(best.pruning), time.perf_counter()
        stated = float(found.bound) if hidden == 0 else max(0.0, math.nextafter(float(found.bound) - hidden, -math.inf))
        proof, proven = self._proof(found)
        if proven is not None and float(proven) < stated - float_rounding(self.problem.largest_error):
            stated = math.nextafter(float(proven), -math.inf)
        now = time.perf_counter()
        stats = {**found.counts, "work": self.effort.spent, "seconds": now - self.started, "proof_seconds": now - began}
        stats |= {"closures": float(self._oracle.calls if self._oracle else 0)}
        stats |= {"proof_leaves": float(proof.n_leaves) if proof else 0.0, "proof_bytes": float(proof.n_bytes) if proof else 0.0}
        uses, at_most = self._by_limit(pruning)
        bound, limits = min(stated, error), self.rows.limits
        return LimitedSolution(
            self.problem, limits, at_most, uses, pruning, error, bound, relaxation, proof, self.stopped, stats, self.method
        )

    def _proof(self, found: Found) -> tuple[SearchProof | None, Fraction | None]:
        """What proves the bound, and what it proves; None where it is too large."""
        oracle, deadline = self.oracle, self.deadline
        if self.stopped is StopReason.INTERRUPTED:
            deadline = min(deadline, time.perf_counter() + self.params.after_ctrl_c)
        try:
            if found.log is None and oracle.shares_prices:
                priced = oracle.solve(np.array([float(x) for x in found.first]))
                assert priced.certificate is not None
                multipliers = proof_multipliers(self.rows, rates_of(priced.mu))
                closed = Closed(ProofPriced(multipliers, priced.certificate, priced.kept))
                return SearchProof((closed,)), raised(self.problem, Fraction(priced.bound))
            prover = Prover(self.rows, oracle, found.bound, deadline)
            window, decided, box = None, prover.start(), None
            if (b := found.between) is not None:
                window = search_window(prover, b.inner, b.outer, b.high, b.low)
                decided, box = replace(decided, kept=b.inner, out=~b.outer), (b.high, b.low or ())
            steps = proof_of(prover, found.log or Log(), found.first, decided, found.gain_of, box)
        except (TooLargeProof, KeyboardInterrupt):
            return None, None
        return SearchProof(steps, window), prover.least


def rates_of(mu: NDArray[np.float64]) -> Rates:
    """Floats as the fractions that they are."""
    return tuple(Fraction(x) for x in mu.tolist())


def renumbered(proof: SearchProof, k: int) -> SearchProof:
    """The proof of one limit, as one of several of which it is the k-th."""

    def priced(old: ProofPriced) -> ProofPriced:
        return replace(old, multipliers=tuple((k, row, mu) for _, row, mu in old.multipliers))

    def renumbered_step(step: Step) -> Step:
        if isinstance(step, Fixed | Closed):
            return replace(step, priced=priced(step.priced))
        return replace(step, limit=k) if isinstance(step, TooMuch | Exceeded) else step

    window = proof.window
    if window is not None:
        high, low = (None if end is None else priced(end) for end in (window.high, window.low))
        window = replace(window, high=high, low=low)
    return SearchProof(tuple(map(renumbered_step, proof.steps)), window)


def show_gap(bar: tqdm[NoReturn], search: Search, relaxed: int) -> None:
    """Show nodes, open nodes and the gap as a share of the gain; `relaxed` is the largest gain that the relaxation allows."""
    bound = relaxed if search.bound is None else min(relaxed, search.bound)
    gap = (bound - search.goal) / max(1, bound)
    bar.set_description_str(f"gap {100 * gap:.4f} % of the gain, {len(search.open):,} open", refresh=False)
    bar.update(1)
