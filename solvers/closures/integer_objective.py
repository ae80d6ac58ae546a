"""(OBJ) at one lambda in integers that fit 62 bits: exact where the numbers allow it, else on a grid.

The grid rounds profits up and prices down, and is as fine as the sums of this cut allow:

    profit of h  =  ceil (2^e (profit_h + what floating point may have lost))                                            (1)
    price of j   =  floor(2^e price_j (1 - 2^-48))                                                                       (2)

with e such that the sums of both fit `TOTAL_BITS`. So no closure is worth less on the grid than in real numbers, by at most
`hidden` more, and duals that keep to the prices on the grid keep to the real ones. The best closure on the grid proves a bound of
the real one, whatever was rounded.

What costs more than all gains together is never bought, nor is it at twice that: larger prices are cut down to it, so that dear
items leave the grid fine enough for cheap ones.

Of whole numbers (OBJ) is

    profit of split h              =  (q gain_h - p evaluation_h) 2^bits                                                   (3)
    price of item m for row i      =  item_price_m weight_i                                                                (4)
    price of item m, paid once     =  item_price_m (sum of all weights)                                                    (5)

The integers are exact where the instance's numbers are and lambda is a ratio p / q that fits. Otherwise they stand for the next
ratio below lambda that does, or, where a grid is finer than that or the numbers are real, they lie on a grid (1) and (2), and
`hidden` states what the grid can hide. By (4) nobody has to hold an array over all purchases: prices are made where they are
asked for. Only an instance on a grid is rounded purchase by purchase and holds all of its prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import Core, Reduced
from formulations.instance.usage import ForestUsage

TOTAL_BITS = 60
"""Bits of the sum of all profits, and of the sum of all prices, on a grid."""

PRODUCT_MARGIN = 2.0**-48
"""(2): more than floating point may have added to a product of lambda, a price and a weight, as a share of it."""

PRICE_MARGIN = 1.0 - PRODUCT_MARGIN
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
        margin: float = PRODUCT_MARGIN,
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


CAPACITY_BITS = 61
"""Bits of the sum of capacities at the source."""


@dataclass(frozen=True, eq=False)
class IntegerPrices:
    """Prices of purchases as integers: the part of (OBJ) that depends on rows."""

    usage: ForestUsage
    item_price: NDArray[np.int64]  # int64, shape (M,): the price of an item for a row of weight 1
    weight: NDArray[np.int64]  # int64, shape (N,)
    # int64, shape (M (N + 1),): all prices, on a grid; the two above are then zeros. None: prices are (4) and (5).
    grid: NDArray[np.int64] | None

    def profits(self, nodes: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
        """Profits of some nodes, default: of all. Prices alone earn nothing: zeros."""
        return np.zeros(self.usage.ensemble.n_nodes if nodes is None else nodes.size, dtype=np.int64)

    def prices(self, purchases: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
        """Prices of some purchases, numbered as in `formulations.instance.usage_arcs`; default: of all, shape (M (N + 1),)."""
        if purchases is None:
            if self.grid is not None:
                return self.grid
            by_row = np.where(self.usage.costs.paid_once, 0, self.item_price)
            return np.concatenate([np.outer(by_row, self.weight).ravel(), self.prices_paid_once()])
        if self.grid is not None:
            return self.grid[purchases]
        # in NumPy: a kernel for this alone would be one more to compile at the first run
        item, row = np.divmod(purchases, self.usage.n_rows)
        by_row = item < self.item_price.size
        prices = self.weight[row]
        prices *= np.where(by_row, self.item_price[np.where(by_row, item, 0)], 1)
        if not by_row.all():
            once = ~by_row
            prices[once] = self.prices_paid_once()[purchases[once] - self.item_price.size * self.usage.n_rows]
        return prices

    def prices_paid_once(self) -> NDArray[np.int64]:
        """Prices (5) of the items that are paid once for all rows, 0 for the others; shape (M,)."""
        if self.grid is not None:
            return self.grid[self.usage.costs.n_items * self.usage.n_rows :]
        return np.where(self.usage.costs.paid_once, self.item_price * self.weight.sum(), 0)

    @property
    def price_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Prices of items, weights of rows, prices of items paid once, and the grid, empty where there is none."""
        grid = np.zeros(0, dtype=np.int64) if self.grid is None else self.grid
        return self.item_price, self.weight, self.prices_paid_once(), grid


@dataclass(frozen=True, eq=False)
class IntegerObjective(IntegerPrices):
    """Profits of splits and prices of purchases as integers, each worth `unit` of (OBJ)."""

    problem: Core
    # gain, q, p, bits: the profits (3); `gain` is int64, shape (n,). On a grid they are the gains, at q = 1, p = 0.
    gain: NDArray[np.int64]
    q: int
    p: int
    bits: int
    lam: Fraction  # what the integers stand for; it may be a little below what was asked for, where that does not fit 62 bits
    unit: Fraction  # of (OBJ)
    hidden: (
        int  # by how much more a closure can be worth in these integers than in the instance's numbers; 0 where they are exact
    )

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.hidden == 0

    def exact_at(self, lam: Fraction) -> bool:
        """Whether nothing was rounded, lambda included."""
        return self.exact and self.lam == lam

    def profits(self, nodes: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
        """Profits (3) of some nodes, 0 at leaves; default: of all, shape (n,). A new array."""
        some = slice(None) if nodes is None else nodes
        profit: NDArray[np.int64] = self.gain[some] * self.q
        if self.p:
            profit -= self.problem.numbers.evaluation[some] * self.p
        return np.left_shift(profit, self.bits, out=profit)

    def value(self, gain: int, cost: int) -> int:
        """What a pruning is worth with this gain and cost, both in the integers of the instance."""
        return (gain * self.q - cost * self.p) << self.bits

    def cost(self, gain: int, value: int) -> int:
        """The cost of a pruning with this gain and `value`; for p > 0."""
        return (gain * self.q - (value >> self.bits)) // self.p

    def of_groups(self, reduced: Reduced) -> IntegerObjective:
        """The same integers for the groups of a reduction."""
        return replace(self, usage=reduced.core.usage, problem=reduced.core, gain=reduced.groups.sums(self.gain))

    def refined(self) -> IntegerObjective:
        """The same on the finest binary grid that fits, so that parts of prices can be whole numbers of units too."""
        gains = int(np.abs(self.gain).sum()) * self.q + (int(self.problem.numbers.evaluation.sum()) * self.p if self.p else 0)
        prices = int(self.item_price.sum()) * int(self.weight.sum()) if self.grid is None else int(self.grid.sum())
        more = max(0, CAPACITY_BITS - max(gains << self.bits, prices, 1).bit_length())
        grid = None if self.grid is None else self.grid << more
        unit, hidden = self.unit / 2**more, self.hidden << more
        return replace(self, item_price=self.item_price << more, grid=grid, bits=self.bits + more, unit=unit, hidden=hidden)


def integer_objective(problem: Core, lam: Fraction) -> IntegerObjective:
    """Exact integers if the instance and lambda allow it; else the next lower lambda that fits, or a grid if it hides less."""
    if not problem.numbers.exact:
        return _on_grid(problem, lam)
    fit = _Fit.of(problem, lam)
    return _at(problem, fit.ratio) if fit.is_fine(problem.usage.n_purchases) else _on_grid(problem, lam)


def fitting_objective(problem: Core, lam: Fraction) -> IntegerObjective:
    """The integers of the instance at the largest lambda' <= lambda for which profits and prices fit; of real numbers a grid."""
    return _at(problem, _Fit.of(problem, lam).ratio) if problem.numbers.exact else _on_grid(problem, lam)


def _at(problem: Core, ratio: Fraction) -> IntegerObjective:
    """The integers of the instance at a ratio of prices to gains that fits."""
    numbers, p, q = problem.numbers, ratio.numerator, ratio.denominator
    lam, unit = ratio * numbers.lam_unit, numbers.gain_unit / q
    return IntegerObjective(
        usage=problem.usage, item_price=numbers.price * p, weight=numbers.weight, grid=None, problem=problem, gain=numbers.gain,
        q=q, p=p, bits=0, lam=lam, unit=unit, hidden=0,
    )  # fmt: skip


@dataclass(frozen=True)
class _Fit:
    """Lambda in integer gains for integer prices, and the closest smaller ratio for which profits and prices fit."""

    # gain, price: the sum of all gains, and what all purchases and evaluations cost together.
    gain: int
    price: int
    # lambda; or the sum of gains + 1 if that is less, beyond which every priced purchase costs more than all gains.
    asked: Fraction
    largest: int  # denominator for which every p / q <= asked fits: q gain + p price <= q (gain + asked price) < 2^61
    ratio: Fraction

    @classmethod
    def of(cls, problem: Core, lam: Fraction) -> _Fit:
        ints = problem.numbers
        gain = int(np.abs(ints.gain).sum())
        price = int(ints.price.sum()) * int(ints.weight.sum()) + int(ints.evaluation.sum())
        asked = min(lam / ints.lam_unit, Fraction(gain + 1))
        largest = max(1, int((1 << CAPACITY_BITS) / (gain + asked * price + 1)))
        return cls(gain, price, asked, largest, largest_below(asked, largest))

    def is_fine(self, n_purchases: int) -> bool:
        """Whether the smaller ratio hides no more than a grid would, which rounds every purchase by up to one of its units.

        No pruning is worth more than the sum of gains, so only for cheaper prunings than that does the ratio matter.
        """
        if self.ratio == self.asked:
            return True
        hidden = (self.asked - self.ratio) / self.asked * min(self.asked * self.price, Fraction(self.gain))
        return hidden * self.largest <= n_purchases


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


def useful_rate(problem: Core, lam: Fraction) -> Fraction:
    """Lambda, or where it is larger one beyond which nothing changes: there nothing that has a price is ever bought.

    Floating-point engines are run at this, so that huge coefficients do not drown the errors.
    """
    total = float(np.abs(problem.gain).sum()) or 1.0
    least = min(_least(problem.usage.purchase_price()), _least(problem.usage.evaluation_price))
    return min(lam, Fraction(2.0 * total) / Fraction(least)) if least < math.inf else lam


def _on_grid(problem: Core, lam: Fraction) -> IntegerObjective:
    """Profits and prices on a binary grid."""
    rate = float(useful_rate(problem, lam))
    price, evaluation = rate * problem.usage.purchase_price(), rate * problem.usage.evaluation_price
    return on_grid(problem, Grid.of(problem.gain, evaluation, price, problem.gain_lost), lam)


def on_grid(problem: Core, grid: Grid, lam: Fraction) -> IntegerObjective:
    """The integers of a grid, which stand for lambda."""
    profit = np.where(problem.ensemble.is_split, grid.profit, 0)
    none, nobody = np.zeros(problem.costs.n_items, dtype=np.int64), np.zeros(problem.usage.n_rows, dtype=np.int64)
    return IntegerObjective(
        usage=problem.usage, item_price=none, weight=nobody, grid=grid.price, problem=problem, gain=profit,
        q=1, p=0, bits=0, lam=lam, unit=grid.unit, hidden=grid.hidden,
    )  # fmt: skip


def _least(price: NDArray[np.float64]) -> float:
    """The least positive number, inf if there is none."""
    return float(price[price > 0].min(initial=math.inf))
