"""Fixing by reduced costs: find splits that every better pruning keeps, and splits that no better pruning keeps.

A cut's duals share the prices of the purchases among the splits, so that the trees are independent. With profits less duals,

    V  =  sum over trees of their best closures                                                                          (1)
    V_h(kept), V_h(pruned):  the same with h forced in or out, by one pass up the trees and one pass down                 (2)

and a pruning that keeps (prunes) h gains at most  gained + floor((V_h + p room) / q), as in `solvers.budgets.exact.edge`. If
that is at most the incumbent's gain, h is pruned (kept).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.budgets.effort import Effort
from solvers.budgets.exact.core import KnapsackCore
from solvers.budgets.exact.edge import cut
from solvers.closures.tree_pass import force

REPEAT_SHARE = 0.1
"""Fixing is repeated as long as it decides at least this part of the splits."""


def fixed(core: KnapsackCore, lam: Fraction, goal: int, effort: Effort | None = None) -> KnapsackCore | None:
    """The core after fixing all splits that are decided in every pruning with a gain above `goal`; None if there is none."""
    effort = effort or Effort()
    while core.nodes.size and lam > 0 and not effort.is_over:
        effort.count_cut(core)
        kept, pruned = forced(core, lam)
        limit = (goal + 1 - core.gained) * lam.denominator - lam.numerator * core.room
        # a gain of at least goal + 1 needs q (goal + 1 - gained) <= V_h + p room
        must, cannot = pruned < limit, kept < limit
        if (must & cannot).any() or (core.is_whole and core.cost_of(must) > core.room):
            return None
        decided = int(must.sum()) + int(cannot.sum())
        if decided == 0:
            return core
        size = core.nodes.size
        core = core.within(~cannot).take(must[~cannot]).trimmed()
        if decided < REPEAT_SHARE * size:
            return core
    return core


def forced(core: KnapsackCore, lam: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(2): upper bounds with each split kept, and with each pruned; int64, shape (k,) each."""
    charge = np.zeros(core.nodes.size, dtype=np.int64)
    np.add.at(charge, core.tail, cut(core, lam).duals())
    worth = core.gain * lam.denominator - core.evaluation * lam.numerator - charge
    kept, pruned = np.empty_like(worth), np.empty_like(worth)
    force(core.parent, worth, kept, pruned)
    return kept, pruned
