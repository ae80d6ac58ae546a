"""Nested sets of items by backward elimination: drop the item whose loss matters least for its price.

From all items down to none, with the held-out loss L(I) of models that read the features that the items I allow,

    drop the item of least   (L(I without m) - L(I)) / price_m                                                            (1)

Features that need a dropped item go with it, and items that no remaining feature needs go too. While many items remain, the
difference in (1) is estimated by shuffling the columns that need m, and several items go at once. Later it is measured by
training again without m, for the items that matter least by shuffling. Items without a price stay: they are read from the start.
Losses of sets, shuffled or not, are kept in the folder of a checkpoint, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from formulations.instance.cost_items import CostItems
from formulations.instance.tree_loss import TreeLoss
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import Sample
from prunemodels.stages.judging import fitting_loss
from prunemodels.stages.set_stages import columns_of, predictions_of, row_prices

Keep = Callable[[tuple[Any, ...], Any, Callable[[], Any]], Any]
"""What the work belongs to, the work, and what does it -> its result."""


def afresh(of: tuple[Any, ...], work: Any, make: Callable[[], Any]) -> Any:
    """The `Keep` of a fit without a checkpoint: all work is done."""
    return make()


@dataclass(frozen=True, eq=False)
class ItemSet:
    """One of the nested sets."""

    items: NDArray[np.bool_]  # shape (M,)
    features: NDArray[np.int64]  # the columns that these items allow
    loss: float  # held-out log loss, or squared error, of models that read them: the mean over the parts


@dataclass(frozen=True, eq=False)
class JudgedFold:
    """One division of the examples into rows to train on and rows to judge by."""

    train: Callable[[NDArray[np.int64]], Any]  # fits a model on given columns of the training rows
    held_out: Sample  # labelled rows that it does not see; its y holds class numbers, or targets


def eliminate(
    search: SetSearch,
    seed: int,
    advance: Callable[[int], None],
    start: NDArray[np.bool_] | None = None,
) -> list[ItemSet]:
    """Nested sets, the largest first, down to what is free; the last may have no features.

    `search`: the rows, and what is known of sets. `seed`: of the shuffling; each step has its own random numbers, so a resumed
    search finds what an unbroken one would have found. `advance`: called with the number of items that were dropped. `start`:
    shape (M,): the first set. Default: all items.
    """
    items = search.items
    found = [search.measured(search.useful(np.ones(items.n_items, dtype=bool) if start is None else start))]
    while search.priced(kept := found[-1].items).size:
        smaller = search.smaller(kept, found[-1].loss, (seed, len(found)))
        found.append(search.measured(smaller))
        advance(int(kept.sum()) - int(smaller.sum()))
    return found


def grow(
    search: SetSearch,
    eliminated: Sequence[ItemSet],
    allows: Callable[[float], bool],
    dearest: float,
) -> list[ItemSet]:
    """Nested sets from what is free on: the purchase of largest fall of the loss per price joins; the smallest set first.

    A purchase is the items that one feature needs. The larger a set, the less one more feature adds, mostly. So a purchase's last
    known fall bounds the next one, and a purchase is measured again only while its bound is the largest.

    `eliminated`: from `eliminate`; of many purchases only those that it kept longest are tried. `allows`: whether a row may pay
    so much for a set. `dearest`: no purchase of a higher price is made. If there is such a limit, the first purchase is that of
    most different values per price, since rows that have nothing in which they differ cannot be told apart.
    """
    items, each = search.items, row_prices(search.items)
    purchases: list[NDArray[np.bool_]] = []
    for s in eliminated[::-1]:  # the smallest set first
        masks = [search.needs[f] for f in s.features if 0 < search.needs[f] @ items.price <= dearest]
        fresh = {mask.tobytes(): mask for mask in masks if not any((mask == p).all() for p in purchases)}
        if purchases and len(purchases) + len(fresh) > PARAMS.most_purchases:
            break
        purchases += fresh.values()
    found = [search.measured(search.useful(items.price == 0))]
    purchases = [mask for mask in purchases if allows(float(each[found[0].items | mask].sum()))]
    if np.isfinite(dearest) and purchases:
        values = [search.different_values(mask) / float(mask @ items.price) for mask in purchases]
        found.append(search.measured(found[0].items | purchases[int(np.argmax(values))]))
    bound = [np.inf] * len(purchases)
    for _ in range(PARAMS.most_grown):
        kept, loss, best = found[-1].items, found[-1].loss, -1
        able = [allows(float(each[kept | mask].sum())) for mask in purchases]
        price = [float(items.price[mask & ~kept].sum()) * may for mask, may in zip(purchases, able, strict=True)]
        measured: dict[int, ItemSet] = {}
        while any(p > 0 for p in price):
            best = max((k for k in range(len(purchases)) if price[k] > 0), key=lambda k: bound[k])
            if best in measured:
                break
            measured[best] = search.measured(kept | purchases[best])
            search.fitted.clear()
            bound[best] = (loss - measured[best].loss) / price[best]
        if best not in measured:
            break
        found.append(measured[best])
    return found


def listed(sets: Iterable[ItemSet], items: CostItems) -> list[tuple[tuple[str, ...], float]]:
    """Items and loss of each set, the dearest first."""
    ordered = sorted(sets, key=lambda s: (-items.price[s.items].sum(), -s.items.sum()))
    return [(tuple(items.names[m] for m in np.flatnonzero(s.items)), s.loss) for s in ordered]


def price_limits(items: CostItems) -> list[float]:
    """The dearest single purchases of sets that grow: any; and, where some cost ten times others, those in the lower half.

    Halves are of the logarithms. With cheap purchases alone, a small budget has something to spend on: they tell, however
    badly, for whom to buy a dear one.
    """
    prices = [items.price[list(needed)].sum() for needed in items.needs]
    paid = np.array([price for price in prices if price > 0])
    low, high = float(paid.min()), float(paid.max())
    return [np.inf, float(np.sqrt(low * high))] if high >= 10 * low else [np.inf]


def joined(grown: Sequence[ItemSet], backward: Sequence[ItemSet]) -> list[ItemSet]:
    """The sets that grew, then each larger set of the elimination together with the last of them."""
    found, last = list(grown), grown[-1]
    for s in backward:
        both = ItemSet(s.items | last.items, np.union1d(s.features, last.features), np.nan)
        if both.items.sum() > found[-1].items.sum():
            found.append(both)
    return found


def spread_out(sets: Sequence[ItemSet], price: NDArray[np.float64], count: int) -> list[ItemSet]:
    """At most `count` of the sets, spaced evenly by the logarithm of their price; the first and the last are among them."""
    if len(sets) <= count:
        return list(sets)
    costs = np.array([float(price[s.items].sum()) for s in sets])
    steps = np.log1p(costs / costs[costs > 0].min())
    chosen: list[int] = []
    for wanted in np.linspace(steps[0], steps[-1], count):
        free = [k for k in range(len(sets)) if k not in chosen]
        chosen.append(min(free, key=lambda k: abs(steps[k] - wanted)))
    chosen[0], chosen[-1] = 0, len(sets) - 1
    return [sets[k] for k in sorted(set(chosen))]


class SetSearch:
    """The rows by which sets are judged, and the losses of those that were.

    `parts`: at least one; of many the first ones that hold out enough rows, at most three. `items`: prices of all columns.
    `classes`: the labels, for classification. `by`: what predictions are judged by. `kept`: gives losses.
    """

    def __init__(
        self,
        parts: Sequence[JudgedFold],
        items: CostItems,
        classes: NDArray[Any] | None,
        by: TreeLoss,
        kept: Callable[[Any, Callable[[], Any]], Any],
    ) -> None:
        self.kept = kept
        enough = parts_enough([len(part.held_out) for part in parts], PARAMS.enough_held_out)
        self.parts, self.items, self.classes, self.by = parts[: min(enough, PARAMS.most_parts)], items, classes, by
        self.needs = items.needs_of(range(items.n_features))
        self.fitted: dict[bytes, tuple[Any, ...]] = {}
        self.losses: dict[bytes, float] = {}

    def features(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The columns that the items allow."""
        return np.flatnonzero(~(self.needs & ~kept).any(axis=1))

    def useful(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The items that some column that they allow needs."""
        return np.asarray(kept & self.needs[self.features(kept)].any(axis=0))

    def different_values(self, items: NDArray[np.bool_]) -> int:
        """The largest number of different values of a column that these items allow, in held-out rows of the first part."""
        X, columns = self.parts[0].held_out.X, self.features(items)
        parts: list[Any] = [columns_of(X, columns[k : k + 1]) for k in range(columns.size)]
        return max(int(pd.DataFrame(c.toarray() if hasattr(c, "toarray") else c).iloc[:, 0].nunique()) for c in parts)

    def priced(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The items that cost something."""
        return np.flatnonzero(kept & (self.items.price > 0))

    def measured(self, kept: NDArray[np.bool_]) -> ItemSet:
        """The set with its held-out loss."""
        key = kept.tobytes()
        if key not in self.losses:
            self.losses[key] = self.kept(("loss", kept), partial(self._mean_loss, kept))
        return ItemSet(kept, self.features(kept), self.losses[key])

    def _mean_loss(self, kept: NDArray[np.bool_]) -> float:
        columns, models = self.features(kept), self._fit(kept)
        return float(np.mean([self._loss(part, models[p] if models else None, columns) for p, part in enumerate(self.parts)]))

    def _fit(self, kept: NDArray[np.bool_]) -> tuple[Any, ...]:
        """The models of a set, one for each part; the last ones are kept."""
        key = kept.tobytes()
        if key not in self.fitted:
            columns = self.features(kept)
            self.fitted[key] = tuple(part.train(columns) for part in self.parts) if columns.size else ()
        return self.fitted[key]

    def _loss(self, part: JudgedFold, model: Any, columns: NDArray[np.int64]) -> float:
        """Mean log loss, or squared error, of a model; without one, of the class shares or the mean."""
        y, weights = part.held_out.y, part.held_out.weights
        if model is None:
            return mean_loss(np.tile(constant_of(y, weights, self.classes), (len(weights), 1)), y, weights, self.by)
        return mean_loss(predictions_of(model, columns_of(part.held_out.X, columns), self.classes), y, weights, self.by)

    def smaller(self, kept: NDArray[np.bool_], loss: float, seed: tuple[int, int]) -> NDArray[np.bool_]:
        """The next smaller set, by (1)."""
        candidates = self.priced(kept)
        rise = self.kept(("shuffled", seed, kept), partial(self._shuffled, kept, candidates, seed))
        rise_per_price = rise / self.items.price[candidates]
        order = candidates[np.argsort(rise_per_price, kind="stable")]
        self.fitted = {key: value for key, value in self.fitted.items() if key == kept.tobytes()}
        if candidates.size > PARAMS.several_above:
            gone = order[: max(1, int(PARAMS.dropped_share * candidates.size))]
        elif candidates.size == 1 or candidates.size > PARAMS.measured_up_to:
            gone = order[:1]
        else:
            tried = order[: PARAMS.n_measured]
            sets = [*map(self.measured, [self._without(kept, m) for m in tried])]
            rise = np.array([s.loss for s in sets]) - loss
            return sets[int(np.argmin(rise / self.items.price[tried]))].items
        return self._without(kept, gone)

    def _without(self, kept: NDArray[np.bool_], gone: Any) -> NDArray[np.bool_]:
        remaining = kept.copy()
        remaining[gone] = False
        return self.useful(remaining)

    def _shuffled(self, kept: NDArray[np.bool_], candidates: NDArray[np.int64], seed: tuple[int, int]) -> NDArray[np.float64]:
        """For each item, how much the loss rises if the columns that need it are shuffled: the mean over the parts."""
        rng = np.random.RandomState(seed)
        columns, models = self.features(kept), self._fit(kept)
        rise = np.zeros(candidates.size)
        for part, model in zip(self.parts, models, strict=True):
            drawn = rng.permutation(len(part.held_out))[: PARAMS.shuffled_rows]
            X = columns_of(part.held_out.take(drawn).X, columns)
            y, weights = np.asarray(part.held_out.y)[drawn], part.held_out.weights[drawn]
            plain = mean_loss(predictions_of(model, X, self.classes), y, weights, self.by)
            for k, m in enumerate(candidates):
                X_shuffled = _with_shuffled(X, np.flatnonzero(self.needs[columns, m]), rng)
                rise[k] += mean_loss(predictions_of(model, X_shuffled, self.classes), y, weights, self.by) - plain
        return np.maximum(rise / len(self.parts), 0.0)


def _with_shuffled(X: Any, columns: NDArray[np.int64], rng: np.random.RandomState) -> Any:
    """The rows with some columns shuffled, together."""
    order, shuffled = rng.permutation(X.shape[0]), X.copy()
    if hasattr(X, "tocsr"):
        others = np.setdiff1d(np.arange(X.shape[1]), columns)
        back = np.argsort(np.concatenate([others, columns]))
        joined: Any = sparse.hstack([X[:, others], X[order][:, columns]], format="csr")
        return joined[:, back]
    if isinstance(X, pd.DataFrame):
        for c in columns.tolist():
            shuffled.isetitem(c, X.iloc[order, c].array)
    else:
        shuffled[:, columns] = X[order][:, columns]
    return shuffled


def parts_enough(held_out: Sequence[int], wanted: int) -> int:
    """How many of the first divisions hold out so many rows together; at least the number of all if they never do."""
    return int(np.searchsorted(np.cumsum(held_out), wanted)) + 1


def constant_of(y: Any, weights: NDArray[np.float64], classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """The class shares, or the mean."""
    if classes is None:
        return np.array([np.average(y, weights=weights)])
    return np.asarray(np.bincount(y, weights=weights, minlength=len(classes)) / weights.sum())


def mean_loss(value: NDArray[np.float64], y: Any, weights: NDArray[np.float64], by: TreeLoss) -> float:
    """The mean loss by which models are compared, see `prunemodels.stages.judging.fitting_loss`."""
    return float(np.average(fitting_loss(value, np.asarray(y), by), weights=weights))
