"""Hard budgets: the cube's formula, greedy purchases by hand, and that no row buys more than it may."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.data.cube import MEANS, SPREAD, draw
from benchmarks.frontier import hard
from benchmarks.frontier.data import HARD, budgets_of, load_problem
from benchmarks.frontier.methods import METHODS
from benchmarks.frontier.problem import Problem
from tests.benchmarks.test_frontier_methods import few
from tests.benchmarks.test_frontier_networks import routed

TINY = {"width": 8, "steps": 5, "rate": 0.01, "dropout": 0.1, "min_samples_leaf": 8}


def test_the_cube_has_three_columns_for_each_class() -> None:
    """Class 5 is 101 in columns 5, 6, 7; all else is around one half."""
    assert MEANS[5, 4:9].tolist() == [0.5, 1, 0, 1, 0.5]
    assert (MEANS != 0.5).sum() == 24
    X, y = draw(4000)
    rows = X.to_numpy()[y == 5]
    assert rows.mean(axis=0) == pytest.approx(MEANS[5], abs=5 * SPREAD / np.sqrt(len(rows)))
    assert rows.std(axis=0) == pytest.approx(SPREAD, rel=0.2)


def test_each_seed_takes_other_rows_of_the_cube() -> None:
    """Parts have the stated sizes, and two seeds share few rows."""
    a, b = (load_problem("cube", seed) for seed in (0, 1))
    assert [len(part.y) for part in (a.train, a.valid)] == [600, 200]
    assert a.budgets == budgets_of("cube") == tuple(range(1, 11))
    assert not np.array_equal(a.train.X, b.train.X)


def test_greedy_purchases_ask_another_question_of_each_row() -> None:
    """B knows two classes and cannot tell the others apart, whose rows then ask for C; nobody asks for A, which tells less."""
    middle = np.array([[0, 0, 0.5], [0, 1, 0.5], [1, 0.5, 0], [1, 0.5, 1]], dtype=float)  # four classes
    spread = np.full(middle.shape, 0.1)
    X = middle[[0, 1, 2, 3]].astype(np.float32)
    nothing, one, two = hard.greedy(X, middle, spread, np.full(4, 0.25), 2)
    assert nothing == pytest.approx(np.full((4, 4), 0.25))
    assert one == pytest.approx(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]), abs=1e-3)
    assert two == pytest.approx(np.eye(4), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", hard.METHODS, ids=lambda method: method.name)
def test_no_row_buys_more_than_it_may(method: hard.Method) -> None:
    """Candidates cost their cap, on test rows at most that, and the cap is at most the budget."""
    pytest.importorskip("lightgbm")
    problem = replace(few(load_problem("breast_cancer", 0)), data="digits_hard", budgets=(1.0, 2.0))
    if method.refusal(problem) is not None:
        pytest.skip(str(method.refusal(problem)))
    found = list(method.run(problem, [TINY]))
    assert {c.valid_cost for c in found} == {1.0, 2.0}
    assert all(c.test_cost <= c.valid_cost for c in found)


def test_methods_of_hard_budgets_refuse_other_data() -> None:
    """They would say nothing beside methods whose budget is a mean."""
    problem: Problem = routed()
    assert all(METHODS[method.name].refusal(problem) for method in hard.METHODS)
    assert "digits_hard" in HARD
