"""The difference of two models on the same examples, and the sentence that says what it means."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.instance.tree_loss import TreeLoss
from prunemodels.evaluation.held_out_change import HeldOutChange, Paid, change_of


def change(n: int, *, broken: int, mended: int) -> HeldOutChange:
    """Of n examples, two are predicted wrongly by both; `broken` go from right to wrong, `mended` from wrong to right."""
    before, after = np.zeros(n), np.zeros(n)
    before[:2] = after[:2] = 1
    after[2 : 2 + broken] = 1
    before[n - mended :] = 1
    cost = Paid(np.full(n, 3.0), 0.0, 3.0), Paid(np.full(n, 2.0), 0.0, 3.0)
    return change_of(cost, (before, after), np.ones(n), 0.95, loss=TreeLoss("zero_one"))


@pytest.mark.parametrize(
    ("n", "broken", "mended", "sentence"),
    [
        # the mean of the differences is 5/73, its standard error sqrt((11/73 - (5/73)^2) / 72) = 0.045, and t_72 = 1.993
        (73, 8, 3, "The error may have risen by up to 16 points; 73 examples are too few to say."),
        (73, 3, 8, "The error may have fallen by up to 16 points or risen by up to 2.1 points; 73 examples are too few to say."),
        # 40 of 100: 0.40 +- 1.984 * sqrt(0.24 / 99)
        (100, 40, 0, "The error rose, by 30 to 50 points."),
        (100, 0, 40, "The error fell, by 30 to 50 points."),
        (100, 0, 0, "No example is predicted worse or better."),
        # (30 - 20) / 20,000 = 0.05 points, with a standard error of sqrt(50) / 20,000 = 0.035 points
        (20_000, 30, 20, "The error changed by at most 0.12 points, on 20,000 examples."),
    ],
)
def test_the_sentence_says_by_how_much_the_error_may_have_risen(n: int, broken: int, mended: int, sentence: str) -> None:
    """An interval that includes 0 does not say that nothing changed."""
    assert change(n, broken=broken, mended=mended).verdict.replace("\xa0", " ") == sentence


def test_a_regression_speaks_in_its_own_units() -> None:
    """Squared errors 1 before, and 1 or 5 after: the mean rises by 2, with a standard error of 2 / sqrt(39)."""
    after = np.where(np.arange(40) % 2 == 0, 1.0, 5.0)
    cost = Paid(np.ones(40), 0.0), Paid(np.ones(40), 0.0)
    seen = change_of(cost, (np.ones(40), after), np.ones(40), 0.95, loss=TreeLoss("squared_error"))
    assert seen.task == "regression"
    assert seen.verdict == "The error rose, by 1.352 to 2.648."
