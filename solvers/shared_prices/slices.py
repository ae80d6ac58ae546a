"""Usage as slices of the routing: what a split needs of an item is its range of its tree's rows.

8 bytes for a split and item, nothing for an arc; sorted by item, so that a pass stays within one item's purchases for long, and
two threads never write to the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.problem import PruningProblem


@dataclass(frozen=True, eq=False)
class Slices:
    """Usage of some splits: slice k says that the split in place `split[k]` needs `item[k]` for all rows that reach it.

    Parameters
    ----------
    split, item
        int32, shape (s,), sorted by item.
    parts
        where the list may be cut for threads, from 0 to s; no item is on both sides of a cut.
    n_arcs
        usage arcs in all.
    """

    split: NDArray[np.int32]
    item: NDArray[np.int32]
    parts: tuple[int, ...]
    n_arcs: int


def slices_of(problem: PruningProblem, nodes: NDArray[np.int32]) -> Slices:
    """The slices of some splits, which are numbered by their places in `nodes`."""
    charges = problem.charges
    count = charges.start[nodes + 1] - charges.start[nodes]
    split = np.repeat(np.arange(nodes.size, dtype=np.int32), count)
    ends = np.cumsum(count)
    item = charges.item[np.arange(split.size) + np.repeat(charges.start[nodes] - (ends - count), count)]
    order = np.argsort(item, kind="stable")
    split, item = split[order], item[order]
    rows = problem.routing.stop[nodes[split]] - problem.routing.start[nodes[split]]
    arcs = np.cumsum(np.where(problem.costs.paid_once[item], 1, rows), dtype=np.int64)
    return Slices(split, item, _parts(item, arcs), int(arcs[-1]) if arcs.size else 0)


def _parts(item: NDArray[np.int32], arcs: NDArray[np.int64]) -> tuple[int, ...]:
    """Two parts of about equal work, cut between items; one where there is a single item."""
    borders = np.flatnonzero(np.diff(item)) + 1
    if not borders.size:
        return (0, item.size)
    half = int(np.searchsorted(arcs, arcs[-1] // 2))
    return (0, int(borders[np.argmin(np.abs(borders - half))]), item.size)


@njit(cache=True, nogil=True)
def normalise(item, split, nodes, tree_of, start, stop, order, once, weight, total, first, last):  # type: ignore[no-untyped-def]
    """Add the weight of every slice's split to the total of each purchase in it."""
    n_rows = order.shape[1]
    for k in range(first, last):
        h = nodes[split[k]]
        w = weight[split[k]]
        if once[item[k]]:
            total[once.shape[0] * n_rows + item[k]] += w
        else:
            rows = order[tree_of[h]]
            place = item[k] * n_rows
            for p in range(start[h], stop[h]):
                total[place + rows[p]] += w


@njit(cache=True, nogil=True)
def gather(item, split, nodes, tree_of, start, stop, order, once, rate, charge, first, last):  # type: ignore[no-untyped-def]
    """Add the rates of the purchases in every slice to its split's charge."""
    n_rows = order.shape[1]
    for k in range(first, last):
        h = nodes[split[k]]
        if once[item[k]]:
            charge[split[k]] += rate[once.shape[0] * n_rows + item[k]]
        else:
            rows = order[tree_of[h]]
            place = item[k] * n_rows
            here = 0.0
            for p in range(start[h], stop[h]):
                here += rate[place + rows[p]]
            charge[split[k]] += here
