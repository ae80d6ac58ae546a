"""Parametric maximum closure: the best set of nodes in a precedence graph, for every price of cost.

    minimise  base_error - sum_v gain_v y_v  +  lam * (base_cost + sum_v price_v y_v)
    y_u <= y_v for every arc (u requires v),  y_v in {0, 1}                                                                (1)

A pruning problem is a special case, in which splits require their parents and their purchases. Here a node may
require any others. The optimal closures shrink as lambda grows, so one number for each node describes them all:

    v is in the closure exactly for lambda < breakpoint of level_v                                                         (2)

Where several closures are optimal, (2) describes the smallest. A node's level is at most the level of each node that it requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_rows import breakpoints_up_to, first_row_within, row_sums
from formulations.errors import InvalidInputError
from formulations.instance.closure_integers import ClosureIntegers, closure_integers, read_base, read_numbers

if TYPE_CHECKING:
    import pandas as pd


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
            object.__setattr__(self, name, _numbers(getattr(self, name), name))
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
        """The same instance in integers, for exact arithmetic."""
        return closure_integers(
            read_numbers(self.gain, self.gain_unit, "gain"),
            read_numbers(self.price, self.price_unit, "price"),
            read_base(self.base_error, self.gain_unit, "base_error", signed=True),
            read_base(self.base_cost, self.price_unit, "base_cost", signed=False),
        )

    def __repr__(self) -> str:
        return f"ParametricClosure({self.n} nodes, {self.tail.size} arcs)"


@dataclass(frozen=True, eq=False)
class ClosureCertificate:
    """A flow on the arcs that proves a path optimal for every lambda >= 0 at once.

    If `tail[k]` and `head[k]` have the same level, ``flow[k] / denominator[level]`` integer gains go from the tail, which
    requires, to the head, which is required. Other arcs have no flow. Then every node of a level between 0 and the last one is
    worth exactly 0 at its breakpoint. `denominator` has one number for each level, ``len(breakpoints) + 1`` in all.
    """

    flow: NDArray[np.int64]
    denominator: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClosurePath:
    """The optimal closures for all lambda >= 0, the largest first: row k is optimal on [lam[k], lam[k + 1]].

    Parameters
    ----------
    level
        int32, shape (n,): see (2). 0: never in the closure; ``len(breakpoints)``: in the closure for every lambda.
    breakpoints
        ascending, in the units of (1); the first is 0.
    certificate
        proof of optimality for all lambda.
    """

    problem: ParametricClosure
    level: NDArray[np.int32]
    breakpoints: tuple[Fraction, ...]
    certificate: ClosureCertificate | None = None
    stats: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.breakpoints)

    @cached_property
    def lam(self) -> NDArray[np.float64]:
        """Lambda from which on each row is optimal."""
        return np.array([float(b) for b in self.breakpoints])

    def kept(self, k: int) -> NDArray[np.bool_]:
        """bool, shape (n,): the closure of row k (negative k count from the end)."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"row {k} of a path with {len(self)} rows")
        return np.asarray(self.level > k % len(self))

    def _sums(self, amounts: NDArray[Any]) -> NDArray[Any]:
        return row_sums(len(self), self.level, amounts)

    @cached_property
    def exact_cost(self) -> tuple[Fraction, ...]:
        """Cost of each row, falling; exact up to ``problem.integers.cost_rounding``."""
        ints = self.problem.integers
        return tuple(ints.base_cost + int(c) * ints.price_unit for c in self._sums(ints.price))

    @cached_property
    def exact_error(self) -> tuple[Fraction, ...]:
        """Error of each row, rising; exact up to ``problem.integers.error_rounding``."""
        ints = self.problem.integers
        return tuple(ints.base_error - int(g) * ints.gain_unit for g in self._sums(ints.gain))

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Cost of each row, at the prices before rounding."""
        if self.problem.integers.cost_rounding == 0:
            return np.array([float(c) for c in self.exact_cost])
        return float(self.problem.base_cost) + self._sums(self.problem.price)

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """Error of each row, by the gains before rounding."""
        if self.problem.integers.error_rounding == 0:
            return np.array([float(e) for e in self.exact_error])
        return float(self.problem.base_error) - self._sums(self.problem.gain)

    @cached_property
    def n_kept(self) -> NDArray[np.int64]:
        """Nodes in the closure of each row."""
        counts: NDArray[np.int64] = self._sums(np.ones(self.level.size, dtype=np.int64))
        return counts

    def row_at_lam(self, lam: float | Fraction) -> int:
        """The row of the smallest optimum at lambda >= 0: a fraction is compared exactly, a float with rounded breakpoints."""
        return breakpoints_up_to(lam, self.breakpoints, inclusive=True) - 1

    def row_at_cost(self, budget: float | Fraction) -> int:
        """The row of least error with cost <= budget; compared as exact fractions where nothing was rounded.

        Raises
        ------
        InvalidInputError
            if the budget is negative or NaN, or below every row's cost.
        """
        rounded = self.problem.integers.cost_rounding > 0
        return first_row_within(budget, self.cost, lambda: self.exact_cost, rounded=rounded, answer="closure")

    def to_frame(self) -> pd.DataFrame:
        """One row a closure: its lambda, cost, error, number of nodes."""
        import pandas as pd

        return pd.DataFrame({"lambda": self.lam, "cost": self.cost, "error": self.error, "nodes": self.n_kept})

    def __repr__(self) -> str:
        return (
            f"ClosurePath({len(self)} breakpoints, cost {self.cost[-1]:.4g} to {self.cost[0]:.4g}, "
            f"error {self.error[0]:.4g} to {self.error[-1]:.4g})"
        )


def _numbers(given: object, name: str) -> NDArray[np.float64]:
    """A float64 array of one dimension; `read_numbers` checks that the numbers are finite."""
    array = np.asarray(given, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInputError(f"{name} has the shape {array.shape}; give one number a node")
    return array


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
    """An order in which every node comes behind those that it requires.

    Raises
    ------
    InvalidInputError
        if there is none, naming a node on a cycle.
    """
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
