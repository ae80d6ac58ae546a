"""What a path's shares say: how the users of each purchase divide its price, from one number for each split.

See `formulations.answers.pruning_path.PathShares`. With U the purchase's users of highest level, and S its price times 2^bits,

    rate = S / (sum of the weights of U) * (1 - 2^-30),      share of each but the last = floor(weight * rate)              (1)
    the last split of U pays S less the other shares                                                                      (2)
    moves: from the share of one user of U to that of another                                                              (3)

By (2) the shares of a purchase add up to S, and moves change no sum. It remains to check that no share is negative. The shares
(1) are not, because weights are above 0. The shares (2), and the shares after the moves, are checked one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PathShares
from proofs_checks.optimality.item_duals import wide_sum
from proofs_checks.optimality.recount import Recount, Refuted

LEAST_WEIGHT, LARGEST_WEIGHT = 1e-150, 1e150
"""Sums of weights, and rates of prices below 2^62, stay floats."""

MOST_BITS = 62

Exact = int | Fraction
"""Numbers most of which are integers."""


class Shares:
    """The shares of all splits. Arrays are those of one item at a time, whose usage arcs are read three times.

    `level` is that of every node, -1 at leaves and at splits that are never kept; what has the level `top` is always kept, and
    pays nothing. Then `purchase_level` is the highest level among the users of every purchase, -1 where it is never bought, and
    `total` the sum of the shares of each split, in 2^-bits integer prices.
    """

    def __init__(self, certificate: PathShares, recount: Recount, level: NDArray[np.int64], top: int) -> None:
        self._recount, self._level = recount, level
        self.bits = _bits(certificate.bits)
        self._weight = _weights(certificate.weight, (level >= 0) & (level < top))
        self._moves = _Moves(certificate, recount.n_purchases, level.size)
        self._sums = np.zeros(level.size, dtype=np.int64)
        self.purchase_level = np.full(recount.n_purchases, -1, dtype=np.int32)
        rank, taken = ranks(level), 0
        for m in np.flatnonzero(recount.priced).tolist():
            last = highest_users(recount, m, rank)
            at = np.where(last < 0, -1, level[last])
            self.purchase_level[recount.by_item(m)] = at
            shared, weight = (at >= 0) & (at < top), _row_weight(recount, m)
            price = int(recount.problem.numbers.price[m]) << self.bits
            taken += price * wide_sum(weight[shared])
            if taken >= 2**MOST_BITS:
                raise Refuted(f"the prices of all purchases, times 2^{self.bits}, are 2^{MOST_BITS} or more")
            if shared.any():
                self._divide(m, np.where(shared, weight, 0) * price, at, last)
        moved = self._moves.made(self.bits, level.tolist())
        self.total: dict[int, Exact] = {h: int(self._sums[h]) + moved.get(h, 0) for h in recount.splits}

    def _divide(self, item: int, prices: NDArray[np.int64], at: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """(1) and (2) for an item's purchases."""
        # what a unit of weight pays
        weights = np.zeros(prices.size)
        for split, place in self._paying(item, at):
            np.add.at(weights, place, self._weight[split])
        rate = np.divide(prices, weights, out=np.zeros_like(weights), where=weights > 0.0) * (1.0 - 2.0**-30)
        # the shares of all users but the last
        mine, left_over = self._recount.by_item(item), prices.copy()
        moved = self._moves.of_purchases(mine)
        for split, place in self._paying(item, at):
            share = np.floor(self._weight[split] * rate[place]).astype(np.int64)
            share[split == last[place]] = 0
            np.add.at(self._sums, split, share)
            np.subtract.at(left_over, place, share)
            if moved.any():
                named = moved[place]
                self._moves.add_shares(mine.start + place[named], split[named], share[named])
        if (left_over < 0).any():
            raise Refuted(
                f"the shares of {self._recount.name(mine.start + int(np.argmax(left_over < 0)))} are more than its price"
            )
        # the last user's
        with_rest = np.flatnonzero(left_over)
        np.add.at(self._sums, last[with_rest], left_over[with_rest])
        with_rest = with_rest[moved[with_rest]]
        self._moves.add_shares(mine.start + with_rest, last[with_rest], left_over[with_rest])

    def _paying(self, item: int, at: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The usage arcs of an item whose split is of the level of their purchase."""
        for split, place in self._recount.users(item):
            pays = self._level[split] == at[place]
            yield split[pays], place[pays]


class _Moves:
    """(3), and the shares between which they are made."""

    def __init__(self, certificate: PathShares, n_purchases: int, n_nodes: int) -> None:
        self._n = n_nodes
        self._purchase = _numbers(certificate.purchase, "purchase", n_purchases)
        self._giver, self._taker = _numbers(certificate.giver, "giver", n_nodes), _numbers(certificate.taker, "taker", n_nodes)
        self._amount = _amounts(certificate.amount)
        if not self._purchase.size == self._giver.size == self._taker.size == len(self._amount):
            raise Refuted("the moves' purchases, givers, takers and amounts are not equally many")
        ends = np.concatenate([self._giver, self._taker])
        self._arcs = np.unique(np.tile(self._purchase, 2) * n_nodes + ends)
        self._share: dict[int, int] = {}

    def of_purchases(self, part: slice) -> NDArray[np.bool_]:
        """Which purchases of a part have moves."""
        here = (self._purchase >= part.start) & (self._purchase < part.stop)
        moved = np.zeros(part.stop - part.start, dtype=bool)
        moved[self._purchase[here] - part.start] = True
        return moved

    def add_shares(self, purchase: NDArray[np.int64], split: NDArray[np.int64], share: NDArray[np.int64]) -> None:
        """Add to the shares of those pairs of a purchase and a split that are named in a move."""
        arc = purchase * self._n + split
        named = self._arcs[np.minimum(np.searchsorted(self._arcs, arc), self._arcs.size - 1)] == arc
        for a, s in zip(arc[named].tolist(), share[named].tolist(), strict=True):
            self._share[a] = self._share.get(a, 0) + s

    def made(self, bits: int, level: list[int]) -> dict[int, Exact]:
        """What each split takes, less what it gives, in 2^-bits integer prices, after checking that no share gets negative."""
        # amounts as whole multiples of a unit for each level, because sums of fractions are slow
        amounts, givers = [amount * 2**bits for amount in self._amount], self._giver.tolist()
        finer: dict[int, int] = {}
        for giver, amount in zip(givers, amounts, strict=True):
            finer[level[giver]] = math.lcm(finer.get(level[giver], 1), amount.denominator)
        # what each split takes in each purchase, and in all
        changed: dict[int, int] = {}
        taken: dict[int, int] = {}
        for j, giver, taker, amount in zip(self._purchase.tolist(), givers, self._taker.tolist(), amounts, strict=True):
            whole = amount.numerator * (finer[level[giver]] // amount.denominator)
            for h, change in ((giver, -whole), (taker, whole)):
                arc = j * self._n + h
                if arc not in self._share:
                    raise Refuted(f"a move names split {h}, which pays no part of purchase {j}")
                changed[arc] = changed.get(arc, 0) + change
                taken[h] = taken.get(h, 0) + change
        # users of one purchase who pay for it have one level
        for arc, change in changed.items():
            j, h = divmod(arc, self._n)
            if self._share[arc] * finer[level[h]] + change < 0:
                raise Refuted(f"after the moves the share of split {h} in purchase {j} is negative")
        return {h: Fraction(amount, finer[level[h]]) for h, amount in taken.items()}


def highest_users(recount: Recount, item: int, rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """The user of highest rank of each purchase of an item, -1 where there is none."""
    mine, of_rank = recount.by_item(item), np.empty_like(rank)
    of_rank[rank] = np.arange(rank.size)
    highest = np.full(mine.stop - mine.start, -1)
    for split, place in recount.users(item):
        np.maximum.at(highest, place, rank[split])
    return np.where(highest < 0, -1, of_rank[highest])


def ranks(key: NDArray[Any]) -> NDArray[np.int64]:
    """The rank of each node by a key, 0 to n - 1; of equals the last node is the highest."""
    order = np.argsort(key, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank


def _row_weight(recount: Recount, item: int) -> NDArray[np.int64]:
    """What an item's purchases count, aligned with `Recount.by_item`: the weights of their rows, or (at most 2^62) their sum."""
    weight = recount.problem.numbers.weight.astype(np.int64)
    return np.array([min(wide_sum(weight), 2**MOST_BITS)]) if recount.once[item] else weight


def _bits(given: Any) -> int:
    if not isinstance(given, Integral) or not 0 <= int(given) < MOST_BITS:
        raise Refuted(f"shares are in units of 2^-bits, and bits is {given!r}, not 0 to {MOST_BITS - 1}")
    return int(given)


def _weights(given: Any, counts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The weights of the splits that count; 0 elsewhere."""
    if not isinstance(given, np.ndarray) or given.shape != counts.shape or given.dtype != np.float64:
        raise Refuted(f"the weights are no array of {counts.size} floats of 64 bits, one for each node")
    wrong = counts & ~((given >= LEAST_WEIGHT) & (given <= LARGEST_WEIGHT))  # what is no number too
    if wrong.any():
        h = int(np.argmax(wrong))
        raise Refuted(f"split {h} has the weight {float(given[h])}, not {LEAST_WEIGHT} to {LARGEST_WEIGHT}")
    return np.where(counts, given, 0.0)


def _numbers(given: Any, name: str, below: int) -> NDArray[np.int64]:
    """The purchases or splits of moves."""
    if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind != "i":
        raise Refuted(f"the moves' {name} is no array of integers")
    if given.size and not (given.min() >= 0 and given.max() < below):
        raise Refuted(f"the moves' {name} goes from {given.min()} to {given.max()}, not 0 to {below - 1}")
    return given.astype(np.int64)


def _amounts(given: Any) -> list[Fraction]:
    if not isinstance(given, tuple) or not all(isinstance(amount, Rational) and Fraction(amount) > 0 for amount in given):
        raise Refuted("the moves' amounts are no fractions above 0")
    return [Fraction(amount) for amount in given]
