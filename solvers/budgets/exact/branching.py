"""Which split to branch on: what its two branches take off the bound, by an estimate without cuts.

Of what lies between the edge's ends, gain G and cost C > room r, lambda = G / C, and a split h in it,

    kept:    its chain costs c and gains g.   The edge then starts at (c, g), below the old one by  lambda c - g,  so the bound
             falls at r by about  (lambda c - g) (C - r) / (C - c)                                                        (1)
    pruned:  what hangs below gains g' and alone needs c'.  The edge then ends at (C - c', G - g'), and the bound falls by about
             (g' - lambda c') r / (C - c')                                                                               (2)

Where one of them exceeds the gap, that branch is likely to hold nothing better, and a cut or two may prove it: a probe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.budgets.exact.core import KnapsackCore, chain_sums

SECOND = 0.1
"""What the larger of (1) and (2) counts beside the smaller."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """What each branch of each split takes off the bound; float64, shape (k,) each.

    `kept` is (1), with the edge's slope from there, `lam`; `pruned` is (2).
    """

    kept: NDArray[np.float64]
    lam: NDArray[np.float64]
    pruned: NDArray[np.float64]

    def order(self) -> NDArray[np.int64]:
        """Most promising first: the smaller of the two counts, the larger a little."""
        score = np.minimum(self.kept, self.pruned) + SECOND * np.maximum(self.kept, self.pruned)
        return np.argsort(-score, kind="stable")


def estimates(part: KnapsackCore) -> Estimates:
    """(1) and (2)."""
    total_cost, total_gain, room = float(part.total_cost), float(part.total_gain), float(part.room)
    lam = total_gain / total_cost
    cost = chain_sums(part.parent, part.own_cost()).astype(float)
    gain = chain_sums(part.parent, part.gain).astype(float)
    left = np.maximum(total_cost - cost, 1e-9)
    kept = np.where(cost <= room, (lam * cost - gain) * (total_cost - room) / left, total_gain * room / total_cost)
    below = _below(part.parent, part.gain).astype(float)
    alone = _below(part.parent, _alone(part)).astype(float)
    left_out = np.maximum(total_cost - alone, 1e-9)
    pruned = np.where(left_out > room, (below - lam * alone) * room / left_out, total_gain * room / total_cost)
    return Estimates(kept, np.where(cost <= room, (total_gain - gain) / left, lam), pruned)


def _alone(part: KnapsackCore) -> NDArray[np.int64]:
    """Evaluation and the purchases that no other split needs."""
    own = part.evaluation.copy()
    single = np.bincount(part.head, minlength=part.price.size)[part.head] == 1
    np.add.at(own, part.tail[single], part.price[part.head[single]])
    return own


@njit(cache=True)
def _below(parent, amount):  # type: ignore[no-untyped-def]
    """The sum over a split and all below it."""
    total = amount.copy()
    for h in range(parent.shape[0] - 1, -1, -1):
        if parent[h] >= 0:
            total[parent[h]] += total[h]
    return total


@njit(cache=True)
def with_ancestors(parent, node):  # type: ignore[no-untyped-def]
    """A split and its ancestors; bool, shape (k,)."""
    mark = np.zeros(parent.shape[0], dtype=np.bool_)
    while node >= 0:
        mark[node] = True
        node = parent[node]
    return mark


@njit(cache=True)
def without_below(parent, node):  # type: ignore[no-untyped-def]
    """All but a split and what is below it; bool, shape (k,)."""
    mark = np.ones(parent.shape[0], dtype=np.bool_)
    mark[node] = False
    for h in range(node + 1, parent.shape[0]):
        if parent[h] >= 0 and not mark[parent[h]]:
            mark[h] = False
    return mark
