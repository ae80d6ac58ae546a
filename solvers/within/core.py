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

A long hull edge holds most of the splits among which a budget inside it can choose, and its neighbours on the path mostly hold
few. But a window's bounds hold only at its own lambdas, see (5), and branches need other lambdas than the edge's. So the first
window also takes neighbours, the nearest lambdas first, until it has 1.5 times the edge's usage arcs. A wider window, in the end
the whole instance, is searched only if the bounds of the smaller one are too weak.

Where there are several limits, costs are those of a surrogate row (`solvers.within.rows`), and (2) looks at every limit, (3) at
what is free of all of them.

A core is filled greedily: splits are added one by one while they fit, those with the most gain for their unpaid cost first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PruningPath
from formulations.compiled import njit
from solvers.closures.cut import MAX_PRODUCT, ClosureProblem
from solvers.closures.grids import PRICE_MARGIN, TOTAL_BITS, exponent_of, ldexp
from solvers.closures.subproblem import OpenPart, ParametricSubproblem, open_part
from solvers.closures.tree_pass import best_tree_closures
from solvers.within.rows import Rates, RowUses, Surrogate, priced

ONE_ROW = Surrogate(np.ones(1), Fraction(1))
"""Of a core with a single limit, whose prices are its own."""

MOST_CHAINS = 5_000_000
"""(2) looks at single limits where there are no more pairs of a split and a limit."""


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
        found = priced(self.uses, direction)
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
        if not self.rounded or max(largest, lam.numerator, lam.denominator) < MAX_PRODUCT:
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
        if uses is not None and self.nodes.size * uses.room.size <= MOST_CHAINS:
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


FIRST_WINDOW_ARCS = 300_000
"""The first window may always have this many usage arcs; instances with fewer are searched as a whole."""

WINDOW_WIDTHS = (1.5, 4.0)
"""Usage arcs of the windows, as multiples of the edge's."""


def windows(path: PruningPath, budget: Fraction) -> Iterator[tuple[int, int]]:
    """Pairs of rows, outer < inner, around the budget; each pair is wider than the one before, and the last has all rows."""
    last = len(path) - 1
    row = next((k for k in range(len(path)) if path.exact_cost[k] <= budget), last)
    outer, inner = max(row - 1, 0), max(row, min(1, last))
    arcs = _arcs_between(path)
    edge, lam = float(arcs[outer:inner].sum()), path.between(outer) if last else Fraction(0)
    for width in WINDOW_WIDTHS:
        wider = _widened(path, arcs, (outer, inner), lam, max(FIRST_WINDOW_ARCS, width * edge))
        if wider == (0, last):
            break
        if wider != (outer, inner) or width == WINDOW_WIDTHS[0]:
            yield wider
        outer, inner = wider
    yield 0, last


def first_window_arcs(path: PruningPath, budget: Fraction) -> float:
    """Usage arcs of the splits in the first window."""
    outer, inner = next(windows(path, budget))
    return float(_arcs_between(path)[outer:inner].sum())


def _widened(path: PruningPath, arcs: NDArray[np.float64], rows: tuple[int, int], lam: Fraction, most: float) -> tuple[int, int]:
    """The rows with as many neighbours as fit `most` usage arcs together, those nearest to lambda first."""
    (outer, inner), last = rows, len(path) - 1
    held = float(arcs[outer:inner].sum())
    while True:
        sides = []
        if outer > 0 and held + arcs[outer - 1] <= most:
            sides.append((lam - path.between(outer - 1), outer - 1, inner, arcs[outer - 1]))
        if inner < last and held + arcs[inner] <= most:
            sides.append((path.between(inner) - lam, outer, inner + 1, arcs[inner]))
        if not sides:
            return outer, inner
        _, outer, inner, more = min(sides)
        held += more


def _arcs_between(path: PruningPath) -> NDArray[np.float64]:
    """Usage arcs of the splits between each row and the next; shape (rows - 1,)."""
    problem = path.problem
    level = path.level[problem.usage.splits]
    weights = problem.usage.arcs_per_node[problem.usage.splits].astype(np.float64)
    arcs = np.bincount(level + 1, weights=weights, minlength=len(path.breakpoints) + 2).astype(np.float64)
    # the splits between the rows k and k + 1 have the level k + 1 (smallest optima) or k (largest)
    shift = 2 if path.ties == "smallest" else 1
    between: NDArray[np.float64] = arcs[shift : shift + len(path) - 1]
    return between


@dataclass(frozen=True, eq=False)
class Window:
    """A core between two rows of a path, and what its integers stand for."""

    core: KnapsackCore
    # gain_unit, base: a gain of k in the core is one of base + k gain_unit of error, of at most so much where it was rounded.
    gain_unit: Fraction
    base: Fraction
    price_unit: Fraction
    # so much more gain in the core is taken for none: what rounding its gains may have added, and far less than an error; 0 where
    # nothing was rounded.
    spare: int

    def goal(self, gain: Fraction) -> int:
        """What a pruning has to gain in the core to be better than one of this gain."""
        return int((gain - self.base) // self.gain_unit) + self.spare

    def gain(self, of_core: int) -> Fraction:
        """The gain that one in the core stands for."""
        return self.base + of_core * self.gain_unit


SPARE_BITS = 41
"""`Window.spare` is 2^-41 of the gain of the core, 4.5e-13: below what is stated as rounding."""


def window_between(path: PruningPath, outer: int, inner: int, budget: Fraction) -> Window:
    """The window between two rows of a path, outer <= inner; the whole instance between the first and the last."""
    problem, inside = path.problem, path[inner]
    reduced = problem.reduced("smallest")
    groups, core, numbers = reduced.groups, reduced.core, problem.numbers
    part = open_part(core, groups.of_pruning(path[outer].kept), groups.of_pruning(inside.kept))
    taken = (np.flatnonzero(groups.of_pruning(inside.kept)).astype(np.int32),)
    if numbers.exact:
        gain_unit, price_unit, base, spare = numbers.gain_unit, numbers.price_unit, Fraction(0), 0
        gained, room = inside.integer_gain, int(budget // price_unit) - inside.integer_cost
    else:
        scale = Scale.of(part)
        part, spare = real_window(part, scale, core.gain_lost[part.nodes])
        gain_unit, price_unit, base = scale.gain_unit, scale.price_unit, problem.roots_error - inside.exact_error
        gained, room = 0, int((budget - inside.exact_cost) // price_unit)
    unit = gain_unit / price_unit
    low = path.between(outer - 1) / unit if outer > 0 else Fraction(0)
    high = path.between(inner) / unit if inner + 1 < len(path) else None
    whole = KnapsackCore(
        **part.arrays(), gained=gained, room=room, taken=taken, low=low, high=high, rounded=not numbers.exact,
        step=numbers.gain_step, surrogate=Surrogate(np.ones(1), unit),
    )  # fmt: skip
    return Window(whole.trimmed(), gain_unit, base, price_unit, spare)


def real_window(part: OpenPart, scale: Scale, lost: NDArray[np.float64]) -> tuple[OpenPart, int]:
    """A part of real numbers in integers, and `Window.spare`."""
    whole = scale.part(part, lost)
    return whole, whole.nodes.size + (int(np.abs(whole.gain).sum()) >> SPARE_BITS)


@dataclass(frozen=True)
class Scale:
    """Powers of two that turn real gains and costs into integers, whose sums fit `TOTAL_BITS`."""

    gain: int
    price: int

    @classmethod
    def of(cls, part: ParametricSubproblem) -> Self:
        """The finest scale for a part."""
        return cls(exponent_of(float(np.abs(part.gain).sum()) or 1.0), exponent_of(float(part.total_cost) or 1.0))

    @property
    def gain_unit(self) -> Fraction:
        """What an integer gain stands for."""
        return Fraction(2) ** -self.gain

    @property
    def price_unit(self) -> Fraction:
        """What an integer price stands for."""
        return Fraction(2) ** -self.price

    def part(self, part: OpenPart, lost: NDArray[np.float64]) -> OpenPart:
        """The part in integers: gains rounded up, of which floating point may have `lost` so much, and prices rounded down."""
        gain = np.ceil(ldexp(part.gain + lost, self.gain)).astype(np.int64)
        evaluation, price = (
            np.floor(ldexp(p * PRICE_MARGIN, self.price)).astype(np.int64) for p in (part.evaluation, part.price)
        )
        return replace(part, gain=gain, evaluation=evaluation, price=price)


PRICING_ROUNDS = 20
"""Most rounds. A round prices each split whose parent is kept and tries each once, the one with the least gain per cost last."""


def filled(core: KnapsackCore) -> NDArray[np.bool_]:
    """A closure whose cost is at most the core's room, and its use of every limit; bool, shape (k,)."""
    order = np.argsort(core.tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(core.tail, minlength=core.nodes.size))]).astype(np.int64)
    head = core.head[order]
    keep: NDArray[np.bool_] = np.zeros(core.nodes.size, dtype=np.bool_)
    paid, rate, room = np.zeros(core.price.shape[0], dtype=np.bool_), np.empty(core.nodes.size), core.room
    rows = _rows(core)
    for _ in range(PRICING_ROUNDS):
        _rate(core.parent, core.gain, core.evaluation, start, head, core.price, room, keep, paid, rate)
        best_first = np.argsort(-rate, kind="stable")  # numpy's, for numba takes seconds to compile a sort
        left = _fill(best_first, rate, core.evaluation, start, head, core.price, room, keep, paid, *rows)
        if left < 0:
            break
        room = left
    return keep


def _rows(core: KnapsackCore) -> tuple[NDArray[Any], ...]:
    """For `_fill`: the room of every limit, room to add up in, and what splits and purchases use, as sparse arrays."""
    if core.uses is None:
        none, start, index = np.zeros(0), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32)
        return none, none, start, index, none, start, index, none
    arrays = [core.uses.room + core.uses.same, np.zeros(core.uses.room.size)]
    for uses in (core.uses.of_splits, core.uses.of_purchases):
        arrays += [uses.indptr.astype(np.int32), uses.indices.astype(np.int32), uses.data.astype(np.float64)]
    return tuple(arrays)


@njit(cache=True)
def _rate(parent, gain, evaluation, start, head, price, room, keep, paid, rate):  # type: ignore[no-untyped-def]
    """The gain of each split for its unpaid cost; 0 where it may not be kept or does not fit."""
    for h in range(parent.shape[0]):
        rate[h] = 0.0
        if not keep[h] and gain[h] > 0 and (parent[h] < 0 or keep[parent[h]]):
            cost = evaluation[h]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    cost += price[head[k]]
            if cost <= room:
                rate[h] = gain[h] / (cost + 1e-9)


@njit(cache=True)
def _fill(  # type: ignore[no-untyped-def]
    best_first, rate, evaluation, start, head, price, room, keep, paid, left, added, s_start, s_row, s_use, p_start, p_row, p_use
):
    """Keep what fits, in the given order; the room that is left, or -1 where nothing fitted."""
    some = False
    for h in best_first:
        if rate[h] <= 0.0:
            break
        cost = evaluation[h]
        for k in range(start[h], start[h + 1]):
            if not paid[head[k]]:
                cost += price[head[k]]
        if cost > room:
            continue
        fits = True
        if left.shape[0] > 0:
            # what it adds to every limit
            for q in range(s_start[h], s_start[h + 1]):
                added[s_row[q]] += s_use[q]
                fits = fits and added[s_row[q]] <= left[s_row[q]]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    for q in range(p_start[head[k]], p_start[head[k] + 1]):
                        added[p_row[q]] += p_use[q]
                        fits = fits and added[p_row[q]] <= left[p_row[q]]
            # take it from the limits, and forget it
            for q in range(s_start[h], s_start[h + 1]):
                if fits:
                    left[s_row[q]] -= s_use[q]
                added[s_row[q]] = 0.0
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    for q in range(p_start[head[k]], p_start[head[k] + 1]):
                        if fits:
                            left[p_row[q]] -= p_use[q]
                        added[p_row[q]] = 0.0
        if fits:
            room -= cost
            keep[h] = some = True
            for k in range(start[h], start[h + 1]):
                paid[head[k]] = True
    return room if some else -1
