"""Scaling of objectives for engines with absolute tolerances.

Solvers hold the dual feasibility of (1) of `formulations.programs.linear_program` to an absolute tolerance, mostly 1e-7, and our
costs are fractions of errors, often below that. So an engine is handed

    cost * 2^k      with k such that      2^13 <= max |cost_j| * 2^k < 2^14                                            (1)

A power of two changes exponents only, so that nothing is rounded. Duals, reduced costs and bounds are multiplied by 2^-k. That is
exact as long as no number leaves the normal range of a float, that is, for costs whose ratios are below 2^1000.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST = 14
"""The largest |cost| is below 2^LARGEST, and at least half of it."""


def exponent_of(cost: NDArray[np.float64]) -> int:
    """The k of (1); 0 where all costs are 0."""
    largest = float(np.abs(cost).max(initial=0.0))
    return 0 if largest == 0.0 else LARGEST - int(np.frexp(largest)[1])


def scaled(cost: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Cost * 2^k."""
    return np.ldexp(cost, k)


def unscaled(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Values in units of the scaled cost (duals, reduced costs, objective values) * 2^-k."""
    return np.ldexp(values, -k)
