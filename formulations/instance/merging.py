"""Merging purchases with the same users, which changes no optimum.

If (m, i) and (m', i') are needed by the same set of splits, then in some optimum, and in every smallest and every
largest one, both are paid or neither is. So one purchase at the sum of their prices replaces them. On a real forest
this removes more than half of the usage arcs, and nearly all of them in the smaller parts into which a path falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit


@dataclass(frozen=True, eq=False)
class Merged:
    """Which purchases were merged.

    Parameters
    ----------
    representative
        int32, shape (j,): the purchase that replaces each one; its own number if none does.
    arc
        int64: the usage arcs that remain, those of the representatives, in their old order.
    price
        int64, shape (j,): the sum of the prices at representatives, 0 elsewhere.
    """

    representative: NDArray[np.int32]
    arc: NDArray[np.int64]
    price: NDArray[np.int64]


def merge_purchases(tail: NDArray[np.int32], head: NDArray[np.int32], price: NDArray[np.int64]) -> Merged:
    """Find purchases with equal sets of users.

    Parameters
    ----------
    tail, head
        usage arcs. The arcs of every purchase have their tails in the same order, as in the canonical order.
    price
        shape (j,), purchases numbered from 0.
    """
    representative = _representatives(tail, head, price.shape[0])
    total = np.zeros_like(price)
    np.add.at(total, representative, price)
    remaining = np.flatnonzero(representative[head] == head)
    return Merged(representative, remaining, total)


def starts_by_tail(tail: NDArray[np.int32], n_nodes: int) -> NDArray[np.int64]:
    """Where each split's arcs start among arcs that are grouped by tail, and the end of the last; shape (n_nodes + 1,)."""
    return np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=n_nodes))]).astype(np.int64)


@njit(cache=True, nogil=True)
def split_duals(tail, dual, representative, group_start, group_head, group_dual, price, head):  # type: ignore[no-untyped-def]
    """Divide the duals of merged purchases among their members, user by user, each at most up to its price.

    Arcs (tail, head) come grouped by tail; those of the merged purchases for split u are ``group_start[u]:group_start[u + 1]``.
    All users of a group have arcs to all its members, so giving each member as much as it can take always succeeds. Writes into
    `dual`.
    """
    undivided = np.zeros(price.shape[0], dtype=np.int64)
    remaining = price.copy()
    k = 0
    while k < tail.shape[0]:
        u = tail[k]
        for g in range(group_start[u], group_start[u + 1]):
            undivided[group_head[g]] = group_dual[g]
        while k < tail.shape[0] and tail[k] == u:
            r = representative[head[k]]
            part = min(undivided[r], remaining[head[k]])
            dual[k] = part
            undivided[r] -= part
            remaining[head[k]] -= part
            k += 1
        for g in range(group_start[u], group_start[u + 1]):
            undivided[group_head[g]] = 0


@njit(cache=True, nogil=True)
def _mixed(x):  # type: ignore[no-untyped-def]
    """The splitmix64 finaliser, a hash function that spreads consecutive ids over 64 bits."""
    z = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _representatives(tail, head, n_purchases):  # type: ignore[no-untyped-def]
    """The first purchase with the same users as each one, by a hash table; sets of equal hashes are compared entry by entry."""
    key = np.zeros(n_purchases, dtype=np.uint64)
    start = np.zeros(n_purchases + 1, dtype=np.int64)
    for k in range(tail.shape[0]):
        key[head[k]] += _mixed(tail[k])
        start[head[k] + 1] += 1
    for j in range(n_purchases):
        start[j + 1] += start[j]
    place = start[:-1].copy()
    users = np.empty(tail.shape[0], dtype=np.int32)
    for k in range(tail.shape[0]):
        users[place[head[k]]] = tail[k]
        place[head[k]] += 1
    size = 1
    while size < 2 * n_purchases:
        size *= 2
    table = np.full(size, -1, dtype=np.int32)
    mask = np.uint64(size - 1)
    representative = np.empty(n_purchases, dtype=np.int32)
    for j in range(n_purchases):
        slot = _mixed(key[j]) & mask
        while True:
            r = table[slot]
            if r < 0:
                table[slot] = j
                representative[j] = j
                break
            if key[r] == key[j] and _same(users, start, r, j):
                representative[j] = r
                break
            slot = (slot + np.uint64(1)) & mask
    return representative


@njit(cache=True, nogil=True)
def _same(users, start, a, b):  # type: ignore[no-untyped-def]
    """Whether two purchases have the same users."""
    n = start[a + 1] - start[a]
    if n != start[b + 1] - start[b]:
        return False
    for k in range(n):  # noqa: SIM110 (compiled)
        if users[start[a] + k] != users[start[b] + k]:
            return False
    return True
