"""Rows of nested answers, the dearest first: their sums, and the row that a budget or a lambda asks for.

    j counts in row k   exactly where   k < rows_j                                                                       (1)

Costs fall with k and errors rise, or stay. `NestedPrunings` and `ClosurePath` both consist of such rows.

The optimal closures of a parametric maximum closure (`formulations.instance.parametric_closure`) for every price of cost shrink
as lambda grows, so one number for each node describes them all:

    v is in the closure exactly for lambda < breakpoint of level_v                                                         (2)

Where several closures are optimal, (2) describes the smallest. A node's level is at most the level of each node that it requires.

The rows of a path are the corners of a hull. Where the breakpoints of the pieces between them do not ascend, a corner lies inside
of it, and the two edges that meet there are one: such neighbours are pooled, as in isotonic regression.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.limit import budget_limit
from formulations.instance.parametric_closure import ParametricClosure
from formulations.instance.routing import Amount
from formulations.shown import Brief

if TYPE_CHECKING:
    import pandas as pd

Piece = TypeVar("Piece")


class NestedRows:
    """Cost and error of each row, from exact gains and prices.

    Attributes
    ----------
    units
        of an integer gain and of an integer price.
    parameter, parameter_name
        float64, shape (rows,): the number that each row belongs to, and what it is.
    of_nothing
        error and cost of the answer that keeps nothing.
    integer_gain, integer_cost
        by how much each row's error is below that, and its cost above, in these units.
    answer
        what a row is, for messages.
    """

    units: Any
    parameter: Any
    parameter_name: str
    of_nothing: Any
    integer_gain: Any
    integer_cost: Any
    answer = "pruning"

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.parameter)

    @checked
    def place(self, k: int) -> int:
        """The number of row k; negative k count from the end."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"row {k} of a path with {len(self)} rows")
        return k % len(self)

    @cached_property
    def exact_cost(self) -> tuple[Fraction, ...]:
        """Cost of each row as a fraction, falling."""
        unit = self.units[1]
        return tuple(self.of_nothing[1] + c * unit for c in self.integer_cost)

    @cached_property
    def exact_error(self) -> tuple[Fraction, ...]:
        """Error of each row as a fraction."""
        unit = self.units[0]
        return tuple(self.of_nothing[0] - g * unit for g in self.integer_gain)

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Cost of each row: the exact one, rounded once."""
        return np.array([float(c) for c in self.exact_cost])

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """Error of each row: the exact one, rounded once."""
        return np.array([float(e) for e in self.exact_error])

    def row_at_cost(self, budget: float) -> int:
        """The first row whose cost is within the budget, compared exactly; see `formulations.instance.limit`.

        Raises
        ------
        InvalidInputError
            if the budget is negative or NaN, or below every row's cost.
        """
        limit = budget_limit(budget)
        first = next((k for k, cost in enumerate(self.exact_cost) if cost <= limit), None)
        if first is None:  # the last row is the cheapest
            raise InvalidInputError(
                f"budget is {budget}, the cheapest {self.answer} costs {float(self.cost[-1]):g}; give at least that"
            )
        return first

    def to_frame(self) -> pd.DataFrame:
        """One row for each answer: its parameter, cost, error."""
        import pandas as pd

        return pd.DataFrame({self.parameter_name: self.parameter, "cost": self.cost, "error": self.error})

    @property
    def ends(self) -> str:
        """The range of costs and errors, for a `repr`."""
        cost, error = self.cost, self.error
        return f"cost {cost[-1]:.4g} to {cost[0]:.4g}, error {error[0]:.4g} to {error[-1]:.4g}"


def row_sums(n_rows: int, rows: NDArray[np.int32], amounts: NDArray[Amount]) -> NDArray[Amount]:
    """Sum over all j that count in row k, by (1), of amounts[j], for every row k."""
    ending: NDArray[Amount] = np.zeros(n_rows + 1, dtype=amounts.dtype)
    np.add.at(ending, rows, amounts)
    tail: NDArray[Amount] = np.cumsum(ending[::-1])[::-1]
    return tail[1:]


def breakpoints_up_to(lam: float | Fraction, breakpoints: Sequence[Fraction], *, inclusive: bool) -> int:
    """How many of the ascending breakpoints are <= lambda (inclusive) or < lambda.

    A fraction is compared exactly, a float with the breakpoints rounded to floats.
    """
    table: Sequence[Fraction] | Sequence[float] = breakpoints
    if not isinstance(lam, Fraction):
        if lam != math.inf:
            exact(lam, "lam")
        table = [float(b) for b in breakpoints]
    elif lam < 0:
        raise InvalidInputError(f"lam is {lam}, negative; give a number >= 0")
    return (bisect.bisect_right if inclusive else bisect.bisect_left)(table, lam)


def pooled(
    pieces: Iterable[Piece], out_of_order: Callable[[Piece, Piece], bool], join: Callable[[Piece, Piece], Piece]
) -> tuple[list[Piece], list[int]]:
    """Join neighbours until none are out of order; and how many of the given pieces each one consists of.

    `out_of_order`, `join`: called with a piece and the one that follows it.
    """
    found: list[Piece] = []
    counts: list[int] = []
    for piece in pieces:
        joined, count = piece, 1
        while found and out_of_order(found[-1], joined):
            joined, count = join(found.pop(), joined), count + counts.pop()
        found.append(joined)
        counts.append(count)
    return found, counts


@dataclass(frozen=True, eq=False, repr=False)
class ClosureCertificate(Brief):
    """A flow on the arcs that proves a path optimal for every lambda >= 0 at once, up to its gap.

    If `tail[k]` and `head[k]` have the same level, an error of ``flow[k] * unit[level]`` goes from the tail, which requires, to
    the head, which is required. Other arcs have no flow. Then every node of a level between 0 and the last one is worth 0 at its
    breakpoint, up to its part of the gap. `unit` has one number for each level, ``len(breakpoints) + 1`` in all.
    """

    flow: NDArray[np.int64]
    unit: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class ClosurePath(NestedRows):
    """The optimal closures for all lambda >= 0, the largest first: row k is optimal on [lam[k], lam[k + 1]].

    Parameters
    ----------
    level
        int32, shape (n,): see (2). 0: never in the closure; ``len(breakpoints)``: in the closure for every lambda.
    breakpoints
        ascending, error per unit of cost; the first is 0.
    certificate
        proof of optimality for all lambda.
    gap
        by how much a row can miss the optimum, at any lambda: what the cuts rounded away; 0 where numbers fit 61 bits.
        Where it is above 0, the smallest optimum is that up to the gap, too.
    """

    problem: ParametricClosure
    level: NDArray[np.int32]
    breakpoints: tuple[Fraction, ...]
    certificate: ClosureCertificate | None = None
    stats: Mapping[str, float] = field(default_factory=dict)
    gap: float = 0.0

    parameter_name, answer = "lambda", "closure"

    @cached_property
    def lam(self) -> NDArray[np.float64]:
        """Lambda from which on each row is optimal."""
        return np.array([float(b) for b in self.breakpoints])

    @property
    def parameter(self) -> NDArray[np.float64]:
        """The number that each row belongs to: `lam`."""
        return self.lam

    def kept(self, k: int) -> NDArray[np.bool_]:
        """bool, shape (n,): the closure of row k (negative k count from the end)."""
        return np.asarray(self.level > self.place(k))

    @property
    def of_nothing(self) -> tuple[Fraction, Fraction]:
        """Error and cost of the empty closure."""
        return self.problem.integers.base_error, self.problem.integers.base_cost

    @cached_property
    def integer_cost(self) -> tuple[int, ...]:
        """Cost of each row beyond that of the empty closure, in units of ``problem.integers.price_unit``."""
        return tuple(row_sums(len(self), self.level, self.problem.integers.price).tolist())

    @cached_property
    def integer_gain(self) -> tuple[int, ...]:
        """By how much the error of each row is below that of the empty closure, in ``problem.integers.gain_unit``."""
        return tuple(row_sums(len(self), self.level, self.problem.integers.gain).tolist())

    @property
    def units(self) -> tuple[Fraction, Fraction]:
        """Of an integer gain and an integer price."""
        return self.problem.integers.gain_unit, self.problem.integers.price_unit

    @cached_property
    def n_kept(self) -> NDArray[np.int64]:
        """Nodes in the closure of each row."""
        return row_sums(len(self), self.level, np.ones(self.level.size, dtype=np.int64))

    def to_frame(self) -> pd.DataFrame:
        """One row a closure: its lambda, cost, error, number of nodes."""
        return super().to_frame().assign(nodes=self.n_kept)

    def row_at_lam(self, lam: float | Fraction) -> int:
        """The row of the smallest optimum at lambda >= 0: a fraction is compared exactly, a float with rounded breakpoints."""
        return breakpoints_up_to(lam, self.breakpoints, inclusive=True) - 1

    def __repr__(self) -> str:
        return f"ClosurePath({len(self)} breakpoints, {self.ends})"
