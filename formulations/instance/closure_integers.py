"""Gains and prices of a parametric closure in integers, so that cuts, values and bounds are exact.

    error of a closure = base_error - gain_unit * sum of gain[v] over its nodes                                            (1)
    cost of a closure  = base_cost + price_unit * sum of price[v] over its nodes                                           (2)
    lambda = (P and G integers)  G / P * gain_unit / price_unit                                                            (3)

A float stands for the shortest decimal that denotes it. If a unit is given, the float stands for the nearest whole multiple of
it. If the product of the sum of all gains and the sum of all prices does not fit 61 bits, both are rounded to binary grids. A
bound on how far that moves any closure's error or cost is computed and stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact, fraction
from formulations.instance.integers import (
    GRID_BITS,
    MOST_PRICE_BITS,
    PRODUCT_BITS,
    InUnits,
    room_for_gains,
    room_for_prices,
    whole_multiples,
)

NEAR = Fraction(1, 1000)
"""How far a float may be from a whole multiple of its unit, in that unit."""


@dataclass(frozen=True, eq=False)
class ClosureIntegers(InUnits):
    """Gains and prices as int64, with their units and bounds on the rounding.

    Parameters
    ----------
    gain, price
        int64, shape (n,): in `gain_unit` of error (1) and in `price_unit` of cost (2).
    gain_unit, price_unit
        exact units.
    base_error, base_cost
        error and cost of the empty closure, exactly.
    error_rounding, cost_rounding
        how far the integers' error and cost of a closure can be from the real ones; 0 where nothing was rounded.
    """

    gain: NDArray[np.int64]
    price: NDArray[np.int64]
    gain_unit: Fraction
    price_unit: Fraction
    base_error: Fraction
    base_cost: Fraction
    error_rounding: float
    cost_rounding: float


def closure_integers(
    gain: Sequence[Fraction], price: Sequence[Fraction], base_error: Fraction, base_cost: Fraction
) -> ClosureIntegers:
    """Scale exactly if products fit 61 bits, else round the gains, the prices or both.

    Parameters
    ----------
    gain, price
        of every node, as `read_numbers` returns them.
    """
    gains, prices = _exact(gain), _exact(price)
    if gains is None or (gains.bits > MOST_PRICE_BITS + 1 and (prices is None or gains.bits + prices.bits > PRODUCT_BITS)):
        gains = _rounded(gain, room_for_gains(None if prices is None else prices.bits))
    if prices is None or gains.bits + prices.bits > PRODUCT_BITS:
        prices = _rounded(price, room_for_prices(gains.bits))
    return ClosureIntegers(
        gains.count, prices.count, gains.unit, prices.unit, base_error, base_cost, gains.rounding, prices.rounding
    )


def read_numbers(numbers: NDArray[np.float64], unit: Fraction | None, name: str) -> list[Fraction]:
    """The exact numbers that floats stand for: decimals, or whole multiples of the unit.

    Raises
    ------
    InvalidInputError
        if a number is no multiple of the unit, naming the node.
    """
    values = [fraction(x, f"{name} of node {v}") for v, x in enumerate(numbers.tolist())]
    if unit is None:
        return values
    for v, value in enumerate(values):
        count = round(value / unit)
        if abs(value / unit - count) > NEAR:
            raise InvalidInputError(
                f"{name} of node {v} is {float(value)!r}, no whole multiple of {name}_unit = {unit}; "
                f"give the unit that the numbers were counted in, or None"
            )
        values[v] = count * unit
    return values


def read_base(number: float | Fraction, unit: Fraction | None, name: str, *, signed: bool) -> Fraction:
    """The exact error or cost of the empty closure; a multiple of the unit if the float is within `NEAR` of one."""
    value = fraction(number, name) if signed else exact(number, name)
    if unit is None or isinstance(number, Fraction):
        return value
    count = round(value / unit)
    return count * unit if abs(value / unit - count) <= NEAR else value


@dataclass(frozen=True, eq=False)
class _Multiples:
    count: NDArray[np.int64]
    unit: Fraction
    rounding: float

    @property
    def bits(self) -> int:
        """Bits of the sum of absolute values, at least 1."""
        return max(1, int(np.abs(self.count).sum()).bit_length())


def _exact(numbers: Sequence[Fraction]) -> _Multiples | None:
    """The numbers as whole multiples of a common unit; None if their sum takes too many bits."""
    counts, unit = whole_multiples(numbers)
    if sum(map(abs, counts)).bit_length() > GRID_BITS:
        return None
    return _Multiples(np.array(counts, dtype=np.int64), unit, 0.0)


def _rounded(numbers: Sequence[Fraction], bits: int) -> _Multiples:
    """Round to the finest binary grid on which the sum has the given number of bits; only 0 is rounded to 0."""
    total = sum(map(abs, numbers), Fraction(0))
    exponent = bits - 2 - math.floor(math.log2(total.numerator) - math.log2(total.denominator))
    unit = Fraction(2) ** -exponent
    counts = [_away_from_zero(x / unit) for x in numbers]
    slack = sum((abs(x - w * unit) for x, w in zip(numbers, counts, strict=True)), Fraction(0))
    return _Multiples(np.array(counts, dtype=np.int64), unit, math.nextafter(float(slack), math.inf) if slack else 0.0)


def _away_from_zero(x: Fraction) -> int:
    """The nearest whole number; but a number other than 0 becomes at least 1 or at most -1, so that no price is lost."""
    return round(x) or (x > 0) - (x < 0)
