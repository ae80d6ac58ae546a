"""Usage as slices of the routing: the rows for which a split needs an item are a range of its tree's rows.

A slice takes 8 bytes for a pair of split and item, whatever the number of its usage arcs. Slices are sorted by item, so that a
pass deals with one item after the other and holds one number a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.usage import Usage


@dataclass(frozen=True, eq=False)
class Slices:
    """Usage of some splits: slice k says that the split in place `split[k]` needs `item[k]` for all rows that reach it.

    Parameters
    ----------
    split, item
        int32, shape (s,), sorted by item.
    parts
        places, from 0 to s, where the list is divided between threads; each item is on one side only.
    n_arcs
        the number of usage arcs of all slices.
    """

    split: NDArray[np.int32]
    item: NDArray[np.int32]
    parts: tuple[int, ...]
    n_arcs: int


def slices_of(usage: Usage, nodes: NDArray[np.int32]) -> Slices:
    """The slices of some splits, which are numbered by their places in `nodes`."""
    split, item = _charged(usage, nodes)
    order = np.argsort(item, kind="stable").astype(np.int32)
    split, item = split[order], item[order]
    del order
    arcs = np.cumsum(_arcs_of(usage, nodes, split, item))
    return Slices(split, item, _parts(item, arcs), int(arcs[-1]) if arcs.size else 0)


def first_arcs(usage: Usage, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """The place of each slice's first usage arc in canonical order; int64, shape (s,), in the order of `slices_of`."""
    split, item = _charged(usage, nodes)
    arcs = _arcs_of(usage, nodes, split, item)
    first = np.cumsum(arcs) - arcs
    return first[np.argsort(item, kind="stable")]


def _charged(usage: Usage, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Split and item of each slice in canonical order."""
    charges = usage.charges
    count = (charges.start[nodes + 1] - charges.start[nodes]).astype(np.int32)
    split = np.repeat(np.arange(nodes.size, dtype=np.int32), count)
    place = np.repeat(charges.start[nodes].astype(np.int32) - np.cumsum(count, dtype=np.int32) + count, count)
    place += np.arange(split.size, dtype=np.int32)
    return split, charges.item[place]


def _arcs_of(usage: Usage, nodes: NDArray[np.int32], split: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.int64]:
    """The number of usage arcs of each slice."""
    start, stop, at = usage.routing.start, usage.routing.stop, nodes[split]
    return np.where(usage.costs.paid_once[item], 1, stop[at] - start[at]).astype(np.int64)


def _parts(item: NDArray[np.int32], arcs: NDArray[np.int64]) -> tuple[int, ...]:
    """Two parts of about equal work, divided between two items; one part if there is a single item."""
    borders = np.flatnonzero(np.diff(item)) + 1
    if not borders.size:
        return (0, item.size)
    half = int(np.searchsorted(arcs, arcs[-1] // 2))
    return (0, int(borders[np.argmin(np.abs(borders - half))]), item.size)
