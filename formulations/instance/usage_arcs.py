"""Usage arcs: which split charges which item to which rows; and purchases with the same users, merged.

Item m is first met on i's path in tree t at u_{t,m,i}. All rows of S_h pass the same ancestors of h. So at node h either all
rows of S_h meet an item for the first time, or none does:

    charges(h) = items(feature of h) less the items of the features of h's strict ancestors        (1)

and the usage arcs are the pairs  (h, (m, i)),  m in charges(h), i in S_h.  Their canonical order, in which
certificates store a number for each, is by h, then by m as charges(h) lists it, then along the range of S_h. An item that
is paid once for all examples has one arc (h, m) for every h that charges it.

Merging purchases changes no optimum. If (m, i) and (m', i') are needed by the same set of splits, then in some optimum, and in
every smallest and every largest one, both are paid or neither is. So one purchase at the sum of their prices replaces them. On a
real forest this removes more than half of the usage arcs, and nearly all of them in the smaller parts into which a path falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Forest
from formulations.instance.routing import Reached, Routing

Level = TypeVar("Level", np.int8, np.int32)


class Charges(NamedTuple):
    """``charges(h)`` of every node, as rows of a ragged table: ``item[start[h]:start[h + 1]]``.

    Items without a price are left out: they constrain nothing.
    """

    start: NDArray[np.int64]
    item: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class UsageArcs:
    """Usage arcs of some nodes: arc k joins the split node `tail[k]` to the purchase `head[k]`.

    The purchase of item m for row i has the number m N + i, that of an item paid once for all M N + m.
    """

    tail: NDArray[np.int32]
    head: NDArray[np.int32]


def charges_of(ensemble: Forest, costs: CostItems) -> Charges:
    """(1) for every node; leaves charge nothing."""
    needs_start = np.zeros(costs.n_features + 1, dtype=np.int64)
    needs_start[1:] = np.cumsum([len(items) for items in costs.needs])
    needs_item = np.array([m for items in costs.needs for m in items], dtype=np.int32)
    needed = np.zeros((costs.n_features, costs.n_items), dtype=bool)
    needed[np.repeat(np.arange(costs.n_features), np.diff(needs_start)), needs_item] = True
    priced = np.array([p > 0 for p in costs.prices], dtype=bool)
    most = int(np.diff(needs_start).max(initial=0)) * ensemble.n_splits
    start = np.zeros(ensemble.n_nodes + 1, dtype=np.int64)
    item = np.empty(most, dtype=np.int32)
    count = _charges(ensemble.feature, ensemble.parent, needs_start, needs_item, needed, priced, start, item)
    return Charges(start, item[:count].copy())


def count_arcs(charges: Charges, routing: Routing, paid_once: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of usage arcs of each node, shape (n,)."""
    per_row = np.concatenate([[0], np.cumsum(~paid_once[charges.item])])
    once = np.concatenate([[0], np.cumsum(paid_once[charges.item])])
    ends, starts = charges.start[1:], charges.start[:-1]
    arcs: NDArray[np.int64] = (routing.stop - routing.start) * (per_row[ends] - per_row[starts]) + once[ends] - once[starts]
    return arcs


def usage_arcs(charges: Charges, reached: Reached, paid_once: NDArray[np.bool_], nodes: NDArray[np.int32]) -> UsageArcs:
    """The usage arcs of the given nodes, in canonical order."""
    total = _count(nodes, charges, paid_once, reached.start, reached.stop)
    tail = np.empty(total, dtype=np.int32)
    head = np.empty(total, dtype=np.int32)
    _expand(nodes, charges, paid_once, reached, tail, head)
    return UsageArcs(tail, head)


@njit(cache=True)
def _charges(feature, parent, needs_start, needs_item, needed, priced, start, item):  # type: ignore[no-untyped-def]
    """Climb from every split and keep the items that no strict ancestor needs."""
    k = 0
    for h in range(feature.shape[0]):
        start[h] = k
        f = feature[h]
        if f >= 0:
            for j in range(needs_start[f], needs_start[f + 1]):
                m = needs_item[j]
                # the nearest strict ancestor that needs the item pays for it
                above = parent[h]
                while above >= 0 and not needed[feature[above], m]:
                    above = parent[above]
                if above < 0 and priced[m]:
                    item[k] = m
                    k += 1
    start[feature.shape[0]] = k
    return k


@njit(cache=True)
def _count(nodes, charges, paid_once, start, stop):  # type: ignore[no-untyped-def]
    """Usage arcs of some nodes, without an array over all."""
    total = 0
    for i in range(nodes.shape[0]):
        h = nodes[i]
        for j in range(charges.start[h], charges.start[h + 1]):
            total += 1 if paid_once[charges.item[j]] else stop[h] - start[h]
    return total


@njit(cache=True)
def _expand(nodes, charges, paid_once, reached, tail, head):  # type: ignore[no-untyped-def]
    """The arcs themselves."""
    tree_of, order, start, stop = reached
    n_rows = order.shape[1]
    n_items = paid_once.shape[0]
    k = 0
    for i in range(nodes.shape[0]):
        h = nodes[i]
        t = tree_of[h]
        for j in range(charges.start[h], charges.start[h + 1]):
            m = charges.item[j]
            # an item that is paid once is one purchase, behind those of the rows
            if paid_once[m]:
                tail[k] = h
                head[k] = n_items * n_rows + m
                k += 1
            else:
                # any other is a purchase of every row that reaches the node
                for p in range(start[h], stop[h]):
                    tail[k] = h
                    head[k] = m * n_rows + order[t, p]
                    k += 1


@njit(cache=True)
def raise_levels(nodes, level, charges, paid_once, reached, highest):  # type: ignore[no-untyped-def]
    """Raise the level of each purchase, `highest`, to those of its users among the nodes."""
    tree_of, order, start, stop = reached
    n_rows = order.shape[1]
    n_items = paid_once.shape[0]
    for i in range(nodes.shape[0]):
        h = nodes[i]
        for j in range(charges.start[h], charges.start[h + 1]):
            m = charges.item[j]
            # the purchases are numbered as in `_expand`
            if paid_once[m]:
                k = n_items * n_rows + m
                if level[h] > highest[k]:
                    highest[k] = level[h]
            else:
                for p in range(start[h], stop[h]):
                    k = m * n_rows + order[tree_of[h], p]
                    if level[h] > highest[k]:
                        highest[k] = level[h]


@dataclass(frozen=True, eq=False)
class Merged:
    """Which purchases were merged."""

    representative: NDArray[np.int32]  # int32, shape (j,): the purchase that replaces each one; its own number if none does
    arc: NDArray[np.int64]  # int64: the usage arcs that remain, those of the representatives, in their old order
    price: NDArray[np.int64]  # int64, shape (j,): the sum of the prices at representatives, 0 elsewhere


def merge_purchases(tail: NDArray[np.int32], head: NDArray[np.int32], price: NDArray[np.int64]) -> Merged:
    """Find purchases with equal sets of users.

    `tail`, `head`: usage arcs. The arcs of every purchase have their tails in the same order, as in the canonical order. `price`:
    shape (j,), purchases numbered from 0.
    """
    representative = representatives(tail, head, price.shape[0])
    total = np.zeros_like(price)
    np.add.at(total, representative, price)
    remaining = np.flatnonzero(representative[head] == head)
    return Merged(representative, remaining, total)


def representatives(tail: NDArray[np.int32], head: NDArray[np.int32], n_purchases: int) -> NDArray[np.int32]:
    """For each purchase the first one with the same users, int32 of shape (j,); arguments as those of `merge_purchases`."""
    key, n_users = np.zeros(n_purchases, dtype=np.uint64), np.zeros(n_purchases, dtype=np.int32)
    representative, mark = np.empty(n_purchases, dtype=np.int32), np.full(n_purchases, -1, dtype=np.int32)
    table = np.full(1 << max(2 * n_purchases - 1, 0).bit_length(), -1, dtype=np.int32)
    _representatives(tail, head, key, n_users, table, mark, representative)
    return representative


def starts_by_tail(tail: NDArray[np.int32], n_nodes: int) -> NDArray[np.int64]:
    """Where each split's arcs start among arcs that are grouped by tail, and the end of the last; shape (n_nodes + 1,)."""
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    _starts(tail, start)
    return start


@njit(cache=True, nogil=True)
def _starts(tail, start):  # type: ignore[no-untyped-def]
    """Count the arcs of each split where the next one's start, and add up."""
    for u in tail:
        start[u + 1] += 1
    for h in range(1, start.shape[0]):
        start[h] += start[h - 1]


def split_duals(
    tail: NDArray[np.int32],
    dual: NDArray[np.int64],
    representative: NDArray[np.int32],
    group_start: NDArray[np.int64],
    group_head: NDArray[np.int32],
    group_dual: NDArray[np.int64],
    price: NDArray[np.int64],
    head: NDArray[np.int32],
) -> None:
    """Divide the duals of merged purchases among their members, user by user, each at most up to its price.

    Arcs (tail, head) come grouped by tail; those of the merged purchases for split u are ``group_start[u]:group_start[u + 1]``.
    All users of a group have arcs to all its members, so giving each member as much as it can take always succeeds. Writes into
    `dual`.
    """
    undivided = np.zeros(price.shape[0], dtype=np.int64)
    _split(tail, dual, representative, group_start, group_head, group_dual, price.copy(), head, undivided)


@njit(cache=True, nogil=True)
def _split(tail, dual, representative, group_start, group_head, group_dual, remaining, head, undivided):  # type: ignore[no-untyped-def]
    """Each member takes what it can of what is not divided yet, which leaves it less."""
    k = 0
    while k < tail.shape[0]:
        u = tail[k]
        # what split u bears of each merged purchase
        for g in range(group_start[u], group_start[u + 1]):
            undivided[group_head[g]] = group_dual[g]
        # its own arcs take it over, each up to what is left of its purchase's price
        while k < tail.shape[0] and tail[k] == u:
            r = representative[head[k]]
            part = undivided[r]
            if remaining[head[k]] < part:
                part = remaining[head[k]]
            dual[k] = part
            undivided[r] -= part
            remaining[head[k]] -= part
            k += 1
        # nothing is carried over to the next split
        for g in range(group_start[u], group_start[u + 1]):
            undivided[group_head[g]] = 0


@njit(cache=True, nogil=True)
def _representatives(tail, head, key, n_users, table, mark, representative):  # type: ignore[no-untyped-def]
    """The first purchase with the same users as each one, by a hash table.

    A set's hash is the sum of its members', by the finaliser of splitmix64, which spreads consecutive ids over 64 bits. Two sets
    with the same hash and the same number of users are equal if each user of the one is a user of the other, which `mark` says.
    """
    n_arcs, k = tail.shape[0], 0
    # the hash of each purchase, and how many users it has
    while k < n_arcs:
        u = tail[k]
        z = np.uint64(u) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        while k < n_arcs and tail[k] == u:
            key[head[k]] += z
            n_users[head[k]] += 1
            k += 1
    # the first purchase of the same hash and number of users represents it
    mask = np.uint64(table.shape[0] - 1)
    for j in range(key.shape[0]):
        slot = key[j] & mask
        while table[slot] >= 0 and (key[table[slot]] != key[j] or n_users[table[slot]] != n_users[j]):
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = j
        representative[j] = table[slot]
    # each user of a purchase must be a user of its representative
    k = 0
    while k < n_arcs:
        u, end = tail[k], k
        while end < n_arcs and tail[end] == u:
            mark[head[end]] = u
            end += 1
        for a in range(k, end):
            if mark[representative[head[a]]] != u:
                representative[head[a]] = head[a]  # Two sets have the same hash, which never happens: it stays by itself.
        k = end
