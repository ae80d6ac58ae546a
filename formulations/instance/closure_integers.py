"""Gains and prices of a parametric closure in integers, so that cuts, values and bounds are exact.

    error of a closure = base_error - gain_unit * sum of gain[v] over its nodes                                            (1)
    cost of a closure  = base_cost + price_unit * sum of price[v] over its nodes                                           (2)
    lambda = (P and G integers)  G / P * gain_unit / price_unit                                                            (3)

A number stands for the shortest decimal that denotes it, or, where its unit is given, for the nearest whole multiple of that.
If the product of all gains and all prices does not fit 61 bits, they are rounded to binary grids; how far that can move any
closure's error or cost is computed and kept.
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
    room_for_gains,
    room_for_prices,
    whole_multiples,
)

NEAR = Fraction(1, 1000)
"""How far a float may be from a whole multiple of its unit, in that unit."""


@dataclass(frozen=True, eq=False)
class ClosureIntegers:
    """Gains and prices as int64, with their units and what rounding may have changed.

    Parameters
    ----------
    gain, price
        int64, shape (n,): in `gain_unit` of error (1) and in `price_unit` of cost (2).
    gain_unit, price_unit
        exact units.
    base_error, base_cost
        exact, of the empty closure.
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

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.error_rounding == 0.0 and self.cost_rounding == 0.0

    @property
    def lam_unit(self) -> Fraction:
        """Lambda of one integer gain for one integer price, see (3)."""
        return self.gain_unit / self.price_unit


def closure_integers(
    gain: Sequence[Fraction], price: Sequence[Fraction], base_error: Fraction, base_cost: Fraction
) -> ClosureIntegers:
    """Scale exactly if products fit, else round the gains, the prices or both.

    Parameters
    ----------
    gain, price
        of every node, exactly: what `read_numbers` gives.
    """
    gains, prices = _exact(gain), _exact(price)
    if gains is None or (gains.bits > MOST_PRICE_BITS + 1 and (prices is None or gains.bits + prices.bits > PRODUCT_BITS)):
        gains = _rounded(gain, room_for_gains(None if prices is None else prices.bits))
    if prices is None or gains.bits + prices.bits > PRODUCT_BITS:
        prices = _rounded(price, room_for_prices(gains.bits))
    return ClosureIntegers(
        gains.whole, prices.whole, gains.unit, prices.unit, base_error, base_cost, gains.rounding, prices.rounding
    )


def read_numbers(numbers: NDArray[np.float64], unit: Fraction | None, name: str) -> list[Fraction]:
    """What floats stand for: decimals, or whole multiples of the unit.

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
    """What the number of the empty closure stands for; a multiple of the unit if it is as near to one as a float can be."""
    value = fraction(number, name) if signed else exact(number, name)
    if unit is None or isinstance(number, Fraction):
        return value
    count = round(value / unit)
    return count * unit if abs(value / unit - count) <= NEAR else value


@dataclass(frozen=True, eq=False)
class _Whole:
    whole: NDArray[np.int64]
    unit: Fraction
    rounding: float

    @property
    def bits(self) -> int:
        """Of the sum of absolute values, at least 1."""
        return max(1, int(np.abs(self.whole).sum()).bit_length())


def _exact(numbers: Sequence[Fraction]) -> _Whole | None:
    """Whole multiples of a common unit; None if their sum takes too many bits."""
    whole, unit = whole_multiples(numbers)
    if sum(map(abs, whole)).bit_length() > GRID_BITS:
        return None
    return _Whole(np.array(whole, dtype=np.int64), unit, 0.0)


def _rounded(numbers: Sequence[Fraction], bits: int) -> _Whole:
    """The finest binary grid on which the sum has the given number of bits; nothing but 0 becomes 0."""
    total = sum(map(abs, numbers), Fraction(0))
    exponent = bits - 2 - math.floor(math.log2(total.numerator) - math.log2(total.denominator))
    unit = Fraction(2) ** -exponent
    whole = [_away_from_zero(x / unit) for x in numbers]
    slack = sum((abs(x - w * unit) for x, w in zip(numbers, whole, strict=True)), Fraction(0))
    return _Whole(np.array(whole, dtype=np.int64), unit, math.nextafter(float(slack), math.inf) if slack else 0.0)


def _away_from_zero(x: Fraction) -> int:
    """The nearest whole number, except that only 0 becomes 0: what has a price must not be free."""
    return round(x) or (x > 0) - (x < 0)
