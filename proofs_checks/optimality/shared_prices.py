"""The bound that scores prove: shares of the prices, splits decided by forcing, and duals on the splits that stay open.

    share of split u in purchase j  =  w_u r_j,      r_j <= lambda price_j / sum of the weights of its open users,
                                                     w_u = exp(s_u)                                                       (1)

Weights and rates are floats, and a float is a fraction. Sums of weights are rounded up after every addition, rates and their sums
over a split's purchases down, all by the neighbouring float: IEEE 754 gives the nearest float of a sum, a product or a quotient,
so that neighbour is on the safe side of the true one. So no purchase is ever charged more than its price, whatever the scores,
and (1) misses its price by some 10^-14 of it. Everything behind that is in integers. A split is decided where forcing it the
other way makes the best closure worth less, by (3) and (4) of `proofs_checks.optimality.item_duals`, than the pruning at hand.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import SharedPrices
from proofs_checks.optimality.item_duals import ForcedValues, charges_of_duals, forced, profits
from proofs_checks.optimality.recount import Recount, Refuted

GRID = 2**90
"""Charges are rounded down to multiples of 1 / GRID: it is always allowed to charge less than a price."""

HUGE = 1e290
"""Prices and rates above this are replaced by it, so that no sum of them leaves the range of a float."""


class _Decisions:
    """Which splits are kept, which are out, and which purchases are paid."""

    def __init__(self, recount: Recount, lam: Fraction) -> None:
        self.recount, self.lam = recount, lam
        self.kept: set[int] = set()
        self.out: set[int] = set()
        self.paid = np.zeros(recount.n_purchases, dtype=bool)
        self._gain = self._evaluation = 0  # of the kept splits, in the recount's units

    def open_splits(self) -> list[int]:
        """Neither kept, nor out, nor below one that is out; parents first."""
        gone = set(self.out)
        found = []
        for h in self.recount.splits:
            if self.recount.parent[h] in gone:
                gone.add(h)
            if h not in gone and h not in self.kept:
                found.append(h)
        return found

    def base(self) -> Fraction:
        """What the kept splits are worth."""
        cost = self._evaluation + self.recount.cost_of(self.paid)
        return self._gain * self.recount.error_unit - self.lam * cost * self.recount.cost_unit

    def charges(self, nodes: NDArray[Any], score: NDArray[Any]) -> dict[int, int]:
        """(1) summed over each open split's purchases, in units of 1 / GRID."""
        splits = self.open_splits()
        weight = _weights(splits, nodes, score)
        recount = self.recount
        rate = np.zeros(recount.n_purchases)
        bearing = [h for h in splits if weight.get(h, 0.0) > 0.0]
        for segment in recount.segments(bearing):
            rate[segment.purchases] = np.nextafter(rate[segment.purchases] + weight[segment.split], math.inf)
        for m in sorted({m for h in bearing for m in recount.charged_items[h]}):
            mine = recount.by_item(m)
            rate[mine] = _quotient(_prices_below(recount, m, self.lam), rate[mine])
            rate[mine][self.paid[mine]] = 0.0
        charge = dict.fromkeys(splits, 0)
        for segment in recount.segments(bearing):
            charge[segment.split] += _product(weight[segment.split], _sum_below(rate[segment.purchases]))
        return charge

    def forced(self, charge: dict[int, int]) -> tuple[ForcedValues, Fraction]:
        """The trees at these charges, and the unit of what they are worth."""
        profit, unit = profits(self.recount, self.lam, charge, Fraction(1, GRID))
        return forced(profit, self.recount.left, self.recount.right, self.recount.parent), unit

    def decide(self, fixed_in: list[int], fixed_out: list[int]) -> None:
        """Record decisions."""
        recount = self.recount
        for h in fixed_in:
            recount.buy(self.paid, h)
            self._gain += recount.gain(h)
            self._evaluation += recount.evaluation[h]
        self.kept.update(fixed_in)
        self.out.update(fixed_out)
        for h in fixed_in:
            above = recount.parent[h]
            if above >= 0 and above not in self.kept:
                raise Refuted(f"split {h} is fixed in, split {above} above it is not")


def proven_by_scores(recount: Recount, certificate: SharedPrices, value: Fraction) -> Fraction:
    """The lower bound of (OBJ) at the certificate's lambda that its scores, decisions and duals prove.

    `value` is that of the solution's pruning at that lambda: decisions are right where the other way is worse.
    """
    decisions = _Decisions(recount, certificate.lam)
    roots = recount.roots_error() * recount.error_unit
    for k, stage in enumerate(certificate.stages):
        trees, unit = decisions.forced(decisions.charges(stage.nodes, stage.score))
        # what the open splits of a pruning as good as the solution's are worth at least
        goal = (roots - value - decisions.base()) / unit
        fixed_in, fixed_out = (_node_ids(ids, f"stage {k}: the fixed splits") for ids in (stage.fixed_in, stage.fixed_out))
        for h in fixed_out:
            if h not in trees.lost_in or trees.best - trees.lost_in[h] >= goal:
                raise Refuted(f"stage {k}: split {h} is fixed out, but with it a pruning could be as good as the solution's")
        for h in fixed_in:
            if h not in trees.lost_out or trees.best - trees.lost_out[h] >= goal:
                raise Refuted(f"stage {k}: split {h} is fixed in, but without it a pruning could be as good as the solution's")
        decisions.decide(fixed_in, fixed_out)
    if certificate.dual is None:
        trees, unit = decisions.forced(decisions.charges(certificate.nodes, certificate.score))
    else:
        trees, unit = _core(recount, certificate, decisions)
    return min(value, roots - decisions.base() - trees.best * unit)


def _core(recount: Recount, certificate: SharedPrices, decisions: _Decisions) -> tuple[ForcedValues, Fraction]:
    """The open trees under the duals of the core, after checking that these are allowed."""
    nodes = _node_ids(certificate.nodes, "the core's splits")
    everything = decisions.open_splits()
    strangers = sorted(set(nodes) - set(everything))
    if strangers:
        raise Refuted(f"split {strangers[0]} is in the core, but it is decided already, or no split")
    payments = charges_of_duals(recount, certificate.dual, certificate.unit, certificate.lam, nodes, decisions.paid)
    charge = {h: payments.get(h, 0) for h in everything}
    profit, unit = profits(recount, certificate.lam, charge, certificate.unit)
    return forced(profit, recount.left, recount.right, recount.parent), unit


def _weights(splits: list[int], nodes: NDArray[Any], score: NDArray[Any]) -> dict[int, float]:
    """exp(s_u) times one factor for all: only ratios count, and with it most weights are in the range of a float."""
    ids = _node_ids(nodes, "the splits with scores")
    if not isinstance(score, np.ndarray) or score.shape != (len(ids),) or score.dtype.kind != "f":
        raise Refuted(f"{np.size(score)} scores for {len(ids)} splits; there must be a real number for each")
    strangers = sorted(set(ids) - set(splits))
    if strangers:
        raise Refuted(f"split {strangers[0]} has a score, but it is decided already, or no split")
    if not np.isfinite(score).all():
        h = ids[int(np.argmin(np.isfinite(score)))]
        raise Refuted(f"split {h} has no finite score")
    s = score.astype(np.float64)
    if s.size:
        s -= max((s.max() + s.min()) / 2, s.max() - 460.0)  # exp(460) is 1e200, so sums and quotients stay in that range
    return dict(zip(ids, np.exp(s).tolist(), strict=True))


def _node_ids(ids: Any, what: str) -> list[int]:
    """Ids of nodes, each once; the caller checks that they are open splits."""
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise Refuted(f"{what} are no array of node numbers")
    found: list[int] = ids.tolist()
    if len(set(found)) != len(found):
        raise Refuted(f"{what} name a split twice")
    return found


def _down_all(numbers: list[Fraction]) -> NDArray[np.float64]:
    """The floats below some fractions >= 0; `HUGE` at most."""
    below: NDArray[np.float64] = np.nextafter(np.array([HUGE if x > HUGE else float(x) for x in numbers]), 0.0)
    return below


def _prices_below(recount: Recount, item: int, lam: Fraction) -> NDArray[np.float64]:
    """Lambda times the price of each purchase of an item, rounded down."""
    prices, place = recount.distinct_prices(item)
    return _down_all([lam * recount.cost_unit * price for price in prices])[place]


def _quotient(price: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Price / weight rounded down; 0 where nobody has a weight."""
    with np.errstate(over="ignore"):
        rate = np.divide(price, weight, out=np.zeros_like(weight), where=weight > 0.0)
    below: NDArray[np.float64] = np.nextafter(np.minimum(rate, HUGE), 0.0)
    return below


def _sum_below(rates: NDArray[np.float64]) -> float:
    """A float that is at most the sum of some floats >= 0.

    64 at a time: in whatever order, their sum is off by less than 64 2^-53 of itself. `math.fsum` then adds no error of its own.
    """
    if not rates.size:
        return 0.0
    total = math.fsum(np.add.reduceat(rates, np.arange(0, rates.size, 64)).tolist())
    return float(np.nextafter(total * (1.0 - 2.0**-46), 0.0))


def _product(weight: float, rate: float) -> int:
    """Weight times rate, in units of 1 / GRID, rounded down."""
    (a, b), (c, d) = weight.as_integer_ratio(), rate.as_integer_ratio()
    return a * c * GRID // (b * d)
