"""Who is next to whom in a closure network: the children of each split, the users of each purchase."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit


def grouped(group: NDArray[np.int32], n_groups: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The members of each group, one group after the other, ascending within a group.

    ``grouped(parent, k)`` are the children of each split, ``grouped(head, j)`` the usage arcs to each purchase.

    Parameters
    ----------
    group
        int32: the group of each member, -1 if it is in none.

    Returns
    -------
    NDArray, NDArray
        int32: where each group starts, and the end of the last, shape (n_groups + 1,); and the members, as many as are in a
        group; what follows them has no meaning.
    """
    first = np.zeros(n_groups + 1, dtype=np.int32)
    member = np.empty(group.size, dtype=np.int32)
    _group(group, first, member)
    return first, member


@njit(cache=True, nogil=True)
def _group(group, first, member):  # type: ignore[no-untyped-def]
    """A counting sort. While it places members, ``first[g]`` is where the next member of group g goes."""
    n_groups = first.shape[0] - 1
    for a in range(group.shape[0]):
        if group[a] >= 0:
            first[group[a] + 1] += 1
    for g in range(n_groups):
        first[g + 1] += first[g]
    for a in range(group.shape[0]):
        g = group[a]
        if g >= 0:
            member[first[g]] = a
            first[g] += 1
    for g in range(n_groups, 0, -1):
        first[g] = first[g - 1]
    first[0] = 0
