"""The effect of removing each of many units from a forest, for all of them in one sweep.

A unit is a feature, or a group of features. Removing unit u removes all splits on it, and all below:

    R_u = kept splits with a split on u among them and their ancestors                                               (1)
    rise of the error = sum of gain_h over R_u                                                                       (2)
    fall of the cost  = prices of the purchases whose kept users all lie in R_u  +  evaluation of the splits in R_u  (3)

(2) is a sum over the kept subtrees at the topmost splits on u. For (3) every split has the set U_h of the units on its path from
the root, itself included, in bits; purchase j is saved by removing exactly the units in the intersection of U_h over its kept
users h. What an item's purchases add to (3) is cached for as long as the item loses no user.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems
from formulations.instance.numbers import Numbers
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import charges_of

Unit = Literal["feature", "item"]

WORD = 64
"""Bits in a word; every unit is a bit."""


class RemovalEffects:
    """The effects (2) and (3) of every unit on any kept part of a forest.

    `usage`, `numbers`: trees, prices and rows; and the same as arrays, gains included. `units`: the units that each feature
    belongs to, as items that it needs, all at prices above 0.
    """

    def __init__(self, usage: Usage, numbers: Numbers, units: CostItems) -> None:
        self.usage, self.numbers = usage, numbers
        self.n_units = units.n_items
        ensemble, charges = usage.ensemble, usage.charges
        self._topmost = charges_of(ensemble, units)
        words = -(-self.n_units // WORD)
        self._on_way = np.zeros((ensemble.n_nodes, words), dtype=np.uint64)
        _mark_ways(ensemble.parent, self._topmost.start, self._topmost.item, self._on_way)
        node = np.repeat(np.arange(ensemble.n_nodes, dtype=np.int32), np.diff(charges.start))
        by_item = np.argsort(charges.item, kind="stable")
        self._users = node[by_item]
        self._item_of_user = charges.item[by_item]
        counts = np.bincount(charges.item, minlength=usage.costs.n_items)
        self._users_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._known = np.zeros(ensemble.n_nodes, dtype=np.bool_)
        self._saved_by_item = np.zeros((usage.costs.n_items, self.n_units), dtype=numbers.gain.dtype)

    def of(self, kept: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """(2), (3) and the number of topmost kept splits of every unit, in the numbers' units; `kept` is closed under parents."""
        ints, routing, ensemble = self.numbers, self.usage.routing, self.usage.ensemble
        kinds = ints.gain.dtype, ints.gain.dtype, np.int64
        rise, saved, users = (np.zeros(self.n_units, dtype=kind) for kind in kinds)
        _add_subtrees(ensemble.parent, kept, ints.gain, self._topmost.start, self._topmost.item, rise, users)
        _add_subtrees(ensemble.parent, kept, ints.evaluation, self._topmost.start, self._topmost.item, saved, users.copy())
        items = np.unique(self._item_of_user[(kept != self._known)[self._users]])
        self._known = kept.copy()
        self._saved_by_item[items] = 0
        common = np.empty((routing.n_rows, self._on_way.shape[1]), dtype=np.uint64)
        bill = ints.price, ints.weight, self.usage.costs.paid_once
        users_of = self._users_start, self._users
        _add_purchases(items, users_of, kept, self._on_way, self.usage.reached, bill, common, self._saved_by_item)
        return rise, saved + self._saved_by_item.sum(axis=0), users

    def without(self, kept: NDArray[np.bool_], unit: int) -> NDArray[np.bool_]:
        """The splits that remain once a unit is removed."""
        word, bit = divmod(unit, WORD)
        spared: NDArray[np.bool_] = (self._on_way[:, word] >> np.uint64(bit)) & np.uint64(1) == 0
        return kept & spared


def units_of(usage: Usage, by: Unit) -> CostItems:
    """What can be removed, as the items that features need, each at the price 1; a feature without items is one of its own."""
    features = usage.ensemble.n_features
    if by == "feature":
        return CostItems.plain([1] * features)
    items = usage.costs
    needs = tuple(needed or (items.n_items + f,) for f, needed in enumerate(items.needs))
    n_units = items.n_items + features
    return CostItems(tuple(f"unit {u}" for u in range(n_units)), (Fraction(1),) * n_units, needs)


@njit(cache=True)
def _mark_ways(parent, topmost_start, topmost_unit, on_way):  # type: ignore[no-untyped-def]
    """U_h: the units of the parent, and those that are met first at h."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0:
            for w in range(on_way.shape[1]):
                on_way[h, w] = on_way[parent[h], w]
        for j in range(topmost_start[h], topmost_start[h + 1]):
            unit = topmost_unit[j]
            on_way[h, unit // WORD] |= np.uint64(1) << np.uint64(unit % WORD)


@njit(cache=True)
def _add_subtrees(parent, kept, amount, topmost_start, topmost_unit, total, users):  # type: ignore[no-untyped-def]
    """Add to each unit the amounts of the splits in R_u (1): those of the kept subtrees at its topmost splits."""
    below = np.zeros(parent.shape[0], dtype=amount.dtype)
    for h in range(parent.shape[0] - 1, -1, -1):
        if kept[h]:
            below[h] += amount[h]
            if parent[h] >= 0:
                below[parent[h]] += below[h]
            for j in range(topmost_start[h], topmost_start[h + 1]):
                total[topmost_unit[j]] += below[h]
                users[topmost_unit[j]] += 1


@njit(cache=True)
def _add_purchases(items, users_of, kept, on_way, reached, bill, common, saved):  # type: ignore[no-untyped-def]
    """(3) of some items, one after the other, so that one set of bits for each row is enough.

    `users_of` is where the splits that charge each item begin, and these; `bill` are prices, weights, and what is paid once.
    """
    users_start, users = users_of
    tree_of, order, start, stop = reached
    price, weight, paid_once = bill
    n, words = common.shape
    met = np.zeros(n, dtype=np.bool_)
    for m in items:
        met[:] = False
        for k in range(users_start[m], users_start[m + 1]):
            h = users[k]
            if not kept[h]:
                continue
            # for an item that is paid once for all, row 0 stands for all rows
            for p in range(0 if paid_once[m] else start[h], 1 if paid_once[m] else stop[h]):
                i = 0 if paid_once[m] else order[tree_of[h], p]
                for w in range(words):
                    common[i, w] = common[i, w] & on_way[h, w] if met[i] else on_way[h, w]
                met[i] = True
        total_weight = weight.sum()
        for i in range(n):
            if met[i]:
                _add_bits(common, i, price[m] * (total_weight if paid_once[m] else weight[i]), saved[m])


@njit(cache=True)
def _add_bits(common, i, amount, saved):  # type: ignore[no-untyped-def]
    """Add an amount to every unit whose bit is set in row i."""
    for w in range(common.shape[1]):
        bits = common[i, w]
        unit = w * WORD
        while bits:
            if bits & np.uint64(1):
                saved[unit] += amount
            bits >>= np.uint64(1)
            unit += 1
