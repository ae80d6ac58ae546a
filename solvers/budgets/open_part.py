"""What lies between two nested prunings, as a problem of its own: splits, and the purchases that the inner one has not paid.

Closures of a part, put on top of the inner pruning, are the prunings between the two. Purchases with the same users in the part
are one (`formulations.merging`); which purchases they were is kept, for prices other than the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.merging import merge_purchases
from formulations.problem import PruningProblem
from solvers.numbering import compact, local_forest


@dataclass(frozen=True, eq=False)
class OpenPart:
    """Splits k, purchases j, usage arcs, all numbered from 0.

    Parameters
    ----------
    nodes
        int32, shape (k,): the splits' numbers in the forest, ascending.
    parent
        int32, shape (k,): within the part, or -1.
    gain, evaluation
        int64, shape (k,): in the units of ``problem.integers``.
    tail, head
        int32: usage arcs.
    price
        int64, shape (j,): of merged purchases.
    members, group
        int32: the purchases of the forest, and the merged purchase that each became.
    """

    nodes: NDArray[np.int32]
    parent: NDArray[np.int32]
    gain: NDArray[np.int64]
    evaluation: NDArray[np.int64]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    price: NDArray[np.int64]
    members: NDArray[np.int32]
    group: NDArray[np.int32]

    @property
    def total_cost(self) -> int:
        """Of all splits together."""
        return int(self.price.sum()) + int(self.evaluation.sum())

    @property
    def total_gain(self) -> int:
        """Of all splits together."""
        return int(self.gain.sum())

    def used(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which purchases some splits need; bool, shape (j,)."""
        mark = np.zeros(self.price.size, dtype=bool)
        mark[self.head[keep[self.tail]]] = True
        return mark

    def cost_of(self, keep: NDArray[np.bool_]) -> int:
        """Of some splits alone."""
        return int(self.price[self.used(keep)].sum()) + int(self.evaluation[keep].sum())

    def inner(self, keep: NDArray[np.bool_]) -> OpenPart:
        """A closure as a part."""
        return self._take(keep, keep[self.tail])

    def rest(self, keep: NDArray[np.bool_]) -> OpenPart:
        """What is left when a closure has been taken and paid."""
        return self._take(~keep, ~self.used(keep)[self.head])

    def _take(self, keep: NDArray[np.bool_], arcs: NDArray[np.bool_]) -> OpenPart:
        place = np.cumsum(keep, dtype=np.int32) - 1
        above = self.parent[keep]
        parent = np.where((above >= 0) & keep[above], place[above], np.int32(-1))
        purchases, head = compact(self.head[arcs], np.empty(self.price.size, dtype=np.int32))
        new = np.full(self.price.size, -1, dtype=np.int32)
        new[purchases] = np.arange(purchases.size, dtype=np.int32)
        group = new[self.group]
        stays = group >= 0
        return OpenPart(
            self.nodes[keep],
            parent,
            self.gain[keep],
            self.evaluation[keep],
            place[self.tail[arcs]],
            head,
            self.price[purchases],
            self.members[stays],
            group[stays],
        )


def open_part(problem: PruningProblem, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> OpenPart:
    """What lies between two nested prunings; both bool, shape (n,), closed under parents, inner within outer."""
    nodes = np.flatnonzero(outer & ~inner).astype(np.int32)
    arcs = problem.usage_arcs(nodes)
    price = problem.purchase_price()
    to_pay = ~problem.paid_by(inner)[arcs.head] & (price[arcs.head] > 0)
    scratch = np.empty(problem.n_purchases, dtype=np.int32)
    members, head = compact(arcs.head[to_pay], scratch)
    parent, tail = local_forest(
        problem.ensemble.parent, nodes, arcs.tail[to_pay], np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
    )
    merged = merge_purchases(tail, head, price[members])
    groups, head = compact(head[merged.arc], scratch)
    place = np.empty(members.size, dtype=np.int32)
    place[groups] = np.arange(groups.size, dtype=np.int32)
    ints = problem.integers
    return OpenPart(
        nodes,
        parent,
        ints.gain[nodes],
        ints.evaluation[nodes],
        tail[merged.arc],
        head,
        merged.price[groups],
        members,
        place[merged.representative],
    )
