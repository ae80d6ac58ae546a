"""Arrays of real numbers or names: what NumPy would turn into numbers without a word is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError

REFUSED = {
    "c": ("complex numbers", "give real ones"),
    "M": ("dates", "give numbers, such as days since a first date"),
    "m": ("time differences", "give numbers, such as seconds"),
    "V": ("records", "give one number in each place"),
}
"""By the letter that NumPy has for a kind of array: what it holds, and the remedy."""


def real_array(values: Any, name: str) -> NDArray[Any]:
    """The values as an array, of any type that is not refused.

    A conversion to floats would drop the mask of a masked array and the imaginary part of a complex number, and count the
    microseconds of a date.

    Raises
    ------
    InvalidInputError
        for masked arrays, complex numbers, dates, time differences and records, also in a single column of a table.
    """
    refuse_unreal(values, name)
    array = np.asarray(values)
    _check(array.dtype, name)
    return array


def refuse_unreal(values: Any, name: str) -> None:
    """`real_array`'s refusals of an array, or of a table whose columns have types, without a conversion."""
    if np.ma.isMaskedArray(values):
        raise InvalidInputError(f"{name} is a masked array; give numbers, with NaN for values that are missing")
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        for column, dtype in zip(values.columns, values.dtypes, strict=True):
            _check(dtype, f"the column {column!r} of {name}")
    else:
        _check(getattr(values, "dtype", None), name)


def _check(dtype: Any, name: str) -> None:
    """Refuse a type of numbers that are not real."""
    held, remedy = REFUSED.get(getattr(dtype, "kind", ""), ("", ""))
    if held:
        raise InvalidInputError(f"{name} holds {held} ({dtype}); {remedy}")
