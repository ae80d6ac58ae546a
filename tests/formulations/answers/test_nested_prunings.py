"""One number a split says of every row what the pruning itself would say."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import InvalidInputError, UnspentBudgetWarning
from formulations.answers.nested_prunings import NestedPrunings, PruningSequence
from tests.instances import random_problem
from tests.prunemodels.rivals.baselines.cases import hand_forest, random_sequence


def three_rows(rows_kept: Any = (2, 0, 1, 0, 0, 1, 0, 0)) -> PruningSequence:
    """Of `hand_forest`: everything, then the root of tree 0 alone, then nothing."""
    kept = np.array(rows_kept, dtype=np.int32)
    return PruningSequence(hand_forest(), kept, np.array([0.5, 1, 4]), "step", "by hand")


def test_three_rows_by_hand() -> None:
    """Prices 3 and 5. Errors of 20: 1 + 0 + 0 + 1 + 1; 1 + 3 + 4; 6 + 4. Two of the splits are on feature 1, paid once."""
    rows = three_rows()
    assert len(rows) == 3
    assert rows.cost.tolist() == [8, 3, 0]
    assert rows.exact_cost == (8, 3, 0)
    assert rows.error.tolist() == [0.15, 0.4, 0.5]
    assert rows.exact_error == (Fraction(3, 20), Fraction(8, 20), Fraction(1, 2))
    assert rows.n_splits.tolist() == [3, 1, 0]
    assert rows.to_frame().to_dict("list") == {
        "step": [0.5, 1, 4],
        "cost": [8, 3, 0],
        "error": [0.15, 0.4, 0.5],
        "splits": [3, 1, 0],
    }
    assert repr(rows) == "PruningSequence(by hand, 3 rows, cost 0 to 8, error 0.15 to 0.5)"
    assert isinstance(rows, NestedPrunings)
    # a row that costs 8 is affordable at 8, though sums of floats may say otherwise
    assert [rows.row_at_cost(budget) for budget in (8, 7.999, Fraction(3))] == [0, 1, 1]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), rounded=st.booleans())
def test_every_row_is_its_pruning(seed: int, rounded: bool) -> None:
    """Cost, error and size of all rows, in integers, fractions and floats, are those of `Pruning`."""
    problem = random_problem(seed, rounded=rounded)
    rows = random_sequence(problem, seed)
    prunings = list(rows)
    assert len(prunings) == len(rows) == len(rows.cost) == len(rows.error)
    for k, pruning in enumerate(prunings):
        assert np.array_equal(pruning.kept, rows.rows_kept > k)
        assert np.array_equal(rows[k - len(rows)].kept, pruning.kept)
        assert rows.integer_cost[k] == pruning.integer_cost
        assert rows.integer_gain[k] == pruning.integer_gain
        assert rows.exact_cost[k] == pruning.exact_cost
        assert rows.exact_error[k] == pruning.exact_error
        assert rows.cost[k] == pytest.approx(pruning.cost, abs=1e-12)
        assert rows.error[k] == pytest.approx(pruning.error, abs=1e-12)
        assert rows.n_splits[k] == pruning.n_splits


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), rounded=st.booleans())
def test_rows_within_a_budget_or_an_error(seed: int, rounded: bool) -> None:
    """`at_cost` is the first of the best among the affordable rows, `at_error` the last good enough."""
    rows = random_sequence(random_problem(seed, rounded=rounded), seed)
    costs = rows.exact_cost
    for k in range(len(rows)):
        affordable = [j for j in range(len(rows)) if costs[j] <= costs[k]]
        row = rows.row_at_cost(costs[k])
        assert row == min(affordable, key=lambda j: (rows.error[j], j))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnspentBudgetWarning)  # other rows may lie far away
            assert np.array_equal(rows.at_cost(costs[k]).kept, rows[row].kept)
        good = max(j for j in range(len(rows)) if rows.error[j] <= rows.error[k])
        assert np.array_equal(rows.at_error(rows.error[k]).kept, rows[good].kept)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda rows: rows.at_cost(-1), "budget is -1, negative"),
        (lambda rows: rows.at_cost(np.nan), "budget is nan"),
        (lambda rows: rows.at_error(0.1), "max_error is 0.1, the least error of any pruning is 0.15"),
        (lambda rows: rows.at_error(np.nan), "max_error is nan"),
        # rows need not end in single leaves
        (lambda _: three_rows(rows_kept=(3, 0, 3, 0, 0, 3, 0, 0)).at_cost(7), "budget is 7, the cheapest pruning costs 8; give"),
        (
            lambda rows: PruningSequence(rows.problem, np.zeros(8, dtype=np.int32), np.array([]), "step", "none"),
            "there are 0 rows",
        ),
    ],
)
def test_what_no_row_offers_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ask(three_rows())


@pytest.mark.parametrize(
    ("rows_kept", "message"),
    [
        (np.zeros(7, dtype=np.int32), r"rows_kept is int32 of shape \(7,\); give int32, one for each of 8 nodes"),
        (np.zeros(8, dtype=np.int64), "rows_kept is int64 of shape"),
        (np.array([4, 0, 0, 0, 0, 0, 0, 0], dtype=np.int32), "rows_kept goes from 0 to 4, there are 3 rows; give 0 to"),
        (np.array([1, 0, -1, 0, 0, 0, 0, 0], dtype=np.int32), "rows_kept goes from -1 to 1"),
        (np.array([1, 0, 2, 0, 0, 0, 0, 0], dtype=np.int32), "node 2 is a split in 2 rows, its parent in 1"),
        (np.array([1, 1, 0, 0, 0, 0, 0, 0], dtype=np.int32), "node 1 is a split in 1 rows, its parent in 1; .* a leaf is none"),
    ],
)
def test_numbers_that_are_no_nested_prunings_are_refused(rows_kept: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PruningSequence(hand_forest(), rows_kept, np.array([0.0, 1, 2]), "step", "none")
