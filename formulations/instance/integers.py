"""The instance in integers, so that cuts, values and bounds are exact.

    error of a pruning = error of the all-roots forest - gain_unit * sum of gain[h] over the kept splits      (1)
    cost of a pruning  = price_unit * (sum of the purchases' integer prices + of evaluation[h] over the kept splits)   (2)
    lambda = (P and G integers)  G / P * gain_unit / price_unit                                                    (3)

Counts and decimals usually fit exactly. Other numbers (regression errors, trees with in-bag weights of their own, real weights)
are rounded to a common grid. A bound on how far that moves any pruning's error or cost is computed and stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import NodeErrors
from formulations.instance.routing import Routing

PRODUCT_BITS = 61
"""Largest number of bits of a sum of gains times a sum of prices.

Capacities are such products, and their sum at the source stays below 2^62.
"""

GRID_BITS = 50
"""Largest number of bits of a rounded sum; a float64 has hardly more."""

MOST_PRICE_BITS = 30
"""Number of bits left to prices when gains and prices together do not fit."""


class InUnits:
    """What integer gains and prices with units and bounds on their rounding have in common."""

    gain_unit: Fraction
    price_unit: Fraction
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


@dataclass(frozen=True, eq=False)
class Integers(InUnits):
    """Gains and prices as int64, with their units and bounds on the rounding.

    Parameters
    ----------
    gain
        shape (n,): integer gain of each split, 0 at leaves, in `gain_unit` of error (1).
    price
        shape (M,): integer price of each item for a row of weight 1; a row pays this times its `weight`.
    weight
        shape (N,): integer weights of the rows.
    evaluation
        shape (n,): integer price of evaluating each split on all its examples.
    gain_unit, price_unit
        exact units, see (1) and (2).
    error_rounding, cost_rounding
        how far the integers' error and cost of a pruning can be from the real ones; 0 where nothing was rounded.
    """

    gain: NDArray[np.int64]
    price: NDArray[np.int64]
    weight: NDArray[np.int64]
    evaluation: NDArray[np.int64]
    gain_unit: Fraction
    price_unit: Fraction
    error_rounding: float
    cost_rounding: float


@dataclass(frozen=True, eq=False)
class Multiples:
    """Numbers as whole multiples of a unit, and how far all of them together can be from the real ones."""

    count: NDArray[np.int64]
    unit: Fraction
    rounding: float = 0.0

    @property
    def bits(self) -> int:
        """Bits of the sum of absolute values, at least 1."""
        return _bits(int(np.abs(self.count).sum()))


@dataclass(frozen=True, eq=False)
class _Prices:
    price: NDArray[np.int64]
    weight: NDArray[np.int64]
    evaluation: NDArray[np.int64]
    unit: Fraction
    rounding: float
    total: int


def to_integers(
    ensemble: Ensemble,
    errors: NodeErrors | None,
    costs: CostItems,
    weights: NDArray[np.float64],
    evaluation: tuple[Fraction, ...],
    routing: Routing,
) -> Integers:
    """Scale an instance to integers, exactly if the product of all gains and all prices fits 62 bits.

    Without errors all gains are 0: the prices alone are scaled.
    """
    no_gains = Multiples(np.zeros(ensemble.n_nodes, dtype=np.int64), Fraction(1))
    gains = no_gains if errors is None else _exact_gains(ensemble, errors)
    prices = _exact_prices(ensemble, costs, weights, evaluation, routing)
    price_bits = None if prices is None else _bits(prices.total)
    too_many = gains is not None and (price_bits is None or gains.bits + price_bits > PRODUCT_BITS)
    if gains is None or (gains.bits > MOST_PRICE_BITS and too_many):
        assert errors is not None
        gains = _rounded_gains(ensemble, errors, room_for_gains(price_bits))
    if prices is None or _bits(prices.total) + gains.bits > PRODUCT_BITS:
        prices = _rounded_prices(ensemble, costs, weights, evaluation, routing, room_for_prices(gains.bits))
    return Integers(
        gain=gains.count,
        price=prices.price,
        weight=prices.weight,
        evaluation=prices.evaluation,
        gain_unit=gains.unit,
        price_unit=prices.unit,
        error_rounding=gains.rounding,
        cost_rounding=prices.rounding,
    )


def room_for_gains(price_bits: int | None) -> int:
    """Bits that the sum of rounded gains may have, given the bits of the sum of exact prices; None: prices are rounded too."""
    return min(GRID_BITS, PRODUCT_BITS - (MOST_PRICE_BITS if price_bits is None else min(price_bits, MOST_PRICE_BITS)))


def room_for_prices(gain_bits: int) -> int:
    """Bits that the sum of rounded prices may have, given the bits of the sum of gains."""
    return min(GRID_BITS, PRODUCT_BITS - gain_bits)


def whole_multiples(numbers: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """The numbers as multiples of their largest common unit, and that unit; zeros are ignored in finding it."""
    unit = common_unit([x for x in numbers if x])
    return [int(x / unit) for x in numbers], unit


def _bits(total: int) -> int:
    return max(1, total.bit_length())


def _exact_gains(ensemble: Ensemble, errors: NodeErrors) -> Multiples | None:
    """Gains without rounding. None unless errors are whole numbers and the trees' weights have a small common multiple."""
    factors: list[Fraction] = []
    for c in errors.components:
        if (c.e != np.rint(c.e)).any() or (c.weight != np.rint(c.weight)).any() or c.weight.max() >= 2**53:
            return None
        factors += [c.share / (ensemble.n_trees * int(w)) for w in c.weight]
    denominator = math.lcm(*{f.denominator for f in factors})
    numerator = math.gcd(*{f.numerator * (denominator // f.denominator) for f in factors})
    unit = Fraction(numerator, denominator)
    multiples = [int(f / unit) for f in factors]
    if max(multiples) * sum(int(c.e.sum()) for c in errors.components) * 3 >= 2**GRID_BITS:
        return None
    gain = np.zeros(ensemble.n_nodes, dtype=np.int64)
    for k, c in enumerate(errors.components):
        multiple = np.array(multiples[k * ensemble.n_trees : (k + 1) * ensemble.n_trees], dtype=np.int64)
        gain += ensemble.gains(c.e).astype(np.int64) * multiple[ensemble.tree_of]
    common = int(np.gcd.reduce(gain)) or 1
    return Multiples(gain // common, unit * common)


def _rounded_gains(ensemble: Ensemble, errors: NodeErrors, bits: int) -> Multiples:
    """Gains rounded to the finest binary grid on which their sum has the given number of bits."""
    e = errors.per_node(ensemble)
    gain = ensemble.gains(e)
    total = float(np.abs(gain).sum()) or 1.0
    exponent = bits - 1 - math.frexp(total)[1]
    scaled = np.ldexp(gain, exponent)
    rounded = np.rint(scaled)
    # gains are differences of floats, which are off by some units in the last place of the errors
    slack = float(np.abs(scaled - rounded).sum()) + np.ldexp(float(e.sum()), exponent) * 2.0**-50
    return Multiples(rounded.astype(np.int64), Fraction(2) ** -exponent, float(np.ldexp(slack, -exponent)))


def _evaluation_prices(
    ensemble: Ensemble, evaluation: NDArray[np.int64], weight: NDArray[np.int64], routing: Routing
) -> NDArray[np.int64]:
    """a_f |S_h| of every split, in integers."""
    if not evaluation.any():
        return np.zeros(ensemble.n_nodes, dtype=np.int64)
    price = evaluation[ensemble.feature] * routing.node_sums(ensemble, weight)
    return np.where(ensemble.is_split, price, 0)


def _longest_paths(ensemble: Ensemble) -> int:
    """The most splits that a row can meet, at least 1: prices must fit whatever the trees are."""
    return max(1, int(ensemble.depth.max(initial=0)) * ensemble.n_trees)


def _dearest(price: list[int], evaluation: list[int], total_weight: int, ensemble: Ensemble) -> int:
    """An upper bound of (2), in Python's unbounded integers: every row buys all items and takes the longest paths."""
    depth = _longest_paths(ensemble)
    return total_weight * (sum(price) + max(evaluation, default=0) * depth)


def _exact_prices(
    ensemble: Ensemble,
    costs: CostItems,
    weights: NDArray[np.float64],
    evaluation: tuple[Fraction, ...],
    routing: Routing,
) -> _Prices | None:
    """Prices as multiples of their common unit; None if that takes too many bits, or there are over 10,000 different weights."""
    values, counts = np.unique(weights, return_counts=True)
    if len(values) > 10_000:
        return None
    weight_of = {float(v): Fraction(repr(float(v))) for v in values}
    weight_unit = common_unit(list(weight_of.values()))
    prices, price_unit = whole_multiples([*costs.prices, *evaluation])
    price, eval_price = prices[: costs.n_items], prices[costs.n_items :]
    whole = [int(weight_of[float(v)] / weight_unit) for v in values]
    total_weight = sum(w * int(c) for w, c in zip(whole, counts, strict=True))
    total = _dearest(price, eval_price, total_weight, ensemble)
    if max(total, total_weight).bit_length() > GRID_BITS:
        return None
    weight = np.array(whole, dtype=np.int64)[np.searchsorted(values, weights)]
    ints = np.array(eval_price, dtype=np.int64)
    return _Prices(
        price=np.array(price, dtype=np.int64),
        weight=weight,
        evaluation=_evaluation_prices(ensemble, ints, weight, routing),
        unit=price_unit / total_weight,
        rounding=0.0,
        total=total,
    )


def common_unit(numbers: list[Fraction]) -> Fraction:
    """The largest fraction of which all the numbers are whole multiples (1 for none)."""
    if not numbers:
        return Fraction(1)
    denominator = math.lcm(*(x.denominator for x in numbers))
    return Fraction(math.gcd(*(int(x * denominator) for x in numbers)), denominator)


def _rounded_prices(
    ensemble: Ensemble,
    costs: CostItems,
    weights: NDArray[np.float64],
    evaluation: tuple[Fraction, ...],
    routing: Routing,
    bits: int,
) -> _Prices:
    """Prices and weights rounded to grids on which (2) has the given number of bits."""
    n = len(weights)
    weight = np.ones(n, dtype=np.int64)
    if (weights != weights[0]).any():
        # the bits beside those of the number of rows are shared so that weights and prices are rounded about equally
        weight_bits = min(30, _bits(n) + max(1, (bits - _bits(n) - _bits(costs.n_items)) // 2))
        weight = np.maximum(1, np.rint(weights * (2.0**weight_bits / float(weights.sum())))).astype(np.int64)
    total_weight = int(weight.sum())
    real = [*costs.prices, *evaluation]
    depth = _longest_paths(ensemble)
    most = sum(costs.prices) + max(evaluation, default=Fraction(0)) * depth
    largest = 2 ** max(1, bits - _bits(total_weight) - 1)
    unit = most / largest if most else Fraction(1)
    whole = [round(p / unit) for p in real]
    lost = [p for p, w in zip(real, whole, strict=True) if p > 0 and w == 0]
    if lost:
        raise CapacityOverflowError(
            f"a price of {float(min(lost)):g} would be rounded to 0 beside a total of {float(most):g} for {n} examples, since "
            "capacities have 64 bits; "
            "use prices that span fewer orders of magnitude, or set it to 0"
        )
    price = np.array(whole[: costs.n_items], dtype=np.int64)
    eval_price = np.array(whole[costs.n_items :], dtype=np.int64)
    # per example: the rounding of every price, and that of every weight
    price_slack = sum((abs(p - w * unit) for p, w in zip(costs.prices, whole, strict=False)), Fraction(0))
    eval_slack = max((abs(a - int(w) * unit) for a, w in zip(evaluation, eval_price, strict=True)), default=Fraction(0))
    weight_slack = float(np.abs(weights / weights.sum() - weight / total_weight).sum())
    rounding = float(price_slack + eval_slack * depth) + float(most) * (weight_slack + 2.0**-50)
    return _Prices(
        price=price,
        weight=weight,
        evaluation=_evaluation_prices(ensemble, eval_price, weight, routing),
        unit=unit / total_weight,
        rounding=rounding,
        total=total_weight * (int(price.sum()) + int(eval_price.max(initial=0)) * depth),
    )
