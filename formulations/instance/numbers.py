"""The numbers of an instance: gains, prices and weights, as integers where they fit a cut, else as they were given.

    error of a pruning = error of the all-roots forest - gain_unit * sum of gain[h] over the kept splits                  (1)
    cost of a pruning  = price_unit * (sum over purchases (m, i) of price[m] weight[i]
                                       + sum over the kept splits of evaluation[h])                                       (2)
    lambda = (P and G integers)  G / P * gain_unit / price_unit                                                           (3)

Counts and decimals are whole multiples of a unit. Where the product of the sum of all gains and the sum of all prices fits 61
bits, a cut at any ratio G / P is exact in 64-bit integers, and engines take these: `Numbers` of int64. Other instances, with
regression errors, real weights or prices over many decades, are not rounded to make them fit. Engines take their floats, each of
which is the instance's own number to 52 bits, and every cut rounds for itself, to a grid that is as fine as its own sums allow
(`solvers.closures.integer_objective`). What is stated of a pruning or a path comes from `exact_numbers`, in integers of any
length.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.errors import CapacityOverflowError
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import check_most
from formulations.instance.ensemble import Forest
from formulations.instance.node_errors import NodeErrors
from formulations.instance.routing import Routing
from formulations.instance.usage import ForestUsage

INT64_SAFE = 2**62
"""No sum in integers of 64 bits may reach this, ours or those of OR-Tools."""

PRODUCT_BITS = 61
"""Largest number of bits of a sum of gains times a sum of prices.

Capacities are such products, and their sum at the source stays below 2^62.
"""

INTEGER_BITS = 50
"""Largest number of bits of either sum."""

MOST_WEIGHTS = 10_000
"""With more different weights integers are not looked for: their common unit would be too small."""

LEAST_PURCHASE, MOST_DECADES = 1e-240, 240
"""The least that a purchase may add to the cost, and how many powers of ten it may be below the dearest price and the errors:
what is farther apart has no product, ratio or sum in a float."""

ROUNDING = 1e-9
"""An optimum may leave open what rounding can hide: at most this share of the answer's own value."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """Gains, prices and weights with their units. Of type int64 or (integers of any length) object they are exact."""

    gain: NDArray[Any]  # shape (n,): gain of each split, 0 at leaves, in `gain_unit` of error (1)
    price: NDArray[Any]  # shape (M,): price of each item for a row of weight 1; a row pays this times its `weight`
    weight: NDArray[Any]  # shape (N,): weights of the rows; of floats they sum to 1
    evaluation: NDArray[Any]  # shape (n,): price of evaluating each split on all its examples
    # gain_unit, price_unit: exact units, see (1) and (2); 1 for floats
    gain_unit: Fraction
    price_unit: Fraction

    @property
    def exact(self) -> bool:
        """Whether these are integers, which a cut takes as they are."""
        return self.gain.dtype != np.float64

    @cached_property
    def gain_step(self) -> int:
        """What all gains are multiples of, in `gain_unit`; 1 of floats."""
        return (int(np.gcd.reduce(self.gain)) or 1) if self.exact else 1

    @property
    def lam_unit(self) -> Fraction:
        """Lambda of one gain for one price, see (3)."""
        return self.gain_unit / self.price_unit


@dataclass(frozen=True, eq=False)
class Multiples:
    """Numbers as whole multiples of a unit."""

    count: NDArray[Any]
    unit: Fraction

    @property
    def bits(self) -> int:
        """Bits of the sum of absolute values, at least 1."""
        return _bits(int(np.abs(self.count).sum()))


@dataclass(frozen=True, eq=False)
class _Prices:
    price: NDArray[Any]
    weight: NDArray[Any]
    evaluation: NDArray[Any]
    unit: Fraction
    total: int


def engine_numbers(usage: ForestUsage, errors: NodeErrors | None) -> Numbers:
    """The numbers that engines take: integers if they fit, else floats. Without errors all gains are 0.

    Raises `CapacityOverflowError` for numbers so far apart that floats do not hold their ratios.
    """
    forest = usage.ensemble
    gains = Multiples(np.zeros(forest.n_nodes, dtype=np.int64), Fraction(1)) if errors is None else _counts(forest, errors)
    prices = None if gains is None else _whole_prices(usage)
    if gains is not None and prices is not None and gains.bits + _bits(prices.total) <= PRODUCT_BITS:
        return Numbers(gains.count, prices.price, prices.weight, prices.evaluation, gains.unit, prices.unit)
    gain = np.zeros(forest.n_nodes) if errors is None else real_gains(forest, errors)
    weight = usage.weights / math.fsum(usage.weights)
    _check_range(usage, errors, weight)
    return Numbers(gain, usage.costs.price, weight, _real_evaluation(usage, weight), Fraction(1), Fraction(1))


def _real_evaluation(usage: ForestUsage, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """What keeping each split adds to the evaluation cost: sums of weights that are all positive, which lose nothing."""
    forest, routing = usage.ensemble, usage.routing
    if not usage.split_price.any():
        return np.zeros(forest.n_nodes)
    sums = np.zeros(forest.n_nodes)
    reached = (routing.stop > routing.start) & ~forest.is_split
    for t in range(forest.n_trees):
        leaves = np.flatnonzero(reached[forest.nodes_of(t)]) + int(forest.tree_start[t])
        leaves = leaves[np.argsort(routing.start[leaves])]
        sums[leaves] = np.add.reduceat(weight[routing.order[t]].astype(np.longdouble), routing.start[leaves])
    add_up(forest.parent, sums)
    return usage.split_price * sums


def is_rounding(gap: float, value: float, largest: float) -> bool:
    """Whether rounding can hide a gap between a value and its bound, by the one rule of all engines; `largest`: of any error."""
    return gap <= max(ROUNDING * abs(value), float_rounding(largest))


def float_rounding(largest: float) -> float:
    """What floats may hide of a difference of numbers up to that size, such as a stated value and bound."""
    return max(1e-12 * largest, sys.float_info.min)


@njit(cache=True)
def add_up(parent, sums):  # type: ignore[no-untyped-def]
    """Add the sum of each node to its parent's, in place, children before parents."""
    for h in range(parent.shape[0] - 1, -1, -1):
        if parent[h] >= 0:
            sums[parent[h]] += sums[h]


def real_gains(forest: Forest, errors: NodeErrors) -> NDArray[np.float64]:
    """Gains as floats; of whole numbers each is rounded once, so that equal gains stay equal and none stays none."""
    counts = _counts(forest, errors)
    return forest.gains(errors.per_node(forest)) if counts is None else counts.count * float(counts.unit)


def exact_numbers(usage: ForestUsage, errors: NodeErrors) -> Numbers:
    """The numbers as they were given, in integers of any length: prices and weights are decimals, errors binary fractions."""
    gains, weights = _exact_gains(usage.ensemble, errors), exact_weights(usage.weights)
    prices, price_unit = whole_multiples([*usage.costs.prices, *usage.evaluation])
    rates = np.array(prices[usage.costs.n_items :], dtype=object)
    return Numbers(
        gain=gains.count,
        price=np.array(prices[: usage.costs.n_items], dtype=object),
        weight=weights.count,
        evaluation=_evaluation_prices(usage.ensemble, rates, weights.count, usage.routing),
        gain_unit=gains.unit,
        price_unit=price_unit / int(weights.count.sum()),
    )


def exact_weights(weights: NDArray[np.float64]) -> Multiples:
    """Weights, floats as the decimals that they print, as multiples of their common unit; of type object."""
    values, place = np.unique(weights, return_inverse=True)
    whole, unit = whole_multiples([Fraction(repr(float(v))) for v in values])
    return Multiples(np.array(whole, dtype=object)[place], unit)


def whole_multiples(numbers: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """The numbers as multiples of their largest common unit, and that unit; zeros are ignored in finding it."""
    unit = common_unit([x for x in numbers if x])
    return [x.numerator * (unit.denominator // x.denominator) // unit.numerator for x in numbers], unit


def common_unit(numbers: Sequence[Fraction]) -> Fraction:
    """The largest fraction of which all the numbers are whole multiples (1 for none)."""
    if not numbers:
        return Fraction(1)
    denominator = math.lcm(*(x.denominator for x in numbers))
    return Fraction(math.gcd(*(x.numerator * (denominator // x.denominator) for x in numbers)), denominator)


def _bits(total: int) -> int:
    return max(1, total.bit_length())


def _counts(forest: Forest, errors: NodeErrors) -> Multiples | None:
    """Gains in int64. None unless errors are whole numbers and the trees' weights have a small common multiple."""
    factors: list[Fraction] = []
    for c in errors.components:
        if (c.e != np.rint(c.e)).any() or (c.weight != np.rint(c.weight)).any() or c.weight.max() >= 2**53:
            return None
        factors += [c.share / (forest.n_trees * int(w)) for w in c.weight]
    multiples, unit = whole_multiples(factors)
    if max(multiples) * sum(int(c.e.sum()) for c in errors.components) * 3 >= 2**INTEGER_BITS:
        return None
    gain = np.zeros(forest.n_nodes, dtype=np.int64)
    for k, c in enumerate(errors.components):
        multiple = np.array(multiples[k * forest.n_trees : (k + 1) * forest.n_trees], dtype=np.int64)
        gain += forest.gains(c.e).astype(np.int64) * multiple[forest.tree_of]
    common = int(np.gcd.reduce(gain)) or 1
    return Multiples(gain // common, unit * common)


def _exact_gains(forest: Forest, errors: NodeErrors) -> Multiples:
    """Gains from floats that count as the binary fractions that they are; of type object."""
    ratios = [[float(e).as_integer_ratio() for e in c.e] for c in errors.components]
    shift = max(d.bit_length() - 1 for of_component in ratios for _, d in of_component)
    factors = [c.share / (forest.n_trees * Fraction(float(w))) for c in errors.components for w in c.weight]
    multiples, unit = whole_multiples(factors)
    gain = np.zeros(forest.n_nodes, dtype=object)
    below, tree_of = np.flatnonzero(forest.parent >= 0), forest.tree_of
    for k, of_component in enumerate(ratios):
        multiple = np.array(multiples[k * forest.n_trees : (k + 1) * forest.n_trees], dtype=object)
        error = np.array([(a << shift) // d for a, d in of_component], dtype=object) * multiple[tree_of]
        gain += error
        np.subtract.at(gain, forest.parent[below], error[below])
    return Multiples(np.where(forest.is_split, gain, 0), unit / 2**shift)


def _evaluation_prices(forest: Forest, rate: NDArray[Any], weight: NDArray[Any], routing: Routing) -> NDArray[Any]:
    """a_f |S_h| of every split, in integers."""
    if not rate.any():
        return np.zeros(forest.n_nodes, dtype=rate.dtype)
    return np.where(forest.is_split, rate[forest.feature] * routing.node_sums(forest, weight), 0)


def _whole_prices(usage: ForestUsage) -> _Prices | None:
    """Prices in int64 as multiples of their common unit; None if that takes too many bits, or there are too many weights."""
    forest, costs = usage.ensemble, usage.costs
    values, counts = np.unique(usage.weights, return_counts=True)
    if len(values) > MOST_WEIGHTS:
        return None
    prices, price_unit = whole_multiples([*costs.prices, *usage.evaluation])
    whole, _ = whole_multiples([Fraction(repr(float(v))) for v in values])
    price, rates = prices[: costs.n_items], prices[costs.n_items :]
    total_weight = sum(w * int(c) for w, c in zip(whole, counts, strict=True))
    # every row buys all items and takes the longest paths, of at least one split: prices must fit whatever the trees are
    longest = max(1, int(forest.depth.max(initial=0)) * forest.n_trees)
    total = total_weight * (sum(price) + max(rates, default=0) * longest)
    if max(total, total_weight).bit_length() > INTEGER_BITS:
        return None
    weight = np.array(whole, dtype=np.int64)[np.searchsorted(values, usage.weights)]
    evaluation = _evaluation_prices(forest, np.array(rates, dtype=np.int64), weight, usage.routing)
    return _Prices(np.array(price, dtype=np.int64), weight, evaluation, price_unit / total_weight, total)


def check_prices(costs: CostItems, evaluation: tuple[Fraction, ...]) -> None:
    """Refuse prices with which no forest could be pruned, whatever its trees are: those of a forest of one leaf and one row."""
    check_most(costs, evaluation, 0)
    whole, _ = whole_multiples([*costs.prices, *evaluation])
    total = sum(whole[: costs.n_items]) + max(whole[costs.n_items :], default=0)
    if max(total, 1).bit_length() > INTEGER_BITS:
        _check_spread(costs, evaluation, rarest=1.0, share=1.0, roots=1.0)


def _check_range(usage: ForestUsage, errors: NodeErrors | None, weight: NDArray[np.float64]) -> None:
    """`_check_spread` for the weights and errors of an instance."""
    rarest = float(usage.weights.min()) if (weight != weight[0]).any() else 1.0
    roots = 1.0 if errors is None else float(errors.of_all_roots(usage.ensemble)) or 1.0
    _check_spread(usage.costs, usage.evaluation, rarest=rarest, share=float(weight.min(initial=1.0)), roots=roots)


def _check_spread(costs: CostItems, evaluation: tuple[Fraction, ...], *, rarest: float, share: float, roots: float) -> None:
    """Refuse numbers whose products and ratios leave the range of floats, with the two that do not go together.

    `rarest`, `share`: the least weight of a row, and its share of all weights. `roots`: the error of the trees' roots.
    """
    priced = [p for p in (*costs.prices, *evaluation) if p > 0]
    if not priced:
        return
    cheapest, dearest = float(min(priced)), float(max(priced))
    least = math.log10(cheapest) + math.log10(share)
    what = f"a price of {cheapest:g} for an example of weight {rarest:g} is {share:.3g} of it on average, which"
    far = "more than can be computed with; give prices and weights that span fewer powers of ten, or 0"
    if math.log10(dearest) - least > MOST_DECADES:
        raise CapacityOverflowError(f"{what} is more than 10^{MOST_DECADES} times below the price of {dearest:g}: {far}")
    if least < math.log10(LEAST_PURCHASE):
        raise CapacityOverflowError(f"{what} is below {LEAST_PURCHASE:g}, too little to compute with; give larger prices, or 0")
    for name, number in (("price", dearest), ("price", cheapest)):
        if abs(math.log10(number) - math.log10(roots)) > MOST_DECADES:
            raise CapacityOverflowError(
                f"a {name} of {number:g} and errors of {roots:g} are more than 10^{MOST_DECADES} apart: {far}"
            )
