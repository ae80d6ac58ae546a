"""The part of an instance that is still undecided: open splits, unpaid purchases, and what is left of every limit.

Several limits are searched as one row. For multipliers d >= 0 no pruning within the limits breaks the *surrogate* row

    sum_r d_r use_r  <=  sum_r d_r B_r                                                                                     (1)

so the least error within it bounds the least error within the limits, at least as well as D(lambda d) of
`solvers.within.relaxation` for every lambda: that is its Lagrangian. A search prices splits and purchases by (1) in integers,
prices rounded down, and looks at the rows themselves only to see what fits and what never will.

With one row, a core is

    maximise  gained + sum_h gain_h y_h     s.t.   sum_h evaluation_h y_h + sum_j price_j w_j <= room,                      (2)
              y_h <= y_parent(h),   y_u <= w_j for every usage arc (u, j),    y, w in {0, 1}

Three reductions lose no optimum:

    prune h if h and its ancestors in the core alone cost more than the room                                              (3)
    take the best closure that is free of charge                                                                          (4)
    prune all splits outside the smallest closure of most gain                                                            (5)

For (4) and (5): costs are submodular and gains modular. So the union of a closure with (4), and its intersection with the closure
of (5), gain no less and cost no more.

A core may be a window of the path: the splits between two optima, `inner` for lambdas up to `high` and `outer` for lambdas from
`low` on. Let f(Y) = gain - lambda cost, supermodular. For every pruning Y and low <= lambda <= high

    f(Y)  <=  f(Y u inner) + f(Y n inner) - f(inner)  <=  f(Y u inner),     and so     f(Y)  <=  f((Y u inner) n outer)   (6)

and the right-hand side agrees with Y on every split of the window. So Lagrangian bounds of a window at these lambdas hold for
the whole instance, whatever was decided in the window, and (4) and (5) do not change them. But in a window (3) must not be used,
nor the fact that a room is exceeded, because Y need not pay for `inner`.

Where there are several limits, costs are those of (1), and (3) looks at every limit, (4) at
what is free of all of them.

A search spends seconds, or work, so that the same call gives the same answer under any load. A cut's work is what the formula of
`solvers.closures.cut` says of its size, which is about its seconds on the machine of that formula. The clock is not asked.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.solution import StopReason
from formulations.instance.numbers import INT64_SAFE
from formulations.programs.limit_rows import LimitRows
from solvers.closures.cut import ClosureProblem, cut_seconds
from solvers.closures.integer_objective import PRICE_MARGIN, TOTAL_BITS, exponent_of, ldexp
from solvers.closures.subproblem import ParametricSubproblem
from solvers.closures.tree_pass import best_tree_closures, chain_sums
from solvers.within.params import DEFAULTS, WithinParams

Rates = tuple[Fraction, ...]
"""A multiplier for each of R rows."""


def rates_of(mu: NDArray[np.float64]) -> Rates:
    """Floats as the fractions that they are."""
    return tuple(Fraction(x) for x in mu.tolist())


@dataclass(frozen=True, eq=False)
class RowUses:
    """Uses of the k splits and j purchases of a core, and what is left of every limit."""

    # of_splits, of_purchases: float64, shape (k, R) and (j, R): integers where `same` is 0
    of_splits: sparse.csr_array
    of_purchases: sparse.csr_array
    room: NDArray[np.float64]  # shape (R,): what the kept splits leave of every limit, below 0 where they exceed it
    same: NDArray[np.float64]  # shape (R,): what counts as equal
    scale: NDArray[np.float64]  # shape (R,): the uses here are those of the limits times this

    @classmethod
    def of(cls, rows: LimitRows, own: sparse.csr_array, nodes: NDArray[np.int32], purchases: NDArray[np.int32]) -> Self:
        """Of some splits, whose own uses stand in the rows of `own`, and purchases of the metered instance."""
        of_splits, of_purchases = sparse.csr_array(own[nodes]), amounts_of(rows, purchases)
        total = np.asarray(of_splits.sum(axis=0)).ravel() + np.asarray(of_purchases.sum(axis=0)).ravel()
        scales, off = rows.integer_scales, rows.relative_error
        size = [float(total[r]) * float(s) for r, s in enumerate(scales)]
        # uses that are integers with a sum below 2^52 are counted exactly; others are compared up to a share of the limit, and
        # what a search finds is checked in fractions
        whole = np.array([x < 2.0**52 and x * off < 0.25 for x in size], dtype=bool)
        scale = np.array([float(s) if fit else 1.0 for fit, s in zip(whole, scales, strict=True)])
        rooms = [rows.room(r) * s // 1 if fit else rows.room(r) for r, (fit, s) in enumerate(zip(whole, scales, strict=True))]
        room = np.array([float(x) for x in rooms])
        same = np.where(whole, 0.0, 1e-12 * np.abs(room))
        return cls(_scaled(of_splits, scale, whole), _scaled(of_purchases, scale, whole), room, same, scale)

    def by(self, keep: NDArray[np.bool_], used: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What some splits and purchases use; float64, shape (R,)."""
        found: NDArray[np.float64] = self.of_splits.T @ keep.astype(np.float64) + self.of_purchases.T @ used.astype(np.float64)
        return found

    def fit(self, use: NDArray[np.float64]) -> bool:
        """Whether what is used fits the room."""
        return bool((use <= self.room + self.same).all())

    def restricted(
        self, splits: NDArray[np.bool_], purchases: NDArray[np.int32], spent: NDArray[np.float64] | float = 0.0
    ) -> RowUses:
        """Of some of the splits and purchases, with less room."""
        left = self.of_splits[np.flatnonzero(splits)], self.of_purchases[purchases]
        return replace(self, of_splits=left[0], of_purchases=left[1], room=self.room - spent)

    def merged(self, place: NDArray[np.int32], count: int) -> RowUses:
        """With purchases added up that have become one."""
        into = sparse.csr_array((np.ones(place.size), (place, np.arange(place.size))), shape=(count, place.size))
        return replace(self, of_purchases=sparse.csr_array(into @ self.of_purchases))

    def after(self, used: NDArray[np.float64]) -> RowUses:
        """With less room, by uses of the limits themselves."""
        return replace(self, room=self.room - np.where(self.same > 0, used * self.scale, np.rint(used * self.scale)))

    def own(self, tail: NDArray[np.int32], head: NDArray[np.int32]) -> sparse.csr_array:
        """What each split uses with its purchases, as if no other split made them; shape (k, R)."""
        shape = (self.of_splits.shape[0], self.of_purchases.shape[0])
        return sparse.csr_array(
            self.of_splits + sparse.csr_array((np.ones(tail.size), (tail, head)), shape=shape) @ self.of_purchases
        )


def amounts_of(rows: LimitRows, purchases: NDArray[np.int32]) -> sparse.csr_array:
    """What purchases of the metered instance use of every row; float64, shape (j, R)."""
    n = rows.problem.usage.n_rows
    m = rows.amounts.shape[1]
    once = purchases >= m * n
    item, row = np.where(once, purchases - m * n, purchases // n), np.where(once, 0, purchases % n)
    found = sparse.csr_array(sparse.csr_array(rows.share.T)[row])
    found.data *= rows.amounts[rows.limit_of_row[found.indices], np.repeat(item, np.diff(found.indptr))]
    if once.any():
        by_item = sparse.csr_array((np.ones(int(once.sum())), (np.flatnonzero(once), item[once])), shape=(once.size, m))
        not_once = sparse.diags_array(np.where(once, 0.0, 1.0))
        found = sparse.csr_array(not_once @ found + by_item @ rows.amounts[rows.limit_of_row].T)
    found.eliminate_zeros()
    return found


def _scaled(uses: sparse.csr_array, scale: NDArray[np.float64], whole: NDArray[np.bool_]) -> sparse.csr_array:
    found = uses.copy()
    found.data = found.data * scale[found.indices]
    found.data = np.where(whole[found.indices], np.rint(found.data), found.data)
    return found


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The integers of (1): what one unit of a price at lambda is, in multipliers of the limits."""

    direction: NDArray[np.float64]  # d, float64, shape (R,)
    unit: Fraction  # multipliers are lambda * unit * d, with lambda in integer gain per integer price

    def multipliers(self, lam: Fraction) -> Rates:
        """At lambda, exactly."""
        rate = lam * self.unit
        return tuple(rate * Fraction(d) if d else Fraction(0) for d in self.direction.tolist())


@dataclass(frozen=True, eq=False)
class SurrogatePrices:
    """Splits and purchases priced by (1), int64; the room of (1); and 2^exponent, what a unit of use at d is."""

    own: NDArray[np.int64]
    price: NDArray[np.int64]
    room: int
    exponent: int


def surrogate_prices(uses: RowUses, direction: NDArray[np.float64]) -> SurrogatePrices:
    """(1) in integers."""
    each = direction / uses.scale
    own, price = uses.of_splits @ each, uses.of_purchases @ each
    exponent = exponent_of(float(own.sum() + price.sum()) or 1.0) - 16  # 16 of 60 bits are left free for lambda
    room = sum(
        (Fraction(float(e)) * Fraction(float(b + s)) for e, b, s in zip(each, uses.room, uses.same, strict=True) if e),
        Fraction(0),
    )
    down = [np.floor(ldexp(x * PRICE_MARGIN, exponent)).astype(np.int64) for x in (own, price)]
    return SurrogatePrices(down[0], down[1], int(room * Fraction(2) ** exponent // 1), exponent)


ONE_ROW = Surrogate(np.ones(1), Fraction(1))
"""Of a core with a single limit, whose prices are its own."""


@dataclass(frozen=True, eq=False)
class KnapsackCore(ParametricSubproblem):
    """(2): a subproblem, the splits taken before, and the room."""

    # gained, room: integers: the gain of the splits taken, and what they leave of the budget, below 0 if they exceed it.
    gained: int
    room: int
    taken: tuple[NDArray[np.int32], ...] = ()  # splits that are kept, by their numbers in the forest
    # low, high: the range of lambdas, gain per cost in integers, at which bounds hold for the whole instance (6). 0 and None
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
        if not self.rounded or max(largest, lam.numerator, lam.denominator) < INT64_SAFE:
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
        part, still = self.restricted(~closure, ~used[self.head])
        gained, room = self.gained + int(self.gain[closure].sum()), self.room - self.cost_with(closure, used)
        uses = None if self.uses is None else self.uses.restricted(~closure, still, self.uses.by(closure, used))
        return replace(part, gained=gained, room=room, taken=(*self.taken, self.nodes[closure]), uses=uses)

    def within(self, closure: NDArray[np.bool_]) -> KnapsackCore:
        """The core that is left when all splits outside a closure are pruned."""
        if closure.all():
            return self
        part, still = self.restricted(closure, closure[self.tail])
        return part if self.uses is None else replace(part, uses=self.uses.restricted(closure, still))

    def trimmed(self) -> KnapsackCore:
        """Apply (3), (4) and (5) until they change nothing; then merge purchases with the same users."""
        core, size = self, -1
        while core.nodes.size != size:
            size = core.nodes.size
            if core.is_whole:
                core = core.within(core.chains_fit())  # (3)
            core = core.take(best_tree_closures(core.parent, core.gain, core.is_free())[0])  # (4)
            core = core.within(best_tree_closures(core.parent, core.gain, np.ones(core.nodes.size, dtype=np.bool_))[0])  # (5)
        merged, place, arcs = core.merged()
        if arcs.size == core.tail.size:
            return core
        return merged if merged.uses is None else replace(merged, uses=merged.uses.merged(place, merged.price.size))

    def chains_fit(self) -> NDArray[np.bool_]:
        """(3): whether each split fits with all that is above it; bool, shape (k,)."""
        fit: NDArray[np.bool_] = np.asarray(chain_sums(self.parent, self.own_cost()) <= self.room)
        uses = self.uses
        if uses is not None and self.nodes.size * uses.room.size <= DEFAULTS.most_uses:
            own = uses.own(self.tail, self.head).toarray()
            for r in range(uses.room.size):
                fit &= chain_sums(self.parent, own[:, r].copy()) <= uses.room[r] + uses.same[r]
        return np.asarray(fit, dtype=bool)

    def is_free(self) -> NDArray[np.bool_]:
        """(4): whether each split alone costs nothing; bool, shape (k,)."""
        free: NDArray[np.bool_] = np.asarray(self.own_cost() == 0)
        if self.uses is not None:
            free &= np.diff(self.uses.own(self.tail, self.head).indptr) == 0
        return free


@dataclass(eq=False)
class Effort:
    """What may be spent, and what was."""

    work: float = math.inf  # the most work
    deadline: float = math.inf  # of `time.perf_counter`
    spent: float = 0.0  # work so far
    params: WithinParams = DEFAULTS

    def work_of(self, n_arcs: int, n_splits: int) -> float:
        """Of a cut of that size."""
        return self.params.per_cut + cut_seconds(n_arcs, n_splits)

    def count_cut(self, part: ParametricSubproblem) -> None:
        """Count a cut of a part."""
        self.spent += self.work_of(part.tail.size, part.nodes.size)

    def allows(self, part: ParametricSubproblem) -> bool:
        """Whether a cut of a part fits what may still be spent."""
        return self.spent + self.work_of(part.tail.size, part.nodes.size) <= self.work

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be spent."""
        return self.spent >= self.work or time.perf_counter() >= self.deadline

    @property
    def reason(self) -> StopReason:
        """Why a search ends that is over."""
        return StopReason.ITERATION_LIMIT if self.spent >= self.work else StopReason.TIME_LIMIT
