"""Parametric maximum closure: the best set of nodes in a precedence graph, for every price of cost.

    minimise  base_error - sum_v gain_v y_v  +  lam * (base_cost + sum_v price_v y_v)
    y_u <= y_v for every arc (u requires v),  y_v in {0, 1}                                                                (1)

A pruning problem is a special case, in which splits require their parents and their purchases. Here a node may
require any others. The optimal closures shrink as lambda grows (`formulations.answers.nested_rows`).

In integers,

    error of a closure = base_error - gain_unit * sum of gain[v] over its nodes                                            (2)
    cost of a closure  = base_cost + price_unit * sum of price[v] over its nodes                                           (4)

A float stands for the shortest decimal that denotes it. If a unit is given, the float stands for the nearest whole multiple of
it. Integers have any length: nothing is rounded here, cuts round for themselves (`solvers.path.closure_path`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact, fraction
from formulations.instance.numbers import PRODUCT_BITS, Multiples, whole_multiples

NEAR = Fraction(1, 1000)
"""How far a float may be from a whole multiple of its unit, in that unit."""


@dataclass(frozen=True, eq=False)
class ClosureIntegers:
    """Gains and prices as integers with their units: int64 where their products fit a cut, else of any length, type object."""

    # gain, price: shape (n,): in `gain_unit` of error (2) and in `price_unit` of cost (3).
    gain: NDArray[Any]
    price: NDArray[Any]
    # gain_unit, price_unit: exact units.
    gain_unit: Fraction
    price_unit: Fraction
    # base_error, base_cost: error and cost of the empty closure, exactly.
    base_error: Fraction
    base_cost: Fraction

    @property
    def lam_unit(self) -> Fraction:
        """Lambda of one integer gain for one integer price."""
        return self.gain_unit / self.price_unit


@dataclass(frozen=True, eq=False)
class ParametricClosure:
    """An instance of (1).

    Parameters
    ----------
    gain
        float64, shape (n,): by how much the error falls if a node is taken; of any sign.
    price
        float64, shape (n,): >= 0.
    tail, head
        int32, shape (E,): ``tail[k]`` requires ``head[k]``; without cycles.
    base_error, base_cost
        of the empty closure; the cost is >= 0.
    gain_unit, price_unit
        units of which all gains and all prices are whole multiples, such as 1/N if they are counts divided by N examples. The
        floats then stand for these multiples exactly; without a unit, for decimals. So do the base error and base cost if they
        are multiples.

    Raises
    ------
    InvalidInputError
        for shapes that differ, numbers that are not finite, negative prices, arcs from or to nodes that do not exist, nodes that
        require themselves over any number of arcs, and gains or prices that are no multiples of their unit.
    """

    gain: NDArray[np.float64]
    price: NDArray[np.float64]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    base_error: float | Fraction = 0.0
    base_cost: float | Fraction = 0.0
    gain_unit: Fraction | None = None
    price_unit: Fraction | None = None

    def __post_init__(self) -> None:
        for name in ("gain", "price"):
            array = np.asarray(getattr(self, name), dtype=np.float64)
            if array.ndim != 1:
                raise InvalidInputError(f"{name} has the shape {array.shape}; give one number a node")
            object.__setattr__(self, name, array)
        if self.price.shape != self.gain.shape:
            raise InvalidInputError(f"{self.gain.size} gains for {self.price.size} prices; give one of each for every node")
        negative = np.flatnonzero(self.price < 0)
        if negative.size:
            v = negative[0]
            raise InvalidInputError(f"price of node {v} is {self.price[v]}, negative; give a number >= 0")
        for name in ("tail", "head"):
            object.__setattr__(self, name, _nodes(getattr(self, name), name, self.n))
        if self.tail.shape != self.head.shape:
            raise InvalidInputError(f"{self.tail.size} tails for {self.head.size} heads; give one of each for every arc")
        for name in ("gain_unit", "price_unit"):
            unit = getattr(self, name)
            if unit is not None and not (isinstance(unit, Fraction) and unit > 0):
                raise InvalidInputError(f"{name} is {unit!r}; give a Fraction > 0, or None")
        _ = self.order, self.integers

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.gain.size)

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """All nodes, each behind those that it requires."""
        return _requirements_first(self.n, self.tail, self.head)

    @cached_property
    def integers(self) -> ClosureIntegers:
        """The same instance in integers."""
        gains, prices = (_multiples(getattr(self, name), getattr(self, f"{name}_unit"), name) for name in ("gain", "price"))
        kind = np.int64 if gains.bits + prices.bits <= PRODUCT_BITS else object
        return ClosureIntegers(
            gain=gains.count.astype(kind),
            price=prices.count.astype(kind),
            gain_unit=gains.unit,
            price_unit=prices.unit,
            base_error=_read_base(self.base_error, self.gain_unit, "base_error", fraction),
            base_cost=_read_base(self.base_cost, self.price_unit, "base_cost", exact),
        )

    def __repr__(self) -> str:
        return f"ParametricClosure({self.n} nodes, {self.tail.size} arcs)"


def _nodes(given: object, name: str, n: int) -> NDArray[np.int32]:
    """Ends of arcs as int32, checked."""
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInputError(f"{name} is {array.dtype} of shape {array.shape}; give one node, a whole number, for each arc")
    bad = np.flatnonzero((array < 0) | (array >= n))
    if bad.size:
        raise InvalidInputError(f"{name} of arc {bad[0]} is node {array[bad[0]]}; the nodes are 0 to {n - 1}")
    return array.astype(np.int32)


def _requirements_first(n: int, tail: NDArray[np.int32], head: NDArray[np.int32]) -> NDArray[np.int32]:
    """An order in which every node comes behind those that it requires."""
    users: list[list[int]] = [[] for _ in range(n)]
    needs: list[list[int]] = [[] for _ in range(n)]
    for u, v in zip(tail.tolist(), head.tolist(), strict=True):
        users[v].append(u)
        needs[u].append(v)
    missing = [len(heads) for heads in needs]
    order = [v for v in range(n) if not missing[v]]
    for v in order:  # the loop appends to it
        for u in users[v]:
            missing[u] -= 1
            if not missing[u]:
                order.append(u)
    if len(order) < n:
        v = next(v for v in range(n) if missing[v])
        for _ in range(n):  # each node left requires another one that is left, so n steps lead onto a cycle
            v = next(w for w in needs[v] if missing[w])
        raise InvalidInputError(f"node {v} requires itself through a cycle of arcs; remove one of them")
    return np.array(order, dtype=np.int32)


def _multiples(numbers: NDArray[np.float64], unit: Fraction | None, name: str) -> Multiples:
    """What floats stand for, decimals or whole multiples of the unit, as multiples of the largest common one; of type object."""
    values = [fraction(x, f"{name} of node {v}") for v, x in enumerate(numbers.tolist())]
    if unit is None:
        counts, unit = whole_multiples(values)
        return Multiples(np.array(counts, dtype=object), unit)
    counts = []
    for v, value in enumerate(values):
        above, below = value.numerator * unit.denominator, value.denominator * unit.numerator  # of value / unit
        counts.append((2 * above + below) // (2 * below))
        if abs(above - counts[v] * below) > NEAR * below:
            raise InvalidInputError(
                f"{name} of node {v} is {float(value)!r}, no whole multiple of {name}_unit = {unit}; "
                f"give the unit that the numbers were counted in, or None"
            )
    common = math.gcd(*counts)
    return Multiples(np.array(counts, dtype=object) // (common or 1), unit * common or Fraction(1))


def _read_base(number: float | Fraction, unit: Fraction | None, name: str, read: Callable[[object, str], Fraction]) -> Fraction:
    """The exact error or cost of the empty closure; a multiple of the unit if a float is within `NEAR` of one."""
    value = read(number, name)
    if unit is None or isinstance(number, Fraction):
        return value
    count = round(value / unit)
    return count * unit if abs(value / unit - count) <= NEAR else value
