"""One run of price sharing: rounds, checks, the splits that checks decide, and the cut that ends it.

(1) to (3) are those of `solvers.price_sharing.solve`. Whether the rows are in this process or at workers, the run is this one:
all passes over rows go through `Rows`.

Levels never rise on the way down a tree, so the splits above a level are a pruning. At the right charges the level 1 gives the
best one. Before that, many splits that leave at the same lambda have levels a little above and below each other. A threshold
beside them keeps them together, so `best_level` tries { h : log level_h >= theta } for theta in `THRESHOLDS`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import FixingStage, SharedPrices
from formulations.errors import BrokenFileError, InvalidInputError
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import IntegerObjective
from solvers.closures.tree_pass import LevelTrees, forced, lower_to_parents, without_prices
from solvers.price_sharing.core import SolvedCore
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.remaining import Remaining
from solvers.price_sharing.rows import Rows, Scores

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Paid:
    """What splits that are kept beforehand pay."""

    purchases: NDArray[np.bool_]  # bool, shape (M (N + 1),); the run goes on with this array
    base: int  # the integer value of these splits alone


@dataclass(frozen=True, eq=False)
class Known:
    """What the solutions at other lambdas tell about the optimum at this one."""

    kept: NDArray[np.bool_]  # bool, shape (n,): splits that are in the optimum, closed under parents
    pruned: NDArray[np.bool_]  # bool, shape (n,): splits that are not in it
    # bool, shape (n,), each: prunings that keep all of `kept` and none of `pruned`. The best one is the run's first value.
    prunings: tuple[NDArray[np.bool_], ...] = ()
    paid: Paid | None = None  # what `kept` pays, where all rows are in this process; None: a pass over all that it uses finds out


STATE_ARRAYS = ("score", "stepped", "mean_log_level", "score_at_lowest")
"""The fields of a run's state with a float32 for each open split."""

STATE_FIGURES = ("lowest_bound", "bound", "best_value", "iteration", "rounds_made", "rounds_without_progress")
"""The fields that are single numbers."""


@dataclass(frozen=True, eq=False)
class RunState:
    """The complete state of a run after a check: a run that takes it up ends as the first one would have."""

    stages: tuple[FixingStage, ...]  # the splits that were fixed, in order
    # `STATE_ARRAYS`, as in `Run`.
    score: NDArray[np.float32]
    stepped: NDArray[np.float32]
    mean_log_level: NDArray[np.float32]
    score_at_lowest: NDArray[np.float32]
    best_kept: NDArray[np.bool_]  # bool, shape (n,)
    # `STATE_FIGURES`, as in `Run`.
    lowest_bound: float
    bound: int
    best_value: int
    iteration: int
    rounds_made: int
    rounds_without_progress: int


class Run:
    """The state of one run, and what changes it.

    Parameters
    ----------
    start
        scores to start from; None: zeros.
    known
        what other lambdas tell; None: nothing.

    Attributes
    ----------
    iteration : int
        the last round's k in (2); a warm start begins above 0.
    rounds_made : int
        rounds made here: the last round's r in (3).
    rounds_without_progress : int
        see `solvers.price_sharing.loop.without_progress`.
    checks : int
        made here.
    best_kept, best_value
        the best pruning so far, bool of shape (n,), and its integer value.
    bound : int
        no closure is worth more; proven.
    score, stepped : float32, shape (k,)
        y and s of (2) and (3), for the open splits.
    log_level, mean_log_level : float32, shape (k,)
        the logarithms of the levels of the last round, which (2) goes by, and their mean over the last rounds, the newest one
        counting `SharingParams.newest`. `best_level` tries both, since single rounds swing.
    lowest_bound, score_at_lowest
        the lowest bound (1) since splits were last fixed, up to rounding, and the scores that it was found at.
    fixed_in, fixed_out : bool, shape (n,)
        splits that are decided.
    core
        what the cut of the open splits found; None before.
    """

    def __init__(self, rows: Rows, ties: Ties, start: Scores | None = None, known: Known | None = None) -> None:
        self.rows, self.ties, self.params = rows, ties, rows.params
        problem = rows.objective.problem
        n = problem.ensemble.n_nodes
        self.stages: list[FixingStage] = []
        self.core: SolvedCore | None = None
        self.iteration = 0 if start is None else start.iteration
        self.rounds_made = self.rounds_without_progress = self.checks = 0
        self.lowest_bound = math.inf
        # what is known from elsewhere is fixed, and what never pays is open already
        known = known or Known(np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))
        self.fixed_in, self.fixed_out = known.kept.copy(), known.pruned.copy()
        is_open = without_prices(problem, ties) & ~known.pruned
        if known.paid is not None:
            rows.open(is_open & ~known.kept, known.paid.purchases, known.paid.base)
        else:
            rows.open(is_open)
        if known.paid is None and known.kept.any():
            nodes = self.remaining.nodes
            rows.fix(known.kept[nodes], np.zeros(nodes.size, dtype=bool))
        nodes = self.remaining.nodes
        # the best of the known prunings, and the bound without any shares
        self.best_kept, self.best_value = self.fixed_in.copy(), rows.base
        for kept in known.prunings:
            self._take_if_better(kept[nodes], rows.closure_value(kept[nodes]))
        self.bound = rows.base + int(np.maximum(self.remaining.profit, 0).sum())
        # scores: those of the start, or 0
        self.score = np.zeros(nodes.size, dtype=np.float32)
        if start is not None:
            check_size(start, n)
            self.score[:] = start.score[nodes]
        self.stepped, self.score_at_lowest = self.score.copy(), self.score.copy()
        self.log_level = np.zeros(nodes.size, dtype=np.float32)
        self.mean_log_level = self.log_level.copy()
        self._trees: LevelTrees | None = None

    @property
    def objective(self) -> IntegerObjective:
        """(OBJ) in integers."""
        return self.rows.objective

    @property
    def remaining(self) -> Remaining:
        """The open splits."""
        return self.rows.remaining

    @property
    def n_arcs(self) -> int:
        """Usage arcs of the open splits."""
        return self.rows.n_arcs

    @property
    def tolerance(self) -> int:
        """What another rounding of the same shares, or of the errors, could change of a bound, in integers."""
        return max(1, self.bound >> 40) + self.rows.margin

    @property
    def is_closed(self) -> bool:
        """Whether bound and value agree up to `tolerance`: what is still open then are ties, which rounds do not decide."""
        return self.bound - self.best_value <= self.tolerance

    def round(self) -> None:
        """One round of (1) to (3)."""
        self.iteration += 1
        self.rounds_made += 1
        limit, log_level = step_limit(self.iteration), self.log_level
        charge = self.rows.charges(self.score)
        if self._trees is None:
            left = self.remaining
            self._trees = LevelTrees(left.parent, left.profit, charge, left.middle, self.params.one_thread_splits)
        bound = self._trees.log_levels(charge, max(limit, 2 * THRESHOLDS[-1]), log_level, self.rows.pool)
        self.mean_log_level *= np.float32(1 - self.params.newest)
        self.mean_log_level += np.float32(self.params.newest) * log_level
        if bound < self.lowest_bound:
            self.lowest_bound = bound
            self.score_at_lowest[:] = self.score
        advance(self.score, self.stepped, log_level, self.rounds_made, self.params, limit)

    def check(self) -> None:
        """Try the level sets of the last round, prove the bound in integers, and fix the splits that it decides."""
        self.checks += 1
        remaining = self.remaining
        for log_level in (self.log_level, self.mean_log_level):
            self._take_if_better(*best_level(remaining.parent, remaining.profit, log_level, self.rows.level_bills))
        charge = self.rows.integer_charges(self.score_at_lowest)
        ends = forced(self.remaining.parent, np.subtract(self.remaining.profit, charge, out=charge))
        del charge
        bound = self.rows.base + ends.best
        self.bound = min(self.bound, bound)
        LOG.debug(
            "round %d: best gain %d, bound %d, %d splits open",
            self.iteration,
            self.best_value,
            self.bound,
            self.remaining.nodes.size,
        )
        # Strictly below the best value, by more than the tolerance.
        threshold = self.best_value - self.rows.base - self.tolerance
        kept, out = ends.pruned < threshold, ends.kept < threshold
        del ends  # frees two arrays of the open splits' size before `fix` makes new ones
        if (kept | out).sum() >= self.params.least_share_fixed * kept.size:
            self._fix(kept, out)

    def _take_if_better(self, keep: NDArray[np.bool_], value: int) -> None:
        """Take a closure of the open splits if, with those fixed in, it is the best so far."""
        if self.rows.base + value > self.best_value:
            self._take(keep, value)

    def _take(self, keep: NDArray[np.bool_], value: int) -> None:
        self.best_value = self.rows.base + value
        self.best_kept = self.fixed_in.copy()
        self.best_kept[self.remaining.nodes[keep]] = True

    def _fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Decide some open splits; the others keep their scores. Bool, shape (k,)."""
        nodes, stays = self.remaining.nodes, ~(kept | out)
        self._decide(FixingStage(nodes, self.score_at_lowest, nodes[kept], nodes[out], self.iteration), kept, out)
        self.score, self.stepped, self.log_level, self.mean_log_level, self.score_at_lowest = (
            of_splits[stays]
            for of_splits in (self.score, self.stepped, self.log_level, self.mean_log_level, self.score_at_lowest)
        )

    def _decide(self, stage: FixingStage, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Add a stage; the masks of shape (k,) say the same of the open splits."""
        self.stages.append(stage)
        self.fixed_in[stage.fixed_in] = True
        self.fixed_out[stage.fixed_out] = True
        self.rows.fix(kept, out)
        self._trees = None
        self.lowest_bound = math.inf

    def state(self) -> RunState:
        """Everything that the rest of the run depends on, besides the arguments that it was made with."""
        as_they_are = {name: getattr(self, name) for name in (*STATE_ARRAYS, *STATE_FIGURES)}
        return RunState(tuple(self.stages), best_kept=self.best_kept, **as_they_are)

    def go_on(self, state: RunState) -> None:
        """Take up the state of a run that was made with the same arguments."""
        for stage in state.stages:
            kept, out = (np.isin(self.remaining.nodes, decided) for decided in (stage.fixed_in, stage.fixed_out))
            self._decide(stage, kept, out)
        if state.score.size != self.remaining.nodes.size:
            raise BrokenFileError(
                f"checkpoint: it holds scores of {state.score.size} open splits, {self.remaining.nodes.size} are open; "
                "delete the file of the point at work to start it anew"
            )
        nodes, kept = self.remaining.nodes, state.best_kept
        if kept.shape != self.fixed_in.shape or (self.fixed_in & ~kept).any() or (self.fixed_out & kept).any():
            raise BrokenFileError("checkpoint: its best pruning contradicts the splits that it decided; delete the state")
        if self.rows.base + self.rows.closure_value(kept[nodes]) != state.best_value:
            raise BrokenFileError("checkpoint: its best value is not its best pruning's; delete the state of the point at work")
        for name in STATE_ARRAYS:
            setattr(self, name, getattr(state, name).copy())  # rounds change them in place
        for name in STATE_FIGURES:
            setattr(self, name, getattr(state, name))
        self.log_level, self.best_kept = np.zeros_like(state.score), state.best_kept

    def finish(self) -> int:
        """Cut the core, after which the best pruning is optimal for the integers; the number of arcs of the core's network."""
        self.core = self.rows.solve_core(self.score_at_lowest, self.ties)
        self._take(self.core.keep, self.core.value)
        self.bound = self.best_value
        return self.core.n_arcs

    def decided(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Splits that are proven to be in the optimum, and splits that are proven not to be; bool, shape (n,)."""
        if self.core is not None:
            return self.best_kept, ~self.best_kept
        # Splits that are not worth keeping even without prices are left out here: every lambda finds them by itself.
        return self.fixed_in, self.fixed_out

    def scores(self) -> Scores:
        """The scores of all nodes, for a checkpoint or for another lambda."""
        everywhere = scores_after(self.stages, self.remaining.nodes, self.score, self.fixed_in.size)
        return Scores(everywhere, self.iteration)

    def certificate(self) -> SharedPrices:
        """The proof of `bound`."""
        objective = self.objective
        return SharedPrices(
            tuple(self.stages), self.remaining.nodes, self.score_at_lowest, None if self.core is None else self.core.duals(),
            objective.unit, objective.lam, self.iteration,
        )  # fmt: skip


def check_size(start: Scores, n_nodes: int) -> None:
    """Refuse scores for another number of nodes."""
    if start.score.size != n_nodes:
        raise InvalidInputError(f"start has scores for {start.score.size} nodes, the forest has {n_nodes}; give one for each")


def scores_after(
    stages: Sequence[FixingStage], nodes: NDArray[np.int32], score: NDArray[Any], n_nodes: int
) -> NDArray[np.float64]:
    """Scores of all nodes: the last one that each split had. `nodes`, `score`: the open splits and their scores, shape (k,)."""
    everywhere = np.zeros(n_nodes)
    for stage in stages:
        everywhere[stage.nodes] = stage.score
    everywhere[nodes] = score
    return everywhere


THRESHOLDS = np.array([*(-0.03 / 10 ** (k / 2) for k in range(10)), 0.0, *(0.03 / 10 ** (k / 2) for k in range(9, -1, -1))])
"""From -0.03 to 0.03, two for each power of ten down to 1e-6: beside a breakpoint levels differ from 0 by as little as lambda."""


def best_level(
    parent: NDArray[np.int32],
    profit: NDArray[np.int64],
    log_level: NDArray[np.float32],
    bills: Callable[[NDArray[np.int32], int], Sequence[int]],
) -> tuple[NDArray[np.bool_], int]:
    """The best of these closures, among several the smallest, or the empty set; and its integer value.

    `log_level`: float32, shape (k,): of one round, or their mean over the last ones. `bills`: from the levels of the splits and
    the highest level: what the purchases cost whose highest user is at each level.
    """
    top = THRESHOLDS.size
    # 0: the split is in no level set; top: in all
    level = np.searchsorted(THRESHOLDS, log_level, side="right").astype(np.int32)
    lower_to_parents(parent, level)
    earned = np.zeros(top + 1, dtype=np.int64)
    np.add.at(earned, level, profit)
    bill = bills(level, top)
    values = [int(earned[k:].sum()) - sum(bill[k:]) for k in range(1, top + 1)]
    best = max(values, default=0)
    if best <= 0:
        return np.zeros(log_level.size, dtype=bool), 0
    return level >= top - values[::-1].index(best), int(best)


def step_limit(k: int) -> float:
    """5 / (k + 5), the most that a score changes by (2) of `solvers.price_sharing.solve` in round k = 1, 2, ..."""
    return 5.0 / (k + 5)


def advance(
    score: NDArray[np.floating[Any]],
    stepped: NDArray[np.floating[Any]],
    log_level: NDArray[np.floating[Any]],
    r: int,
    params: SharingParams,
    limit: float = math.inf,
) -> None:
    """(2) and (3) of `solvers.price_sharing.solve` in place, after r = 1, 2, ... rounds: y in `score` and s in `stepped`."""
    before = stepped.copy()
    np.clip(log_level, -limit, limit, out=stepped)
    stepped += score
    np.subtract(stepped, before, out=score)
    np.clip(score, -params.most_carried * limit, params.most_carried * limit, out=score)
    score *= min((r - 1) / (r + 2), params.most_momentum)
    score += stepped
