"""The search for prunings of a boosted ensemble: where descents start, and how a lambda or a budget is answered.

Descents lower loss + lam * cost, so they end near the lower convex hull of loss over cost. Where an edge of the hull is long, as
between no feature at all and the first features that are useful only together, no lambda leads to a pruning inside, and a budget
there would be answered by the edge's cheap end: often by the bare roots. So the pool is seeded with prunings that need no lambda
(`seeds`), and for a budget there are descents inside parts of the ensemble, which have hulls of their own.

Because descents from different sides end in different places, lambdas are swept more than once, and each descent starts where the
one before ended: with falling lambda from the bare roots, with rising lambda from the whole model, and with rising lambda from
some of its first rounds, without the later trees. Then there is a descent for each lambda from the pool's best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import Solver
from formulations.instance.usage import Usage
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.boosting.descent import DEFAULTS, BoostedParams, OnRows, Pool, PricedPruning, descend, point_of, state_of
from prunemodels.models.boosting.seeds import (
    SomeTrees,
    eliminate,
    evenly,
    items_of,
    prefixes,
    round_ends,
    single_features,
    splits_with,
)
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.losses import SampleLoss


class BoostedSearch:
    """The search for one model and sample; `prune_boosted` documents the parameters."""

    def __init__(
        self,
        forest: ModelForest,
        usage: Usage,
        loss: SampleLoss,
        rounds: int,
        solver: Solver,
        time_limit: float,
        params: BoostedParams = DEFAULTS,
    ) -> None:
        self.started = time.perf_counter()
        self.deadline = self.started + time_limit
        self.rounds, self.solver, self.params, self.solved = rounds, solver, params, 0
        self.pool, self.stationary = Pool(), set[tuple[PricedPruning, float]]()
        self.whole = SomeTrees.whole(forest, usage, loss)
        self.firsts = {self.whole.trees: self.whole}
        self.eliminated: list[PricedPruning] = []
        self.unpruned = self._point(self.whole, forest.ensemble.is_split)
        self.roots = self._point(self.whole, np.zeros_like(forest.ensemble.is_split))
        self._seed()

    def _point(self, part: SomeTrees, kept: NDArray[np.bool_]) -> PricedPruning:
        """A pruning of a part, with loss and cost; the pool takes it up."""
        point = point_of(part, state_of(part, kept))
        return self._see(part, point) or point

    def _see(self, part: SomeTrees, point: PricedPruning, *, rough: bool = False) -> PricedPruning | None:
        """Put a point of a part into the pool, as one of the whole; None if a point there is as cheap and as good.

        If its cost is `rough`, it is recomputed.
        """
        if not self.pool.see(point.cost, point.loss):
            return None
        if part is not self.whole:
            trees = None if part.trees == self.whole.trees else part.trees
            point = replace(point, kept=part.lift(point.kept), trees=trees)
        if rough:
            point = replace(point, cost=self.whole.usage.cost(point.kept))
        self.pool.add(point)
        return point

    def _seed(self) -> None:
        """Fill the pool with the prunings that need no lambda, see `seeds`."""
        whole = self.whole
        for kept in single_features(whole):
            self._point(whole, kept)
        for point in () if whole.forest.averaged else prefixes(whole):
            self._see(whole, point, rough=True)
        rounded = not whole.prices.exact
        for trees in reversed(self._ends(self.params.eliminated_prefixes)):
            part = self.first(trees)
            for point, taken in eliminate(part, self.deadline, self.params.most_steps):
                self._see(part, point, rough=rounded)
                if taken and part is whole:
                    self.eliminated.append(point)

    def _ends(self, n: int) -> list[int]:
        """Numbers of trees after some rounds, the last being all; an average of trees has no rounds, so only all trees."""
        forest = self.whole.forest
        return [self.whole.trees] if forest.averaged else evenly(round_ends(forest), n)

    def first(self, trees: int | None) -> SomeTrees:
        """The part of the first trees with all their splits; made once."""
        trees = self.whole.trees if trees is None else trees
        if trees not in self.firsts:
            self.firsts[trees] = self.whole.inside(self.whole.forest.ensemble.is_split, trees)
        return self.firsts[trees]

    def grid(self, n: int | None = None) -> list[float]:
        """0 and n - 1 lambdas, geometrically spaced; default: as many as the grid for one lambda or a budget has."""
        n, span = self.params.grid_size if n is None else n, self.params.lambda_range
        loss_saved = self.roots.loss - self.unpruned.loss
        if n == 1 or loss_saved <= 0 or self.unpruned.cost <= 0:
            return [0.0]
        top = math.sqrt(span) / 3.0 * loss_saved / self.unpruned.cost
        return [0.0, *np.geomspace(top / span, top, n - 1).tolist()]

    def _descend(self, part: SomeTrees, start: NDArray[np.bool_], lam: float) -> tuple[NDArray[np.bool_], bool]:
        """One descent of a part, whose points go into the pool; the last pruning, and whether it is the start and stationary."""
        found = descend(part, lam, start, solver=self.solver, rounds=self.rounds, deadline=self.deadline, params=self.params)
        self.solved += found.solved
        end = None
        for point in found.points[1:]:
            end = self._see(part, point)
        if end is not None and found.stationary and part is self.first(part.trees):
            self.stationary.add((end, lam))
        return found.points[-1].kept, found.stationary and len(found.points) == 1

    def _improve(self, lam: float) -> None:
        """Descend from the pool's best for lambda, unless that is stationary."""
        best = self.pool.best(lam)
        if best.trees == 0:
            self.stationary.add((best, lam))  # without trees there is nothing to prune
        if (best, lam) not in self.stationary:
            part = self.first(best.trees)
            if self._descend(part, best.kept[part.nodes], lam)[1]:
                self.stationary.add((best, lam))

    def sweep(self, lams: Sequence[float]) -> None:
        """Descend from the bare roots, the whole model and some of its first rounds; then, for each lambda, from the best."""
        rising = sorted(set(lams))
        kept = self.roots.kept
        for lam in reversed(rising):
            kept = self._descend(self.whole, kept, lam)[0]
        for trees in reversed(self._ends(self.params.swept_prefixes)):
            part = self.first(trees)
            kept = part.forest.ensemble.is_split
            for lam in rising:
                kept = self._descend(part, kept, lam)[0]
        for _ in range(self.params.passes):
            for lam in rising:
                self._improve(lam)

    def at(self, lam: float) -> BoostedPruning:
        """The pool's best for one lambda, after a sweep that includes it."""
        self.sweep([*self.grid(), lam])
        return self.answer(self.pool.best(lam), lam)

    def path(self, lams: Sequence[float], budgets: Sequence[float]) -> BoostedPath:
        """The pool's best for every lambda and every budget."""
        self.sweep(lams)
        within = [self.within(budget, lams) for budget in budgets]
        found = [self.answer(self.pool.best(lam), lam) for lam in sorted(set(lams))]
        return BoostedPath(
            tuple(sorted([*found, *within], key=lambda p: (p.lam, -p.cost))),
            self.answer(self.unpruned, 0.0),
            tuple(self.pool.visited),
            tuple(self.answer(point, math.nan) for point in self.pool.points),
        )

    def within(self, budget: float, lams: Sequence[float]) -> BoostedPruning:
        """The pool's pruning of lowest loss within the budget, after bisecting lambda between too dear and cheap enough."""
        low, high = 0.0, self.params.lambda_range * max(1.0, *lams)
        for lam in sorted(lams):
            low, high = (lam, high) if self.pool.best(lam).cost > budget else (low, min(high, lam))
        for _ in range(self.params.bisections if self.pool.best(0.0).cost > budget else 0):
            lam = math.sqrt(low * high) if low > 0 else high / 4.0
            self._improve(lam)
            low, high = (lam, high) if self.pool.best(lam).cost > budget else (low, lam)
        self._search_parts(budget, lams)
        return self.answer(self.pool.within(budget), high)

    def _search_parts(self, budget: float, lams: Sequence[float]) -> None:
        """Descend inside parts around the budget until its best pruning stays the same."""
        done = set[tuple[int, frozenset[int]]]()
        for _ in range(self.params.part_passes):
            best = self.pool.within(budget)
            for trees, items in self._parts_near(best, budget):
                if (trees, items) not in done and time.perf_counter() <= self.deadline:
                    done.add((trees, items))
                    kept = splits_with(self.whole.usage, set(items))
                    self._bisect(self.whole.inside(kept, trees), budget, max(lams))
            if self.pool.within(budget) is best:
                return

    def _parts_near(self, best: PricedPruning, budget: float) -> Iterator[tuple[int, frozenset[int]]]:
        """Trees and items of the budget's best, of the next dearer one, and of the elimination's last step that is too dear."""
        dearer = [p for p in (self.pool.above(budget), *[p for p in self.eliminated if p.cost > budget][-1:]) if p]
        for point in (best, *dearer):
            yield point.trees or self.whole.trees, frozenset(items_of(self.whole.usage, point.kept))

    def _bisect(self, part: SomeTrees, budget: float, top: float) -> None:
        """Descend inside a part, from all its splits, and bisect lambda towards a cost that equals the budget."""
        kept = self._descend(part, part.forest.ensemble.is_split, 0.0)[0]
        low, high = 0.0, top
        for _ in range(self.params.part_bisections if part.usage.cost(kept) > budget else 0):
            lam = math.sqrt(low * high) if low > 0 else high / 16.0
            end = self._descend(part, kept, lam)[0]
            if part.usage.cost(end) > budget:
                low, kept = lam, end
            else:
                high = lam

    def answer(self, point: PricedPruning, lam: float) -> BoostedPruning:
        """A point of the pool as an answer; its loss is recomputed."""
        part = self.whole
        forest = part.forest if point.trees is None else _first_rounds(part.forest, point.trees)
        stats = {
            "seconds": time.perf_counter() - self.started,
            "problems_solved": float(self.solved),
            "visited": float(len(self.pool.visited)),
        }
        loss = state_of(OnRows(forest, part.usage, part.loss), point.kept).loss
        stationary = (point, lam) in self.stationary
        return BoostedPruning(forest, part.usage, point.kept, lam, loss, point.cost, stationary, stats, part.loss)


def _first_rounds(forest: ModelForest, trees: int) -> ModelForest:
    """The forest with all its trees, of which those after the first `trees` add nothing."""
    value = forest.ensemble.value.copy()
    value[forest.ensemble.tree_start[trees] :] = 0.0
    return forest.with_values(value)
