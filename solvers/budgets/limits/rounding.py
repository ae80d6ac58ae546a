"""From the multipliers of several limits to a pruning within all of them.

If any multiplier grows, the smallest optimum shrinks, and every use falls. So along a ray

    mu(s) = s * direction,     s >= 0                                                                                       (1)

all prunings from some s on are within the limits, and bisection finds this s. The directions are the multipliers themselves,
these with one of them changed, and then some that are drawn at random around them. The room that is left is filled with bundles,
the most gainful first. Every pruning that is returned was checked in exact numbers.

A bundle is a split below the pruning with the best part of its subtree, at prices of which nothing is paid yet or at none. The
purchases that the pruning made are free. What a bundle adds to every row is counted when its turn comes: earlier ones may have
paid for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.compiled import njit
from solvers.budgets.by_path import raised
from solvers.budgets.limits.oracle import LagrangianOracle, Priced
from solvers.budgets.limits.relaxation import Column

FACTORS = (2.0, 0.5, 1.25, 0.8)
"""Factors by which one multiplier is changed."""

MOST_CHANGED = 10
"""Multipliers that are changed one by one, the largest ones."""

HALVINGS = 8
"""Most bisections of an interval of s."""

LEAST_STEP = 1e-5
"""An interval of s shorter than this is not bisected, because its two ends give nearly the same pruning."""

GAP = 1e-3
"""Relative gap of closures along a ray: their prunings are filled anyway."""

LEAST_CALLS = 12
"""Closures that are made whatever they cost: one ray."""

MOST_FILLED = 6
"""Prunings met on the way to the relaxation's optimum that are filled, the best ones."""


class Rounding:
    """Keeps the best pruning within all limits, and the best bound that a closure has proven."""

    def __init__(self, oracle: LagrangianOracle, first: NDArray[np.bool_], deadline: float, proof: Priced, work: float) -> None:
        self.oracle, self.deadline, self.proof = oracle, deadline, proof
        self.best = Pruning(oracle.user_problem, first)
        self.growth = BundleGrowth(oracle)
        self.filled: set[bytes] = set()
        self._most_calls = oracle.calls + max(LEAST_CALLS, work / oracle.seconds)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.deadline

    @property
    def over(self) -> bool:
        """Whether the time or the work is over, or the best pruning errs no more than the bound."""
        spent = self.oracle.calls >= self._most_calls
        return self.late or spent or self.oracle.error(self.best) <= raised(self.oracle.user_problem, self.proof.bound)

    def offer(self, kept: NDArray[np.bool_], use: NDArray[np.float64] | None = None) -> bool:
        """Whether a pruning is within all limits. If it is the best so far, it is kept."""
        use = self.oracle.uses(kept) if use is None else use
        pruning = Pruning(self.oracle.user_problem, kept)
        if not (use <= self.growth.room).all() or not self.oracle.rows.within(pruning):
            return False
        if pruning.integer_gain > self.best.integer_gain:
            self.best = pruning
        return True

    def search(self, mu: NDArray[np.float64], columns: tuple[Column, ...], draws: int) -> None:
        """Fill the best prunings that were met, then those at the end of every ray."""
        fit = [c for c in columns if (c.use <= self.growth.room).all()]
        for column in sorted(fit, key=lambda c: c.error)[:MOST_FILLED]:
            if self.offer(column.kept, column.use):
                self.fill(column.kept, mu)
        for direction in _directions(mu, self._units(columns), draws):
            if self.over:
                return
            self.fill(self.along(direction), direction)

    def _units(self, columns: tuple[Column, ...]) -> NDArray[np.float64]:
        """For every row a use of its size: multipliers times these are comparable."""
        most = np.max([c.use for c in columns], axis=0)
        return np.where(most > 0, most, 1.0)

    def along(self, direction: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(1): from s = 1 on, bisection between the largest s known to exceed a limit and the smallest known to fit."""
        low, high, step = 0.0, 1.0, 1e-3
        best = self.best.kept
        while not self.late:
            found = self._fitting(high * direction)
            if found is not None:
                best = found
                break
            low, high, step = high, 1.0 + step, 4.0 * step
            if high > 2.0**60:  # a row with multiplier 0 in this direction exceeds its limit for every s
                return best
        for _ in range(HALVINGS):
            if self.late or high - low <= LEAST_STEP:
                break
            middle = 0.5 * (low + high)
            found = self._fitting(middle * direction)
            if found is None:
                low = middle
            else:
                best, high = found, middle
        return best

    def _fitting(self, mu: NDArray[np.float64]) -> NDArray[np.bool_] | None:
        """The optimum at these multipliers, if it is within all limits."""
        found = self.oracle.solve(mu, gap=GAP)
        self.proof = max(self.proof, found, key=lambda priced: priced.bound)
        return found.kept if self.offer(found.kept) else None

    def fill(self, kept: NDArray[np.bool_], mu: NDArray[np.float64]) -> None:
        """Grow a pruning that keeps to the limits, and offer what comes of it."""
        key = np.packbits(kept).tobytes()
        if key in self.filled:
            return
        self.filled.add(key)
        groups = self.oracle.groups
        of_groups = np.zeros(groups.payer.size, dtype=bool)
        of_groups[groups.is_group] = kept[groups.payer[groups.is_group]]
        grown = self.growth.filled(of_groups, mu)
        self.offer(groups.kept(grown))


def _directions(mu: NDArray[np.float64], unit: NDArray[np.float64], draws: int) -> Iterator[NDArray[np.float64]]:
    """The multipliers; the same with a small one for each slack limit; one of them changed; random ones around them."""
    if mu.any():
        yield mu
    base = np.where(mu > 0, mu, 0.01 * (float((mu * unit).max(initial=0.0)) or 1.0) / unit)
    yield base
    if mu.size > 1:
        for factor in FACTORS:
            for r in np.argsort(-base * unit, kind="stable")[:MOST_CHANGED]:
                changed = base.copy()
                changed[r] *= factor
                yield changed
    random = np.random.default_rng(0)
    for _ in range(draws):
        yield base * np.exp(random.normal(scale=0.7, size=base.size))


MOST_TRIED = 3_000
"""Bundles that are tried in one round, the most gainful ones per price."""

MOST_ROUNDS = 12
"""Rounds in which bundles are made anew."""

ROUNDING = 1e-9
"""What floating point may add to a use, relative and absolute; prunings are checked in fractions afterwards."""


class BundleGrowth:
    """Grows prunings of the reduced instance within the limits."""

    def __init__(self, oracle: LagrangianOracle) -> None:
        self.oracle, self.problem = oracle, oracle.problem
        arcs = self.problem.usage_arcs()
        self.tail, self.head = arcs.tail, arcs.head
        self.start = np.searchsorted(self.tail, np.arange(self.problem.ensemble.n_nodes + 1))
        self.parent, self.is_split = self.problem.ensemble.parent, self.problem.ensemble.is_split
        self.own = sparse.csc_array(oracle.own_of_groups)
        self._share = sparse.csc_array(oracle.rows.share)
        self.room = oracle.rows.at_most * (1.0 + ROUNDING) + ROUNDING * (oracle.rows.at_most > 0)

    def filled(self, kept: NDArray[np.bool_], mu: NDArray[np.float64]) -> NDArray[np.bool_]:
        """A pruning that keeps to the limits, grown by bundles until none fits; bool, shape (r,), over groups."""
        kept, bought = kept.copy(), np.zeros(self.problem.n_purchases, dtype=bool)
        mine = kept[self.tail]
        bought[self.head[mine]] = True
        room = self.room - self._used(np.flatnonzero(kept), bought)
        weight = np.where(mu > 0, mu, 1e-3 * (float(mu.max(initial=0.0)) or 1.0))
        price, own = self.oracle.prices(weight), self.oracle.own_of_groups.T @ weight
        for _ in range(MOST_ROUNDS):
            to_pay = np.where(bought[self.head], 0.0, price[self.head])
            charge: NDArray[np.float64] = own + np.bincount(self.tail, to_pay, self.parent.size).astype(np.float64)
            added = False
            for part in (1.0, 0.0):
                for bundle in self._bundles(kept, charge, part):
                    if kept[bundle[0]]:
                        continue
                    new = np.unique(self._heads(bundle))
                    new = new[~bought[new]]
                    use = self._used(bundle, new)
                    if (use <= room).all():
                        room, added = room - use, True
                        kept[bundle] = True
                        bought[new] = True
            if not added:
                break
        return kept

    def _heads(self, nodes: NDArray[np.int64]) -> NDArray[np.int32]:
        first, count = self.start[nodes], self.start[nodes + 1] - self.start[nodes]
        at = np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
        heads: NDArray[np.int32] = self.head[at]
        return heads

    def _used(self, nodes: NDArray[np.int64], bought: NDArray[np.bool_] | NDArray[np.int32]) -> NDArray[np.float64]:
        """What splits and purchases, a mask or numbers, use of every row."""
        purchases = np.flatnonzero(bought) if bought.dtype == np.bool_ else bought
        used = np.asarray(self.own[:, nodes].sum(axis=1), dtype=np.float64).ravel()
        n, rows = self.problem.n_rows, self.oracle.rows
        items = rows.amounts.shape[1]
        by_row = purchases[purchases < items * n]
        item, row = np.divmod(by_row, n)
        once = purchases[purchases >= items * n] - items * n
        for q, amounts in enumerate(rows.amounts):
            each = np.bincount(row, amounts[item], n)
            reached = np.flatnonzero(each)
            found = self._share[:, reached] @ each[reached] if reached.size < n // 4 else self._share @ each
            used += np.where(rows.limit_of_row == q, found + amounts[once].sum(), 0.0)
        return used

    def _bundles(self, kept: NDArray[np.bool_], charge: NDArray[np.float64], part: float) -> list[NDArray[np.int64]]:
        """The bundles at a part of the charges, the most gainful per charge first; each begins with its top split."""
        gain = self.oracle.gain
        top, gained, charged = np.full(kept.size, -1, dtype=np.int32), gain.copy(), charge.copy()
        _label(self.parent, self.is_split, kept, gain - part * charge, gained, charged, top)
        tops = np.flatnonzero(top == np.arange(top.size))
        tops = tops[gained[tops] > 0]
        tops = tops[np.argsort(-gained[tops] / np.maximum(charged[tops], 1e-300), kind="stable")][:MOST_TRIED]
        members = np.flatnonzero(top >= 0)
        members = members[np.argsort(top[members], kind="stable")]
        first = np.searchsorted(top[members], tops)
        last = np.searchsorted(top[members], tops, side="right")
        return [members[a:b] for a, b in zip(first, last, strict=True)]


@njit(cache=True)
def _label(parent, is_split, kept, profit, gained, charged, top):  # type: ignore[no-untyped-def]
    """The bundle of every split that is in one, by its top; and the sums over the best part of the subtree of each split."""
    worth = profit.copy()
    for h in range(parent.shape[0] - 1, -1, -1):
        p = parent[h]
        if is_split[h] and not kept[h] and worth[h] > 0 and p >= 0 and not kept[p]:
            worth[p] += worth[h]
            gained[p] += gained[h]
            charged[p] += charged[h]
    for h in range(parent.shape[0]):
        p = parent[h]
        if kept[h] or not is_split[h]:
            continue
        if p < 0 or kept[p]:
            top[h] = h
        elif top[p] >= 0 and worth[h] > 0:
            top[h] = top[p]
