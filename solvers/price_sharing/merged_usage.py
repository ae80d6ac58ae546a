"""Usage with one purchase in the place of all that the same splits need, as lists that rounds read again and again.

Rows of one block for which the same open splits need an item are a *class*. They share their prices alike, so that a class is one
purchase, at the sum of those of its prices that are not paid yet; where that is 0, it is left out. This leaves 40 to 60 % of the
usage arcs where each tree chooses among all features, and it costs as much as four to six rounds. Where trees choose among a few
features at random, hardly a row has the users of another. A sample tells beforehand: `share_left`. Rows are compared by the sums

    code_i  =  sum over the slices k that hold row i of key_k  (mod 2^64),       key_k = 48 bits of a hash of k, then 1        (1)

whose last 16 bits count the users. Rows with the same code have the same users if each slice of one row holds the first row of
its class as well. That is looked up for every arc; a row for which it is wrong stays by itself.

A merged arc takes 2 bytes, where slices take 8 for any number of arcs. So `SharingParams.most_bytes` limits what is left. Few
splits have few sets of users: however many usage arcs they have, hardly anything is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.price_sharing.remaining import BlockedUsage, UnpaidPrices, price_for_row, price_once

MOST_TREES = 2**16 - 1
"""A split of each tree can need the same purchase, and the last 16 bits of (1) count its users."""


class MergedUsage(NamedTuple):
    """Usage of some items. An *entry* is a slice in one block; a *segment* has the entries of one item in one block."""

    split: NDArray[np.int32]  # shape (e,): the place of the split among the open ones
    stop: NDArray[np.int64]  # shape (e + 1,): the arcs of entry k are those from `stop[k]` to `stop[k + 1]`
    place: NDArray[np.uint16]  # shape (a,): the class of each arc, numbered within its segment
    price: NDArray[np.int64]  # shape (c,): of each class, > 0
    # entries, classes: int64, shape (g + 1,): the first entry and the first class of each segment. Segments are sorted by item,
    # then by block.
    entries: NDArray[np.int64]
    classes: NDArray[np.int64]
    # bool, shape (g,): segments in which each row is a class of its own, because two sets of users have the same code
    by_row: NDArray[np.bool_]
    begins: NDArray[np.int64]  # shape (items + 1,): the first slice of each item

    def resize(self, n_entries: int, n_arcs: int, n_classes: int) -> None:
        """Make the lists longer or shorter, in place: where they are large, there is no copy beside them."""
        self.split.resize(n_entries, refcheck=False)
        self.stop.resize(n_entries + 1, refcheck=False)
        self.place.resize(n_arcs, refcheck=False)
        self.price.resize(n_classes, refcheck=False)


class BlockClasses(NamedTuple):
    """The classes of one item's rows in one block, and room to find them; all but `table` have a number for each row."""

    code: NDArray[np.uint64]  # (1), 0 for rows that do not need the item
    first_row: NDArray[np.int32]  # the first row of the class of each row with a code
    total: NDArray[np.int64]  # the price of each first row's class, 0 for all other rows
    place: NDArray[np.int32]  # the number of each first row's class, -1 for all other rows and where the price is 0
    reached: NDArray[np.int64]  # the last slice that has the row
    table: NDArray[np.int32]  # a hash table for the codes

    @classmethod
    def of(cls, usage: BlockedUsage) -> BlockClasses:
        """Room for the rows of any block."""
        n = min(usage.size, usage.order.shape[1])
        code, total = np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.int64)
        first_row, place = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
        table = np.empty(2 << n.bit_length(), dtype=np.int32)
        return cls(code, first_row, total, place, np.zeros(n, dtype=np.int64), table)


def merged_usage(
    usage: BlockedUsage, prices: UnpaidPrices, first: int, last: int, n_arcs: int, most_bytes: int
) -> MergedUsage | None:
    """Merge the slices of the items first, ..., last - 1; None where the lists become too long.

    `n_arcs`: how many arcs are left, about. The lists begin with room for so many, in an eighth as many classes, and grow by a
    quarter. `most_bytes`: what entries, arcs and classes may take.
    """
    begins = usage.begins[first : last + 1]
    n_segments, n_slices = usage.start.shape[0] * (last - first), int(begins[-1] - begins[0])
    lists = MergedUsage(
        np.empty(n_slices, dtype=np.int32),
        np.zeros(n_slices + 1, dtype=np.int64),
        np.empty(n_arcs + 1, dtype=np.uint16),
        np.empty(n_arcs // 8 + 1, dtype=np.int64),
        np.zeros(n_segments + 1, dtype=np.int64),
        np.zeros(n_segments + 1, dtype=np.int64),
        np.zeros(n_segments, dtype=np.bool_),
        begins,
    )
    keys, found, done = keys_of(usage.item.size), BlockClasses.of(usage), np.zeros(6, dtype=np.int64)
    s = _merge(usage, prices, keys, found, lists, done, 0)
    while s < n_segments:
        needed = done[3:].tolist()
        if needed[0] * 12 + needed[1] * 2 + needed[2] * 8 > most_bytes:
            return None
        room = lists.split.size, lists.place.size, lists.price.size
        lists.resize(*(max(n, 5 * has // 4) if n > has else has for n, has in zip(needed, room, strict=True)))
        s = _merge(usage, prices, keys, found, lists, done, s)
    lists.resize(*done[:3].tolist())
    return lists


def share_left(usage: BlockedUsage, sampled: int) -> float:
    """The share of the usage arcs that merging would leave, from a sample: the items of so many arcs in equal distances.

    The first block stands for all.
    """
    item, at = usage.item, usage.node[usage.split]
    arcs = np.cumsum(np.where(usage.once[item], 0, usage.stop[0, at] - usage.start[0, at]), dtype=np.int64)
    if not arcs.size or arcs[-1] == 0:
        return 0.0
    places = np.searchsorted(arcs, arcs[-1] * np.arange(1, 2 * sampled, 2) // (2 * sampled), side="right")
    keys, found = keys_of(item.size), BlockClasses.of(usage)
    share = 0.0
    of_places = np.searchsorted(usage.begins, places, side="right") - 1
    for g, times in zip(*np.unique(of_places, return_counts=True), strict=True):
        begin, end = usage.begins[g : g + 2].tolist()
        left, _ = find_classes(usage, 0, begin, end, keys, found)
        share += times / sampled * left / int(arcs[end - 1] - (arcs[begin - 1] if begin else 0))
    return float(share)


def keys_of(n: int) -> NDArray[np.uint64]:
    """The keys (1) of n slices."""
    random = np.random.default_rng(0).integers(1 << 48, size=n, dtype=np.uint64)
    return (random << np.uint64(16)) | np.uint64(1)


@njit(cache=True, nogil=True)
def _merge(usage, prices, keys, found, lists, done, s):  # type: ignore[no-untyped-def]
    """Write the lists from segment s on: the first segment for which there is no room, or the number of all.

    `done` has the entries, arcs and classes that are written, and those that the next segment needs.
    """
    n_blocks = usage.start.shape[0]
    while s < lists.by_row.shape[0]:
        b, begin, end = s % n_blocks, lists.begins[s // n_blocks], lists.begins[s // n_blocks + 1]
        if usage.once[usage.item[begin]]:
            price = price_once(prices, usage.item[begin]) if b == 0 else np.int64(0)
            if price > 0:
                if not _has_room(lists, done, end - begin, end - begin, 1):
                    return s
                _list_once(usage, begin, end, price, lists, done)
        else:
            n_arcs, n_classes = find_classes(usage, b, begin, end, keys, found)
            if lists.by_row[s]:
                n_arcs, n_classes = each_row_by_itself(found)
            if not _has_room(lists, done, end - begin, n_arcs, n_classes):
                return s
            number_classes(usage, prices, b, begin, found)
            if not _list(usage, b, begin, end, found, lists, done):
                # Two classes have the same code, which never happens: once more, each row by itself.
                lists.by_row[s] = True
                continue
        s += 1
        lists.entries[s], lists.classes[s] = done[0], done[2]
    return s


@njit(cache=True, nogil=True)
def _has_room(lists, done, n_entries, n_arcs, n_classes):  # type: ignore[no-untyped-def]
    """Whether so many more fit into the lists; the place behind the last arc is written to as well."""
    done[3], done[4], done[5] = done[0] + n_entries, done[1] + n_arcs + 1, done[2] + n_classes
    return done[3] <= lists.split.shape[0] and done[4] <= lists.place.shape[0] and done[5] <= lists.price.shape[0]


@njit(cache=True, nogil=True)
def find_classes(usage, b, begin, end, keys, found):  # type: ignore[no-untyped-def]
    """(1) of each row in block b, and the first row with the same code; the arcs of all first rows, and their number."""
    code, first_row, table = found.code, found.first_row, found.table
    n_rows, block = usage.order.shape[1], b * usage.size
    places = usage.order.reshape(usage.order.size)
    mask = table.shape[0] - 1
    # (1): add up the keys of the splits that a row reaches
    code[:] = 0
    for k in range(begin, end):
        h = usage.node[usage.split[k]]
        first = usage.tree_of[h] * n_rows + block
        for p in range(first + usage.start[b, h], first + usage.stop[b, h]):
            code[places[p]] += keys[k]
    # a hash table with open addressing, from a code to the first row that has it
    table[:] = -1
    n_arcs, n_classes = np.int64(0), np.int64(0)
    for i in range(code.shape[0]):
        if code[i] > 0:
            t = np.int64(code[i] >> np.uint64(20)) & mask
            while table[t] >= 0 and code[table[t]] != code[i]:
                t = (t + 1) & mask
            if table[t] < 0:
                table[t] = i
                # the low bits of a code count its users
                n_arcs += np.int64(code[i] & np.uint64(0xFFFF))
                n_classes += 1
            first_row[i] = table[t]
    return n_arcs, n_classes


@njit(cache=True, nogil=True)
def each_row_by_itself(found):  # type: ignore[no-untyped-def]
    """Make every row the first of its class; the arcs of all rows, and their number."""
    n_arcs = np.int64(0)
    for i in range(found.first_row.shape[0]):
        found.first_row[i] = i
        n_arcs += np.int64(found.code[i] & np.uint64(0xFFFF))
    return n_arcs, np.int64(found.first_row.shape[0])


@njit(cache=True, nogil=True)
def number_classes(usage, prices, b, begin, found):  # type: ignore[no-untyped-def]
    """The prices of the classes, and numbers for those that cost something, in the order of their first rows."""
    code, first_row, total = found.code, found.first_row, found.total
    m = usage.item[begin]
    block_rows = usage.rows[b * usage.size : (b + 1) * usage.size]
    total[:] = 0
    # a class costs the sum of its rows' prices
    for i in range(block_rows.shape[0]):
        if code[i] > 0:
            total[first_row[i]] += price_for_row(prices, m, block_rows[i])
    # rows that are not the first of a class have the total 0, and so no number
    n_classes = 0
    for i in range(block_rows.shape[0]):
        found.place[i] = -1
        if total[i] > 0:
            found.place[i] = n_classes
            n_classes += 1


@njit(cache=True, nogil=True)
def _list(usage, b, begin, end, found, lists, done):  # type: ignore[no-untyped-def]
    """Write a segment's entries, arcs and prices; False, and nothing counts, where rows of one class are in different slices."""
    n_rows, block = usage.order.shape[1], b * usage.size
    places = usage.order.reshape(usage.order.size)
    first_row, reached, place = found.first_row, found.reached, lists.place
    e, a, c, equal = done[0], done[1], done[2], True
    reached[:] = -1
    for k in range(begin, end):
        h = usage.node[usage.split[k]]
        first = usage.tree_of[h] * n_rows + block
        first_arc = a
        for p in range(first + usage.start[b, h], first + usage.stop[b, h]):
            reached[places[p]] = k
        for p in range(first + usage.start[b, h], first + usage.stop[b, h]):
            i = places[p]
            equal &= reached[first_row[i]] == k
            # What has no class is written over by the next one.
            place[a] = found.place[i]
            a += found.place[i] >= 0
        if a > first_arc:
            lists.split[e] = usage.split[k]
            e += 1
            lists.stop[e] = a
    for i in range(min(usage.size, n_rows - block)):
        if found.place[i] >= 0:
            lists.price[c] = found.total[i]
            c += 1
    if equal:
        done[0], done[1], done[2] = e, a, c
    return equal


@njit(cache=True, nogil=True)
def _list_once(usage, begin, end, price, lists, done):  # type: ignore[no-untyped-def]
    """Write the entries of an item that is paid once for all rows: one class."""
    e, a = done[0], done[1]
    for k in range(begin, end):
        lists.split[e] = usage.split[k]
        lists.place[a] = 0
        e += 1
        a += 1
        lists.stop[e] = a
    lists.price[done[2]] = price
    done[0], done[1], done[2] = e, a, done[2] + 1


@njit(cache=True, nogil=True)
def sum_at(rate, at, first, last):  # type: ignore[no-untyped-def]
    """Sum of rate[at[k]] for k = first, ..., last - 1, in four sums, so that no addition waits for the one before."""
    a = b = c = d = 0.0
    k = first
    while k + 4 <= last:
        a += rate[at[k]]
        b += rate[at[k + 1]]
        c += rate[at[k + 2]]
        d += rate[at[k + 3]]
        k += 4
    for q in range(k, last):
        a += rate[at[q]]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, error_model="numpy")
def share_classes(lists, weight, charge):  # type: ignore[no-untyped-def]
    """Add the sums of price / Z over the classes of merged lists; 0 where the users' weights are 0."""
    split, stop, place, price = lists.split, lists.stop, lists.place, lists.price
    entries, classes = lists.entries, lists.classes
    rate = np.empty(0)
    for g in range(entries.shape[0] - 1):
        n, first = classes[g + 1] - classes[g], classes[g]
        if rate.shape[0] < n:
            rate = np.empty(n)
        rate[:n] = 0.0
        # Z of each class: the sum of its users' weights
        for e in range(entries[g], entries[g + 1]):
            w = weight[split[e]]
            for p in range(stop[e], stop[e + 1]):
                rate[place[p]] += w
        # price / Z
        for i in range(n):
            rate[i] = price[first + i] / rate[i] if rate[i] > 0.0 else 0.0
        # each user's sum over its classes
        for e in range(entries[g], entries[g + 1]):
            charge[split[e]] += sum_at(rate, place, stop[e], stop[e + 1])


@njit(cache=True, nogil=True)
def bill_classes(lists, level, total):  # type: ignore[no-untyped-def]
    """Add each class's price at the highest level of its users; nothing at level 0."""
    split, stop, place, price = lists.split, lists.stop, lists.place, lists.price
    entries, classes = lists.entries, lists.classes
    highest = np.empty(0, dtype=np.int8)
    for g in range(entries.shape[0] - 1):
        n, first = classes[g + 1] - classes[g], classes[g]
        if highest.shape[0] < n:
            highest = np.empty(n, dtype=np.int8)
        highest[:n] = 0
        # the highest level among the users of each class
        for e in range(entries[g], entries[g + 1]):
            user_level = level[split[e]]
            if user_level > 0:
                for p in range(stop[e], stop[e + 1]):
                    highest[place[p]] = max(highest[place[p]], user_level)
        # its price is paid at that level
        for i in range(n):
            total[highest[i]] += price[first + i]
    # level 0: no user is kept
    total[0] = 0
