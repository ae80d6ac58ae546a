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

Where there are several limits, costs are those of a surrogate row (`solvers.within.rows`), and (2) looks at every limit, (3) at
what is free of all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.closures.cut import MAX_TOTAL, ClosureProblem
from solvers.closures.grids import PRICE_MARGIN, TOTAL_BITS
from solvers.closures.subproblem import ParametricSubproblem
from solvers.closures.tree_pass import best_tree_closures
from solvers.within.rows import Rates, RowUses, Surrogate, surrogate_prices

ONE_ROW = Surrogate(np.ones(1), Fraction(1))
"""Of a core with a single limit, whose prices are its own."""

MOST_PAIRS = 5_000_000
"""Single limits are looked at where there are no more pairs of a split or purchase and a limit, for memory's sake."""


@dataclass(frozen=True, eq=False)
class KnapsackCore(ParametricSubproblem):
    """(1): a subproblem, the splits taken before, and the room."""

    # gained, room: integers: the gain of the splits taken, and what they leave of the budget, below 0 if they exceed it.
    gained: int
    room: int
    taken: tuple[NDArray[np.int32], ...] = ()  # splits that are kept, by their numbers in the forest
    # low, high: the range of lambdas, gain per cost in integers, at which bounds hold for the whole instance (5). 0 and None
    # (infinity) if the core is the whole instance.
    low: Fraction = Fraction(0)
    high: Fraction | None = None
    rounded: bool = False  # whether its integers stand for real numbers, with as many bits as fit
    step: int = 1  # all gains are multiples of it
    surrogate: Surrogate = ONE_ROW  # what its prices are
    uses: RowUses | None = None  # of every limit; None: the prices are those of the only one
    # the least and largest multipliers at which bounds hold for the whole instance; None: of a whole core
    box: tuple[Rates, Rates] | None = None

    def at_direction(self, direction: NDArray[np.float64], gain_unit: Fraction) -> KnapsackCore | None:
        """The same with the surrogate row of other multipliers as costs; None where no multiple of them is in the box."""
        assert self.uses is not None
        found = surrogate_prices(self.uses, direction)
        unit = gain_unit * Fraction(2) ** found.exponent
        low, high = Fraction(0), None
        if self.box is not None:
            if any(a > 0 and d == 0 for a, d in zip(self.box[0], direction, strict=True)):
                return None
            ranges = [
                (least / (unit * Fraction(d)), most / (unit * Fraction(d)))
                for least, most, d in zip(*self.box, direction.tolist(), strict=True)
                if d > 0
            ]
            low, high = max(a for a, _ in ranges), min(b for _, b in ranges)
            if low > high:
                return None
        surrogate = Surrogate(direction, unit)
        priced_by: dict[str, Any] = {"evaluation": found.own, "price": found.price, "room": found.room, "surrogate": surrogate}
        return replace(self, **priced_by, low=low, high=high)

    def fits(self, keep: NDArray[np.bool_]) -> bool:
        """Whether a closure fits the room, and that of every limit."""
        used = self.used(keep)
        return self.cost_with(keep, used) <= self.room and (self.uses is None or self.uses.fit(self.uses.by(keep, used)))

    @property
    def is_exceeded(self) -> bool:
        """Whether what is taken already exceeds a limit."""
        return self.room < 0 or (self.uses is not None and not self.uses.fit(np.zeros(self.uses.room.size)))

    def cut_at(self, lam: Fraction) -> tuple[ClosureProblem, int]:
        """The core at lambda = p / q in units of 2^shift of its own gains times q, and that shift; rounded where it is not 0.

        Profits are rounded up and prices down, so that no closure is worth less.
        """
        largest = self.largest_product(lam)
        if not self.rounded or max(largest, lam.numerator, lam.denominator) < MAX_TOTAL:
            return self.at(lam), 0
        shift = max(0, math.frexp(largest)[1] - TOTAL_BITS)
        p, q = (float(Fraction(x, 2**shift)) for x in (lam.numerator, lam.denominator))
        gains, costs = self.gain * q, self.evaluation * p
        profit = np.ceil(gains - costs + 2.0**-50 * (np.abs(gains) + costs)).astype(np.int64)
        return self.closure_problem(profit, np.floor(self.price * (p * PRICE_MARGIN)).astype(np.int64)), shift

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
        if not closure.any():
            return self
        used = self.used(closure)
        gained, room = self.gained + int(self.gain[closure].sum()), self.room - self.cost_with(closure, used)
        spent = None if self.uses is None else self.uses.by(closure, used)
        return self._part(~closure, ~used[self.head], gained, room, self.nodes[closure], spent)

    def within(self, closure: NDArray[np.bool_]) -> KnapsackCore:
        """The core that is left when all splits outside a closure are pruned."""
        if closure.all():
            return self
        return self._part(closure, closure[self.tail], self.gained, self.room, self.nodes[:0])

    def trimmed(self) -> KnapsackCore:
        """Apply (2), (3) and (4) until they change nothing; then merge purchases with the same users."""
        core, size = self, -1
        while core.nodes.size != size:
            size = core.nodes.size
            if core.is_whole:
                core = core.within(core.chains_fit())  # (2)
            core = core.take(best_tree_closures(core.parent, core.gain, core.is_free())[0])  # (3)
            core = core.within(best_tree_closures(core.parent, core.gain, np.ones(core.nodes.size, dtype=np.bool_))[0])  # (4)
        merged, place, arcs = core.merged()
        if arcs.size == core.tail.size:
            return core
        return merged if merged.uses is None else replace(merged, uses=merged.uses.merged(place, merged.price.size))

    def chains_fit(self) -> NDArray[np.bool_]:
        """(2): whether each split fits with all that is above it; bool, shape (k,)."""
        fit: NDArray[np.bool_] = np.asarray(chain_sums(self.parent, self.own_cost()) <= self.room)
        uses = self.uses
        if uses is not None and self.nodes.size * uses.room.size <= MOST_PAIRS:
            own = uses.own(self.tail, self.head).toarray()
            for r in range(uses.room.size):
                fit &= chain_sums(self.parent, own[:, r].copy()) <= uses.room[r] + uses.same[r]
        return np.asarray(fit, dtype=bool)

    def is_free(self) -> NDArray[np.bool_]:
        """(3): whether each split alone costs nothing; bool, shape (k,)."""
        free: NDArray[np.bool_] = np.asarray(self.own_cost() == 0)
        if self.uses is not None:
            free &= np.diff(self.uses.own(self.tail, self.head).indptr) == 0
        return free

    def _part(
        self,
        stays: NDArray[np.bool_],
        arcs: NDArray[np.bool_],
        gained: int,
        room: int,
        new: NDArray[np.int32],
        spent: NDArray[np.float64] | None = None,
    ) -> KnapsackCore:
        part, still = self.restricted(stays, arcs)
        taken = (*self.taken, new) if new.size else self.taken
        uses = None if self.uses is None else self.uses.restricted(stays, still, spent)
        return replace(self, **part.arrays(), gained=gained, room=room, taken=taken, uses=uses)


@njit(cache=True)
def _chain_sums(parent, amount):  # type: ignore[no-untyped-def]
    """The sum over a split and its ancestors."""
    total = amount.copy()
    for h in range(parent.shape[0]):
        if parent[h] >= 0:
            total[h] += total[parent[h]]
    return total


def chain_sums(parent: NDArray[np.int32], amount: NDArray[Any]) -> NDArray[Any]:
    """Sum of the amounts of each split and its ancestors within the core; shape (k,)."""
    total: NDArray[Any] = _chain_sums(parent, amount)
    return total
