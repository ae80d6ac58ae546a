"""The best closures of the single trees of a remaining problem, and their values when a split is forced in or out.

Here the profit of an open split is reduced by its charge. A split whose parent is not open is a root, so every connected set of
open splits is a tree of its own. The formulas are (1) to (4) of `solvers.closures.tree_pass`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.closures.tree_pass import choose, force
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


def best_closures(remaining: Remaining, worth: NDArray[np.float64], keep: NDArray[np.bool_]) -> float:
    """Write the best closures for real worths (profit - charge) to `keep` and return their value; `worth` is overwritten."""
    return float(choose(remaining.parent, worth, keep))


def forced(remaining: Remaining, charge: NDArray[np.int64]) -> Forced:
    """The bounds at integer charges; `charge` is overwritten."""
    kept = np.empty(remaining.nodes.size, dtype=np.int64)
    pruned = np.empty(remaining.nodes.size, dtype=np.int64)
    best = force(remaining.parent, np.subtract(remaining.profit, charge, out=charge), kept, pruned)
    return Forced(int(best), kept, pruned)
