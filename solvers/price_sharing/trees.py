"""The trees of a remaining problem, each on its own: best closures, and what forcing a split in or out would cost.

    v_h = profit_h - charge_h + max(0, v_left) + max(0, v_right)                                                            (1)
    in_h  = v_h at a tree's top;  else in_parent - max(0, v_h) + v_h               the tree's best value with h kept        (2)
    out_h = 0 at a tree's top;    else max(out_parent, in_parent - max(0, v_h))    the tree's best value with h pruned      (3)

A top is an open split whose parent is none: every subtree of open splits is a tree of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.price_sharing.remaining import Remaining


@dataclass(frozen=True, eq=False)
class Forced:
    """Upper bounds of (1) of `solvers.price_sharing.remaining`: of all closures, and of those with a split forced in or out.

    `best` is the sum of the trees' best closures; `kept[h]` and `pruned[h]`, int64, shape (k,), the same with h forced.
    """

    best: int
    kept: NDArray[np.int64]
    pruned: NDArray[np.int64]


def best_closures(left: Remaining, worth: NDArray[np.float64], keep: NDArray[np.bool_]) -> float:
    """Best closures for real worths (profit - charge), which are used up, written to `keep`; their value."""
    return float(_choose(left.parent, worth, keep))


def forced(left: Remaining, charge: NDArray[np.int64]) -> Forced:
    """(1) to (3) in integers; `charge` is used up."""
    kept = np.empty(left.nodes.size, dtype=np.int64)
    pruned = np.empty(left.nodes.size, dtype=np.int64)
    best = _force(left.parent, np.subtract(left.profit, charge, out=charge), kept, pruned)
    return Forced(int(best), kept, pruned)


@njit(cache=True, nogil=True)
def _climb(parent, v):  # type: ignore[no-untyped-def]
    """(1), children before parents; the sum over the tops."""
    total = v[:0].sum()
    for h in range(v.shape[0] - 1, -1, -1):
        if v[h] > 0:
            if parent[h] < 0:
                total += v[h]
            else:
                v[parent[h]] += v[h]
    return total


@njit(cache=True, nogil=True)
def _choose(parent, v, keep):  # type: ignore[no-untyped-def]
    total = _climb(parent, v)
    for h in range(v.shape[0]):
        keep[h] = v[h] > 0 and (parent[h] < 0 or keep[parent[h]])
    return total


@njit(cache=True, nogil=True)
def _force(parent, v, kept, pruned):  # type: ignore[no-untyped-def]
    n = v.shape[0]
    total = _climb(parent, v)
    for h in range(n):
        p = parent[h]
        own = max(v[h], 0)
        others = total if p < 0 else kept[p]  # with the rest of the forest
        kept[h] = others - own + v[h]
        pruned[h] = others - own if p < 0 else max(pruned[p], others - own)
    return total
