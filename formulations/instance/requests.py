"""What asking takes, beside the prices of what comes: a fee for each request, and the time until the answer.

Each item comes from one supplier, or is at hand. In a round, a row sends one request to every supplier of an item that it buys
in this round. These requests run side by side, so with suppliers k, fees f_k and latencies d_k

    fee of a round      =  sum of f_k over the suppliers that are asked                                                   (1)
    latency of a round  =  the largest d_k of them                                                                       (2)

and what a row pays and waits is the sum over its rounds. Rows that share a request do not share its fee.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_HAND = -1
"""In place of a supplier: nobody has to be asked for the item."""


@dataclass(frozen=True)
class Requests:
    """K suppliers of M items.

    Parameters
    ----------
    names
        of the suppliers.
    fees, latencies
        of a request to each, >= 0.
    supplier
        for each item its supplier, or `AT_HAND`.
    """

    names: tuple[str, ...]
    fees: tuple[Fraction, ...]
    latencies: tuple[Fraction, ...]
    supplier: tuple[int, ...]

    def asked(self, bought: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which suppliers are asked for these items in one round, shape (..., K) for (..., M)."""
        return np.asarray(bought @ (np.array(self.supplier, dtype=np.int64)[:, None] == np.arange(len(self.names))))

    def fee(self, asked: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(1), shape (...,) for (..., K)."""
        return np.asarray(asked @ np.array([float(fee) for fee in self.fees]))

    def latency(self, asked: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(2), shape (...,) for (..., K)."""
        return np.asarray((asked * np.array([float(d) for d in self.latencies])).max(axis=-1, initial=0.0))

    def as_plain(self) -> list[list[Any]]:
        """Everything in lists, numbers and strings, for files."""
        numbers = ([str(x) for x in self.fees], [str(x) for x in self.latencies])
        return [list(self.names), *numbers, list(self.supplier)]

    @classmethod
    def from_plain(cls, told: list[list[Any]]) -> Requests:
        """What `as_plain` wrote."""
        names, fees, latencies, supplier = told
        return cls(tuple(map(str, names)), tuple(map(Fraction, fees)), tuple(map(Fraction, latencies)), tuple(map(int, supplier)))
