"""The choice of a split to branch on, by an estimate of how much each branch lowers the bound; no cuts are needed.

The splits between the edge's two ends have the gain G and the cost C > r, where r is the room, and lambda = G / C. For a split h
among them,

    kept:    h and its ancestors cost c and gain g. The edge then starts at (c, g), lower than the old one by  lambda c - g,  so
             the bound at r falls by about  (lambda c - g) (C - r) / (C - c)                                              (1)
    pruned:  h and the splits below it gain g', and c' is the cost that they alone pay. The edge then ends at (C - c', G - g'),
             and the bound falls by about  (g' - lambda c') r / (C - c')                                                  (2)

If one of them exceeds the gap, that branch probably holds no better pruning, and one or two cuts may prove it. This is a probe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.budgets.exact.core import KnapsackCore, chain_sums
from solvers.closures.tree_pass import subtree_sums

LARGER_WEIGHT = 0.1
"""The weight of the larger of (1) and (2) in the order of splits; the smaller one has the weight 1."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """By how much each branch of each split lowers the bound; float64, shape (k,) each.

    `kept` is (1), `lam` is the edge's slope in that branch, `pruned` is (2).
    """

    kept: NDArray[np.float64]
    lam: NDArray[np.float64]
    pruned: NDArray[np.float64]

    def order(self) -> NDArray[np.int64]:
        """The splits, most promising first: by the smaller of both estimates, plus `LARGER_WEIGHT` times the larger."""
        score = np.minimum(self.kept, self.pruned) + LARGER_WEIGHT * np.maximum(self.kept, self.pruned)
        return np.argsort(-score, kind="stable")


def estimates(part: KnapsackCore) -> Estimates:
    """(1) and (2)."""
    total_cost, total_gain, room = float(part.total_cost), float(part.total_gain), float(part.room)
    lam = total_gain / total_cost
    cost = chain_sums(part.parent, part.own_cost()).astype(float)
    gain = chain_sums(part.parent, part.gain).astype(float)
    cost_left = np.maximum(total_cost - cost, 1e-9)
    kept = np.where(cost <= room, (lam * cost - gain) * (total_cost - room) / cost_left, total_gain * room / total_cost)
    below = subtree_sums(part.parent, part.gain).astype(float)
    alone = subtree_sums(part.parent, _alone(part)).astype(float)
    cost_without = np.maximum(total_cost - alone, 1e-9)
    pruned = np.where(cost_without > room, (below - lam * alone) * room / cost_without, total_gain * room / total_cost)
    return Estimates(kept, np.where(cost <= room, (total_gain - gain) / cost_left, lam), pruned)


def _alone(part: KnapsackCore) -> NDArray[np.int64]:
    """The price of evaluation plus the purchases that no other split needs."""
    own = part.evaluation.copy()
    single = np.bincount(part.head, minlength=part.price.size)[part.head] == 1
    np.add.at(own, part.tail[single], part.price[part.head[single]])
    return own


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
    """All splits except one and those below it; bool, shape (k,)."""
    mark = np.ones(parent.shape[0], dtype=np.bool_)
    mark[node] = False
    for h in range(node + 1, parent.shape[0]):
        if parent[h] >= 0 and not mark[parent[h]]:
            mark[h] = False
    return mark
