"""Numbering a few ids out of many from 0."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


def compact(ids: NDArray[np.int32], scratch: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The ids that occur, each once in the order of their first occurrence, and each id's place among them.

    `scratch` has room for every id; what it holds before does not matter, and after is undefined.
    """
    scratch[ids] = -1
    occurring, place = _number(ids, scratch)
    return occurring, place


def local_forest(
    parent: NDArray[np.int32], nodes: NDArray[np.int32], tail: NDArray[np.int32], scratch: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Parents of some nodes, -1 where the parent is none of them, and tails of their arcs, as places among the nodes.

    `scratch` has room for every node and is -1 throughout, before and after.
    """
    scratch[nodes] = np.arange(nodes.size, dtype=np.int32)
    above = parent[nodes]
    local_parent = np.where(above >= 0, scratch[above], np.int32(-1))
    local_tail = scratch[tail]
    scratch[nodes] = -1
    return local_parent, local_tail


@njit(cache=True, nogil=True)
def _number(ids, scratch):  # type: ignore[no-untyped-def]
    place = np.empty(ids.shape[0], dtype=np.int32)
    occurring = np.empty(ids.shape[0], dtype=np.int32)
    count = 0
    for k in range(ids.shape[0]):
        j = ids[k]
        if scratch[j] < 0:
            scratch[j] = count
            occurring[count] = j
            count += 1
        place[k] = scratch[j]
    return occurring[:count].copy(), place
