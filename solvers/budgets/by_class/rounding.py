"""From the dual values of several budgets to a pruning within all of them.

Under prices lambda the smallest optimum shrinks as any lambda_c grows, and with it every group's cost. So along a ray

    lambda(s) = s * direction,     s >= 0                                                                                  (1)

the prunings within the budgets are those from some s on, found by bisection. Directions are the dual values themselves, and
these with one group dearer or cheaper. What room is then left is filled: split by split, each with the best that its subtree
has to offer, the most gain for the room that it takes first. Every pruning that is kept was checked in exact numbers.
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
"""By which one group's dual value is changed."""

HALVINGS = 8
"""Of an interval of s."""

LEAST_STEP = 1e-5
"""Of s: next to nothing lies between two prunings so near to each other."""


class ClassRounding:
    """Keeps the best pruning within all budgets, and the best bound that a cut on the way has proven."""

    def __init__(self, cut: ClassCut, first: Pruning, deadline: float) -> None:
        self.cut, self.pruning, self.deadline = cut, first, deadline
        self.bound = -np.inf
        self.cuts = 0

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.deadline

    def fits(self, kept: NDArray[np.bool_]) -> bool:
        """Whether all groups are within their budgets, up to floating point: a first look."""
        limits = self.cut.limits
        return bool((self.cut.costs(kept) <= limits * (1.0 + 1e-9) + 1e-12).all())

    def offer(self, pruning: Pruning) -> bool:
        """Whether a pruning is within all budgets; it is kept where it errs least."""
        if not self.fits(pruning.kept) or not self.cut.rows.within(pruning):
            return False
        if pruning.integer_gain > self.pruning.integer_gain:
            self.pruning = pruning
        return True

    def search(self, lam: NDArray[np.float64]) -> None:
        """Fill the best pruning so far; then (1) along all directions, filling what each of them ends at."""
        self.fill(self.pruning, lam)
        for direction in _directions(lam):
            if self.late:
                return
            self.fill(self.along(direction), lam)

    def along(self, direction: NDArray[np.float64]) -> Pruning:
        """(1): bisection between the largest s known to exceed a budget and the smallest known not to; it begins at 1."""
        low, high, step = 0.0, 1.0, 1e-6
        best = self.pruning
        while not self.late:
            found = self._cut(high * direction)
            if found is not None:
                best = found
                break
            low, high, step = high, 1.0 + step, 10.0 * step
            if high > 2.0**60:  # a group of price 0 in this direction cannot be made to fit
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
        """Grow a pruning by bundles until none fits; what is left is looked at anew after every few."""
        while not self.late:
            grown = self._grown(pruning, lam)
            if grown is pruning:
                return
            pruning = grown

    def _grown(self, pruning: Pruning, lam: NDArray[np.float64]) -> Pruning:
        """With the best bundles that fit, a tenth of all that there are."""
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
    """The dual values, a little of every slack budget with them; then with one changed, where there are several."""
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
    """One more split each, and the best of its subtree: what a pruning can be grown by.

    What is bought already costs nothing more. The subtree's part is chosen under lambda, and under no prices.
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
        self._left = cut.limits * (1.0 + 1e-9) + 1e-12 - cut.costs(kept)
        # an item paid once for all may be charged at several splits of a bundle: its sum says too much
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
        """A first look."""
        return not self._exact or bool((self._costs[:, bundle].sum(axis=1) <= self._left).all())

    def best_first(self) -> list[NDArray[np.int64]]:
        """Most gain for the room first; the top stands first in each."""
        return [bundle for _, bundle in sorted(self._found, key=lambda pair: -pair[0])]


def _subtrees(
    problem: PruningProblem, profit: NDArray[np.float64], kept: NDArray[np.bool_], tops: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The best closure below each top, with the top itself forced in."""
    # all that is kept above the tops is forced too, so that the pass gets there
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
