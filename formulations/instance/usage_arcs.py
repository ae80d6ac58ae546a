"""Usage arcs: which split charges which item to which rows.

Item m is first met on i's path in tree t at u_{t,m,i}. All rows of S_h pass the same ancestors of h. So at node h either all
rows of S_h meet an item for the first time, or none does:

    charges(h) = items(feature of h) less the items of the features of h's strict ancestors        (1)

and the usage arcs are the pairs  (h, (m, i)),  m in charges(h), i in S_h.  Their canonical order, in which
certificates store a number for each, is by h, then by m as charges(h) lists it, then along the range of S_h. An item that
is paid once for all examples has one arc (h, m) for every h that charges it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems
from formulations.instance.forest import Forest
from formulations.instance.routing import Routing

Level = TypeVar("Level", np.int8, np.int32)


class Charges(NamedTuple):
    """``charges(h)`` of every node, as rows of a ragged table: ``item[start[h]:start[h + 1]]``.

    Items without a price are left out: they constrain nothing.
    """

    start: NDArray[np.int64]
    item: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class UsageArcs:
    """Usage arcs of some nodes: arc k joins the split node `tail[k]` to the purchase `head[k]`.

    The purchase of item m for row i has the number m N + i, that of an item paid once for all M N + m.
    """

    tail: NDArray[np.int32]
    head: NDArray[np.int32]


def charges_of(ensemble: Forest, costs: CostItems) -> Charges:
    """(1) for every node; leaves charge nothing."""
    needs_start = np.zeros(costs.n_features + 1, dtype=np.int64)
    needs_start[1:] = np.cumsum([len(items) for items in costs.needs])
    needs_item = np.array([m for items in costs.needs for m in items], dtype=np.int32)
    needed = np.zeros((costs.n_features, costs.n_items), dtype=bool)
    needed[np.repeat(np.arange(costs.n_features), np.diff(needs_start)), needs_item] = True
    priced = np.array([p > 0 for p in costs.prices], dtype=bool)
    most = int(np.diff(needs_start).max(initial=0)) * ensemble.n_splits
    start = np.zeros(ensemble.n_nodes + 1, dtype=np.int64)
    item = np.empty(most, dtype=np.int32)
    count = _charges(ensemble.feature, ensemble.parent, needs_start, needs_item, needed, priced, start, item)
    return Charges(start, item[:count].copy())


def count_arcs(charges: Charges, routing: Routing, paid_once: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of usage arcs of each node, shape (n,)."""
    per_row = np.concatenate([[0], np.cumsum(~paid_once[charges.item])])
    once = np.concatenate([[0], np.cumsum(paid_once[charges.item])])
    ends, starts = charges.start[1:], charges.start[:-1]
    arcs: NDArray[np.int64] = routing.counts() * (per_row[ends] - per_row[starts]) + once[ends] - once[starts]
    return arcs


def usage_arcs(
    charges: Charges,
    routing: Routing,
    tree_of: NDArray[np.int32],
    paid_once: NDArray[np.bool_],
    nodes: NDArray[np.int32],
) -> UsageArcs:
    """The usage arcs of the given nodes, in canonical order."""
    total = _count(nodes, charges, paid_once, routing.start, routing.stop)
    tail = np.empty(total, dtype=np.int32)
    head = np.empty(total, dtype=np.int32)
    _expand(nodes, charges, paid_once, routing.reached(tree_of), tail, head)
    return UsageArcs(tail, head)


@njit(cache=True)
def _charges(feature, parent, needs_start, needs_item, needed, priced, start, item):  # type: ignore[no-untyped-def]
    """Climb from every split and keep the items that no strict ancestor needs."""
    k = 0
    for h in range(feature.shape[0]):
        start[h] = k
        f = feature[h]
        if f >= 0:
            for j in range(needs_start[f], needs_start[f + 1]):
                m = needs_item[j]
                above = parent[h]
                while above >= 0 and not needed[feature[above], m]:
                    above = parent[above]
                if above < 0 and priced[m]:
                    item[k] = m
                    k += 1
    start[feature.shape[0]] = k
    return k


@njit(cache=True)
def _count(nodes, charges, paid_once, start, stop):  # type: ignore[no-untyped-def]
    """Usage arcs of some nodes, without an array over all."""
    total = 0
    for i in range(nodes.shape[0]):
        h = nodes[i]
        for j in range(charges.start[h], charges.start[h + 1]):
            total += 1 if paid_once[charges.item[j]] else stop[h] - start[h]
    return total


@njit(cache=True)
def _expand(nodes, charges, paid_once, reached, tail, head):  # type: ignore[no-untyped-def]
    """The arcs themselves."""
    tree_of, order, start, stop = reached
    n_rows = order.shape[1]
    n_items = paid_once.shape[0]
    k = 0
    for i in range(nodes.shape[0]):
        h = nodes[i]
        t = tree_of[h]
        for j in range(charges.start[h], charges.start[h + 1]):
            m = charges.item[j]
            if paid_once[m]:
                tail[k] = h
                head[k] = n_items * n_rows + m
                k += 1
            else:
                for p in range(start[h], stop[h]):
                    tail[k] = h
                    head[k] = m * n_rows + order[t, p]
                    k += 1


@njit(cache=True)
def raise_levels(nodes, level, charges, paid_once, reached, highest):  # type: ignore[no-untyped-def]
    """Raise the level of each purchase, `highest`, to those of its users among the nodes."""
    tree_of, order, start, stop = reached
    n_rows = order.shape[1]
    n_items = paid_once.shape[0]
    for i in range(nodes.shape[0]):
        h = nodes[i]
        for j in range(charges.start[h], charges.start[h + 1]):
            m = charges.item[j]
            if paid_once[m]:
                k = n_items * n_rows + m
                if level[h] > highest[k]:
                    highest[k] = level[h]
            else:
                for p in range(start[h], stop[h]):
                    k = m * n_rows + order[tree_of[h], p]
                    if level[h] > highest[k]:
                        highest[k] = level[h]
