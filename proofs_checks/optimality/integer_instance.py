"""How far are the integers of an instance from the instance?

Paths are exact in ``problem.integers``. How far these can be from the real errors and costs, over all prunings:

    error  <=  sum over splits of |gain_h  -  integer gain_h * gain_unit|                                                  (1)
    cost   <=  sum over purchases |price_j  -  integer price_j * price_unit|  +  the same over the splits' evaluation      (2)

0 where the instance says that nothing was rounded, else at most the rounding that it states.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from proofs_checks.optimality.recount import Recount, Refuted


@dataclass(frozen=True)
class Distance:
    """The distances (1) and (2)."""

    error: Fraction
    cost: Fraction


def check_integers(recount: Recount) -> Distance:
    """How far the integers are from the instance.

    Raises
    ------
    Refuted
        if that is more than the instance states.
    """
    ints, ensemble = recount.problem.integers, recount.ensemble
    for what, array, length in (
        ("gains", ints.gain, ensemble.n_nodes),
        ("evaluation prices", ints.evaluation, ensemble.n_nodes),
        ("prices", ints.price, recount.costs.n_items),
        ("weights", ints.weight, recount.n_rows),
    ):
        if array.shape != (length,) or array.dtype.kind != "i":
            raise Refuted(f"the instance has {array.size} integer {what} for {length}")
    for what, array, least in (("price", ints.price, 0), ("evaluation price", ints.evaluation, 0), ("weight", ints.weight, 1)):
        if (array < least).any():
            raise Refuted(f"the instance has the integer {what} {array.min()}; the least is {least}")
    if not (ints.gain_unit > 0 and ints.price_unit > 0):
        raise Refuted(f"the units of the instance's integers are {ints.gain_unit} and {ints.price_unit}; they must be above 0")
    distance = Distance(_of_errors(recount), _of_purchases(recount) + _of_evaluation(recount))
    for what, found, stated in (
        ("errors", distance.error, ints.error_rounding),
        ("costs", distance.cost, ints.cost_rounding),
    ):
        if not 0 <= stated < math.inf or found > Fraction(stated):
            raise Refuted(f"the instance's integers are off by up to {float(found):g} in {what}, {stated!r} is stated")
    return distance


def _of_errors(recount: Recount) -> Fraction:
    """(1)."""
    unit, gain = recount.problem.integers.gain_unit, recount.problem.integers.gain.tolist()
    denominator = math.lcm(unit.denominator, recount.error_unit.denominator)
    mine, theirs = int(recount.error_unit * denominator), int(unit * denominator)
    return Fraction(sum(abs(recount.gain(h) * mine - gain[h] * theirs) for h in recount.splits), denominator)


def _of_evaluation(recount: Recount) -> Fraction:
    """The second part of (2)."""
    unit, price = recount.problem.integers.price_unit, recount.problem.integers.evaluation.tolist()
    denominator = math.lcm(unit.denominator, recount.cost_unit.denominator)
    mine, theirs = int(recount.cost_unit * denominator), int(unit * denominator)
    return Fraction(sum(abs(recount.evaluation[h] * mine - price[h] * theirs) for h in recount.splits), denominator)


def _of_purchases(recount: Recount) -> Fraction:
    """The first part of (2); rows of one weight count together."""
    ints = recount.problem.integers
    price, weight = ints.price.tolist(), ints.weight.tolist()
    denominator = math.lcm(ints.price_unit.denominator, recount.cost_unit.denominator)
    mine, theirs = int(recount.cost_unit * denominator), int(ints.price_unit * denominator)
    rows = Counter(zip(recount.weight.tolist(), weight, strict=True))
    total = 0
    for m in range(recount.costs.n_items):
        for (w, v), count in {(recount.total, sum(weight)): 1}.items() if recount.once[m] else rows.items():
            total += count * abs(recount.price[m] * w * mine - price[m] * v * theirs)
    return Fraction(total, denominator)
