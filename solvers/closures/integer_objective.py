"""(OBJ) at one lambda in integers that fit 62 bits.

    profit of split h              =  (q gain_h - p evaluation_h) 2^bits                                                   (1)
    price of item m for row i      =  item_price_m weight_i                                                                (2)
    price of item m, paid once     =  item_price_m (sum of all weights)                                                    (3)

The integers are exact where the instance is exact and lambda is a ratio p / q that fits. Otherwise they stand for the next ratio
below lambda that does, or, where a grid is finer than that or the instance is not exact, they lie on a grid, and `slack` states
what the grid can hide. By (2) nobody has to hold an array over all purchases: prices are made where they are asked for. Only an
instance on a grid is rounded purchase by purchase and holds all of its prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem, Reduced
from formulations.instance.usage import Usage

TOTAL_BITS = 61
"""Bits of the sum of capacities at the source."""


@dataclass(frozen=True, eq=False)
class IntegerPrices:
    """Prices of purchases as integers: the part of (OBJ) that depends on rows."""

    usage: Usage
    item_price: NDArray[np.int64]  # int64, shape (M,): the price of an item for a row of weight 1
    weight: NDArray[np.int64]  # int64, shape (N,)
    # int64, shape (M (N + 1),): all prices, instead of the two above, where the instance was rounded.
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
        """Prices (3) of the items that are paid once for all rows, 0 for the others; shape (M,)."""
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

    problem: PruningProblem
    # gain, q, p, bits: the profits (1); `gain` is int64, shape (n,).
    gain: NDArray[np.int64]
    q: int
    p: int
    bits: int
    lam: Fraction  # what the integers stand for; it may be a little below what was asked for, where that does not fit 62 bits
    unit: Fraction  # of (OBJ)
    slack: float  # in (OBJ): how much better a pruning can really be than the integers say; 0 where they are exact

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.slack == 0.0

    def exact_at(self, lam: Fraction) -> bool:
        """Whether nothing was rounded, lambda included."""
        return self.exact and self.lam == lam

    def profits(self, nodes: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
        """Profits (1) of some nodes, 0 at leaves; default: of all, shape (n,). A new array."""
        some = slice(None) if nodes is None else nodes
        profit: NDArray[np.int64] = self.gain[some] * self.q
        if self.p:
            profit -= self.problem.integers.evaluation[some] * self.p
        return np.left_shift(profit, self.bits, out=profit)

    def value(self, gain: int, cost: int) -> int:
        """What a pruning is worth with this gain and cost, both in the integers of the instance."""
        return (gain * self.q - cost * self.p) << self.bits

    def cost(self, gain: int, value: int) -> int:
        """The cost of a pruning with this gain and `value`; for p > 0."""
        return (gain * self.q - (value >> self.bits)) // self.p

    def of_groups(self, reduced: Reduced) -> IntegerObjective:
        """The same integers for the groups of a reduction; the objective is exact."""
        return replace(self, usage=reduced.problem.usage, problem=reduced.problem, gain=reduced.problem.integers.gain)

    def refined(self) -> IntegerObjective:
        """The same on the finest binary grid that fits, so that parts of prices can be whole numbers of units too."""
        gains = int(np.abs(self.gain).sum()) * self.q + int(self.problem.integers.evaluation.sum()) * self.p
        prices = int(self.item_price.sum()) * int(self.weight.sum()) if self.grid is None else int(self.grid.sum())
        more = max(0, TOTAL_BITS - max(gains << self.bits, prices, 1).bit_length())
        grid = None if self.grid is None else self.grid << more
        unit = self.unit / 2**more
        return replace(self, item_price=self.item_price << more, grid=grid, bits=self.bits + more, unit=unit)


def integer_objective(problem: PruningProblem, lam: Fraction) -> IntegerObjective:
    """Exact integers if the instance and lambda allow it; else the next lower lambda that fits, or a grid if it hides less."""
    if not problem.integers.exact:
        return _on_grid(problem, lam)
    fit = _Fit.of(problem, lam)
    return _at(problem, fit.ratio) if fit.is_fine(problem.n_purchases) else _on_grid(problem, lam)


def at_fitting_ratio(problem: PruningProblem, lam: Fraction) -> IntegerObjective:
    """The integers of the instance at the largest lambda' <= lambda for which profits and prices fit 61 bits."""
    return _at(problem, _Fit.of(problem, lam).ratio)


def _at(problem: PruningProblem, ratio: Fraction) -> IntegerObjective:
    """The integers of the instance at a ratio of prices to gains that fits."""
    ints, p, q = problem.integers, ratio.numerator, ratio.denominator
    lam, unit = ratio * ints.lam_unit, ints.gain_unit / q
    return IntegerObjective(
        usage=problem.usage, item_price=ints.price * p, weight=ints.weight, grid=None, problem=problem, gain=ints.gain,
        q=q, p=p, bits=0, lam=lam, unit=unit, slack=0.0,
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
    def of(cls, problem: PruningProblem, lam: Fraction) -> _Fit:
        ints = problem.integers
        gain = int(np.abs(ints.gain).sum())
        price = int(ints.price.sum()) * int(ints.weight.sum()) + int(ints.evaluation.sum())
        asked = min(lam / ints.lam_unit, Fraction(gain + 1))
        largest = max(1, int((1 << TOTAL_BITS) / (gain + asked * price + 1)))
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


def useful_rate(problem: PruningProblem, lam: Fraction) -> Fraction:
    """Lambda, or where it is larger one beyond which nothing changes: there nothing that has a price is ever bought.

    Floating-point engines are run at this, so that huge coefficients do not drown the errors.
    """
    total = float(np.abs(problem.gain).sum()) or 1.0
    least = min(_least(problem.usage.purchase_price()), _least(problem.evaluation_price))
    return min(lam, Fraction(2.0 * total / least)) if least < math.inf else lam


@dataclass(frozen=True, eq=False)
class BinaryGrid:
    """Real profits and prices as multiples of 2^-exponent, a grid on which sums fit `TOTAL_BITS`."""

    profit: NDArray[np.int64]  # int64: rounded to the nearest point
    price: NDArray[np.int64]  # int64: rounded down, so that no dual value ever exceeds a real price
    exponent: int
    slack: float  # what the grid can hide of a pruning's worth

    @classmethod
    def of(
        cls, gain: NDArray[np.float64], evaluation: NDArray[np.float64], price: NDArray[np.float64], errors: float
    ) -> BinaryGrid:
        """The grid for the gains and prices of splits, and prices of purchases; gains are differences of so large errors."""
        total = float(np.abs(gain).sum()) or 1.0
        # nothing dearer than all gains together is ever bought; twice that, for prices are rounded down below
        price = np.minimum(price, 2.0 * total)
        profit = np.maximum(gain - evaluation, -2.0 * total)
        exponent = TOTAL_BITS - 1 - math.frexp(max(float(np.abs(profit).sum()), float(price.sum()), total))[1]
        scaled = np.ldexp(profit, exponent)
        rounded = np.rint(scaled)
        # a relative 2^-48 below: what floating point may have added to the product
        grid = np.floor(np.ldexp(price, exponent) * (1 - 2.0**-48)).astype(np.int64)
        # what floating point may have lost in gains (three errors each) and evaluation prices of splits that can be kept at all
        lost = errors + float(evaluation[profit > -2.0 * total].sum())
        slack = float(np.abs(scaled - rounded).sum()) + math.ldexp(lost, exponent) * 2.0**-50
        return cls(rounded.astype(np.int64), grid, exponent, math.ldexp(slack, -exponent))


def _on_grid(problem: PruningProblem, lam: Fraction) -> IntegerObjective:
    """Profits and prices on a binary grid."""
    rate, ints = float(useful_rate(problem, lam)), problem.integers
    price, evaluation = rate * problem.usage.purchase_price(), rate * problem.evaluation_price
    found = BinaryGrid.of(problem.gain, evaluation, price, float(problem.node_error.sum()))
    return IntegerObjective(
        usage=problem.usage, item_price=ints.price, weight=ints.weight, grid=found.price, problem=problem, gain=found.profit,
        q=1, p=0, bits=0, lam=lam, unit=Fraction(2) ** -found.exponent, slack=found.slack,
    )  # fmt: skip


def _least(price: NDArray[np.float64]) -> float:
    """The least positive number, inf if there is none."""
    return float(price[price > 0].min(initial=math.inf))
