"""The numbers by which the search for prunings of a boosted ensemble is tuned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BoostedParams:
    """What a search tries, and how long it goes on."""

    # descents
    smallest_share: float = 1 / 64  # of the curvature: what a descent tries first
    share_growth: float = 4.0  # the factor by which the share grows after a failure, up to 1
    noticeable_fall: float = 1e-12  # a fall counts if it is at least this share of the objective: less is rounding

    # seeds
    most_steps: int = 300  # of an elimination, about: with more items, each step removes several, the best ones
    eliminated_prefixes: int = 8  # from how many prefixes of the rounds, all rounds among them, items are eliminated

    # lambdas
    lambda_range: float = 100.0  # largest over smallest positive lambda of the default grid
    grid_size: int = 12  # lambdas in the grid for one lambda or a budget
    swept_prefixes: int = 4  # how many prefixes of the rounds, all rounds among them, are swept
    passes: int = 3  # descents for each lambda from the pool's best, which other lambdas may improve; none where it is stationary

    # budgets
    bisections: int = 8  # of lambda, after the grid
    part_passes: int = 2  # of descents inside parts around the best pruning within the budget
    part_bisections: int = 4  # of lambda, in each part


DEFAULTS = BoostedParams()
