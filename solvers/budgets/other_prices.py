"""Prices drawn at random around the true ones: by item, by region of the data, or both.

At the true prices a cut takes all of a hull edge or nothing of it. At other prices

    p'_{m,i}  =  p_{m,i} exp(s_m + t r_i)                                                                            (1)

the edge falls into many pieces, each of which some items or some region of the data make worth keeping. Here s_m is normal, and
r_i in [-1/2, 1/2] is the rank of row i along a random direction in a few features that the part's splits use. Costs are always
counted at the true prices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of
from solvers.budgets.open_part import OpenPart

STRENGTHS = (1.0, 2.0, 3.0, 4.0)
"""The values of t in (1). The standard deviation of s_m is 0.5 t if items alone are drawn, 0.3 t if regions are drawn too."""


class OtherPrices:
    """Draws prices (1) for one instance."""

    def __init__(self, problem: PruningProblem, seed: int) -> None:
        self.problem = problem
        self.random = np.random.default_rng(seed)
        self._price = problem.purchase_price()
        self._rows = features_of(problem.ensemble, problem.X)[problem.rows]
        self._ranks: dict[int, NDArray[np.float64]] = {}

    def draw(self, part: OpenPart) -> NDArray[np.float64]:
        """Other prices of a part's purchases, float64, shape (j,)."""
        strength = float(self.random.choice(STRENGTHS))
        kind = int(self.random.integers(3))
        n, m = self.problem.n_rows, self.problem.costs.n_items
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
        feature = self.problem.ensemble.feature[part.nodes[part.tail]]
        asked = np.bincount(feature, minlength=self.problem.ensemble.n_features).astype(np.float64)
        if not asked.any():
            return np.zeros(self.problem.n_rows)
        count = min(int(self.random.integers(1, 4)), int((asked > 0).sum()))
        chosen = self.random.choice(asked.size, count, replace=False, p=asked / asked.sum())
        return _ranked(sum((self.random.normal() * self._rank(int(f)) for f in chosen), np.zeros(self.problem.n_rows)))

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
