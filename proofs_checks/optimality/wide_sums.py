"""Sums of 64-bit integers that may not fit 64 bits.

    x  =  2^32 high(x) + low(x),    0 <= low(x) < 2^32                                                                     (1)

and the two parts are added up apart, which is exact for up to 2^31 terms, whatever they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 32
_LOW = np.int64(2**_BITS - 1)
_SAFE = 2.0**62


def wide_sum(amounts: NDArray[np.int64]) -> int:
    """The sum, by (1)."""
    return (int((amounts >> _BITS).sum()) << _BITS) + int((amounts & _LOW).sum())


def summable(amounts: NDArray[Any]) -> NDArray[Any]:
    """The same integers, as Python's where a sum of some of them may not fit 64 bits."""
    fits = float(np.abs(amounts.astype(np.float64)).sum()) < _SAFE
    return amounts.astype(np.int64 if fits else object)


class WideSums:
    """A table of sums, by (1)."""

    def __init__(self, size: int) -> None:
        self._high = np.zeros(size, dtype=np.int64)
        self._low = np.zeros(size, dtype=np.int64)

    def add(self, places: NDArray[np.integer[Any]], amounts: NDArray[np.int64]) -> None:
        """Add an amount at each of some places; no place twice in one call."""
        self._high[places] += amounts >> _BITS
        self._low[places] += amounts & _LOW

    def of(self, places: slice) -> NDArray[np.object_]:
        """The sums at some places, as Python's integers."""
        sums: NDArray[np.object_] = self._high[places].astype(object) * 2**_BITS + self._low[places].astype(object)
        return sums
