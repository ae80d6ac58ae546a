"""The part of an instance under a budget that is still undecided: open splits, unpaid purchases, and the room.

    maximise  gained + sum_h gain_h y_h     s.t.   sum_h evaluation_h y_h + sum_j price_j w_j <= room,                      (1)
              y_h <= y_parent(h),   y_u <= w_j for every usage arc (u, j),    y, w in {0, 1}

Three reductions lose no optimum:

    prune h if h and its ancestors in the core alone cost more than the room                                              (2)
    take the best closure that is free of charge                                                                          (3)
    prune all splits outside the smallest closure of most gain                                                            (4)

For (3) and (4): costs are submodular and gains modular. So the union of a closure with (3), and its intersection with the closure
of (4), gain no less and cost no more.

A core may be a window of the path: the splits between two optima, `inner` for lambdas up to `high` and `outer` for lambdas from
`low` on. Let f(Y) = gain - lambda cost, supermodular. For every pruning Y and low <= lambda <= high

    f(Y)  <=  f(Y u inner) + f(Y n inner) - f(inner)  <=  f(Y u inner),     and so     f(Y)  <=  f((Y u inner) n outer)   (5)

and the right-hand side agrees with Y on every split of the window. So Lagrangian bounds of a window at these lambdas hold for
the whole instance, whatever was decided in the window, and (3) and (4) do not change them. But in a window (2) must not be used,
nor the fact that a room is exceeded, because Y need not pay for `inner`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.closures.subproblem import ParametricSubproblem
from solvers.closures.tree_pass import best_closure_of_forest


@dataclass(frozen=True, eq=False)
class KnapsackCore(ParametricSubproblem):
    """(1): a subproblem, the splits taken before, and the room.

    Parameters
    ----------
    gained, room
        integers: the gain of the splits taken, and what they leave of the budget, below 0 if they exceed it.
    taken
        splits that are kept, by their numbers in the forest.
    low, high
        the range of lambdas, gain per cost in integers, at which bounds hold for the whole instance (5). 0 and None (infinity)
        if the core is the whole instance.
    """

    gained: int
    room: int
    taken: tuple[NDArray[np.int32], ...]
    low: Fraction = Fraction(0)
    high: Fraction | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the core is the whole instance. Only then may splits be pruned because they exceed the room."""
        return self.low == 0 and self.high is None

    def own_cost(self) -> NDArray[np.int64]:
        """int64, shape (k,): the full price of each split's evaluation and purchases, as if no other split paid for them."""
        own = self.evaluation.copy()
        np.add.at(own, self.tail, self.price[self.head])
        return own

    def take(self, closure: NDArray[np.bool_]) -> KnapsackCore:
        """The core that is left when a closure is kept."""
        used = self.used(closure)
        gained, room = self.gained + int(self.gain[closure].sum()), self.room - self.cost_with(closure, used)
        return self._part(~closure, ~used[self.head], gained, room, self.nodes[closure])

    def within(self, closure: NDArray[np.bool_]) -> KnapsackCore:
        """The core that is left when all splits outside a closure are pruned."""
        return self._part(closure, closure[self.tail], self.gained, self.room, self.nodes[:0])

    def trimmed(self) -> KnapsackCore:
        """Apply (2), (3) and (4) until they change nothing; then merge purchases with the same users."""
        core = self
        while True:
            size = core.nodes.size
            if core.is_whole:
                core = core._affordable()
            free = core._free()
            if free.any():
                core = core.take(free)
            core = core._gainful()
            if core.nodes.size == size:
                return core._with_merged_purchases()

    def _affordable(self) -> KnapsackCore:
        """(2)."""
        fits = chain_sums(self.parent, self.own_cost()) <= self.room
        return self if fits.all() else self.within(fits)

    def _free(self) -> NDArray[np.bool_]:
        """(3)."""
        return best_closure_of_forest(self.parent, self.gain, self.own_cost() == 0)

    def _gainful(self) -> KnapsackCore:
        """(4)."""
        best = best_closure_of_forest(self.parent, self.gain, np.ones(self.nodes.size, dtype=np.bool_))
        return self if best.all() else self.within(best)

    def _with_merged_purchases(self) -> KnapsackCore:
        merged, _, arcs = self.merged()
        return self if arcs.size == self.tail.size else merged

    def _part(
        self, stays: NDArray[np.bool_], arcs: NDArray[np.bool_], gained: int, room: int, new: NDArray[np.int32]
    ) -> KnapsackCore:
        part, _ = self.restricted(stays, arcs)
        taken = (*self.taken, new) if new.size else self.taken
        return KnapsackCore(**part.arrays(), gained=gained, room=room, taken=taken, low=self.low, high=self.high)


@njit(cache=True)
def _chain_sums(parent, amount):  # type: ignore[no-untyped-def]
    """The sum over a split and its ancestors."""
    total = amount.copy()
    for h in range(parent.shape[0]):
        if parent[h] >= 0:
            total[h] += total[parent[h]]
    return total


def chain_sums(parent: NDArray[np.int32], amount: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of the amounts of each split and its ancestors within the core; int64, shape (k,)."""
    total: NDArray[np.int64] = _chain_sums(parent, amount)
    return total
