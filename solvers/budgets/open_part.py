"""The splits between two nested prunings as a problem of its own, with the purchases that the inner pruning has not paid.

The inner pruning together with a closure of the part is a pruning between the two. Purchases with the same users in the part are
merged (`formulations.instance.merging`). The part remembers which purchases of the forest they were, so that it can be solved at
other prices too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem


@dataclass(frozen=True, eq=False)
class OpenPart(ParametricSubproblem):
    """A subproblem with merged purchases, which knows the purchases of the forest behind each.

    Parameters
    ----------
    members, group
        int32: the purchases of the forest, and the merged purchase that each belongs to.
    """

    members: NDArray[np.int32]
    group: NDArray[np.int32]

    def divided(self, keep: NDArray[np.bool_], used: NDArray[np.bool_], *, inner: bool) -> tuple[OpenPart, NDArray[np.int32]]:
        """The closure itself (inner), or what is left after the closure was taken and paid; and the purchases it still has.

        Parameters
        ----------
        keep, used
            the closure, and the purchases that it needs: `used(keep)`.
        """
        stays, arcs = (keep, keep[self.tail]) if inner else (~keep, ~used[self.head])
        part, purchases = self.restricted(stays, arcs)
        place = np.full(self.price.size, -1, dtype=np.int32)
        place[purchases] = np.arange(purchases.size, dtype=np.int32)
        group = place[self.group]
        present = group >= 0
        return OpenPart(**part.arrays(), members=self.members[present], group=group[present]), purchases


def open_part(problem: PruningProblem, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> OpenPart:
    """The part between two nested prunings; both bool, shape (n,), closed under parents, inner within outer."""
    nodes = np.flatnonzero(outer & ~inner).astype(np.int32)
    part = parametric_subproblem(problem, nodes, problem.usage.paid_by(inner))
    merged, group, _ = part.merged()
    return OpenPart(**merged.arrays(), members=part.purchases, group=group)
