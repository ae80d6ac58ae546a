"""One run of price sharing whose rows are elsewhere: rounds, checks, fixing, and the cut that ends it.

(1) to (3) are those of `solvers.price_sharing.solve`. A round sends the scores and gets the charges, one number for each open
split both times; a check gets six sums, and charges in whole numbers; what is fixed is sent as two masks, and each shard notes
by itself which purchases are paid. Trees, steps, fixing and the bound are the driver's.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import FixingStage
from formulations.instance.routing import Amount
from solvers.closures.cut import Ties
from solvers.closures.tree_closure import without_prices
from solvers.price_sharing.checkpoint import Scores
from solvers.price_sharing.cluster.gathered_core import solve_gathered_core
from solvers.price_sharing.cluster.shard import Opened
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem
from solvers.price_sharing.levels import best_level, paid_at
from solvers.price_sharing.remaining import Remaining, all_open
from solvers.price_sharing.run import WORTHWHILE, scores_after, step_size
from solvers.price_sharing.shares import Sharing
from solvers.price_sharing.trees import best_closures, forced
from solvers.price_sharing.whole import Whole, whole


def sharded_whole(problem: ShardedProblem, rate: Fraction) -> Whole:
    """(OBJ) at one lambda in integers; where errors were rounded, what that hides is the slack."""
    driver = problem.driver
    hidden = driver.integers.error_rounding
    exactly = replace(driver, integers=replace(driver.integers, error_rounding=0.0))
    return replace(whole(exactly, rate), problem=driver, slack=hidden)


class DriverRun:
    """One run: what is fixed, the best pruning so far, and the state of what remains."""

    def __init__(self, problem: ShardedProblem, whole: Whole, ties: Ties, start: Scores | None, pool: ThreadPoolExecutor) -> None:
        self.problem, self.whole, self.ties, self.pool = problem, whole, ties, pool
        n = problem.driver.ensemble.n_nodes
        self.fixed_in = np.zeros(n, dtype=bool)
        self.stages: list[FixingStage] = []
        self.core_load: NDArray[np.int64] | None = None
        self.best_kept, self.best_value = np.zeros(n, dtype=bool), 0
        self.k = 0 if start is None else start.iteration
        self.since = self.checks = 0
        is_open = without_prices(problem.driver, ties)
        self._set(all_open(whole, is_open), problem.workers.tell("price", whole.item_price, is_open, after=1))
        self.bound = int(np.maximum(self.left.profit, 0).sum())
        self.score = np.zeros(self.left.nodes.size, dtype=np.float32)
        if start is not None:
            self.score[:] = start.score[self.left.nodes]
        self.ybar = np.zeros(self.score.size, dtype=np.float32)
        self.at_lowest = self.score.copy()
        # a slack in (OBJ), in whole units
        self.margin = math.ceil(2 * whole.slack / float(whole.unit))

    def _set(self, left: Remaining, opened: list[Opened]) -> None:
        self.left, self.sharing, self.lowest = left, Sharing(left, self.pool), math.inf
        self.n_arcs = left.slices.n_arcs + sum(o.n_arcs for o in opened)
        self.base = left.base - sum(o.paid for o in opened)

    def round(self) -> None:
        """One round of (1) to (3)."""
        self.k += 1
        self.since += 1
        keep = np.zeros(self.score.size, dtype=bool)
        worth = self._sum("charges", self.sharing.charges(self.score), self.score)
        np.subtract(self.left.profit, worth, out=worth)
        value = best_closures(self.left, worth, keep)
        if value < self.lowest:
            self.lowest, self.at_lowest = value, self.score.copy()
        self.score[keep] += np.float32(step_size(self.k))
        self.ybar += np.float32(2.0 / (self.since + 1)) * (keep - self.ybar)

    def _sum(self, method: str, own: NDArray[Amount], score: NDArray[np.float32]) -> NDArray[Amount]:
        """What the driver's items charge, and the shards', in the order of the shards."""
        for part in self.problem.workers.ask(method, score):
            own += part
        return own

    def check(self) -> None:
        """Value, rigorous bound, and fixing."""
        self.checks += 1
        keep, value = best_level(self.left, self.ybar, self._paid_at)
        if self.base + value > self.best_value:
            self.best_value = self.base + value
            self.best_kept = self.fixed_in.copy()
            self.best_kept[self.left.nodes[keep]] = True
        charge = self._sum("whole_charges", self.sharing.whole_charges(self.at_lowest), self.at_lowest)
        ends = forced(self.left, charge)
        self.bound = min(self.bound, self.base + ends.best)
        # strictly past the value, by more than another rounding of shares or errors could move it
        goal = self.best_value - self.base - max(1, (self.base + ends.best) >> 40) - self.margin
        kept, out = ends.pruned < goal, ends.kept < goal
        if (kept | out).sum() >= WORTHWHILE * kept.size:
            self._fix(kept, out)

    def _paid_at(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What all rows pay at each level: the driver's own purchases and those of the workers."""
        bills = [paid_at(self.left, level, top), *self.problem.workers.ask("levels", level, top)]
        return [sum(bill[k] for bill in bills) for k in range(top + 1)]

    def _fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Decide some splits; scores and average go on with the rest."""
        nodes, stays = self.left.nodes, ~(kept | out)
        self.stages.append(FixingStage(nodes, self.at_lowest, nodes[kept], nodes[out], self.k))
        self.fixed_in[nodes[kept]] = True
        self._set(self.left.fixed(kept, out), self.problem.workers.tell("fix", kept, out))
        self.score, self.ybar, self.at_lowest = self.score[stays], self.ybar[stays], self.at_lowest[stays]

    def finish(self) -> int:
        """Gather the core and cut it: now the best pruning is optimal for the integers. Arcs of its network."""
        core = solve_gathered_core(self.problem, self.left, self.ties)
        self.best_kept = self.fixed_in.copy()
        self.best_kept[self.left.nodes[core.keep]] = True
        self.best_value = self.bound = self.base + core.value
        self.core_load = core.load
        return core.n_arcs

    def scores(self) -> Scores:
        """The state, for a checkpoint or for another lambda."""
        return Scores(scores_after(self.stages, self.left.nodes, self.score, self.fixed_in.size, self.k), self.k)
