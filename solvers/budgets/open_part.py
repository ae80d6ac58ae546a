"""What lies between two nested prunings, as a problem of its own: splits, and the purchases that the inner one has not paid.

Closures of a part, put on top of the inner pruning, are the prunings between the two. Purchases with the same users in the part
are one (`formulations.instance.merging`); which purchases they were is kept, for prices other than the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem


@dataclass(frozen=True, eq=False)
class OpenPart(ParametricSubproblem):
    """A subproblem with merged purchases that knows which purchases of the forest they were.

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
        part, purchases = self.restricted(stays, arcs)
        new = np.full(self.price.size, -1, dtype=np.int32)
        new[purchases] = np.arange(purchases.size, dtype=np.int32)
        group = new[self.group]
        left = group >= 0
        return OpenPart(**part.arrays(), members=self.members[left], group=group[left]), purchases


def open_part(problem: PruningProblem, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> OpenPart:
    """What lies between two nested prunings; both bool, shape (n,), closed under parents, inner within outer."""
    nodes = np.flatnonzero(outer & ~inner).astype(np.int32)
    part = parametric_subproblem(problem, nodes, problem.usage.paid_by(inner))
    merged, group, _ = part.merged()
    return OpenPart(**merged.arrays(), members=part.purchases, group=group)
