"""How far are the integers of an instance from the instance?

Paths are exact in ``problem.integers``. How far these can be from the real errors and costs, over all prunings:

    error  <=  sum over splits of |gain_h  -  integer gain_h * gain_unit|                                                  (1)
    cost   <=  sum over purchases |price_j  -  integer price_j * price_unit|  +  the same over the splits' evaluation      (2)

and over all closures of a parametric closure, which is read a second time from its floats and arcs:

    error  <=  |base_error - integers' base_error|  +  sum over v of |gain_v - integer gain_v * gain_unit|                 (3)

and the same for the cost. 0 where the instance says that nothing was rounded, else at most the rounding that it states. Floats of
a closure stand for the shortest decimals that denote them, or, where their unit is given, for the nearest whole multiples of it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.instance.integers import InUnits
from formulations.instance.parametric_closure import ParametricClosure
from proofs_checks.optimality.recount import Recount, Refuted

MULTIPLE_TOLERANCE = Fraction(1, 1000)
"""How far a float may be from the whole multiple of the unit that it stands for, in units."""


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
    _check_units(ints)
    return _as_stated(Distance(_of_errors(recount), _of_purchases(recount) + _of_evaluation(recount)), ints)


def _check_units(ints: InUnits) -> None:
    if not (ints.gain_unit > 0 and ints.price_unit > 0):
        raise Refuted(f"the units of the instance's integers are {ints.gain_unit} and {ints.price_unit}; they must be above 0")


def _as_stated(distance: Distance, ints: InUnits) -> Distance:
    """The distance, if it is not more than the instance states."""
    for what, found, stated in (("errors", distance.error, ints.error_rounding), ("costs", distance.cost, ints.cost_rounding)):
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


class ClosureRecount:
    """Nodes, arcs, real and integer gains and prices.

    Parameters
    ----------
    problem
        the instance, whose arrays need not be what they were when it was built.

    Raises
    ------
    Refuted
        if an array has another shape or type, or if the integers are not those of the floats.
    """

    def __init__(self, problem: ParametricClosure) -> None:
        ints = problem.integers
        _check_units(ints)
        self.n = len(problem.gain)
        self.arcs = _arcs(problem, self.n)
        self.gain = _reals("gain", problem.gain, self.n, problem.gain_unit)
        self.price = _reals("price", problem.price, self.n, problem.price_unit)
        self.integer_gain = _integers("gain", ints.gain, self.n)
        self.integer_price = _integers("price", ints.price, self.n)
        for v in range(self.n):
            if self.price[v] < 0 or self.integer_price[v] < 0:
                raise Refuted(f"the price of node {v} is negative")
        self.base_error = _base(problem.base_error, problem.gain_unit)
        self.base_cost = _base(problem.base_cost, problem.price_unit)
        error = abs(self.base_error - ints.base_error) + _distance(self.gain, self.integer_gain, ints.gain_unit)
        cost = abs(self.base_cost - ints.base_cost) + _distance(self.price, self.integer_price, ints.price_unit)
        self.distance = _as_stated(Distance(error, cost), ints)


def _arcs(problem: ParametricClosure, n: int) -> list[tuple[int, int]]:
    """Pairs (u, v): u requires v."""
    ends = [_integers(name, a, len(problem.tail)) for name, a in (("tail", problem.tail), ("head", problem.head))]
    for name, nodes in zip(("tail", "head"), ends, strict=True):
        for k, v in enumerate(nodes):
            if not 0 <= v < n:
                raise Refuted(f"the {name} of arc {k} is node {v}; there are 0 to {n - 1}")
    return list(zip(*ends, strict=True))


def _integers(name: str, given: Any, length: int) -> list[int]:
    if not isinstance(given, np.ndarray) or given.shape != (length,) or given.dtype.kind not in "iu":
        raise Refuted(f"{name} is no array of {length} integers")
    return [int(x) for x in given.tolist()]


def _reals(name: str, given: Any, length: int, unit: Fraction | None) -> list[Fraction]:
    """What floats stand for."""
    if not isinstance(given, np.ndarray) or given.shape != (length,) or not np.isfinite(given).all():
        raise Refuted(f"{name} is no array of {length} finite numbers")
    numbers = [Fraction(repr(x)) for x in given.astype(np.float64).tolist()]
    if unit is None:
        return numbers
    multiples = [unit * math.floor(x / unit + Fraction(1, 2)) for x in numbers]
    for v, (x, m) in enumerate(zip(numbers, multiples, strict=True)):
        if abs(x - m) > MULTIPLE_TOLERANCE * unit:
            raise Refuted(f"the {name} of node {v} is {float(x)!r}, no whole multiple of {unit}")
    return multiples


def _base(given: float | Fraction, unit: Fraction | None) -> Fraction:
    """The exact error or cost of the empty closure."""
    if isinstance(given, Fraction):
        return given
    if not math.isfinite(given):
        raise Refuted(f"the error or cost of the empty closure is {given!r}")
    number = Fraction(repr(float(given)))
    if unit is None:
        return number
    multiple = unit * math.floor(number / unit + Fraction(1, 2))
    return multiple if abs(number - multiple) <= MULTIPLE_TOLERANCE * unit else number


def _distance(real: list[Fraction], integers: list[int], unit: Fraction) -> Fraction:
    """(3) without the base."""
    return sum((abs(x - k * unit) for x, k in zip(real, integers, strict=True)), Fraction(0))
