"""A core filled greedily: splits are added one by one while they fit, those with the most gain for their unpaid cost first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.within.core import KnapsackCore


def filled(core: KnapsackCore, rounds: int) -> NDArray[np.bool_]:
    """A closure whose cost is at most the core's room, and its use of every limit; bool, shape (k,).

    Parameters
    ----------
    rounds
        the most rounds. A round prices each split whose parent is kept, and tries each once, the best one first.
    """
    order = np.argsort(core.tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(core.tail, minlength=core.nodes.size))]).astype(np.int64)
    head = core.head[order]
    keep: NDArray[np.bool_] = np.zeros(core.nodes.size, dtype=np.bool_)
    paid, rate, room = np.zeros(core.price.shape[0], dtype=np.bool_), np.empty(core.nodes.size), core.room
    rows = _rows(core)
    for _ in range(rounds):
        _rate(core.parent, core.gain, core.evaluation, start, head, core.price, room, keep, paid, rate)
        best_first = np.argsort(-rate, kind="stable")  # numpy's, for numba takes seconds to compile a sort
        left = _fill(best_first, rate, core.evaluation, start, head, core.price, room, keep, paid, *rows)
        if left < 0:
            break
        room = left
    return keep


def _rows(core: KnapsackCore) -> tuple[NDArray[Any], ...]:
    """For `_fill`: the room of every limit, room to add up in, and what splits and purchases use, as sparse arrays."""
    if core.uses is None:
        none, start, index = np.zeros(0), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32)
        return none, none, start, index, none, start, index, none
    arrays = [core.uses.room + core.uses.same, np.zeros(core.uses.room.size)]
    for uses in (core.uses.of_splits, core.uses.of_purchases):
        arrays += [uses.indptr.astype(np.int32), uses.indices.astype(np.int32), uses.data.astype(np.float64)]
    return tuple(arrays)


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
def _fill(  # type: ignore[no-untyped-def]
    best_first, rate, evaluation, start, head, price, room, keep, paid, left, added, s_start, s_row, s_use, p_start, p_row, p_use
):
    """Keep what fits, in the given order; the room that is left, or -1 where nothing fitted."""
    some = False
    for h in best_first:
        if rate[h] <= 0.0:
            break
        cost = evaluation[h]
        for k in range(start[h], start[h + 1]):
            if not paid[head[k]]:
                cost += price[head[k]]
        if cost > room:
            continue
        fits = True
        if left.shape[0] > 0:
            # what it adds to every limit
            for q in range(s_start[h], s_start[h + 1]):
                added[s_row[q]] += s_use[q]
                fits = fits and added[s_row[q]] <= left[s_row[q]]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    for q in range(p_start[head[k]], p_start[head[k] + 1]):
                        added[p_row[q]] += p_use[q]
                        fits = fits and added[p_row[q]] <= left[p_row[q]]
            # take it from the limits, and forget it
            for q in range(s_start[h], s_start[h + 1]):
                if fits:
                    left[s_row[q]] -= s_use[q]
                added[s_row[q]] = 0.0
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    for q in range(p_start[head[k]], p_start[head[k] + 1]):
                        if fits:
                            left[p_row[q]] -= p_use[q]
                        added[p_row[q]] = 0.0
        if fits:
            room -= cost
            keep[h] = some = True
            for k in range(start[h], start[h + 1]):
                paid[head[k]] = True
    return room if some else -1
