"""What scores prove: shares of the prices, splits decided by forcing, and loads on what is left, in exact fractions.

    share of split u in purchase j  =  lambda price_j w_u / sum of the weights of its open users,    w_u = exp(s_u)        (1)
    v_h = profit_h - shares of h + max(0, v_left) + max(0, v_right)                                                        (2)

over the open splits. A tree's value with h kept is found by walking from h to its top and taking v instead of max(0, v) on the
way; with h pruned, by leaving h out and evaluating the tree again. Where that, with what is decided already, is worth less than
the pruning at hand, h is decided the other way.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from formulations.solution import SharedPrices
from proofs_checks.recount import Recount, Refuted

GRID = 2**90
"""Shares are cut down to multiples of 1 / GRID: less than a price may always be charged."""


class _Left:
    """What is decided, and what is open."""

    def __init__(self, recount: Recount, lam: Fraction) -> None:
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
            raise Refuted(f"split {min(set(scores) - allowed)} has a score, but it is decided already, or no split")
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
                raise Refuted(f"split {h} is fixed in, split {above} above it is not")
            self.paid |= self.needs[h]


def bound_of_scores(recount: Recount, certificate: SharedPrices, value: Fraction) -> Fraction:
    """The lower bound of (OBJ) at the certificate's lambda that its scores, decisions and loads prove.

    Parameters
    ----------
    value
        of the solution's pruning at that lambda: decisions are right where the other way is worse.

    Raises
    ------
    Refuted
        where a decision does not follow, or a load is not allowed.
    """
    left = _Left(recount, certificate.lam)
    roots = sum((recount.error[int(r)] for r in recount.ensemble.roots), Fraction(0))
    goal = roots - value  # worth of the pruning as a closure
    for k, stage in enumerate(certificate.stages):
        charge, base = left.shares(stage.nodes.tolist(), stage.score.tolist()), left.base()
        worth = left.values(charge)
        for h in stage.fixed_out.tolist():
            if h not in worth or base + left.with_kept(worth, h) >= goal:
                raise Refuted(f"stage {k}: split {h} is fixed out, but with it a pruning could be as good as the solution's")
        for h in stage.fixed_in.tolist():
            if h not in worth or base + left.best(left.values(charge, h), h) >= goal:
                raise Refuted(f"stage {k}: split {h} is fixed in, but without it a pruning could be as good as the solution's")
        left.decide(stage.fixed_in.tolist(), stage.fixed_out.tolist())
    if certificate.load is None:
        charge = left.shares(certificate.nodes.tolist(), certificate.score.tolist())
    else:
        charge = _core_loads(recount, certificate, left.paid)
    return min(value, roots - left.base() - left.best(left.values(charge)))


def _core_loads(recount: Recount, certificate: SharedPrices, paid: set[int]) -> dict[int, Fraction]:
    """The loads of the core by split, after checking that they are allowed."""
    assert certificate.load is not None
    arcs = recount.problem.usage_arcs(certificate.nodes)
    if certificate.load.shape != arcs.tail.shape:
        raise Refuted(f"{certificate.load.size} loads for the {arcs.tail.size} usage arcs of the core")
    charge: dict[int, Fraction] = defaultdict(Fraction)
    borne: dict[int, Fraction] = defaultdict(Fraction)
    for h, j, k in zip(arcs.tail.tolist(), arcs.head.tolist(), certificate.load.tolist(), strict=True):
        if k < 0:
            raise Refuted(f"the load of split {h} on purchase {j} is negative")
        if k and (j in paid or j not in recount.purchases(h)):
            raise Refuted(f"split {h} bears a part of purchase {j}, which is paid already, or which it does not need")
        charge[h] += k * certificate.unit
        borne[j] += k * certificate.unit
    for j, load in borne.items():
        if load > certificate.lam * recount.price_of(j):
            raise Refuted(f"purchase {j} bears {load}, more than its price {certificate.lam * recount.price_of(j)}")
    return charge
