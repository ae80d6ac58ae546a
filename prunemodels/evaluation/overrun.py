"""Whether a budget is overrun on held-out examples: a budget holds exactly on the cost sample, and only there.

Of c, the mean cost on the held-out examples, and [l, u], its interval:

    c <= budget           no overrun was seen; where u > budget, one is possible
    c >  budget >= l      these examples cost more, and chance alone may explain it
    c >= l > budget       the population costs more than the budget, with the confidence of the interval
"""

from __future__ import annotations

from fractions import Fraction

from prunemodels.evaluation.mean_bounds import MeanInterval
from prunemodels.evaluation.wording import amount


def is_overrun(budget: float | Fraction, cost: MeanInterval) -> bool:
    """Whether the held-out examples cost more than the budget on average."""
    return cost.mean > budget


def budget_verdict(budget: float | Fraction, cost: MeanInterval, unit: str = "") -> str:
    """What the held-out examples say about a budget, in one or two sentences."""
    limit = f"{amount(float(budget))}{f' {unit}' if unit else ''}"
    interval = f"{100 * cost.confidence:g}\u00a0% interval {amount(cost.low)} to {amount(cost.high)}"
    seen = f"the {cost.n:,} held-out examples cost {amount(cost.mean)} ({interval})"
    if not is_overrun(budget, cost):
        possible = "" if cost.high <= budget else "; the population may cost more than that"
        return f"Within the budget of {limit}: {seen}{possible}."
    over = f"Over budget: {seen}, {cost.mean - float(budget):.3g} more than the {limit} allowed."
    return over if cost.low > budget else f"{over} The budget lies within the interval, so chance alone may explain this."
