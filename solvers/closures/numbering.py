"""Numbering a few ids out of many from 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit


def compact(ids: NDArray[np.int32], n_ids: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The ids that occur, each once in the order of their first occurrence, and each id's place among them.

    Parameters
    ----------
    ids
        int32: each below `n_ids`, the length of the table that is made.
    """
    table = np.empty(n_ids, dtype=np.int32)
    table[ids] = -1
    place, occurring = np.empty(ids.size, dtype=np.int32), np.empty(ids.size, dtype=np.int32)
    count = _number(ids, table, place, occurring)
    return occurring[:count].copy(), place


def local_forest(
    parent: NDArray[np.int32], nodes: NDArray[np.int32], tail: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Parents of some nodes, -1 where the parent is none of them, and tails of their arcs, as places among the nodes."""
    table = np.full(parent.size, -1, dtype=np.int32)
    table[nodes] = np.arange(nodes.size, dtype=np.int32)
    above = parent[nodes]
    return np.where(above >= 0, table[above], np.int32(-1)), table[tail]


@njit(cache=True, nogil=True)
def _number(ids, table, place, occurring):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(ids.shape[0]):
        j = ids[k]
        if table[j] < 0:
            table[j] = count
            occurring[count] = j
            count += 1
        place[k] = table[j]
    return count
