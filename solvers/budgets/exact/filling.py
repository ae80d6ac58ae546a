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
    head = core.head[order]
    keep: NDArray[np.bool_] = np.zeros(core.nodes.size, dtype=np.bool_)
    paid, rate, room = np.zeros(core.price.shape[0], dtype=np.bool_), np.empty(core.nodes.size), core.room
    for _ in range(PRICING_ROUNDS):
        _rate(core.parent, core.gain, core.evaluation, start, head, core.price, room, keep, paid, rate)
        best_first = np.argsort(-rate, kind="stable")  # numpy's, for numba takes seconds to compile a sort
        left = _fill(best_first, rate, core.evaluation, start, head, core.price, room, keep, paid)
        if left < 0:
            break
        room = left
    return keep


@njit(cache=True)
def _rate(parent, gain, evaluation, start, head, price, room, keep, paid, rate):  # type: ignore[no-untyped-def]
    """The gain of each split for its unpaid cost; 0 where it may not be kept or does not fit."""
    for h in range(parent.shape[0]):
        rate[h] = 0.0
        if not keep[h] and gain[h] > 0 and (parent[h] < 0 or keep[parent[h]]):
            cost = evaluation[h]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    cost += price[head[k]]
            if cost <= room:
                rate[h] = gain[h] / (cost + 1e-9)


@njit(cache=True)
def _fill(best_first, rate, evaluation, start, head, price, room, keep, paid):  # type: ignore[no-untyped-def]
    """Keep what fits, in the given order; the room that is left, or -1 where nothing fitted."""
    added = False
    for h in best_first:
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
    return room if added else -1
