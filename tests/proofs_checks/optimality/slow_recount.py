"""The checks as they would be written on paper: fractions, sets and dictionaries, one usage arc at a time.

Far too slow for real forests. It is what the checkers of `proofs_checks` are compared with on small instances.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations import PruningPath, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.instance.ensemble import Ensemble


class NotProven(Exception):  # noqa: N818 (not an error: the answer no)
    """The claim does not follow; the message says where."""


def slow_path_gaps(path: PruningPath) -> list[Fraction]:
    """Value less bound of every row, at both ends of its interval: duals above a price are scaled down to it."""
    assert path.certificate is not None
    recount, problem = SlowRecount(path.problem), path.problem
    unit, arcs = problem.integers.gain_unit, problem.usage_arcs()
    full: dict[tuple[int, int], Fraction] = {}
    borne: dict[int, Fraction] = defaultdict(Fraction)
    for t, j, k in zip(arcs.tail.tolist(), arcs.head.tolist(), path.certificate.dual.tolist(), strict=True):
        if k:
            full[t, j] = k * unit / path.certificate.denominator[int(path.level[t])]
            borne[j] += full[t, j]
    gaps = []
    ends = [*path.breakpoints, path.breakpoints[-1] + 1]
    for k, pruning in enumerate(path):
        for lam in ends[k : k + 2] if path.ties == "smallest" else ends[max(k - 1, 0) : k + 1]:
            share = {j: min(Fraction(1), lam * recount.price_of(j) / b) for j, b in borne.items() if b}
            duals = {(t, j): dual * share[j] for (t, j), dual in full.items()}
            error, cost = recount.objective(pruning)
            gaps.append(error + lam * cost - recount.bound(duals, lam))
    return gaps


class SlowRecount:
    """The instance as fractions, from its trees, rows and prices alone."""

    def __init__(self, problem: PruningProblem) -> None:
        self.problem = problem
        self.ensemble = problem.ensemble
        self.rows = reached(problem.ensemble, np.asarray(problem.X, dtype=np.float32)[problem.rows])
        self.weight = [Fraction(repr(float(w))) for w in problem.weights]
        self.total = sum(self.weight)
        self.error = self._errors()
        self.evaluation = self._evaluation()

    def _errors(self) -> list[Fraction]:
        """Error of every node in the units of (OBJ): floats are taken at their word."""
        trees = self.ensemble.n_trees
        error = [Fraction(0)] * self.ensemble.n_nodes
        for component in self.problem.errors.components:
            for h in range(self.ensemble.n_nodes):
                weight = Fraction(float(component.weight[self.ensemble.tree_of[h]]))
                error[h] += component.share * Fraction(float(component.e[h])) / (trees * weight)
        return error

    def _evaluation(self) -> list[Fraction]:
        """a_f |S_h| / N of every split."""
        price = [Fraction(0)] * self.ensemble.n_nodes
        for h, rows in enumerate(self.rows):
            if self.ensemble.left[h] >= 0:
                size = sum((self.weight[i] for i in rows), Fraction(0))
                price[h] = self.problem.evaluation[int(self.ensemble.feature[h])] * size / self.total
        return price

    def price_of(self, purchase: int) -> Fraction:
        """What a purchase adds to the cost, in the numbering of `formulations.instance.usage_arcs.UsageArcs`."""
        n, costs = self.problem.n_rows, self.problem.costs
        if purchase >= costs.n_items * n:
            return costs.prices[purchase - costs.n_items * n]
        return costs.prices[purchase // n] * self.weight[purchase % n] / self.total

    def purchases(self, h: int) -> set[int]:
        """What split h makes its rows buy that no strict ancestor does; free items left out."""
        costs, n = self.problem.costs, self.problem.n_rows
        needed = set(costs.needs[int(self.ensemble.feature[h])])
        above = int(self.ensemble.parent[h])
        while above >= 0:
            needed -= set(costs.needs[int(self.ensemble.feature[above])])
            above = int(self.ensemble.parent[above])
        found: set[int] = set()
        for m in needed:
            if costs.prices[m] > 0:
                once = costs.once is not None and costs.once[m]
                found |= {costs.n_items * n + m} if once else {m * n + int(i) for i in self.rows[h]}
        return found

    def objective(self, pruning: Pruning) -> tuple[Fraction, Fraction]:
        """Error and cost of a pruning."""
        kept, parent = pruning.kept, self.ensemble.parent
        error = cost = Fraction(0)
        bought: set[int] = set()
        for h in range(self.ensemble.n_nodes):
            if kept[h]:
                if self.ensemble.left[h] < 0 or (parent[h] >= 0 and not kept[parent[h]]):
                    raise NotProven(f"node {h} is kept, but it is a leaf or its parent is not kept")
                bought |= self.purchases(h)
                cost += self.evaluation[h]
            elif parent[h] < 0 or kept[parent[h]]:
                error += self.error[h]
        return error, cost + sum((self.price_of(b) for b in bought), Fraction(0))

    def bound(self, duals: dict[tuple[int, int], Fraction], lam: Fraction) -> Fraction:
        """(1), after checking that the duals are allowed."""
        charged: dict[int, Fraction] = defaultdict(Fraction)
        borne: dict[int, Fraction] = defaultdict(Fraction)
        for (h, purchase), dual in duals.items():
            if dual < 0:
                raise NotProven(f"the dual of split {h} on purchase {purchase} is {dual}, negative")
            if dual and purchase not in self.purchases(h):
                raise NotProven(f"split {h} does not need the purchase {purchase}, yet bears a part of it")
            charged[h] += dual
            borne[purchase] += dual
        for purchase, dual in borne.items():
            if dual > lam * self.price_of(purchase):
                raise NotProven(f"purchase {purchase} bears {dual}, more than its price {lam * self.price_of(purchase)}")
        best = [Fraction(0)] * self.ensemble.n_nodes
        for h in reversed(range(self.ensemble.n_nodes)):
            left, right = int(self.ensemble.left[h]), int(self.ensemble.right[h])
            if left >= 0:
                gain = self.error[h] - self.error[left] - self.error[right]
                own = gain - lam * self.evaluation[h] - charged[h]
                best[h] = max(Fraction(0), own + best[left] + best[right])
        roots = [int(r) for r in self.ensemble.roots]
        return sum((self.error[r] - best[r] for r in roots), Fraction(0))


def reached(ensemble: Ensemble, rows: NDArray[np.float32]) -> list[NDArray[np.int64]]:
    """The rows that reach each node, node by node from the thresholds."""
    inside: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * ensemble.n_nodes
    for h in range(ensemble.n_nodes):
        if ensemble.parent[h] < 0:
            inside[h] = np.arange(len(rows))
        if ensemble.left[h] >= 0:
            x = rows[inside[h], ensemble.feature[h]].astype(np.float64)
            left = np.where(np.isnan(x), ensemble.missing_left[h], x <= ensemble.threshold[h])
            inside[int(ensemble.left[h])] = inside[h][left]
            inside[int(ensemble.right[h])] = inside[h][~left]
    return inside
