"""Rows of nested answers, the dearest first: their sums, and the row that a budget or a lambda asks for.

    j counts in row k   exactly where   k < rows_j                                                                       (1)

Costs fall with k and errors rise, or stay. `NestedPrunings` and `ClosurePath` both consist of such rows.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.limit import budget_limit
from formulations.instance.routing import Amount

if TYPE_CHECKING:
    import pandas as pd


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
