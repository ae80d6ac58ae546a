"""The log of a search: which multipliers proved what. `solvers.within.proof` makes a proof of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.within.core import KnapsackCore
from solvers.within.edge import BudgetEdge
from solvers.within.rows import Rates

Decisions = list[NDArray[np.int32]]


@dataclass(eq=False)
class Log:
    """One node: the multipliers of its best bound, and what came next, if anything did.

    Splits are those of the reduced forest.
    """

    at: Rates | None = None  # the multipliers, at first those of the node above
    gain: int | None = None  # no pruning here gains more, in the integers of the core
    # what was fixed on the way to this node, and at which multipliers
    fixed_at: Rates | None = None
    fixed_in: Decisions = field(default_factory=list)
    fixed_out: Decisions = field(default_factory=list)
    after: Log | None = None  # the node after splits were fixed
    split: int = -1  # the split that it branches on
    if_pruned: Log | None = None
    if_kept: Log | None = None

    def proven(self, core: KnapsackCore, edge: BudgetEdge) -> None:
        """Take note of a bound."""
        if edge.proven_at is not None:
            self.at, self.gain = core.surrogate.multipliers(edge.proven_at), edge.bound

    def decided(self, fixed_in: NDArray[np.int32], fixed_out: NDArray[np.int32]) -> None:
        """Take note of splits that were fixed."""
        self.fixed_in.append(fixed_in)
        self.fixed_out.append(fixed_out)

    def fix(self, core: KnapsackCore, lam: Fraction, after: Log) -> None:
        """Go on after splits were fixed at lambda."""
        after.fixed_at, self.after = core.surrogate.multipliers(lam), after

    def branch(self, split: int, pruned: Log, kept: Log) -> None:
        """Go on with the two branches of a split."""
        self.split, self.if_pruned, self.if_kept = split, pruned, kept

    def branch_as(self, other: Log) -> None:
        """Go on as another log does."""
        self.split, self.if_pruned, self.if_kept = other.split, other.if_pruned, other.if_kept
