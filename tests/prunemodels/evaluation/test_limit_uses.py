"""Uses of several limits on new examples, and trade-offs in two currencies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations import CostItems, Pruning
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from prunemodels.evaluation.tradeoffs import LimitsTradeoff, limits_tradeoff
from prunemodels.statements.wording import limit_uses
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.within.limits.cases import mean, prices, slow_uses, two_wards


@looped("seed", range(12))
def test_uses_are_counted_down_the_trees(seed: int) -> None:
    """Cost with evaluation, of all and of a group, the dearest, and shares, as each row walked down the trees uses them."""
    problem = random_problem(np.random.default_rng(seed))
    kept, names = Pruning.unpruned(problem).kept, problem.costs.names
    group = problem.usage.rows[: max(2, problem.usage.n_rows // 2)]
    if problem.usage.n_rows < 2:
        return
    limits = [Limit(1), Limit(1, rows=group), Limit(1, each=True), Limit(1, {names[0]: Fraction(1, 3)}), Limit(1, "leaves")]
    seen = limit_uses(problem.usage, kept, limits)
    paid = slow_uses(problem, kept, prices(problem), evaluated=True)
    other = slow_uses(problem, kept, {names[0]: Fraction(1, 3)}, evaluated=False)
    everybody, some = np.arange(problem.usage.n_rows), np.arange(len(group))
    wanted = [mean(problem, paid, everybody), mean(problem, paid, some), max(paid), mean(problem, other, everybody)]
    assert [use.use for use in seen[:4]] == pytest.approx([float(w) for w in wanted])
    assert seen[4].use == problem.ensemble.n_trees + int(kept.sum())


def test_the_interval_is_that_of_the_cost() -> None:
    """A limit of the mean cost is told as `hold_out` tells the cost, whichever rows are new."""
    from prunemodels.example import X_test, problem

    solution = pm.solve(problem, budget=8)
    cost = pm.hold_out(solution.pruning, None, X_test).cost
    seen = limit_uses(problem.usage.on(X_test), solution.pruning.kept, [Limit(8)])[0]
    assert (seen.use, seen.low, seen.high, seen.n) == (cost.mean, cost.low, cost.high, cost.n)


def test_two_wards_by_hand() -> None:
    """Half of the rows ask for the scan at 6, the others for the blood at 2: a mean of 4 of at most 3, exceeded by half."""
    problem = two_wards()
    kept = Pruning.unpruned(problem).kept
    cost, scan, minutes, dearest, size = limit_uses(
        problem.usage, kept, [Limit(3), Limit(0.5, "scan"), Limit(3, "minutes"), Limit(6, each=True), Limit(2, "splits")]
    )
    assert (cost.use, cost.exceeding, cost.is_over) == (4, 0.5, True)
    assert (scan.use, scan.is_over) == (0.5, False)
    assert minutes.use == 3  # 2 rows of 4 for 1 minute, 2 for 5
    assert (dearest.use, dearest.exceeding, dearest.interval) == (6, 0, "")
    assert (size.use, size.n, size.is_over) == (3, 0, True)
    # rows on the left alone ask for the scan
    left = limit_uses(problem.usage, kept, [Limit(1, "scan", rows=[0, 1])])[0]
    assert (left.use, left.n) == (1, 2)


def test_an_item_paid_once_shifts_the_interval() -> None:
    """A licence of 7 that one split needs costs every group 7, without uncertainty; nobody's share is above 1."""
    costs = CostItems(("licence",), (Fraction(7),), ((0,),), (True,))
    X = np.array([[0.0], [1.0], [1.0]])
    problem = problem_of([Node(4, 0, 0.5, Node(0), Node(1))], costs, X)
    kept = Pruning.unpruned(problem).kept
    whole, share = limit_uses(problem.usage, kept, [Limit(9), Limit(1, "licence")])
    assert (whole.use, whole.low, whole.high) == (7, 7, 7)
    assert share.use == 1


def test_a_group_of_one_has_no_interval() -> None:
    """The error names the number of examples."""
    with pytest.raises(pm.errors.InvalidInputError, match="at least 2 examples of positive weight, there is 1"):
        limit_uses(two_wards().usage, np.zeros(7, dtype=bool), [Limit(1, rows=[2])])


AT = [Limit(0.5, "minutes"), Limit(3, "minutes")]


@pytest.fixture(scope="module")
def found() -> LimitsTradeoff:
    """Two wards at half a minute and at three, for budgets of 0, 1, 3 and 4."""
    return limits_tradeoff(two_wards(), [4, 3, 1, 0], AT, method="best")


def test_two_currencies_two_wards_by_hand(found: LimitsTradeoff) -> None:
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
    (ax,) = pm.plots.plot_limits(found, unit="dollars").axes
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
