"""The step by which a kept split's score rises in a round of price sharing."""

from __future__ import annotations


def step_size(k: int) -> float:
    """gamma_k = 15 / (k + 5), the step of round k = 1, 2, ...; see (2) of `solvers.price_sharing.solve`."""
    return 15.0 / (k + 5)
