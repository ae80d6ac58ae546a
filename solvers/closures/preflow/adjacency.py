"""Who is next to whom in a closure network: children of each split, users of each purchase; arcs come grouped by split."""

from __future__ import annotations

import numpy as np

from formulations.compiled import njit


@njit(cache=True, nogil=True)
def children(parent):  # type: ignore[no-untyped-def]
    """The children of each split, one split after the other."""
    k = parent.shape[0]
    first = np.zeros(k + 1, dtype=np.int32)
    for h in range(k):
        if parent[h] >= 0:
            first[parent[h] + 1] += 1
    for h in range(k):
        first[h + 1] += first[h]
    place = first[:-1].copy()
    child = np.empty(first[k], dtype=np.int32)
    for h in range(k):
        if parent[h] >= 0:
            child[place[parent[h]]] = h
            place[parent[h]] += 1
    return first, child


@njit(cache=True, nogil=True)
def by_purchase(head, n_purchases):  # type: ignore[no-untyped-def]
    """The arcs to each purchase, one purchase after the other."""
    first = np.zeros(n_purchases + 1, dtype=np.int32)
    for a in range(head.shape[0]):
        first[head[a] + 1] += 1
    for j in range(n_purchases):
        first[j + 1] += first[j]
    place = first[:-1].copy()
    arc = np.empty(head.shape[0], dtype=np.int32)
    for a in range(head.shape[0]):
        arc[place[head[a]]] = a
        place[head[a]] += 1
    return first, arc
