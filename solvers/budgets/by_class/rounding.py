"""From the dual values of several budgets to a pruning within all of them.

If any lambda_c grows, the smallest optimum shrinks, and every group's cost falls. So along a ray

    lambda(s) = s * direction,     s >= 0                                                                                  (1)

all prunings from some s on are within the budgets, and bisection finds this s. The directions are the dual values themselves, and
the dual values with one of them changed. The room that is left is then filled with bundles, each a split with the best part of
its subtree, those with the most gain per cost first. Every pruning that is returned was checked in exact numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem
from solvers.budgets.by_class.cut import ClassCut
from solvers.closures.tree_pass import best_tree_closures

FACTORS = (2.0, 0.5, 1.25, 0.8)
"""Factors by which one group's dual value is changed."""

HALVINGS = 8
"""Most bisections of an interval of s."""

LEAST_STEP = 1e-5
"""An interval of s shorter than this is not bisected, because its two ends give nearly the same pruning."""


class ClassRounding:
    """Keeps the best pruning within all budgets, and the best bound that a cut has proven."""

    def __init__(self, cut: ClassCut, first: Pruning, deadline: float) -> None:
        self.cut, self.pruning, self.deadline = cut, first, deadline
        self.bound = -np.inf
        self.cuts = 0

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.deadline

    def fits(self, kept: NDArray[np.bool_]) -> bool:
        """Whether all groups are within their budgets up to rounding errors: a quick check before the exact one."""
        limits = self.cut.limits
        return bool((self.cut.costs(kept) <= limits * (1.0 + 1e-9) + 1e-12).all())

    def offer(self, pruning: Pruning) -> bool:
        """Whether a pruning is within all budgets. If it is the best so far, it is kept."""
        if not self.fits(pruning.kept) or not self.cut.rows.within(pruning):
            return False
        if pruning.integer_gain > self.pruning.integer_gain:
            self.pruning = pruning
        return True

    def search(self, lam: NDArray[np.float64]) -> None:
        """Fill the best pruning so far; then search (1) along all directions, and fill the pruning that each ends with."""
        self.fill(self.pruning, lam)
        for direction in _directions(lam):
            if self.late:
                return
            self.fill(self.along(direction), lam)

    def along(self, direction: NDArray[np.float64]) -> Pruning:
        """(1): from s = 1 on, bisection between the largest s known to exceed a budget and the smallest known to fit."""
        low, high, step = 0.0, 1.0, 1e-6
        best = self.pruning
        while not self.late:
            found = self._cut(high * direction)
            if found is not None:
                best = found
                break
            low, high, step = high, 1.0 + step, 10.0 * step
            if high > 2.0**60:  # a group with lambda_c = 0 in this direction exceeds its budget for every s
                return best
        for _ in range(HALVINGS):
            if self.late or high - low <= LEAST_STEP:
                break
            middle = 0.5 * (low + high)
            found = self._cut(middle * direction)
            if found is None:
                low = middle
            else:
                best, high = found, middle
        return best

    def _cut(self, lam: NDArray[np.float64]) -> Pruning | None:
        """The smallest optimum at lambda, if it is within all budgets."""
        found = self.cut.cut(lam)
        self.cuts += 1
        self.bound = max(self.bound, found.bound)
        return found.pruning if self.offer(found.pruning) else None

    def fill(self, pruning: Pruning, lam: NDArray[np.float64]) -> None:
        """Grow a pruning by bundles until none fits; bundles are computed again whenever a tenth of them was added."""
        while not self.late:
            grown = self._grown(pruning, lam)
            if grown is pruning:
                return
            pruning = grown

    def _grown(self, pruning: Pruning, lam: NDArray[np.float64]) -> Pruning:
        """The pruning with the best bundles that fit, up to a tenth of all bundles."""
        added, bundles = 0, _Bundles(self.cut, pruning, lam)
        for bundle in bundles.best_first():
            if self.late or 10 * added > len(bundles):
                break
            kept = pruning.kept.copy()
            if kept[bundle[0]]:
                continue
            kept[bundle] = True
            grown = Pruning(self.cut.rows.problem, kept)
            if self.offer(grown):
                pruning, added = grown, added + 1
        return pruning


def _directions(lam: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """The dual values; the same with a small value for each slack budget; then, with several budgets, one of them changed."""
    largest = float(lam.max(initial=0.0)) or 1.0
    if lam.any():
        yield lam
    base = np.where(lam > 0, lam, 0.01 * largest)
    yield base
    if lam.size > 1:
        for factor in FACTORS:
            for c in range(min(lam.size, 10)):
                changed = base.copy()
                changed[c] *= factor
                yield changed


class _Bundles:
    """The bundles by which a pruning can grow: each is one more split with the best part of its subtree.

    Purchases that were made already cost nothing more. The part of the subtree is chosen once at lambda and once at price 0.
    """

    def __init__(self, cut: ClassCut, pruning: Pruning, lam: NDArray[np.float64]) -> None:
        problem, kept = cut.rows.problem, pruning.kept
        ensemble = problem.ensemble
        bought = np.zeros(cut.purchases.shape[1], dtype=bool)
        bought[cut.column[kept[cut.node]]] = True
        open_arcs = ~bought[cut.column]
        shape = (bought.size, ensemble.n_nodes)
        ones = np.ones(int(open_arcs.sum()))
        charges = sparse.csr_array((ones, (cut.column[open_arcs], cut.node[open_arcs])), shape=shape)
        self._costs = sparse.csc_array(cut.purchases @ charges + cut.splits)
        self._room = cut.limits * (1.0 + 1e-9) + 1e-12 - cut.costs(kept)
        # the sum over a bundle counts an item paid once for all at each of its splits, which is too much
        self._exact = not problem.costs.paid_once.any()
        weight = np.where(lam > 0, lam, 1e-3 * (float(lam.max(initial=0.0)) or 1.0))
        charge = self._costs.T @ weight
        above = kept[ensemble.parent] | (ensemble.parent < 0)
        tops = np.flatnonzero(ensemble.is_split & ~kept & above)
        found: list[tuple[float, NDArray[np.int64]]] = []
        for part in (1.0, 0.0):
            best = _subtrees(problem, cut.gain - part * charge, kept, tops)
            for h in tops.tolist():
                bundle = _below(problem, best, h)
                gain = float(cut.gain[bundle].sum())
                if gain > 0 and self._fits(bundle):
                    found.append((gain / max(float(charge[bundle].sum()), 1e-300), bundle))
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def _fits(self, bundle: NDArray[np.int64]) -> bool:
        """Whether a bundle may fit: a quick check in floating point."""
        return not self._exact or bool((self._costs[:, bundle].sum(axis=1) <= self._room).all())

    def best_first(self) -> list[NDArray[np.int64]]:
        """The bundles, those with the most gain per cost first; each begins with its top split."""
        return [bundle for _, bundle in sorted(self._found, key=lambda pair: -pair[0])]


def _subtrees(
    problem: PruningProblem, profit: NDArray[np.float64], kept: NDArray[np.bool_], tops: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The best closure below each top, with the top itself forced in."""
    # the kept splits above the tops are forced in too, so that the pass reaches the tops
    forced = np.where(kept, np.inf, profit)
    forced[tops] = np.inf
    forced = np.minimum(forced, float(np.abs(profit).sum()) + 1.0)
    keep, _ = best_tree_closures(problem.ensemble, forced, problem.ensemble.is_split, "smallest")
    return keep


def _below(problem: PruningProblem, chosen: NDArray[np.bool_], h: int) -> NDArray[np.int64]:
    """The chosen splits at h and below."""
    ensemble, found, todo = problem.ensemble, [], [h]
    while todo:
        u = todo.pop()
        found.append(u)
        todo += [int(c) for c in (ensemble.left[u], ensemble.right[u]) if chosen[c]]
    return np.array(found, dtype=np.int64)
