"""The search for prunings of a boosted ensemble: where descents start, and what answers a lambda or a budget.

Descents lower loss + lam * cost, so all that they can end in lies near the lower convex hull of loss over cost. Where an edge of
the hull is long, as between no feature at all and the first features that say something together, no lambda leads to a pruning
inside, and a budget there would be answered by the edge's cheap end: often by the bare roots. So the pool is seeded with prunings
that need no lambda (`seeds`), and for a budget there are descents inside of parts of the ensemble, which have hulls of their own.

Because descents from different sides end in different places, lambdas are swept more than once, each descent starting where the
one before ended: falling from the bare roots, rising from the whole model, and rising from some of its first rounds, whose later
trees do not come back. Then each lambda descends from the pool's best.
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
from prunemodels.other_libraries.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.other_libraries.descent import Point, descend, point_of
from prunemodels.other_libraries.losses import Loss
from prunemodels.other_libraries.majoriser import state_of
from prunemodels.other_libraries.model_forest import ModelForest
from prunemodels.other_libraries.parts import Part, items_of, splits_with
from prunemodels.other_libraries.pool import Pool
from prunemodels.other_libraries.removals import eliminate
from prunemodels.other_libraries.seeds import evenly, prefixes, round_ends, single_features

WIDTH = 100.0
"""Largest over smallest lambda of a trade-off's default grid, 0 aside."""

GRID, BISECTIONS = 12, 8
"""Lambdas that are tried for one lambda or a budget, and for a budget after them."""

PASSES = 3
"""How often each lambda descends from the pool's best, which others may have changed; not where that is stationary."""

STAGES = 4
"""Numbers of rounds, all among them, whose trees are swept alone."""

ELIMINATIONS = 8
"""Numbers of rounds, all among them, from which items are eliminated."""

FILLS, FILLING = 2, 4
"""How often a budget's best is descended from inside of parts around it, and lambdas that are bisected in each."""


class Search:
    """The pool of one model and sample; `prune_boosted` says what the parameters are."""

    def __init__(self, forest: ModelForest, usage: Usage, loss: Loss, rounds: int, solver: Solver, time_limit: float) -> None:
        self.started = time.perf_counter()
        self.deadline = self.started + time_limit
        self.loss, self.rounds, self.solver, self.solved = loss, rounds, solver, 0
        self.pool, self.stationary = Pool(), set[tuple[Point, float]]()
        self.whole = Part.whole(forest, usage, loss)
        self.firsts = {self.whole.trees: self.whole}
        self.eliminated: list[Point] = []
        self.unpruned = self._point(self.whole, forest.ensemble.is_split)
        self.roots = self._point(self.whole, np.zeros_like(forest.ensemble.is_split))
        self._seed()

    def _point(self, part: Part, kept: NDArray[np.bool_]) -> Point:
        """A pruning of a part, seen."""
        point = point_of(part.usage, state_of(part.forest, part.usage, self.loss, kept))
        return self._see(part, point) or point

    def _see(self, part: Part, point: Point, *, rough: bool = False) -> Point | None:
        """A point of a part as one of the whole, put into the pool; None if one there costs no more and loses no more.

        Where its cost is `rough` it is counted anew.
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
        """What needs no lambda: `seeds`."""
        whole = self.whole
        for kept in single_features(whole):
            self._point(whole, kept)
        for point in self._prefixes():
            self._see(whole, point, rough=True)
        rounded = whole.prices.cost_rounding > 0
        for trees in reversed(self._ends(ELIMINATIONS)):
            part = self.first(trees)
            for removal in eliminate(part, self.deadline):
                point = Point(removal.kept, removal.loss, removal.cost)
                self._see(part, point, rough=rounded)
                if removal.taken and part is whole:
                    self.eliminated.append(point)

    def _prefixes(self) -> Iterator[Point]:
        return iter(()) if self.whole.forest.averaged else prefixes(self.whole)

    def _ends(self, n: int) -> list[int]:
        """Numbers of trees after some rounds, all of them the last; of an average of trees, which has no rounds, just that."""
        forest = self.whole.forest
        return [self.whole.trees] if forest.averaged else evenly(round_ends(forest), n)

    def first(self, trees: int | None) -> Part:
        """The first trees, whole; made once."""
        trees = self.whole.trees if trees is None else trees
        if trees not in self.firsts:
            self.firsts[trees] = self.whole.inside(self.whole.forest.ensemble.is_split, trees)
        return self.firsts[trees]

    def grid(self, n: int) -> list[float]:
        """0 and n - 1 lambdas, geometrically."""
        fall = self.roots.loss - self.unpruned.loss
        if n == 1 or fall <= 0 or self.unpruned.cost <= 0:
            return [0.0]
        top = math.sqrt(WIDTH) / 3.0 * fall / self.unpruned.cost
        return [0.0, *np.geomspace(top / WIDTH, top, n - 1).tolist()]

    def _descend(self, part: Part, start: NDArray[np.bool_], lam: float) -> tuple[NDArray[np.bool_], bool]:
        """One descent of a part into the pool; what it ends with, and whether that is stationary, and where it was from."""
        found = descend(
            part.forest,
            part.usage,
            self.loss,
            lam,
            start,
            solver=self.solver,
            rounds=self.rounds,
            deadline=self.deadline,
        )
        self.solved += found.solved
        end = None
        for point in found.points[1:]:
            end = self._see(part, point)
        if end is not None and found.stationary and part is self.first(part.trees):
            self.stationary.add((end, lam))
        return found.points[-1].kept, found.stationary and len(found.points) == 1

    def _improve(self, lam: float) -> None:
        """A descent from the pool's best for lambda, unless that is stationary."""
        best = self.pool.best(lam)
        if best.trees == 0:
            self.stationary.add((best, lam))  # without trees there is nothing to prune
        if (best, lam) not in self.stationary:
            part = self.first(best.trees)
            if self._descend(part, best.kept[part.nodes], lam)[1]:
                self.stationary.add((best, lam))

    def sweep(self, lams: Sequence[float]) -> None:
        """From the bare roots, from the whole model and from some of its first rounds; then each lambda from the pool's best."""
        rising = sorted(set(lams))
        kept = self.roots.kept
        for lam in reversed(rising):
            kept = self._descend(self.whole, kept, lam)[0]
        for trees in reversed(self._ends(STAGES)):
            part = self.first(trees)
            kept = part.forest.ensemble.is_split
            for lam in rising:
                kept = self._descend(part, kept, lam)[0]
        for _ in range(PASSES):
            for lam in rising:
                self._improve(lam)

    def at(self, lam: float) -> BoostedPruning:
        """The pool's best for one lambda, after a sweep that includes it."""
        self.sweep([*self.grid(GRID), lam])
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
        """The pool's lowest loss at no more than the budget, after bisecting lambda between what is too dear and what is not."""
        low, high = 0.0, WIDTH * max(1.0, *lams)
        for lam in sorted(lams):
            low, high = (lam, high) if self.pool.best(lam).cost > budget else (low, min(high, lam))
        for _ in range(BISECTIONS if self.pool.best(0.0).cost > budget else 0):
            lam = math.sqrt(low * high) if low > 0 else high / 4.0
            self._improve(lam)
            low, high = (lam, high) if self.pool.best(lam).cost > budget else (low, lam)
        self._fill(budget, lams)
        return self.answer(self.pool.within(budget), high)

    def _fill(self, budget: float, lams: Sequence[float]) -> None:
        """Descend inside of parts around the budget until its best stays the same."""
        done = set[tuple[int, frozenset[int]]]()
        for _ in range(FILLS):
            best = self.pool.within(budget)
            for trees, items in self._around(best, budget):
                if (trees, items) not in done and time.perf_counter() <= self.deadline:
                    done.add((trees, items))
                    kept = splits_with(self.whole.usage, set(items))
                    self._bisect(self.whole.inside(kept, trees), budget, max(lams))
            if self.pool.within(budget) is best:
                return

    def _around(self, best: Point, budget: float) -> Iterator[tuple[int, frozenset[int]]]:
        """Trees and items of the budget's best, of the next dearer one, and of the elimination's last step that is too dear."""
        dearer = [p for p in (self.pool.above(budget), *[p for p in self.eliminated if p.cost > budget][-1:]) if p]
        for point in (best, *dearer):
            yield point.trees or self.whole.trees, frozenset(items_of(self.whole.usage, point.kept))

    def _bisect(self, part: Part, budget: float, top: float) -> None:
        """Descents inside of a part, from all of it, for lambdas at which it comes to cost the budget."""
        kept = self._descend(part, part.forest.ensemble.is_split, 0.0)[0]
        low, high = 0.0, top
        for _ in range(FILLING if part.usage.cost(kept) > budget else 0):
            lam = math.sqrt(low * high) if low > 0 else high / 16.0
            end = self._descend(part, kept, lam)[0]
            if part.usage.cost(end) > budget:
                low, kept = lam, end
            else:
                high = lam

    def answer(self, point: Point, lam: float) -> BoostedPruning:
        """A point of the pool for the user, loss and cost computed anew."""
        part = self.whole
        forest = part.forest if point.trees is None else _first_rounds(part.forest, point.trees)
        stats = {
            "seconds": time.perf_counter() - self.started,
            "problems_solved": float(self.solved),
            "visited": float(len(self.pool.visited)),
        }
        loss = state_of(forest, part.usage, self.loss, point.kept).loss
        stationary = (point, lam) in self.stationary
        return BoostedPruning(forest, part.usage, point.kept, lam, loss, point.cost, stationary, stats, self.loss)


def _first_rounds(forest: ModelForest, trees: int) -> ModelForest:
    """The forest with all trees, of which the last ones add nothing."""
    value = forest.ensemble.value.copy()
    value[forest.ensemble.tree_start[trees] :] = 0.0
    return forest.with_values(value)
