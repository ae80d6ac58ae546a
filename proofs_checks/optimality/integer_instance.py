"""How far are the integers of an instance from the instance?

Paths are exact in ``problem.integers``. How far these can be from the real errors and costs, over all prunings:

    error  <=  sum over splits of |gain_h  -  integer gain_h * gain_unit|                                                  (1)
    cost   <=  sum over purchases |price_j  -  integer price_j * price_unit|  +  the same over the splits' evaluation      (2)

0 where the instance says that nothing was rounded, else at most the rounding that it states.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from formulations.instance.integers import InUnits
from proofs_checks.optimality.recount import Recount, Refuted


@dataclass(frozen=True)
class Distance:
    """The distances (1) and (2)."""

    error: Fraction
    cost: Fraction


def check_integers(recount: Recount) -> Distance:
    """How far the integers are from the instance."""
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
    gain, evaluation, price, weight = (a.tolist() for a in (ints.gain, ints.evaluation, ints.price, ints.weight))
    gains = ((recount.gain(h), gain[h], 1) for h in recount.splits)
    rows, whole = Counter(zip(recount.weight.tolist(), weight, strict=True)), {(recount.total, sum(weight)): 1}
    costs = [(recount.evaluation[h], evaluation[h], 1) for h in recount.splits]
    for m in range(recount.costs.n_items):  # rows of one weight count together
        of_item = whole if recount.once[m] else rows
        costs += [(recount.price[m] * w, price[m] * v, count) for (w, v), count in of_item.items()]
    error, cost = off_by(gains, recount.error_unit, ints.gain_unit), off_by(costs, recount.cost_unit, ints.price_unit)
    return as_stated(Distance(error, cost), ints)


def as_stated(distance: Distance, ints: InUnits) -> Distance:
    """The distance, if the units are units, and it is not more than the instance states."""
    if not (ints.gain_unit > 0 and ints.price_unit > 0):
        raise Refuted(f"the units of the instance's integers are {ints.gain_unit} and {ints.price_unit}; they must be above 0")
    for what, found, stated in (("errors", distance.error, ints.error_rounding), ("costs", distance.cost, ints.cost_rounding)):
        if not 0 <= stated < math.inf or found > Fraction(stated):
            raise Refuted(f"the instance's integers are off by up to {float(found):g} in {what}, {stated!r} is stated")
    return distance


def off_by(amounts: Iterable[tuple[Any, int, int]], mine: Fraction, theirs: Fraction) -> Fraction:
    """The sum of n |x mine - y theirs| over some (x, y, n)."""
    denominator = math.lcm(mine.denominator, theirs.denominator)
    a, b = int(mine * denominator), int(theirs * denominator)
    return Fraction(sum(n * abs(x * a - y * b) for x, y, n in amounts)) / denominator
