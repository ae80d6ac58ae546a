"""A flow on a closure network: what gains are spent on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import ClosureProblem

UNLIMITED = np.int64(2**62)
"""More than any split has."""


@dataclass(frozen=True, eq=False)
class Flow:
    """Where profits go.

    Parameters
    ----------
    usage_flow
        int64, shape of the usage arcs: what a split pays for a purchase.
    parent_flow
        int64, shape of the splits: what a split hands to its parent.
    """

    usage_flow: NDArray[np.int64]
    parent_flow: NDArray[np.int64]

    @staticmethod
    def nothing(problem: ClosureProblem) -> Flow:
        """Nothing is paid yet."""
        return Flow(np.zeros(problem.tail.size, dtype=np.int64), np.zeros(problem.profit.size, dtype=np.int64))

    def scaled(self, of_arcs: NDArray[np.float64], of_splits: NDArray[np.float64]) -> Flow:
        """Times factors, rounded down, at most `UNLIMITED`; a split may then spend a little more than it has."""
        return Flow(_times(self.usage_flow, of_arcs), _times(self.parent_flow, of_splits))


def _times(flow: NDArray[np.int64], factor: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.minimum(flow * factor, float(UNLIMITED)), dtype=np.int64)
