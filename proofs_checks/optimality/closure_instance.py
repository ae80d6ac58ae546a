"""A parametric closure, read a second time from its floats and arcs alone, and how far its integers are from these.

Floats stand for the shortest decimals that denote them, or, where their unit is given, for the nearest whole multiples of it. The
distance of the integers from these, over all closures, is

    error  <=  |base_error - integers' base_error|  +  sum over v of |gain_v - integer gain_v * gain_unit|                 (1)

and the same for the cost. It is at most the rounding that the instance states.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.instance.parametric_closure import ParametricClosure
from proofs_checks.optimality.recount import Refuted

MULTIPLE_TOLERANCE = Fraction(1, 1000)
"""How far a float may be from the whole multiple of the unit that it stands for, in units."""


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
        if not (ints.gain_unit > 0 and ints.price_unit > 0):
            raise Refuted(f"the units of the integers are {ints.gain_unit} and {ints.price_unit}; they must be above 0")
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
        self.error_distance = abs(self.base_error - ints.base_error) + _distance(self.gain, self.integer_gain, ints.gain_unit)
        self.cost_distance = abs(self.base_cost - ints.base_cost) + _distance(self.price, self.integer_price, ints.price_unit)
        for what, found, stated in (
            ("errors", self.error_distance, ints.error_rounding),
            ("costs", self.cost_distance, ints.cost_rounding),
        ):
            if not 0 <= stated < math.inf or found > Fraction(stated):
                raise Refuted(f"the integers are off by up to {float(found):g} in {what}, {stated!r} is stated")


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
    """(1) without the base."""
    return sum((abs(x - k * unit) for x, k in zip(real, integers, strict=True)), Fraction(0))
