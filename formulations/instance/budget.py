"""What a budget allows: the one place that reads it.

An int, a fraction or a decimal is meant as it is. A float stands for every number that rounds to it, so a budget that was printed
or stored as a float allows the pruning whose cost it is:

    cost <= B        where B is exact                      float(cost) <= B        where B is a float                       (1)

13/3 as a float lies below 13/3, and yet a cost of 13/3 is within it. Engines compare integers, so they take a fraction for B:

    the largest multiple of a unit that rounds to B, or the decimal that B denotes, if there is none                        (2)

If all costs are multiples of the unit, (2) allows the same prunings as (1).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import SupportsFloat, cast

from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem

FINE = Fraction(1, 2**64)
"""Unit of (2) where that of the costs is not known, as a share of the distance of two floats."""


def budget_limit(budget: object, name: str = "budget", *, unit: Fraction | None = None) -> Fraction:
    """(2).

    Parameters
    ----------
    name
        of the budget, for the error.
    unit
        of the costs; None: not known.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number.
    """
    limit = exact(budget, name)
    if isinstance(budget, Rational | Decimal):
        return limit
    number = float(cast("SupportsFloat", budget))
    next_number = math.nextafter(number, math.inf)
    if number == 0 or math.isinf(next_number):
        return limit
    step = Fraction(next_number) - Fraction(number)
    unit = unit or step * FINE
    most = (Fraction(number) + step / 2) // unit * unit
    if float(most) > number:  # half-way between two floats: the even one is the nearest
        most -= unit
    return most if float(most) == number else limit


def limit_of_mean_cost(problem: PruningProblem, budget: object, name: str = "budget") -> Fraction:
    """(2) for the mean cost of an example, in the unit of the prices.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number.
    """
    integers = problem.integers
    return budget_limit(budget, name, unit=None if integers.cost_rounding else integers.price_unit)
