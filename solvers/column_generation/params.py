"""The numbers that the Dantzig-Wolfe decomposition is tuned by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnParams:
    """What one may set beside the `Scheme`. (2) and (3) are (5) and (6) of `solvers.column_generation.bundle`."""

    # the first eta: a split that a tree keeps fully gets exp(5) times the weight of one that it does not keep
    first_eta: float = 5.0
    # growth, shrinkage: what eta is multiplied by: after a serious step, and after a null step if (3) was not solved or the loss
    # exceeds the promise
    growth: float = 1.5
    shrinkage: float = 0.5
    serious: float = 0.1  # a step is serious if the bound rises by this part of what the model promised
    inner_gap: float = 0.1  # (3) is solved until it can fall by at most this part of what the model promises
    # while the centre has no bound, (3) is solved until it can fall by at most this part of the mixture's cost
    first_gap: float = 1e-3
    inner_steps: int = 60  # the most evaluations of (3) in one solve
    largest_step: float = 1e100  # gamma of (7) grows to this at most; products with it do not overflow
    rounding: float = 1e-14  # relative rounding error of F. Near the optimum a step may change (3) by less.
    new_weight: float = 0.1  # the first weight of a new column in its tree's mixture
    # most_idle, most_refined: so many steps without a new column end the run: of those in which the best bound does not rise, and
    # of any kind
    most_idle: int = 100
    most_refined: int = 1000
    repeat_tolerances: float = 1000.0  # if a column that the master has prices out by more tolerances than that, a sign is wrong
    # boundaries of one call of OR-Tools, at least those of one tree: the larger the network, the coarser the grid of real costs
    batch: int = 512
    exactness: float = 1e-13  # smaller differences, relative to the all-roots forest's value, are rounding
    # columns with a larger negative reduced cost enter a user's master, as a share of the all-roots forest's value
    own_tolerance: float = 1e-8
    proven: float = 1e-6  # a solution counts as optimal up to this relative gap, or up to the requested gap if that is larger


DEFAULTS = ColumnParams()
"""What is not set otherwise."""
