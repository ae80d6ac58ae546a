"""Usage with one purchase in the place of all that the same splits need, as lists that rounds read again and again.

Rows of one block for which the same open splits need an item are a *class*. They share their prices alike, so that a class is one
purchase, at the sum of those of its prices that are not paid yet; where that is 0, it is left out. This leaves 40 to 60 % of the
usage arcs where each tree chooses among all features, and it costs as much as four to six rounds. Where trees choose among a few
features at random, hardly a row has the users of another. A sample tells beforehand: `share_left`. Rows are compared by the sums

    code_i  =  sum over the slices k that hold row i of key_k  (mod 2^64),       key_k = 48 bits of a hash of k, then 1        (1)

whose last 16 bits count the users. Rows with the same code have the same users if each slice of one row holds the first row of
its class as well. That is looked up for every arc; a row for which it is wrong stays by itself.

A merged arc takes 2 bytes, where slices take 8 for any number of arcs. So there is a limit to it, see `MOST_ARCS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

MOST_ARCS = 32_000_000
"""With more usage arcs slices are read as they are: lists of so many take up to 64 MB."""

MOST_LEFT = 0.75
"""Purchases are not merged where more than this share of the usage arcs would be left."""

SAMPLE = 8
"""Arcs whose items are looked at to find that out."""

MOST_TREES = 2**16 - 1
"""A split of each tree can need the same purchase, and the last 16 bits of (1) count its users."""


@dataclass(frozen=True, eq=False)
class MergedUsage:
    """Usage of some items. An *entry* is a slice in one block; a *segment* has the entries of one item in one block.

    Parameters
    ----------
    split
        int32, shape (e,): the place of the split among the open ones.
    stop
        int64, shape (e + 1,): the arcs of entry k are those from `stop[k]` to `stop[k + 1]`.
    place
        uint16, shape (a,): the class of each arc, numbered within its segment.
    entries, classes
        int64, shape (g + 1,): the first entry and the first class of each segment.
    price
        int64, shape (c,): of each class, > 0.
    """

    split: NDArray[np.int32]
    stop: NDArray[np.int64]
    place: NDArray[np.uint16]
    entries: NDArray[np.int64]
    classes: NDArray[np.int64]
    price: NDArray[np.int64]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All of it, as the compiled passes take it."""
        return self.split, self.stop, self.place, self.entries, self.classes, self.price

    def add_charges(self, weight: NDArray[np.float64], charge: NDArray[np.float64]) -> None:
        """Add each split's price / Z over its classes, (1) of `solvers.price_sharing.shares` without exp(s_u), to `charge`."""
        _share(*self.arrays, weight, charge)

    def add_bills(self, level: NDArray[np.int32], total: NDArray[np.int64]) -> None:
        """Add the price of each class at the highest level of its users to `total`, shape (top + 1,)."""
        _add_up(*self.arrays, level, total)


def merged_usage(usage: tuple[Any, ...], paid: NDArray[np.bool_], prices: tuple[Any, ...], first: int, last: int) -> MergedUsage:
    """Merge the slices first, ..., last - 1, which hold all slices of their items.

    Parameters
    ----------
    usage
        `Remaining.blocked_usage`.
    paid
        bool, shape (M (N + 1),): purchases that cost nothing any more; empty: none.
    prices
        `IntegerPrices.price_arrays`.
    """
    item, split, nodes, _, start, stop, order, _, size, once = usage
    item, split = item[first:last], split[first:last]
    at, is_once = nodes[split], once[item]
    arcs = [np.where(is_once, 0, ends[at] - begins[at]) for begins, ends in zip(start, stop, strict=True)]
    n_once = np.count_nonzero(is_once)
    n_arcs, n_entries = sum(int(a.sum()) for a in arcs) + n_once, sum(np.count_nonzero(a) for a in arcs) + n_once
    n_items = np.count_nonzero(np.diff(item)) + 1
    n_segments = len(arcs) * n_items
    # Pages that nothing is written to take no memory.
    found = MergedUsage(
        np.empty(n_entries, dtype=np.int32),
        np.zeros(n_entries + 1, dtype=np.int64),
        np.empty(n_arcs + 1, dtype=np.uint16),
        np.zeros(n_segments + 1, dtype=np.int64),
        np.zeros(n_segments + 1, dtype=np.int64),
        np.empty(min(n_arcs, n_items * order.shape[1]), dtype=np.int64),
    )
    keys, table = keys_of(item.size), table_for(min(size, order.shape[1]))
    s, e, a, c = _merge(item, split, *usage[2:], paid, *prices, keys, table, *found.arrays)
    sizes = e, e + 1, a, s + 1, s + 1, c
    for array, size in zip(found.arrays, sizes, strict=True):
        array.resize(size, refcheck=False)  # in place: no copy beside it
    return found


def share_left(usage: tuple[Any, ...]) -> float:
    """The share of the usage arcs that merging would leave, from a sample: the items of `SAMPLE` arcs in equal distances.

    Parameters
    ----------
    usage
        `Remaining.blocked_usage`; the first block stands for all.
    """
    item, split, nodes, tree_of, start, stop, order, _, size, once = usage
    at = nodes[split]
    arcs = np.cumsum(np.where(once[item], 0, stop[0, at] - start[0, at]), dtype=np.int64)
    if not arcs.size or arcs[-1] == 0:
        return 0.0
    places = np.searchsorted(arcs, arcs[-1] * np.arange(1, 2 * SAMPLE, 2) // (2 * SAMPLE), side="right")
    keys, table = keys_of(item.size), table_for(min(size, order.shape[1]))
    share = 0.0
    for m, times in zip(*np.unique(item[places], return_counts=True), strict=True):
        begin, end = (int(np.searchsorted(item, m, side=side)) for side in ("left", "right"))
        left = _left(split, begin, end, nodes, tree_of, start, stop, order, size, keys, table)
        share += times / SAMPLE * left / int(arcs[end - 1] - (arcs[begin - 1] if begin else 0))
    return float(share)


def table_for(n_rows: int) -> NDArray[np.int32]:
    """A hash table for the codes of so many rows, not filled."""
    return np.empty(2 << n_rows.bit_length(), dtype=np.int32)


def keys_of(n: int) -> NDArray[np.uint64]:
    """The keys (1) of n slices."""
    random = np.random.default_rng(0).integers(1 << 48, size=n, dtype=np.uint64)
    return (random << np.uint64(16)) | np.uint64(1)


@njit(cache=True, nogil=True)
def _left(split, begin, end, nodes, tree_of, start, stop, order, size, keys, table):  # type: ignore[no-untyped-def]
    """The arcs of one item in the first block that merging would leave."""
    n_rows = order.shape[1]
    n = min(size, n_rows)
    code, first_row = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int32)
    places = order.reshape(order.size)
    return _classes(split, begin, end, 0, nodes, tree_of, start[0], stop[0], places, n_rows, keys, table, code, first_row)


@njit(cache=True, nogil=True)
def _classes(  # type: ignore[no-untyped-def]
    split, begin, end, block, nodes, tree_of, start, stop, places, n_rows, keys, table, code, first_row
):
    """(1) of each row of a segment, the first row with the same code, and how many arcs these first rows have together."""
    mask = table.shape[0] - 1
    code[:] = 0
    for k in range(begin, end):
        h = nodes[split[k]]
        first = tree_of[h] * n_rows + block
        for p in range(first + start[h], first + stop[h]):
            code[places[p]] += keys[k]
    table[:] = -1
    left = np.int64(0)
    for i in range(code.shape[0]):
        if code[i] > 0:
            t = np.int64(code[i] >> np.uint64(20)) & mask
            while table[t] >= 0 and code[table[t]] != code[i]:
                t = (t + 1) & mask
            if table[t] < 0:
                table[t] = i
                left += np.int64(code[i] & np.uint64(0xFFFF))
            first_row[i] = table[t]
    return left


@njit(cache=True, nogil=True)
def _merge(  # type: ignore[no-untyped-def]
    item,
    split,
    nodes,
    tree_of,
    start,
    stop,
    order,
    rows,
    size,
    once,
    paid,
    item_price,
    row_weight,
    once_price,
    grid,
    keys,
    table,
    entry_split,
    entry_stop,
    place,
    entries,
    classes,
    price,
):
    """Segment by segment: (1) of all rows, the first row of each class, prices, and the lists."""
    n_rows = order.shape[1]
    places = order.reshape(order.size)
    width = min(size, n_rows)
    code, total = np.empty(width, dtype=np.uint64), np.empty(width, dtype=np.int64)
    first_row, listed = np.empty(width, dtype=np.int32), np.empty(width, dtype=np.int32)
    slice_of = np.zeros(width, dtype=np.int64)
    s = e = a = c = 0
    number = 0  # of the last slice whose rows are marked in slice_of; 0: none
    for b in range(start.shape[0]):
        block_rows = rows[b * size : min((b + 1) * size, n_rows)]
        n = block_rows.shape[0]
        begin = 0
        while begin < item.shape[0]:
            m = item[begin]
            end = begin + 1
            while end < item.shape[0] and item[end] == m:
                end += 1
            if once[m]:
                j = once.shape[0] * n_rows + m
                if b == 0 and once_price[m] > 0 and not (paid.shape[0] > 0 and paid[j]):
                    for k in range(begin, end):
                        place[a] = 0
                        a += 1
                        entry_split[e] = split[k]
                        e += 1
                        entry_stop[e] = a
                    price[c] = once_price[m]
                    c += 1
            else:
                at = b * size
                _classes(
                    split, begin, end, at, nodes, tree_of, start[b], stop[b], places, n_rows, keys, table, code[:n], first_row
                )
                before = e, a, c
                for _attempt in range(2):
                    e, a, c = before
                    total[:n] = 0
                    for i in range(n):
                        if code[i] > 0:
                            j = m * n_rows + block_rows[i]
                            if not (paid.shape[0] > 0 and paid[j]):
                                amount = item_price[m] * row_weight[block_rows[i]] if grid.shape[0] == 0 else grid[j]
                                total[first_row[i]] += amount
                    for i in range(n):
                        listed[i] = -1
                        if total[i] > 0:
                            listed[i] = c - before[2]
                            price[c] = total[i]
                            c += 1
                    equal = True
                    for k in range(begin, end):
                        h = nodes[split[k]]
                        first = tree_of[h] * n_rows + b * size
                        first_arc = a
                        number += 1
                        for p in range(first + start[b, h], first + stop[b, h]):
                            slice_of[places[p]] = number
                        for p in range(first + start[b, h], first + stop[b, h]):
                            i = places[p]
                            equal &= slice_of[first_row[i]] == number
                            # What is not listed is written over by the next one.
                            place[a] = listed[i]
                            a += listed[i] >= 0
                        if a > first_arc:
                            entry_split[e] = split[k]
                            e += 1
                            entry_stop[e] = a
                    if equal:
                        break
                    # Two classes have the same code, which never happens: each row by itself.
                    for i in range(n):
                        first_row[i] = i
            if c > classes[s]:
                s += 1
                entries[s], classes[s] = e, c
            begin = end
    return s, e, a, c


@njit(cache=True, nogil=True, error_model="numpy")
def _share(split, stop, place, entries, classes, price, weight, charge):  # type: ignore[no-untyped-def]
    """Price / Z of every class, then its sum over each entry; 0 where the users' weights are 0."""
    rate = np.empty(0)
    for g in range(entries.shape[0] - 1):
        n, first = classes[g + 1] - classes[g], classes[g]
        if rate.shape[0] < n:
            rate = np.empty(n)
        rate[:n] = 0.0
        for e in range(entries[g], entries[g + 1]):
            w = weight[split[e]]
            for p in range(stop[e], stop[e + 1]):
                rate[place[p]] += w
        for i in range(n):
            rate[i] = price[first + i] / rate[i] if rate[i] > 0.0 else 0.0
        for e in range(entries[g], entries[g + 1]):
            # four sums, so that no addition waits for the one before
            a = b = c = d = 0.0
            p, end = stop[e], stop[e + 1]
            while p + 4 <= end:
                a += rate[place[p]]
                b += rate[place[p + 1]]
                c += rate[place[p + 2]]
                d += rate[place[p + 3]]
                p += 4
            for q in range(p, end):
                a += rate[place[q]]
            charge[split[e]] += (a + b) + (c + d)


@njit(cache=True, nogil=True)
def _add_up(split, stop, place, entries, classes, price, level, total):  # type: ignore[no-untyped-def]
    """Add each class's price at the highest level of its users; nothing at level 0."""
    highest = np.empty(0, dtype=np.int8)
    for g in range(entries.shape[0] - 1):
        n, first = classes[g + 1] - classes[g], classes[g]
        if highest.shape[0] < n:
            highest = np.empty(n, dtype=np.int8)
        highest[:n] = 0
        for e in range(entries[g], entries[g + 1]):
            user_level = level[split[e]]
            if user_level > 0:
                for p in range(stop[e], stop[e + 1]):
                    highest[place[p]] = max(highest[place[p]], user_level)
        for i in range(n):
            total[highest[i]] += price[first + i]
    total[0] = 0
