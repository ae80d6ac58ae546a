"""The best closure of a remaining problem's trees, and its value when a split is forced in or out.

Here the profit of an open split is reduced by its charge. A split whose parent is not open is a root, so every connected set of
open splits is a tree of its own. The formulas are (1), (3) and (4) of `solvers.closures.tree_pass`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.closures.tree_pass import force
from solvers.price_sharing.remaining import Remaining


@dataclass(frozen=True, eq=False)
class Forced:
    """Upper bounds of (1) of `solvers.price_sharing.remaining`: of all closures, and of those with a split forced in or out.

    Parameters
    ----------
    best
        the sum of the trees' best closures.
    kept, pruned
        int64, shape (k,): the same with split h forced in, and with it forced out.
    """

    best: int
    kept: NDArray[np.int64]
    pruned: NDArray[np.int64]


def forced(remaining: Remaining, charge: NDArray[np.int64]) -> Forced:
    """The bounds at integer charges; `charge` is overwritten."""
    kept = np.empty(remaining.nodes.size, dtype=np.int64)
    pruned = np.empty(remaining.nodes.size, dtype=np.int64)
    best = force(remaining.parent, np.subtract(remaining.profit, charge, out=charge), kept, pruned)
    return Forced(int(best), kept, pruned)
