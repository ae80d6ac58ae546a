"""The trade-off in two currencies: each pair is what `solve` gives, errors fall with the budget, and the picture shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from prunemodels.evaluation.two_currencies import LimitsTradeoff, limits_tradeoff
from tests.solvers.budgets.limits.cases import two_wards

AT = [Limit(0.5, "minutes"), Limit(3, "minutes")]


@pytest.fixture(scope="module")
def found() -> LimitsTradeoff:
    """Two wards at half a minute and at three, for budgets of 0, 1, 3 and 4."""
    return limits_tradeoff(two_wards(), [4, 3, 1, 0], AT, method="best")


def test_two_wards_by_hand(found: LimitsTradeoff) -> None:
    """The scan costs 3 on average and half a minute, the blood 1 and two and a half. Either lowers the error by 0.3."""
    assert found.budgets == (0, 1, 3, 4)
    errors = [[s.error for s in line] for line in found.solutions]
    assert errors[0] == pytest.approx([0.8, 0.8, 0.5, 0.5])
    assert errors[1] == pytest.approx([0.8, 0.5, 0.5, 0.2])
    table = found.to_frame()
    assert table["use"].tolist() == [float(s.uses[1]) for line in found.solutions for s in line]
    assert (table["use"] <= table["at_most"]).all()
    assert (table["cost"] <= table["budget"]).all()
    assert "minutes 0.5" in repr(found)


def test_errors_fall_and_the_answers_are_whole() -> None:
    """What is carried to a larger budget brings its own uses: every answer is within its limits."""
    from prunemodels.example import problem

    at = [Limit(b, "splits") for b in (8, 30)]
    seen = limits_tradeoff(problem, 6, at)
    for limit, line in zip(at, seen.solutions, strict=True):
        errors = [s.error for s in line]
        assert errors == sorted(errors, reverse=True)
        for budget, solution in zip(seen.budgets, line, strict=True):
            rows = limit_rows(problem, [Limit(budget), limit])
            assert rows.within(solution.pruning)
            assert solution.uses == rows.uses(solution.pruning)
            assert solution.error == pytest.approx(solution.pruning.error)
    assert seen.budgets[-1] == pytest.approx(pm.Pruning.unpruned(problem).cost)


def test_the_picture_has_a_line_for_each_limit(found: LimitsTradeoff) -> None:
    """Errors and bounds stand at their budgets."""
    (ax,) = found.plot(unit="dollars").axes
    lines = ax.get_lines()
    for k, line in enumerate(found.solutions):
        np.testing.assert_array_equal(lines[2 * k].get_xdata(), found.budgets)
        np.testing.assert_array_equal(lines[2 * k].get_ydata(), [s.error for s in line])
        np.testing.assert_array_equal(lines[2 * k + 1].get_ydata(), [s.bound for s in line])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["minutes at most 0.5", "minutes at most 3"]


@pytest.mark.parametrize(
    ("budgets", "at", "message"),
    [
        ([], AT, "budgets is empty"),
        ([1], [], "at is empty"),
        ([1], [Limit(3)], r"at\[0\] is Limit.*, a budget; give it among the budgets"),
        ([-1], AT, "budgets is -1, negative"),
        ([1], [Limit(3, "brain")], "there is no 'brain' to limit"),
    ],
)
def test_wrong_calls_are_refused(budgets: Any, at: Any, message: str) -> None:
    """Each names the argument."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        limits_tradeoff(two_wards(), budgets, at)
