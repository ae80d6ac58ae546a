"""Is a pruning optimal? The value by routing the rows again, the bound from the certificate: duals, or scores.

    bound  <=  optimum  <=  value  =  error + lambda cost                                                                (1)

`proofs_checks.optimality.recount` takes the instance from its trees, rows and prices; it shares no code with the solvers. What
duals prove is in `item_duals` beside it; paths are checked in `path_optimality`. Scores prove a bound by shares of the prices,
splits decided by forcing, and duals on the splits that stay open:

    share of split u in purchase j  =  w_u r_j,      r_j <= lambda price_j / sum of the weights of its open users,
                                                     w_u = exp(s_u)                                                       (2)

Weights and rates are floats, and a float is a fraction. Sums of weights are rounded up after every addition, rates and their sums
over a split's purchases down, all by the neighbouring float: IEEE 754 gives the nearest float of a sum, a product or a quotient,
so that neighbour is on the safe side of the true one. So no purchase is ever charged more than its price, whatever the scores,
and (2) misses its price by some 10^-14 of it. Everything behind that is in integers. A split is decided where forcing it the
other way makes the best closure worth less, by (3) and (4) of `proofs_checks.optimality.item_duals`, than the pruning at hand.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import ItemDuals, SharedPrices, Solution, Status
from formulations.instance.cost_items import exact
from formulations.instance.numbers import ROUNDING
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.item_duals import ForcedValues, bound_of_duals, charges_of_duals, forced, profits
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.verdict import DEFAULTS, Verdict

METHOD = "every example sent down the trees again, weak duality in exact integers"


def check_lambda_solution(problem: PruningProblem, solution: Solution, X: Any = None) -> Verdict:
    """`check_solution` for a lambda."""
    claim = f"the pruning is worth {solution.value!r} at lambda = {solution.lam!r}"
    claim += "" if solution.bound == -math.inf else f", and no pruning less than {solution.bound!r}"
    if solution.pruning is None or solution.certificate is None:
        return Verdict(claim, None, METHOD, "the solution carries no pruning, or no certificate")
    lam = exact(solution.lam, "lam")
    try:
        recount = Recount(problem, X)
        error, cost, bound = proven(recount, solution.certificate, lam, solution.pruning.kept)
        value = error + lam * cost
        _compare(recount, solution, value, bound)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    return Verdict(claim, True, METHOD, {"value": float(value), "bound": float(bound), "gap": float(value - bound)})


def proven(recount: Recount, certificate: object, lam: Fraction, kept: NDArray[np.bool_]) -> tuple[Fraction, Fraction, Fraction]:
    """Error and cost of a pruning, and the bound that the certificate of one closure proves, made for at most `lam`."""
    if not isinstance(certificate, ItemDuals | SharedPrices):
        raise Refuted(f"the certificate is {type(certificate).__name__}, neither duals nor scores")
    for name, number in (("lambda", certificate.lam), ("unit", certificate.unit)):
        if not isinstance(number, Rational):
            raise Refuted(f"the certificate's {name} is {number!r}, no fraction")
    if not 0 <= certificate.lam <= lam:
        raise Refuted(f"the certificate was made for lambda = {certificate.lam}, which is not between 0 and {lam}")
    error, cost = recount.objective(kept)
    if isinstance(certificate, ItemDuals):
        return error, cost, bound_of_duals(recount, certificate)
    return error, cost, proven_by_scores(recount, certificate, error + certificate.lam * cost)


def _compare(recount: Recount, solution: Solution, value: Fraction, bound: Fraction) -> None:
    """Check the value, bound and status that the solution states."""
    if not _finite(solution.value) or abs(value - Fraction(solution.value)) > recount.float_error(value):
        raise Refuted(f"the pruning is worth {shown(value)}, not {solution.value!r}")
    if solution.bound != -math.inf and (
        not _finite(solution.bound) or Fraction(solution.bound) > bound + recount.float_error(bound)
    ):
        raise Refuted(f"the certificate proves the bound {shown(bound)}, not {solution.bound!r}")
    if solution.status is Status.OPTIMAL:
        stated = Fraction(solution.bound)
        if value - stated > Fraction(ROUNDING) * abs(value) + recount.float_error(value) + DEFAULTS.least_float:
            raise Refuted(f"the solution says optimal, but {shown(value - stated)} lie between its value and its bound")


def _finite(number: object) -> bool:
    """Whether it is a number at all, and a finite one."""
    return isinstance(number, Real) and math.isfinite(number)


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
        """(2) summed over each open split's purchases, in units of 1 / `charge_units`."""
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
        profit, unit = profits(self.recount, self.lam, charge, Fraction(1, DEFAULTS.charge_units))
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


def _prices_below(recount: Recount, item: int, lam: Fraction) -> NDArray[np.float64]:
    """Lambda times the price of each purchase of an item, rounded down; `largest_price` at most."""
    prices, place = recount.distinct_prices(item)
    most, rate = DEFAULTS.largest_price, lam * recount.cost_unit
    below: NDArray[np.float64] = np.nextafter([most if rate * x > most else float(rate * x) for x in prices], 0.0)
    return below[place]


def _quotient(price: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Price / weight rounded down; 0 where nobody has a weight."""
    with np.errstate(over="ignore"):
        rate = np.divide(price, weight, out=np.zeros_like(weight), where=weight > 0.0)
    below: NDArray[np.float64] = np.nextafter(np.minimum(rate, DEFAULTS.largest_price), 0.0)
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
    """Weight times rate, in units of 1 / `charge_units`, rounded down."""
    (a, b), (c, d) = weight.as_integer_ratio(), rate.as_integer_ratio()
    return a * c * DEFAULTS.charge_units // (b * d)
