"""One run of price sharing: rounds, checks, what they decide, and the cut that ends it.

(1) to (3) are those of `solvers.price_sharing.solve`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import FixingStage
from formulations.errors import BrokenFileError
from solvers.closures.cut import Ties
from solvers.closures.tree_closure import without_prices
from solvers.price_sharing.checkpoint import Scores
from solvers.price_sharing.core import solve_core
from solvers.price_sharing.levels import best_level, closure_value
from solvers.price_sharing.remaining import Remaining, all_open
from solvers.price_sharing.shares import Sharing
from solvers.price_sharing.trees import best_closures, forced
from solvers.price_sharing.whole import Whole

WORTHWHILE = 0.05
"""Least part of the open splits that is fixed at a time: every time is a stage of the proof."""


def step_size(k: int) -> float:
    """The step gamma_k of (2), k = 1, 2, ..."""
    return 15.0 / (k + 5)


@dataclass(frozen=True, eq=False)
class Known:
    """What other lambdas tell of the optimum: bool, shape (n,), each.

    Parameters
    ----------
    kept, pruned
        splits that are in it, closed under parents, and splits that are not.
    tried
        prunings between the two, to begin with.
    """

    kept: NDArray[np.bool_]
    pruned: NDArray[np.bool_]
    tried: tuple[NDArray[np.bool_], ...] = ()


@dataclass(frozen=True, eq=False)
class RunState:
    """A run after a check, in full: what goes on from here ends as the run itself would have.

    Parameters
    ----------
    stages
        what was decided.
    score, ybar, at_lowest
        float32, one for each open split.
    best_kept
        bool, shape (n,).
    lowest, bound, best_value, k, since, still
        as in `Run`.
    """

    stages: tuple[FixingStage, ...]
    score: NDArray[np.float32]
    ybar: NDArray[np.float32]
    at_lowest: NDArray[np.float32]
    best_kept: NDArray[np.bool_]
    lowest: float
    bound: int
    best_value: int
    k: int
    since: int
    still: int


class Run:
    """One run: what is fixed, the best pruning so far, and the state of the remaining problem."""

    def __init__(
        self, whole: Whole, ties: Ties, start: Scores | None, pool: ThreadPoolExecutor, known: Known | None = None
    ) -> None:
        self.whole, self.ties, self.pool = whole, ties, pool
        n = whole.problem.ensemble.n_nodes
        self.stages: list[FixingStage] = []
        self.core_load: NDArray[np.int64] | None = None
        self.k = 0 if start is None else start.iteration
        self.since = 0
        self.still = 0  # rounds that did not make the core smaller
        worth_it = without_prices(whole.problem, ties)
        if known is None:
            self.fixed_in, self.fixed_out = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
            self._set(all_open(whole, worth_it))
        else:
            self.fixed_in, self.fixed_out = known.kept.copy(), known.pruned.copy()
            left = all_open(whole, worth_it & ~known.pruned)
            self._set(left.fixed(known.kept[left.nodes], np.zeros(left.nodes.size, dtype=bool)))
        self.best_kept, self.best_value = self.fixed_in.copy(), self.left.base
        for kept in () if known is None else known.tried:
            self._try(kept[self.left.nodes], closure_value(self.left, kept[self.left.nodes]))
        self.bound = self.left.base + int(np.maximum(self.left.profit, 0).sum())
        self.score = np.zeros(self.left.nodes.size, dtype=np.float32)
        if start is not None:
            self.score[:] = start.score[self.left.nodes]
        self.ybar = np.zeros(self.score.size, dtype=np.float32)
        self.at_lowest = self.score.copy()

    def _set(self, left: Remaining) -> None:
        self.left, self.sharing, self.lowest = left, Sharing(left, self.pool), math.inf

    @property
    def n_arcs(self) -> int:
        """Usage arcs of what remains."""
        return self.left.slices.n_arcs

    def round(self) -> None:
        """One round of (1) to (3)."""
        self.k += 1
        self.since += 1
        keep = np.zeros(self.score.size, dtype=bool)
        worth = self.sharing.charges(self.score)
        np.subtract(self.left.profit, worth, out=worth)
        value = best_closures(self.left, worth, keep)
        if value < self.lowest:
            self.lowest, self.at_lowest = value, self.score.copy()
        self.score[keep] += np.float32(step_size(self.k))
        self.ybar += np.float32(2.0 / (self.since + 1)) * (keep - self.ybar)

    def check(self) -> None:
        """Value, rigorous bound, and fixing."""
        self._try(*best_level(self.left, self.ybar))
        ends = forced(self.left, self.sharing.whole_charges(self.at_lowest))
        self.bound = min(self.bound, self.left.base + ends.best)
        # strictly past the value, by more than another rounding of the same shares could move it
        goal = self.best_value - self.left.base - max(1, (self.left.base + ends.best) >> 40)
        kept, out = ends.pruned < goal, ends.kept < goal
        del ends  # as large as all scores
        if (kept | out).sum() >= WORTHWHILE * kept.size:
            self._fix(kept, out)

    def _try(self, keep: NDArray[np.bool_], value: int) -> None:
        """Take a closure of the open splits if, with those fixed in, it is the best so far."""
        if self.left.base + value > self.best_value:
            self.best_value = self.left.base + value
            self.best_kept = self.fixed_in.copy()
            self.best_kept[self.left.nodes[keep]] = True

    def _fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Decide some splits; scores and average go on with the rest."""
        nodes, stays = self.left.nodes, ~(kept | out)
        self._decide(FixingStage(nodes, self.at_lowest, nodes[kept], nodes[out], self.k), kept, out)
        self.score, self.ybar, self.at_lowest = self.score[stays], self.ybar[stays], self.at_lowest[stays]

    def _decide(self, stage: FixingStage, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Take up a stage; bool, shape (k,), say the same of the open splits."""
        self.stages.append(stage)
        self.fixed_in[stage.fixed_in] = True
        self.fixed_out[stage.fixed_out] = True
        self._set(self.left.fixed(kept, out))

    def state(self) -> RunState:
        """All that the rest of the run depends on, besides how it was made."""
        return RunState(
            tuple(self.stages), self.score, self.ybar, self.at_lowest, self.best_kept,
            self.lowest, self.bound, self.best_value, self.k, self.since, self.still,
        )  # fmt: skip

    def go_on(self, state: RunState) -> None:
        """Take up the state of a run that was made alike.

        Raises
        ------
        BrokenFileError
            where it cannot have been.
        """
        for stage in state.stages:
            kept, out = (np.isin(self.left.nodes, decided) for decided in (stage.fixed_in, stage.fixed_out))
            self._decide(stage, kept, out)
        if state.score.size != self.left.nodes.size:
            raise BrokenFileError(
                f"checkpoint: it holds scores of {state.score.size} open splits, {self.left.nodes.size} are open; "
                "delete the file of the point at work to start it anew"
            )
        # copies: rounds change them
        self.score, self.ybar, self.at_lowest = state.score.copy(), state.ybar.copy(), state.at_lowest.copy()
        self.best_kept, self.best_value, self.bound = state.best_kept, state.best_value, state.bound
        self.lowest, self.k, self.since, self.still = state.lowest, state.k, state.since, state.still

    def finish(self) -> int:
        """Cut the core: now the best pruning is optimal for the integers. Arcs of its network."""
        core = solve_core(self.left, self.ties)
        self.best_kept = self.fixed_in.copy()
        self.best_kept[self.left.nodes[core.keep]] = True
        self.best_value = self.bound = self.left.base + core.value
        self.core_load = core.load
        return core.n_arcs

    def decided(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Splits that are proven to be in the optimum, and those that are proven not to be; bool, shape (n,)."""
        if self.core_load is not None:
            return self.best_kept, ~self.best_kept
        # not those that are not worth it without prices either: that is another argument, which every lambda makes for itself
        return self.fixed_in, self.fixed_out

    def scores(self) -> Scores:
        """The state, for a checkpoint or for another lambda."""
        return Scores(scores_after(self.stages, self.left.nodes, self.score, self.fixed_in.size, self.k), self.k)


def scores_after(
    stages: Sequence[FixingStage], nodes: NDArray[np.int32], score: NDArray[Any], n_nodes: int, iteration: int
) -> NDArray[np.float64]:
    """Scores of all nodes as they would be had nothing been fixed: what is fixed in would have gone on being kept."""
    steps = np.concatenate([[0.0], np.cumsum([step_size(k) for k in range(1, iteration + 1)])])
    everywhere = np.zeros(n_nodes)
    for stage in stages:
        everywhere[stage.nodes] = stage.score
        everywhere[stage.fixed_in] += steps[iteration] - steps[min(stage.iteration, iteration)]
    # a split that is decided is in no later stage
    everywhere[nodes] = score
    return everywhere
