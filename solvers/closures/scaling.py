"""(OBJ) at one lambda in integers that fit 62 bits.

Exactly where the instance is exact and lambda is a ratio of moderate integers; else at the next ratio below lambda, or on a fine
grid, with what that can hide stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem

TOTAL_BITS = 61
"""Bits of the sum of capacities at the source."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """(OBJ) at a lambda as integers: `profit` of every node, `price` of every purchase, each worth `unit` of (OBJ).

    `lam` may be a little below what was asked for, where that does not fit 62 bits. `slack` bounds, in (OBJ), how much better a
    pruning can really be than these integers say; 0 where they are exact.
    """

    profit: NDArray[np.int64]
    price: NDArray[np.int64]
    lam: Fraction
    unit: Fraction
    slack: float

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.slack == 0.0

    def refined(self) -> Scaled:
        """The same on the finest grid that fits: for loads that are no whole numbers of units."""
        total = max(int(np.abs(self.profit).sum()), int(self.price.sum()), 1)
        bits = max(0, TOTAL_BITS - total.bit_length())
        return replace(self, profit=self.profit << bits, price=self.price << bits, unit=self.unit / 2**bits)


def scale(problem: PruningProblem, lam: Fraction) -> Scaled:
    """Exact integers, at the largest lambda' <= lambda whose products fit; for rounded instances a fine grid."""
    ints = problem.integers
    if not ints.exact:
        return _on_grid(problem, lam)
    ratio = fitting_ratio(problem, lam)
    p, q = ratio.numerator, ratio.denominator
    price = problem.purchase_price()
    return Scaled(ints.gain * q - ints.evaluation * p, price * p, ratio * ints.lam_unit, ints.gain_unit / q, 0.0)


def fitting_ratio(problem: PruningProblem, lam: Fraction) -> Fraction:
    """The largest ratio of prices to gains, up to lambda, for which profits and prices of an exact instance fit 61 bits."""
    ints = problem.integers
    total_gain = int(np.abs(ints.gain).sum())
    dearest = int(ints.price.sum()) * int(ints.weight.sum()) + int(ints.evaluation.sum())
    # beyond this every priced purchase costs more than all gains together: no larger lambda changes anything
    ratio = min(lam / ints.lam_unit, Fraction(total_gain + 1))
    room = (1 << TOTAL_BITS) // (total_gain + math.ceil(ratio + 1) * dearest + 1)
    return largest_below(ratio, max(1, room))


def largest_below(number: Fraction, largest_denominator: int) -> Fraction:
    """The largest fraction <= number whose denominator is at most that: number itself, or its neighbour in the Farey sequence."""
    near = number.limit_denominator(largest_denominator)
    if near <= number:
        return near
    p, q = near.numerator, near.denominator
    if q == 1:
        inverse = largest_denominator
    else:
        inverse = pow(p, -1, q)
        inverse += (largest_denominator - inverse) // q * q
    return Fraction(p * inverse - 1, q * inverse)


def useful_rate(problem: PruningProblem, lam: Fraction) -> Fraction:
    """Lambda, or where it is larger one beyond which nothing changes: there nothing that has a price is ever bought.

    Floating-point engines are run at this, so that huge coefficients do not drown the errors.
    """
    total = float(np.abs(problem.gain).sum()) or 1.0
    least = min(_least(problem.real_purchase_price()), _least(problem.evaluation_price))
    return min(lam, Fraction(2.0 * total / least)) if least < math.inf else lam


def _on_grid(problem: PruningProblem, lam: Fraction) -> Scaled:
    """Profits rounded to the nearest grid point, prices down, so that no load ever exceeds a real price."""
    rate = float(useful_rate(problem, lam))
    total = float(np.abs(problem.gain).sum()) or 1.0
    real = problem.real_purchase_price()
    # nothing dearer than all gains together is ever bought; twice that, for prices are rounded down below
    price = np.minimum(rate * real, 2.0 * total)
    profit = np.maximum(problem.gain - rate * problem.evaluation_price, -2.0 * total)
    largest = max(float(np.abs(profit).sum()), float(price.sum()), total)
    exponent = TOTAL_BITS - 1 - math.frexp(largest)[1]
    scaled = np.ldexp(profit, exponent)
    rounded = np.rint(scaled)
    # a relative 2^-48 below: what floating point may have added to the product
    whole = np.floor(np.ldexp(price, exponent) * (1 - 2.0**-48)).astype(np.int64)
    # what floating point may have lost in gains (three errors each) and evaluation prices of splits that can be kept at all
    lost = float(problem.node_error.sum()) + float((rate * problem.evaluation_price)[profit > -2.0 * total].sum())
    slack = float(np.abs(scaled - rounded).sum()) + math.ldexp(lost, exponent) * 2.0**-50
    return Scaled(rounded.astype(np.int64), whole, lam, Fraction(2) ** -exponent, math.ldexp(slack, -exponent))


def _least(price: NDArray[np.float64]) -> float:
    """The least positive number, inf if there is none."""
    return float(price[price > 0].min(initial=math.inf))
