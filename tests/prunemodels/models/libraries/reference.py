"""Loss and cost of prunings of boosted models in plain NumPy, and what a user would try by hand: nothing of the search's code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from formulations import CostItems
from prunemodels.other_libraries import ModelForest

Seen = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Reference:
    """A model on labelled rows; `reached` says which row passes which node, and `y` holds class numbers or targets."""

    forest: ModelForest
    items: CostItems
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    evaluation: float
    reached: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        forest: ModelForest,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        items: CostItems,
        weight: NDArray[np.float64] | None = None,
        evaluation: float = 0.0,
    ) -> Reference:
        rows, e = forest.rows(X).astype(np.float64), forest.ensemble
        reached = np.zeros((e.n_nodes, len(rows)), dtype=bool)
        reached[e.roots] = True
        for h in np.flatnonzero(e.is_split):
            x = rows[:, e.feature[h]]
            left = np.where(np.isnan(x), e.missing_left[h], x <= e.threshold[h])
            reached[e.left[h]], reached[e.right[h]] = reached[h] & left, reached[h] & ~left
        return cls(forest, items, y, np.ones(len(y)) if weight is None else weight, evaluation, reached)

    def seen(self, kept: NDArray[np.bool_], trees: int | None = None) -> Seen:
        """(cost, loss) of a pruning of the first trees, later ones left out."""
        e, items = self.forest.ensemble, self.items
        trees = e.n_trees if trees is None else trees
        leaf = ~kept & (kept[e.parent] | (e.parent < 0)) & (e.tree_of < trees)
        margins = np.tile(self.forest.base, (len(self.y), 1))
        for o in range(self.forest.n_outputs):
            own = leaf & (self.forest.output[e.tree_of] == o)
            margins[:, o] += e.value[own, 0] @ self.reached[own]
        share = self.weight / self.weight.sum()
        cost = self.evaluation * float((self.reached[kept] @ share).sum())
        for m, price in enumerate(items.prices):
            users = [h for h in np.flatnonzero(kept) if m in items.needs[e.feature[h]]]
            if users:
                cost += float(price) * (1.0 if items.paid_once[m] else float(share @ self.reached[users].any(axis=0)))
        return cost, float(share @ self._losses(margins))

    def _losses(self, F: NDArray[np.float64]) -> NDArray[np.float64]:
        a = self.forest.sharpness
        if self.forest.link == "identity":
            return np.asarray((self.y - F[:, 0]) ** 2)
        if self.forest.link == "softmax":
            return np.asarray(logsumexp(F, axis=1) - F[np.arange(len(F)), self.y.astype(int)])
        truth = self.y[:, None] if F.shape[1] == 1 else np.eye(F.shape[1])[self.y.astype(int)]
        return np.asarray((np.logaddexp(0, a * F) - truth * a * F).sum(axis=1))

    def prefixes(self) -> Iterator[Seen]:
        """After each round."""
        for trees in range(0, self.forest.ensemble.n_trees + 1, self.forest.n_outputs):
            yield self.seen(self._first(trees), trees)

    def eliminations(self, rounds: int) -> Iterator[Seen]:
        """All removals of a backward elimination of items from the first rounds on; the least loss per cost saved goes next."""
        trees = rounds * self.forest.n_outputs
        kept = self._first(trees)
        now = self.seen(kept, trees)
        while True:
            tried = []
            for m in range(self.items.n_items):
                left = self.without(kept, m)
                after = self.seen(left, trees)
                if after[0] < now[0] - 1e-12:
                    yield after
                    tried.append(((after[1] - now[1]) / (now[0] - after[0]), m, left, after))
            if not tried:
                return
            _, _, kept, now = min(tried, key=lambda one: one[:2])

    def without(self, kept: NDArray[np.bool_], item: int) -> NDArray[np.bool_]:
        """Less the splits that need an item, and all below."""
        e, left = self.forest.ensemble, kept.copy()
        for h in range(e.n_nodes):
            above = e.parent[h]
            left[h] &= item not in self.items.needs[e.feature[h]] and (above < 0 or bool(left[above]))
        return left

    def _first(self, trees: int) -> NDArray[np.bool_]:
        e = self.forest.ensemble
        return np.asarray(e.is_split & (e.tree_of < trees))
