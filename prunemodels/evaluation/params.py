"""The numbers of this room: limits of work and memory of evaluations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EvaluationParams:
    """Limits of work and memory of evaluations."""

    search_work: float = 30.0
    """Limit of the work of all searches for a budget with confidence together, in seconds by formula."""
    steps: int = 10
    """Rows of the path whose costs differ by more than the budget divided by this have other prunings tested in between."""
    block_bytes: int = 2**27
    """Approximate memory of a block of examples; blocks are processed one at a time."""
    tradeoff_work: float = 10.0
    """Limit of the work of all searches of a trade-off together, in seconds by formula."""
    spent: float = 0.98
    """A breakpoint that spends this share of a budget is taken without a search between the breakpoints."""


PARAMS = EvaluationParams()
