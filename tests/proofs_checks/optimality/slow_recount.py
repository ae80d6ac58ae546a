"""The checks as they would be written on paper: fractions, sets and dictionaries, one usage arc at a time.

Far too slow for real forests. It is what the checkers of `proofs_checks` are compared with on small instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations import PruningPath, PruningProblem, Solution
from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals, SharedPrices
from formulations.instance.cost_items import exact
from formulations.instance.ensemble import Ensemble


class NotProven(Exception):  # noqa: N818 (not an error: the answer no)
    """The claim does not follow; the message says where."""


def slow_value_and_bound(problem: PruningProblem, solution: Solution) -> tuple[Fraction, Fraction]:
    """Value of the solution's pruning, and the bound that its certificate proves."""
    recount, certificate = SlowRecount(problem), solution.certificate
    assert solution.pruning is not None
    assert certificate is not None
    error, cost = recount.objective(solution.pruning)
    if isinstance(certificate, ItemDuals):
        bound = recount.bound(slow_duals(problem, certificate), certificate.lam)
    else:
        bound = slow_bound_of_scores(recount, certificate, error + certificate.lam * cost)
    return error + exact(solution.lam, "lam") * cost, bound


def slow_duals(problem: PruningProblem, certificate: ItemDuals) -> dict[tuple[int, int], Fraction]:
    """The duals by split and purchase."""
    arcs = problem.usage_arcs()
    named = zip(arcs.tail.tolist(), arcs.head.tolist(), certificate.dual.tolist(), strict=True)
    return {(t, j): k * certificate.unit for t, j, k in named if k}


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


GRID = 2**90
"""Shares are cut down to multiples of 1 / GRID: less than a price may always be charged."""


class _Left:
    """What is decided, and what is open."""

    def __init__(self, recount: SlowRecount, lam: Fraction) -> None:
        self.recount, self.lam = recount, lam
        ensemble = recount.ensemble
        self.splits = [h for h in range(ensemble.n_nodes) if ensemble.left[h] >= 0]
        self.children = {h: [int(ensemble.left[h]), int(ensemble.right[h])] for h in self.splits}
        self.parent = {h: int(ensemble.parent[h]) for h in self.splits}
        error = recount.error
        self.profit = {
            h: error[h] - error[int(ensemble.left[h])] - error[int(ensemble.right[h])] - lam * recount.evaluation[h]
            for h in self.splits
        }
        self.kept: set[int] = set()
        self.out: set[int] = set()
        self.paid: set[int] = set()
        self.needs = {h: recount.purchases(h) for h in self.splits}

    def open_splits(self) -> list[int]:
        """Neither kept, nor out, nor below one that is out; parents first."""
        gone: set[int] = set(self.out)
        found = []
        for h in self.splits:
            if self.parent[h] in gone:
                gone.add(h)
            if h not in gone and h not in self.kept:
                found.append(h)
        return found

    def base(self) -> Fraction:
        """What the kept splits are worth."""
        prices = sum((self.lam * self.recount.price_of(j) for j in self.paid), Fraction(0))
        return sum((self.profit[h] for h in self.kept), Fraction(0)) - prices

    def shares(self, nodes: Iterable[int], score: Iterable[float]) -> dict[int, Fraction]:
        """(1), summed over each split's purchases."""
        scores = dict(zip(nodes, score, strict=True))
        allowed = set(self.open_splits())
        if not set(scores) <= allowed:
            raise NotProven(f"split {min(set(scores) - allowed)} has a score, but it is decided already, or no split")
        top = max(scores.values(), default=0.0)
        weight = {h: Fraction(math.exp(s - top)) for h, s in scores.items() if math.isfinite(s)}
        total: dict[int, Fraction] = defaultdict(Fraction)
        for h, w in weight.items():
            for j in self.needs[h] - self.paid:
                total[j] += w
        charge: dict[int, Fraction] = defaultdict(Fraction)
        for h, w in weight.items():
            if w:
                for j in self.needs[h] - self.paid:
                    share = self.lam * self.recount.price_of(j) * w / total[j]
                    charge[h] += Fraction(math.floor(share * GRID), GRID)
        return charge

    def values(self, charge: dict[int, Fraction], leave_out: int = -1) -> dict[int, Fraction]:
        """(2), of the open splits but one, and what is below it."""
        value: dict[int, Fraction] = {}
        openly = set(self.open_splits())
        for h in sorted(openly, reverse=True):
            below = (value[c] for c in self.children[h] if c in openly and c != leave_out)
            value[h] = self.profit[h] - charge.get(h, Fraction(0)) + sum((max(Fraction(0), v) for v in below), Fraction(0))
        return value

    def best(self, value: dict[int, Fraction], leave_out: int = -1) -> Fraction:
        """The sum over the tops of the open trees."""
        tops = (h for h in value if self.parent[h] not in value and h != leave_out)
        return sum((max(Fraction(0), value[h]) for h in tops), Fraction(0))

    def with_kept(self, value: dict[int, Fraction], h: int) -> Fraction:
        """The best of all trees with h forced in: every split on its way up counts with its sign."""
        lost, at = Fraction(0), h
        while at in value:
            lost += min(Fraction(0), value[at])
            at = self.parent[at]
        return self.best(value) + lost

    def decide(self, kept: Iterable[int], out: Iterable[int]) -> None:
        """Take up what was decided."""
        self.kept |= set(kept)
        self.out |= set(out)
        for h in self.kept:
            above = self.parent[h]
            if above >= 0 and above not in self.kept:
                raise NotProven(f"split {h} is fixed in, split {above} above it is not")
            self.paid |= self.needs[h]


def slow_bound_of_scores(recount: SlowRecount, certificate: SharedPrices, value: Fraction) -> Fraction:
    """The lower bound of (OBJ) at the certificate's lambda that its scores, decisions and duals prove.

    Parameters
    ----------
    value
        of the solution's pruning at that lambda: decisions are right where the other way is worse.

    Raises
    ------
    Refuted
        where a decision does not follow, or a dual is not allowed.
    """
    left = _Left(recount, certificate.lam)
    roots = sum((recount.error[int(r)] for r in recount.ensemble.roots), Fraction(0))
    goal = roots - value  # worth of the pruning as a closure
    for k, stage in enumerate(certificate.stages):
        charge, base = left.shares(stage.nodes.tolist(), stage.score.tolist()), left.base()
        worth = left.values(charge)
        for h in stage.fixed_out.tolist():
            if h not in worth or base + left.with_kept(worth, h) >= goal:
                raise NotProven(f"stage {k}: split {h} is fixed out, but with it a pruning could be as good as the solution's")
        for h in stage.fixed_in.tolist():
            if h not in worth or base + left.best(left.values(charge, h), h) >= goal:
                raise NotProven(f"stage {k}: split {h} is fixed in, but without it a pruning could be as good as the solution's")
        left.decide(stage.fixed_in.tolist(), stage.fixed_out.tolist())
    if certificate.dual is None:
        charge = left.shares(certificate.nodes.tolist(), certificate.score.tolist())
    else:
        charge = _core_loads(recount, certificate, left.paid)
    return min(value, roots - left.base() - left.best(left.values(charge)))


def _core_loads(recount: SlowRecount, certificate: SharedPrices, paid: set[int]) -> dict[int, Fraction]:
    """The duals of the core by split, after checking that they are allowed."""
    assert certificate.dual is not None
    arcs = recount.problem.usage_arcs(certificate.nodes)
    if certificate.dual.shape != arcs.tail.shape:
        raise NotProven(f"{certificate.dual.size} duals for the {arcs.tail.size} usage arcs of the core")
    charge: dict[int, Fraction] = defaultdict(Fraction)
    borne: dict[int, Fraction] = defaultdict(Fraction)
    for h, j, k in zip(arcs.tail.tolist(), arcs.head.tolist(), certificate.dual.tolist(), strict=True):
        if k < 0:
            raise NotProven(f"the dual of split {h} on purchase {j} is negative")
        if k and (j in paid or j not in recount.purchases(h)):
            raise NotProven(f"split {h} bears a part of purchase {j}, which is paid already, or which it does not need")
        charge[h] += k * certificate.unit
        borne[j] += k * certificate.unit
    for j, dual in borne.items():
        if dual > certificate.lam * recount.price_of(j):
            raise NotProven(f"purchase {j} bears {dual}, more than its price {certificate.lam * recount.price_of(j)}")
    return charge
