"""From the multipliers of several limits to a pruning within all of them.

If any multiplier grows, the smallest optimum shrinks, and every use falls. So along a ray

    mu(s) = s * direction,     s >= 0                                                                                       (1)

all prunings from some s on are within the limits, and bisection finds this s. The directions are the multipliers themselves,
these with one of them changed, and then some that are drawn at random around them. The room that is left is filled with bundles
(`solvers.budgets.limits.bundles`). Every pruning that is returned was checked in exact numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from solvers.budgets.limits.bundles import BundleGrowth
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
        return self.late or spent or self.oracle.error(self.best) <= self.oracle.raised(self.proof.bound)

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
