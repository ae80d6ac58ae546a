"""Bundles of splits that a pruning can grow by, the most gainful first, and what each of them really adds.

A bundle is a split below the pruning with the best part of its subtree, at prices of which nothing is paid yet or at none. The
purchases that the pruning made are free. What a bundle adds to every row is counted when its turn comes: earlier ones may have
paid for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.compiled import njit
from solvers.budgets.limits.oracle import LagrangianOracle

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
            used += np.where(rows.meter_of_row == q, found + amounts[once].sum(), 0.0)
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
