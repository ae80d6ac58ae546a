"""Prices shared among splits by their scores.

The price of a purchase j is shared among the open splits that need it. Split u pays

    share of u in j  =  price_j exp(s_u) / Z_j,        Z_j = sum over the users u' of j of exp(s_u')                        (1)

so every state is dual feasible. The trees need to know only the charges  c_u = exp(s_u) sum over j of price_j / Z_j. One number a
split is the whole state, since exp(s_u) is the same for all purchases of a split. The passes go item by item, so that they hold Z
as one number a row, or a class of rows. They read usage in one of two forms: merged lists (`solvers.price_sharing.merged_usage`),
or slices of the routing as they are. Where only some users of a purchase pay for it, slices have their `OwnRows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.price_sharing.merged_usage import (
    MOST_TREES,
    MergedUsage,
    bill_classes,
    merged_usage,
    share_classes,
    share_left,
    sum_at,
)
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.remaining import Remaining, price_for_row, price_once

T = TypeVar("T")

ROWS_PER_ARC = 4
"""If an item has less than one arc for this many rows of a block, only the rows of its arcs are zeroed and divided."""

SMALLEST_WEIGHT = 1e-200
"""Smaller weights count as 0, and none is larger than 1e200: prices would leave the range of a float."""


class OwnRows(NamedTuple):
    """The rows of each slice in each block whose purchases the slice's split helps to pay for; without `number`: all rows."""

    number: NDArray[np.int32]  # shape (blocks, slices): how many
    # int64, the same shape: where those of a slice begin in `place`, if they are some of its rows and not all
    first: NDArray[np.int64]
    place: NDArray[np.uint16]  # places in the block

    @classmethod
    def of(cls, *shape: int) -> Self:
        """Room for so many blocks and slices."""
        return cls(np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int64), np.zeros(0, dtype=np.uint16))


ALL_ROWS = OwnRows.of(0, 0)


class Sharing:
    """The passes over all usage of the open splits of a remaining problem.

    `pool`: one thread: passes over many usage arcs are halved between it and the caller's.
    """

    def __init__(self, remaining: Remaining, pool: ThreadPoolExecutor, params: SharingParams) -> None:
        self.pool, self.params = pool, params
        self.take(remaining)

    def take(self, remaining: Remaining) -> None:
        """Share the prices of another remaining problem from now on."""
        self.remaining = remaining
        self.__dict__.pop("merged", None)

    @cached_property
    def merged(self) -> tuple[MergedUsage, ...] | None:
        """One part for each thread; None: slices are read as they are."""
        remaining, slices, params = self.remaining, self.remaining.slices, self.params
        if remaining.objective.usage.ensemble.n_trees > MOST_TREES:
            return None
        borders: tuple[int, ...] = 0, slices.parts[-1]
        usage, prices, left = remaining.blocked_usage, remaining.prices, 1.0
        if slices.n_arcs >= params.one_thread_arcs:
            left = share_left(usage, params.sampled_arcs)
            if left > params.most_left:
                return None
            borders = slices.parts
        if 2 * left * slices.n_arcs > params.most_bytes:
            return None
        n_parts = len(borders) - 1
        each = int(left * slices.n_arcs) // n_parts, params.most_bytes // n_parts
        found = in_threads(self.pool, [partial(merged_usage, usage, prices, *between, *each) for between in pairwise(borders)])
        parts = tuple(part for part in found if part is not None)
        return parts if len(parts) == n_parts else None

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """c_u by (1), up to rounding, in the unit of the integer prices; shape (k,)."""
        weight = weights_of(score)
        if self.merged is None:
            return slice_charges(self.remaining, weight, portions(self.remaining, self.params), self.pool)
        charge = _total(self.pool, [partial(share_classes, lists, weight) for lists in self.merged], weight.size, np.float64)
        charge *= weight
        return charge

    def level_bills(self, level: NDArray[np.int32], top: int) -> list[int]:
        """What the purchases cost whose highest user is at each level, 0 to `top`; nothing at level 0."""
        if self.merged is None:
            return paid_at(self.remaining, level, top)
        parts = [partial(bill_classes, lists, level) for lists in self.merged]
        return [int(bill) for bill in _total(self.pool, parts, top + 1, np.int64)]

    def integer_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Integers that are at most the c_u of some feasible shares, whatever floating point did to `charges`.

        Z_j and the sums over slices are sums of at most T, or N, positive numbers, and a handful of products. Z_j of an item that
        is paid once for all rows has at most as many terms as there are splits, S. So the relative error is below
        (N + T + S + 64) 2^-53. The charges are lowered by twice that, and a lower charge is always feasible.
        """
        usage = self.remaining.objective.usage
        users = usage.ensemble.n_splits if usage.costs.paid_once.any() else 0
        margin = (usage.n_rows + usage.ensemble.n_trees + users + 64) * 2.0**-52
        charge = self.charges(score)
        charge *= 1.0 - margin
        return np.floor(charge, out=charge).astype(np.int64)


def in_threads(pool: ThreadPoolExecutor, works: Sequence[Callable[[], T]]) -> list[T]:
    """What each work returns: the last one in this thread, the others in the pool's."""
    others = [pool.submit(work) for work in works[:-1]]
    last = works[-1]()
    return [*(other.result() for other in others), last]


def _total(pool: ThreadPoolExecutor, parts: Sequence[Callable[[NDArray[Any]], None]], size: int, dtype: type) -> NDArray[Any]:
    """The sum of what the parts add to an array of zeros each."""
    sums: list[NDArray[Any]] = [np.zeros(size, dtype=dtype) for _ in parts]
    in_threads(pool, [partial(part, total) for part, total in zip(parts, sums, strict=True)])
    for other in sums[1:]:
        sums[0] += other
    return sums[0]


class Portion(NamedTuple):
    """What one thread passes over: blocks of rows, and items by their places in `Slices.begins`, each up to before the last."""

    block: int
    last_block: int
    item: int
    last_item: int


def portions(remaining: Remaining, params: SharingParams) -> list[Portion]:
    """The portion of each thread; a single block is divided by items."""
    s, n_blocks = remaining.slices, remaining.objective.usage.row_blocks.n_blocks
    if s.n_arcs < params.one_thread_arcs or (n_blocks == 1 and len(s.parts) < 3):
        return [Portion(0, n_blocks, 0, s.parts[-1])]
    if n_blocks == 1:
        return [Portion(0, 1, first, last) for first, last in pairwise(s.parts)]
    half = (n_blocks + 1) // 2
    return [Portion(0, half, 0, s.parts[-1]), Portion(half, n_blocks, 0, s.parts[-1])]


def slice_charges(
    remaining: Remaining,
    weight: NDArray[np.float64],
    threads: Sequence[Portion],
    pool: ThreadPoolExecutor,
    own: OwnRows = ALL_ROWS,
) -> NDArray[np.float64]:
    """c_u by (1) from slices as they are, up to rounding; `weight` is exp(s_u) times any factor that a purchase's users share."""
    given = remaining.blocked_usage, remaining.prices, own, weight
    charge = _total(pool, [partial(_share_slices, *given, portion) for portion in threads], weight.size, np.float64)
    charge *= weight
    return charge


def weights_of(score: NDArray[Any]) -> NDArray[np.float64]:
    """exp(s_u) times a factor that puts them into the range of a float, because only ratios count; shape (k,).

    Scores drift apart with the rounds, by hundreds. Those that are more than 920 below the highest count as 0: what only they
    need is then charged to nobody.
    """
    weight = score.astype(np.float64)
    if weight.size:
        highest, lowest = weight.max(), weight.min()
        weight -= max((highest + lowest) / 2, highest + math.log(SMALLEST_WEIGHT))
    np.exp(weight, out=weight)
    weight[weight < SMALLEST_WEIGHT] = 0.0
    return weight


def group_weights(score: NDArray[Any], highest: Any) -> NDArray[np.float64]:
    """exp(s_u) divided by the largest of a group whose scores only count among each other; `highest` is the group's score.

    Scores that are farther than 600 below it count as so far below: their weights must be numbers above 0.
    """
    return np.asarray(np.exp(np.maximum(score.astype(np.float64) - highest, -600.0)))


def paid_at(remaining: Remaining, level: NDArray[np.int32], top: int) -> list[int]:
    """What the purchases cost whose highest user is at each level, 0 to `top`; nothing at level 0."""
    total = np.zeros(top + 1, dtype=np.int64)
    _bill_slices(remaining.blocked_usage, remaining.prices, level, total)
    return [int(t) for t in total]


@njit(cache=True, nogil=True)
def rows_in_block(usage, own, b, k):  # type: ignore[no-untyped-def]
    """The rows of slice k in block b for which its split pays: whether `own` lists their places, and their range in that list.

    If not, they are a range of all of the trees' rows.
    """
    h = usage.node[usage.split[k]]
    n_users = usage.stop[b, h] - usage.start[b, h]
    if own.number.shape[0] > 0 and own.number[b, k] < n_users:
        return True, own.first[b, k], own.first[b, k] + own.number[b, k]
    first = usage.tree_of[h] * usage.order.shape[1] + b * usage.size + usage.start[b, h]
    return False, first, first + n_users


@njit(cache=True, nogil=True, error_model="numpy")
def _share_slices(usage, prices, own, weight, portion, charge):  # type: ignore[no-untyped-def]
    """Add the sums of price / Z over some slices in some blocks of rows; 0 where it is paid, or its users' weights are 0."""
    item, split, begins, _, _, _, _, order, rows, size, once = usage
    n_rows = order.shape[1]
    places, own_places = order.reshape(order.size), own.place
    rate = np.empty(min(size, n_rows))
    omega = np.empty(rate.shape[0])
    # of an item in a block: its users, and where their rows stand in `places`, or in `own_places`
    most = begins[portion.last_item] - begins[portion.item]
    user, first, last = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    listed = np.empty(most, dtype=np.bool_)
    for b in range(portion.block, portion.last_block):
        block_rows = rows[b * size : min((b + 1) * size, n_rows)]
        for i in range(block_rows.shape[0]):
            omega[i] = prices.weight[block_rows[i]]
        for g in range(portion.item, portion.last_item):
            m = item[begins[g]]
            # the item's users in this block, and their arcs; an item that is paid once is one purchase, as if of the first block
            count = arcs = 0
            for k in range(begins[g], begins[g + 1]):
                if once[m]:
                    listed[count], first[count], last[count] = False, 0, b == 0 and (own.number.shape[0] == 0 or own.number[0, k])
                else:
                    listed[count], first[count], last[count] = rows_in_block(usage, own, b, k)
                if last[count] > first[count]:
                    user[count] = split[k]
                    arcs += last[count] - first[count]
                    count += 1
            users = user[:count]
            if once[m]:
                _share_once(users, price_once(prices, m), weight, charge)
            # row by row, or only the rows that the arcs meet
            elif arcs * ROWS_PER_ARC < block_rows.shape[0]:
                _share_few(m, places, own_places, users, listed, first, last, rate, block_rows, prices, weight, charge)
            else:
                _share_all(
                    m, places, own_places, users, listed, first, last, rate[: block_rows.shape[0]], block_rows, prices, omega,
                    weight, charge,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _share_once(users, price, weight, charge):  # type: ignore[no-untyped-def]
    """What is paid once for all rows."""
    total = 0.0
    for u in users:
        total += weight[u]
    if total > 0.0:
        for u in users:
            charge[u] += price / total


@njit(cache=True, nogil=True, error_model="numpy")
def _share_all(  # type: ignore[no-untyped-def]
    m, places, own_places, users, listed, first, last, rate, block_rows, prices, omega, weight, charge
):
    """An item in one block, row by row; `omega` has the rows' weights in the order of the block."""
    # the weights of the users of each row's purchase
    rate[:] = 0.0
    for k in range(users.shape[0]):
        w, at = weight[users[k]], own_places if listed[k] else places
        for p in range(first[k], last[k]):
            rate[at[p]] += w
    # what a unit of weight pays
    j = m * prices.weight.shape[0]
    if prices.grid.shape[0] == 0:
        price = float(prices.item[m])
        for i in range(rate.shape[0]):
            rate[i] = price * omega[i] / rate[i] if rate[i] > 0.0 else 0.0
    else:
        for i in range(rate.shape[0]):
            rate[i] = prices.grid[j + block_rows[i]] / rate[i] if rate[i] > 0.0 else 0.0
    if prices.paid.shape[0] > 0:
        for i in range(rate.shape[0]):
            if prices.paid[j + block_rows[i]]:
                rate[i] = 0.0
    # the sum over the rows of each split
    for k in range(users.shape[0]):
        charge[users[k]] += sum_at(rate, own_places if listed[k] else places, first[k], last[k])


@njit(cache=True, nogil=True, error_model="numpy")
def _share_few(  # type: ignore[no-untyped-def]
    m, places, own_places, users, listed, first, last, rate, block_rows, prices, weight, charge
):
    """An item with few arcs in one block: only the rows that they meet."""
    # set to 0 the Z of the rows that are met
    for k in range(users.shape[0]):
        at = own_places if listed[k] else places
        for p in range(first[k], last[k]):
            rate[at[p]] = 0.0
    # Z of each row: the sum of its users' weights
    for k in range(users.shape[0]):
        w, at = weight[users[k]], own_places if listed[k] else places
        for p in range(first[k], last[k]):
            rate[at[p]] += w
    # price / Z, and each user's sum over its rows
    for k in range(users.shape[0]):
        total, at = 0.0, own_places if listed[k] else places
        for p in range(first[k], last[k]):
            i = at[p]
            if rate[i] > 0.0:
                total += price_for_row(prices, m, block_rows[i]) / rate[i]
        charge[users[k]] += total


@njit(cache=True, nogil=True)
def _bill_slices(usage, prices, level, total):  # type: ignore[no-untyped-def]
    """Add each purchase's price at the highest level of its users, item by item; purchases without users count nothing."""
    item, split, begins, node, tree_of, start, stop, order, rows, size, once = usage
    n_rows = order.shape[1]
    highest = np.zeros(min(size, n_rows), dtype=np.int8)
    for b in range(start.shape[0]):
        first = b * size
        block_rows = rows[first : min(first + size, n_rows)]
        for g in range(begins.shape[0] - 1):
            m = item[begins[g]]
            # an item that is paid once is one purchase, which the first block deals with
            if once[m]:
                if b == 0:
                    top = np.int32(0)
                    for k in range(begins[g], begins[g + 1]):
                        top = max(top, level[split[k]])
                    total[top] += price_once(prices, m)
                continue
            # the highest level of the users of each row's purchase
            needed = False
            for k in range(begins[g], begins[g + 1]):
                h, user_level = node[split[k]], level[split[k]]
                if user_level > 0 and start[b, h] < stop[b, h]:
                    needed = True
                    for i in order[tree_of[h], first + start[b, h] : first + stop[b, h]]:
                        highest[i] = max(highest[i], user_level)
            # add the prices at these levels, and clear them for the next item
            if needed:
                for i in range(block_rows.shape[0]):
                    if highest[i] > 0:
                        total[highest[i]] += price_for_row(prices, m, block_rows[i])
                highest[:] = 0
    total[0] = 0
