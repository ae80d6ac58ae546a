"""How a cut rounds real numbers: profits up and prices down, to a grid that is as fine as the sums of this cut allow.

    profit of h  =  ceil (2^e (profit_h + what floating point may have lost))                                            (1)
    price of j   =  floor(2^e price_j (1 - 2^-48))                                                                       (2)

with e such that the sums of both fit `TOTAL_BITS`. So no closure is worth less on the grid than in real numbers, by at most
`hidden` more, and duals that keep to the prices on the grid keep to the real ones. The best closure on the grid proves a bound of
the real one, whatever was rounded.

What costs more than all gains together is never bought, nor is it at twice that: larger prices are cut down to it, so that dear
items leave the grid fine enough for cheap ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

TOTAL_BITS = 60
"""Bits of the sum of all profits, and of the sum of all prices, on a grid."""

MARGIN = 2.0**-48
"""(2): more than floating point may have added to a product of lambda, a price and a weight, as a share of it."""

PRICE_MARGIN = 1.0 - MARGIN
"""What is left of a price without that."""


@dataclass(frozen=True, eq=False)
class Grid:
    """(1) and (2)."""

    profit: NDArray[np.int64]
    price: NDArray[np.int64]
    exponent: int  # e
    hidden: int  # on the grid: by how much the worth of a closure can be above its real one

    @property
    def unit(self) -> Fraction:
        """What one unit of the grid is worth."""
        return Fraction(2) ** -self.exponent

    @classmethod
    def of(
        cls,
        gain: NDArray[np.float64],
        charge: NDArray[np.float64],
        price: NDArray[np.float64],
        lost: NDArray[np.float64],
        margin: float = MARGIN,
    ) -> Grid:
        """The grid for splits that earn `gain` and are charged `charge` beforehand, and for purchases at `price`.

        Parameters
        ----------
        lost
            what floating point may have lost of each gain.
        margin
            what it may have added to a price, or lost of a charge, as a share of it.
        """
        total = float(np.abs(gain).sum()) or 1.0
        price, charge = np.minimum(price, 2.0 * total), np.minimum(charge, 4.0 * total)
        profit = np.maximum(gain - charge, -2.0 * total)
        spare = lost + margin * np.where(profit > -2.0 * total, charge, 0.0)
        exponent = exponent_of(max(float((np.abs(profit) + spare).sum()), float(price.sum()), total))
        profits = np.ceil(ldexp(profit + spare, exponent)).astype(np.int64)
        prices = np.floor(ldexp(price * (1.0 - margin), exponent)).astype(np.int64)
        added = math.ldexp(float(spare.sum() + margin * price.sum()), exponent)
        return cls(profits, prices, exponent, math.ceil(2.0 * added) + profits.size + prices.size)


def exponent_of(total: float) -> int:
    """The largest e at which a sum fits `TOTAL_BITS`."""
    return TOTAL_BITS - 1 - math.frexp(total)[1]


def ldexp(numbers: NDArray[np.float64], exponent: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """Numbers times 2^exponent; in two steps, since one factor alone may be no float."""
    half = np.asarray(exponent) // 2
    return np.asarray(np.ldexp(np.ldexp(numbers, half), exponent - half))
