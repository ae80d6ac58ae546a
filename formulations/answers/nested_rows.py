"""Rows of nested answers, the dearest first: their sums, and the row that a budget, an error or a lambda asks for.

    j counts in row k   exactly where   k < rows_j                                                                       (1)

Costs fall with k and errors rise, or stay. `NestedPrunings` and `ClosurePath` both consist of such rows.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.budget import budget_limit
from formulations.instance.cost_items import exact
from formulations.instance.routing import Amount


def row_sums(n_rows: int, rows: NDArray[np.int32], amounts: NDArray[Amount]) -> NDArray[Amount]:
    """Sum over all j that count in row k, by (1), of amounts[j], for every row k."""
    ending: NDArray[Amount] = np.zeros(n_rows + 1, dtype=amounts.dtype)
    np.add.at(ending, rows, amounts)
    tail: NDArray[Amount] = np.cumsum(ending[::-1])[::-1]
    return tail[1:]


def first_row_within(
    budget: object, cost: NDArray[np.float64], exact_cost: Callable[[], Sequence[Fraction]], *, rounded: bool, answer: str
) -> int:
    """The first row whose cost is within the budget, see `formulations.instance.budget`; exactly where nothing was rounded.

    Parameters
    ----------
    answer
        what a row is, for the message.

    Raises
    ------
    InvalidInputError
        if the budget is negative or NaN, or below every row's cost.
    """
    limit = budget_limit(budget)
    costs: Sequence[Fraction] | NDArray[np.float64] = cost if rounded else exact_cost()
    first = next((k for k in range(len(cost)) if costs[k] <= (float(limit) if rounded else limit)), None)
    if first is None:  # the last row is the cheapest
        raise InvalidInputError(f"budget is {budget}, the cheapest {answer} costs {float(cost[-1]):g}; give at least that")
    return first


def last_row_within(max_error: float, error: NDArray[np.float64], *, answer: str) -> int:
    """The cheapest row whose error is at most `max_error`.

    Raises
    ------
    InvalidInputError
        if no row has so small an error, or the number is NaN.
    """
    good = np.flatnonzero(error <= max_error)
    if not good.size:
        raise InvalidInputError(
            f"max_error is {max_error}, the least error of any {answer} is {error.min():g}; give at least that"
        )
    return int(good[-1])


def breakpoints_up_to(lam: float | Fraction, breakpoints: Sequence[Fraction], *, inclusive: bool) -> int:
    """How many of the ascending breakpoints are <= lambda (inclusive) or < lambda.

    A fraction is compared exactly, a float with the breakpoints rounded to floats.

    Raises
    ------
    InvalidInputError
        if lambda is negative or NaN.
    """
    table: Sequence[Fraction] | Sequence[float] = breakpoints
    if not isinstance(lam, Fraction):
        if lam != math.inf:
            exact(lam, "lam")
        table = [float(b) for b in breakpoints]
    elif lam < 0:
        raise InvalidInputError(f"lam is {lam}, negative; give a number >= 0")
    return (bisect.bisect_right if inclusive else bisect.bisect_left)(table, lam)
