"""The checks as they would be written on paper: fractions, sets and dictionaries, one usage arc at a time.

Far too slow for real forests. It is what the checkers of `proofs_checks` are compared with on small instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations import PruningPath, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PathCertificate, PathShares
from formulations.instance.ensemble import Ensemble
from solvers.brute_force import all_prunings


class SlowRecount:
    """The instance as fractions, from its trees, rows and prices alone."""

    def __init__(self, problem: PruningProblem) -> None:
        self.problem = problem
        self.ensemble = problem.ensemble
        self.rows = reached(problem.ensemble, np.asarray(problem.X, dtype=np.float32)[problem.usage.rows])
        self.weight = [Fraction(repr(float(w))) for w in problem.usage.weights]
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
                price[h] = self.problem.usage.evaluation[int(self.ensemble.feature[h])] * size / self.total
        return price

    def price_of(self, purchase: int) -> Fraction:
        """What a purchase adds to the cost, in the numbering of `formulations.instance.usage_arcs.UsageArcs`."""
        n, costs = self.problem.usage.n_rows, self.problem.costs
        if purchase >= costs.n_items * n:
            return costs.prices[purchase - costs.n_items * n]
        return costs.prices[purchase // n] * self.weight[purchase % n] / self.total

    def purchases(self, h: int) -> set[int]:
        """What split h makes its rows buy that no strict ancestor does; free items left out."""
        costs, n = self.problem.costs, self.problem.usage.n_rows
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
                assert self.ensemble.left[h] >= 0, f"node {h} is a leaf"
                assert parent[h] < 0 or kept[parent[h]], f"node {h} is kept, its parent is not"
                bought |= self.purchases(h)
                cost += self.evaluation[h]
            elif parent[h] < 0 or kept[parent[h]]:
                error += self.error[h]
        return error, cost + sum((self.price_of(b) for b in bought), Fraction(0))


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


def with_shares(path: PruningPath, weight: list[float], bits: int = 8, *, gaps: bool = True) -> PruningPath:
    """The path with shares by these weights, without moves, and with the gaps that they prove."""
    none = np.zeros(0, dtype=np.int32)
    shares = PathShares(np.array(weight, dtype=np.float64), bits, none.astype(np.int64), none, none, ())
    found = replace(path, certificate=shares)
    return with_proven_gaps(found) if gaps else found


def with_proven_gaps(path: PruningPath) -> PruningPath:
    """The path with the least gaps that its shares prove; none where that is 0."""
    gaps = proven_gaps(path)
    return replace(path, gaps=tuple(gaps) if any(gaps) else ())


def levels_of(path: PruningPath) -> dict[int, int]:
    """The level of each split, -1 where it is never kept."""
    first = 1 if path.ties == "smallest" else 0
    return {h: k if (k := int(path.level[h])) >= first else -1 for h in path.problem.usage.splits.tolist()}


def shares_of(path: PruningPath) -> dict[tuple[int, int], Fraction]:
    """The shares of every split and purchase of the split's level, in integer prices."""
    assert isinstance(path.certificate, PathShares)
    problem, shares, level = path.problem, path.certificate, levels_of(path)
    arcs, price = problem.usage.arcs(), problem.purchase_price()
    users: dict[int, list[int]] = defaultdict(list)
    for h, j in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        users[j].append(h)
    found: dict[tuple[int, int], Fraction] = {}
    for j, all_users in users.items():
        highest = max(level[h] for h in all_users)
        mine = [h for h in all_users if level[h] == highest]
        if not 0 <= highest < len(path.breakpoints):
            continue
        scaled = int(price[j]) * 2**shares.bits
        weight = {h: float(shares.weight[h]) for h in mine}
        rate = float(scaled) / sum(weight.values()) * (1 - 2.0**-30)
        part = {h: math.floor(weight[h] * rate) for h in mine[:-1]}
        part[mine[-1]] = scaled - sum(part.values())
        found |= {(h, j): Fraction(part[h], 2**shares.bits) for h in mine}
    for j, giver, taker, amount in zip(shares.purchase, shares.giver, shares.taker, shares.amount, strict=True):
        found[int(giver), int(j)] -= amount
        found[int(taker), int(j)] += amount
    return found


def duals_of(path: PruningPath, lam: Fraction) -> dict[int, Fraction]:
    """The duals of each split, in integer gains, at so many integer gains for an integer price."""
    total = dict.fromkeys(path.problem.usage.splits.tolist(), Fraction(0))
    if isinstance(path.certificate, PathCertificate):
        ratio = [b / path.problem.numbers.lam_unit for b in path.breakpoints]
        for h, dual in zip(path.problem.usage.arcs().tail.tolist(), path.certificate.dual.tolist(), strict=True):
            own = int(path.level[h])
            if dual:
                total[h] += Fraction(dual, path.certificate.denominator[own]) * min(1, lam / ratio[own])
        return total
    for (h, _), share in shares_of(path).items():
        total[h] += lam * share
    return total


def proven_gaps(path: PruningPath) -> list[Fraction]:
    """For each breakpoint (8) of `proofs_checks.optimality.path_optimality`, in the units of (OBJ)."""
    ints, level = path.problem.numbers, levels_of(path)
    points = [b / ints.lam_unit for b in path.breakpoints]
    profit = [
        {h: int(ints.gain[h]) - lam * int(ints.evaluation[h]) - dual for h, dual in duals_of(path, lam).items()} for lam in points
    ]
    block = {at: blocks(path, at) for at in range(-1, len(points) + 1)}
    assert set(level) == {h for found in block.values() for each in found for h in each}

    def over(at: int, k: int) -> Fraction:
        return sum((max(sum((profit[k][h] for h in c), Fraction(0)) for c in closures(path, b)) for b in block[at]), Fraction(0))

    def under(at: int, k: int) -> Fraction:
        return over(at, k) - sum((profit[k][h] for each in block[at] for h in each), Fraction(0))

    gaps = []
    for k in range(len(points)):
        terms = [over(-1, 0), under(len(points), 0), over(k, k)]  # lambda = 0; what is always kept pays nothing at any lambda
        terms += [under(at, at - 1) for at in range(k + 1, len(points))] + [over(at, at + 1) for at in range(k)]
        gaps.append(sum(terms, Fraction(0)) * ints.gain_unit)
    return gaps


def blocks(path: PruningPath, at: int) -> list[list[int]]:
    """The blocks of a level, parents before children."""
    level, parent = levels_of(path), path.problem.ensemble.parent.tolist()
    found: dict[int, list[int]] = {}
    for h in sorted(h for h in level if level[h] == at):
        above = next((block for block in found.values() if parent[h] in block), None)
        if above is None:
            found[h] = [h]
        else:
            above.append(h)
    return list(found.values())


def closures(path: PruningPath, block: list[int]) -> list[set[int]]:
    """All subsets of a block that have the parent of each of their splits that is in the block."""
    parent = path.problem.ensemble.parent.tolist()
    found: list[set[int]] = [set()]
    for h in block:
        found += [c | {h} for c in found if parent[h] in c or parent[h] not in block]
    return found


def true_gaps(path: PruningPath) -> list[Fraction]:
    """Value of the worse of the rows that meet at each breakpoint, less the least value of all prunings there."""
    problem = path.problem
    ints, every = problem.numbers, all_prunings(problem)
    all_worths = list(zip(every.gain.tolist(), every.cost.tolist(), strict=True))
    rows = list(zip(path.integer_gain, path.integer_cost, strict=True))
    gaps = []
    for k, b in enumerate(path.breakpoints):
        lam = b / ints.lam_unit
        met = rows[max(0, k - 1) : k + 1] if path.ties == "smallest" else rows[k : k + 2]
        best = max(gain - lam * cost for gain, cost in all_worths)
        gaps.append((best - min(gain - lam * cost for gain, cost in met)) * ints.gain_unit)
    return gaps


def exact_shares(path: PruningPath, bits: int = 3) -> PruningPath:
    """The path with shares that say what its duals say: any weights, and moves from what they give to what the duals are."""
    assert isinstance(path.certificate, PathCertificate)
    problem, duals = path.problem, path.certificate
    arcs, ratio = problem.usage.arcs(), [b / problem.numbers.lam_unit for b in path.breakpoints]
    wanted: dict[tuple[int, int], Fraction] = {}
    for h, j, dual in zip(arcs.tail.tolist(), arcs.head.tolist(), duals.dual.tolist(), strict=True):
        if dual:
            wanted[h, j] = Fraction(dual, duals.denominator[int(path.level[h])]) / ratio[int(path.level[h])]
    found = with_shares(path, [*range(20, problem.ensemble.n_nodes + 20)], bits, gaps=False)
    assert isinstance(found.certificate, PathShares)
    moves: list[tuple[int, int, int, Fraction]] = []
    lacking = {
        (h, j): wanted.get((h, j), 0) - share for (h, j), share in shares_of(found).items() if path.breakpoints[path.level[h]]
    }
    for giver, j in [pair for pair, less in lacking.items() if less < 0]:
        for taker in [h for (h, other), more in lacking.items() if other == j and more > 0]:
            amount = min(-lacking[giver, j], lacking[taker, j])
            if amount > 0:
                moves.append((j, giver, taker, amount))
                lacking[giver, j] += amount
                lacking[taker, j] -= amount
    return replace(found, certificate=with_moves(found.certificate, moves))


def with_moves(shares: PathShares, moves: list[tuple[int, int, int, Fraction]]) -> PathShares:
    """Shares with other moves: purchase, giver, taker, amount."""
    purchase, giver, taker = (np.array([move[i] for move in moves], dtype=np.int64) for i in range(3))
    amount = tuple(move[3] for move in moves)
    return replace(shares, purchase=purchase, giver=giver.astype(np.int32), taker=taker.astype(np.int32), amount=amount)
