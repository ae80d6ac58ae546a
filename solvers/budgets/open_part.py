"""What lies between two nested prunings, as a problem of its own: splits, and the purchases that the inner one has not paid.

Closures of a part, put on top of the inner pruning, are the prunings between the two. Purchases with the same users in the part
are one (`formulations.instance.merging`); which purchases they were is kept, for prices other than the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.merging import merge_purchases
from formulations.instance.problem import PruningProblem
from solvers.budgets.part import Part
from solvers.closures.numbering import compact, local_forest


@dataclass(frozen=True, eq=False)
class OpenPart(Part):
    """A part that knows which purchases of the forest its own were.

    Parameters
    ----------
    members, group
        int32: the purchases of the forest, and the merged purchase that each became.
    """

    members: NDArray[np.int32]
    group: NDArray[np.int32]

    def divided(self, keep: NDArray[np.bool_], used: NDArray[np.bool_], *, inner: bool) -> tuple[OpenPart, NDArray[np.int32]]:
        """A closure (inner) or what is left when it has been taken and paid; and which purchases of this part it still has.

        Parameters
        ----------
        keep, used
            the closure, and the purchases that it needs: `used(keep)`.
        """
        stays, arcs = (keep, keep[self.tail]) if inner else (~keep, ~used[self.head])
        part, purchases = self._some(stays, arcs)
        new = np.full(self.price.size, -1, dtype=np.int32)
        new[purchases] = np.arange(purchases.size, dtype=np.int32)
        group = new[self.group]
        left = group >= 0
        return OpenPart(**part.arrays(), members=self.members[left], group=group[left]), purchases


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
