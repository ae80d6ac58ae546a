"""Numbers as the checks read them: integers, fractions, and floats as they are written.

A float counts as the shortest decimal that denotes it, so 0.1 is 1/10. Whole numbers are kept as `int`, ten times faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import fraction
from proofs_checks.matrices.violation import Number

ExactArray = NDArray[np.object_]
"""An array of integers and fractions; bounds may be -inf and inf as well."""


def exact_number(value: Any, what: str) -> Number:
    """The integer or fraction that a number stands for; `what` appears in the error."""
    return simple(fraction(value, what))


def simple(number: Number) -> Number:
    """An int where the number is whole."""
    return int(number) if number.denominator == 1 else number


def exact_array(values: Any, what: str, *, infinite: bool = False) -> ExactArray:
    """Numbers of any kind as integers and fractions, in their shape.

    Parameters
    ----------
    infinite
        whether -inf and inf are taken: as bounds they say that there is none.
    """
    given = values if isinstance(values, np.ndarray) else _as_array(values)
    if given.dtype.kind in "biu":
        integers: ExactArray = given.astype(np.int64 if given.dtype.kind == "b" else given.dtype).astype(object)
        return integers
    flat = given.ravel()
    if given.dtype.kind == "f":  # few distinct numbers, as a rule
        distinct, first, place = np.unique(flat, return_index=True, return_inverse=True)
    else:
        distinct, first, place = flat, np.arange(flat.size), np.arange(flat.size)
    table = np.empty(len(distinct), dtype=object)
    for k, value in enumerate(distinct.tolist()):
        if infinite and isinstance(value, float) and math.isinf(value):
            table[k] = value
        else:
            table[k] = exact_number(value, f"{what}[{first[k]}]" if given.ndim else what)
    return table[place].reshape(given.shape)


def _as_array(values: Any) -> NDArray[Any]:
    """An array that keeps integers beyond 64 bits, fractions and decimals as they are."""
    array = np.asarray(values)
    return array if array.dtype.kind in "biufO" else np.asarray(values, dtype=object)


def common_denominator(numbers: Iterable[Number]) -> int:
    """The least integer that makes all of them whole."""
    return math.lcm(*(x.denominator for x in numbers))


def snapped(values: NDArray[np.float64], largest_denominator: int) -> ExactArray:
    """The fractions with small denominators next to floats: what a solver's point probably means, to be verified exactly."""
    distinct, place = np.unique(np.round(values, 12), return_inverse=True)
    table = np.empty(len(distinct), dtype=object)
    for k, value in enumerate(distinct.tolist()):
        table[k] = simple(Fraction(value).limit_denominator(largest_denominator))
    found: ExactArray = table[place]
    return found
