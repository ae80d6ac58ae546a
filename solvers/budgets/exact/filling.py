"""Greedy filling: add splits one by one while they fit, those with the most gain for their unpaid cost first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.budgets.exact.core import KnapsackCore

PRICING_ROUNDS = 20
"""Most rounds. A round prices each split whose parent is kept and tries each once, the one with the least gain per cost last."""


def filled(core: KnapsackCore) -> NDArray[np.bool_]:
    """A closure whose cost is at most the core's room; bool, shape (k,)."""
    order = np.argsort(core.tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(core.tail, minlength=core.nodes.size))]).astype(np.int64)
    keep: NDArray[np.bool_] = _fill(
        core.parent, core.gain, core.evaluation, start, core.head[order], core.price, core.room, PRICING_ROUNDS
    )
    return keep


@njit(cache=True)
def _fill(parent, gain, evaluation, start, head, price, room, rounds):  # type: ignore[no-untyped-def]
    n = parent.shape[0]
    keep = np.zeros(n, dtype=np.bool_)
    paid = np.zeros(price.shape[0], dtype=np.bool_)
    rate = np.empty(n)
    for _ in range(rounds):
        for h in range(n):
            rate[h] = 0.0
            if not keep[h] and gain[h] > 0 and (parent[h] < 0 or keep[parent[h]]):
                cost = evaluation[h]
                for k in range(start[h], start[h + 1]):
                    if not paid[head[k]]:
                        cost += price[head[k]]
                if cost <= room:
                    rate[h] = gain[h] / (cost + 1e-9)
        added = False
        for h in np.argsort(-rate):
            if rate[h] <= 0.0:
                break
            cost = evaluation[h]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    cost += price[head[k]]
            if cost <= room:
                room -= cost
                keep[h] = added = True
                for k in range(start[h], start[h + 1]):
                    paid[head[k]] = True
        if not added:
            break
    return keep
