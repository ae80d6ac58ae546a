"""Descent to a budget by cuts: divide the open splits by a best closure at given prices, and keep the side with the budget.

    lambda  =  gain of the part / its cost at these prices                                                           (1)

At this lambda the part as a whole has value 0, and a best closure with a positive value divides it. If the *true* cost of the
closure fits the budget, the closure is taken and the rest stays open; otherwise only the closure stays open. So the budget always
lies between the cost of the splits taken and their cost together with all open splits. This is a bracket.

At the true prices a cut takes all of a hull edge or nothing of it. At others, drawn by item, by region of the data, or both,

    p'_{m,i}  =  p_{m,i} exp(s_m + t r_i)                                                                            (2)

the edge falls into many pieces, each of which some items or some region of the data make worth keeping. Here s_m is normal, and
r_i in [-1/2, 1/2] is the rank of row i along a random direction in a few features that the part's splits use. Costs are always
counted at the true prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of
from solvers.closures.cut import best_closure, cut_seconds
from solvers.closures.subproblem import OpenPart

SCALE = 2.0**44
"""Gains of a part are scaled so that their absolute values sum to this. Drawn prices need no exact integers."""


@dataclass(frozen=True, eq=False)
class Bracket:
    """A closure that fits the budget, and the splits that may still be added to it."""

    kept: NDArray[np.bool_]  # bool, shape (n,): over the forest's nodes
    # gain, room: in integers: the gain of the kept splits, and what they leave of the budget.
    gain: int
    room: int
    part: OpenPart  # the open splits. With all of them the cost exceeds the budget, unless there are none

    @property
    def promise(self) -> float:
        """The gain of the mixture of the bracket's two ends that costs exactly the budget."""
        cost = self.part.total_cost
        share = 1.0 if cost <= self.room else self.room / cost
        return self.gain + share * float(self.part.total_gain)


def descend(bracket: Bracket, price: NDArray[np.float64], work: float = math.inf) -> Bracket:
    """Narrow a bracket, at the given prices of its part's purchases, until no cut divides it or the work is spent."""
    kept, gain, room, part = bracket.kept.copy(), bracket.gain, bracket.room, bracket.part
    while part.nodes.size:
        if part.total_cost <= room:
            closure = np.ones(part.nodes.size, dtype=bool)
        else:
            work -= cut_seconds(part.tail.size, part.nodes.size)
            divided = None if work < 0 else _divide(part, price)
            if divided is None:
                break
            closure = divided
        used = part.used(closure)
        cost = part.cost_with(closure, used)
        fits = cost <= room
        if fits:
            kept[part.nodes[closure]] = True
            gain, room = gain + int(part.gain[closure].sum()), room - cost
        part, purchases = part.divided(closure, used, inner=not fits)
        price = price[purchases]
    return Bracket(kept, gain, room, part)


def _divide(part: OpenPart, price: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """A best closure at (1); None if it is empty or the whole part."""
    total = part.total_gain
    cost = float(price.sum()) + float(part.evaluation.sum())
    if total <= 0 or cost <= 0:
        return None
    scale, lam = SCALE / max(1.0, float(np.abs(part.gain).sum())), total / cost
    profit = np.round(scale * (part.gain - lam * part.evaluation)).astype(np.int64)
    paid = np.maximum(1, np.round(scale * lam * price)).astype(np.int64)
    closure = best_closure(part.closure_problem(profit, paid))
    # a value this small may be the effect of rounding alone
    if closure.value <= part.nodes.size + paid.size or closure.keep.all():
        return None
    return closure.keep


class OtherPrices:
    """Draws prices (2) for one instance.

    Parameters
    ----------
    strengths
        the values of t. The standard deviation of s_m is 0.5 t if items alone are drawn, 0.3 t if regions are drawn too.
    """

    def __init__(self, problem: PruningProblem, strengths: tuple[float, ...], seed: int) -> None:
        self.strengths = strengths
        self.problem, self.core = problem, problem.reduced("smallest").core
        self.random = np.random.default_rng(seed)
        self._price = problem.purchase_price()
        self._rows = features_of(problem.ensemble, problem.X)[problem.usage.rows]
        self._ranks: dict[int, NDArray[np.float64]] = {}

    def draw(self, part: OpenPart) -> NDArray[np.float64]:
        """Other prices of a part's purchases, float64, shape (j,)."""
        strength = float(self.random.choice(self.strengths))
        kind = int(self.random.integers(3))
        n, m = self.problem.usage.n_rows, self.problem.costs.n_items
        once = part.members >= m * n
        item = np.where(once, part.members - m * n, part.members // n)
        log = np.zeros(part.members.size)
        if kind != 1:
            spread = strength * (0.5 if kind == 0 else 0.3)
            log += self.random.normal(scale=spread, size=m)[item]
        if kind != 0:
            log += np.where(once, 0.0, strength * self._region(part)[part.members % n])
        price = self._price[part.members] * np.exp(log)
        total: NDArray[np.float64] = np.bincount(part.group, weights=price, minlength=part.price.size).astype(np.float64)
        return total

    def _region(self, part: OpenPart) -> NDArray[np.float64]:
        """r_i: ranks along a random direction; a feature's chance is in proportion to its usage arcs in the part."""
        feature = self.core.ensemble.feature[part.nodes[part.tail]]
        asked = np.bincount(feature, minlength=self.problem.ensemble.n_features).astype(np.float64)
        if not asked.any():
            return np.zeros(self.problem.usage.n_rows)
        count = min(int(self.random.integers(1, 4)), int((asked > 0).sum()))
        chosen = self.random.choice(asked.size, count, replace=False, p=asked / asked.sum())
        return _ranked(sum((self.random.normal() * self._rank(int(f)) for f in chosen), np.zeros(self.problem.usage.n_rows)))

    def _rank(self, feature: int) -> NDArray[np.float64]:
        if feature not in self._ranks:
            self._ranks[feature] = _ranked(self._rows[:, feature])
        return self._ranks[feature]


def _ranked(x: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Ranks from -1/2 to 1/2; equal values have the same rank, missing values the highest."""
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    ranks: NDArray[np.float64] = middle[place] / max(1, x.size - 1) - 0.5
    return ranks
