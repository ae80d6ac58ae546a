"""Whether a budget is overrun on held-out examples, in words."""

from __future__ import annotations

import pytest

from prunemodels.evaluation.mean_bounds import MeanInterval
from prunemodels.evaluation.overrun import budget_verdict, is_overrun


def cost(mean: float, low: float, high: float) -> MeanInterval:
    return MeanInterval(mean, 1.0, low, high, 0.95, "t", 73)


@pytest.mark.parametrize(
    ("seen", "over", "text"),
    [
        # the interval lies above the budget: the population costs more
        (
            cost(169.9, 157, 183),
            True,
            "Over budget: the 73 held-out examples cost 169.9 (95 % interval 157 to 183), "
            "19.9 more than the 150 dollars allowed.",
        ),
        # the budget lies within it: these examples cost more, and chance alone may explain it
        (
            cost(155, 140, 170),
            True,
            "Over budget: the 73 held-out examples cost 155 (95 % interval 140 to 170), 5 more than the 150 dollars allowed. "
            "The budget lies within the interval, so chance alone may explain this.",
        ),
        (
            cost(149, 140, 158),
            False,
            "Within the budget of 150 dollars: the 73 held-out examples cost 149 (95 % interval 140 to 158); the population may "
            "cost more than that.",
        ),
        (
            cost(150, 150, 150),
            False,
            "Within the budget of 150 dollars: the 73 held-out examples cost 150 (95 % interval 150 to 150).",
        ),
    ],
)
def test_four_cases(seen: MeanInterval, over: bool, text: str) -> None:
    """Certainly over, over by chance perhaps, within but not certainly, and within."""
    assert is_overrun(150, seen) is over
    assert budget_verdict(150, seen, "dollars").replace("\u00a0", " ") == text
