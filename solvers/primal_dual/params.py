"""The numbers that Algorithm 1 is tuned by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PrimalDualParams:
    """What one may set beside the step; (5) to (7) are those of `solvers.primal_dual.algorithm`.

    Parameters
    ----------
    polyak, constant, sqrt
        theta of (7) and c of (5) and (6) where no size is given, chosen on the MiniBooNE instance. One theta was good for all
        lambdas there; no c was.
    level_sets_every
        iterations after which the level sets of the averaged iterates are valued again.
    most_stalled
        iterations without a better bound before theta is halved.
    least_size_share
        theta never falls below this share of its first value, so that steps do not become too short to make progress.
    parts
        ranges of purchases, each for one thread. The number is fixed, so that sums do not depend on the machine.
    one_thread_arcs
        usage arcs up to which one thread is faster than two.
    price_tolerance
        mu_j counts as 0 if its absolute value is at most this share of the price.
    """

    polyak: float = 0.6
    constant: float = 0.05
    sqrt: float = 1.0
    level_sets_every: int = 10
    most_stalled: int = 20
    least_size_share: float = 1 / 64
    parts: int = 4
    one_thread_arcs: int = 100_000
    price_tolerance: float = 1e-9


DEFAULTS = PrimalDualParams()
"""What is not set otherwise."""
