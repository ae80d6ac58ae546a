"""The rules choose what their formulas say, and the picture shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.evaluation.choosing import at_most, choose_row, knee, one_se
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.points import falling_hull, furthest_corner


def seen(error: list[float], paired_se: list[float], *, cost: list[float] | None = None, n: int = 100) -> PathEvaluation:
    """An evaluation with these errors; the standard error of each error itself is 0.05."""
    e = np.array(error)
    least = np.flatnonzero(e == e.min())[-1]
    costs = np.arange(len(e), 0, -1.0) if cost is None else np.array(cost)
    zeros = np.zeros(len(e))
    path: Any = None
    return PathEvaluation(
        path,
        "mean",
        n,
        costs,
        zeros,
        e,
        zeros + 0.05,
        e - 0.105,
        zeros,
        int(least),
        e - e[least],
        np.array(paired_se),
        9.0,
        0.105,
    )


def test_one_se_by_hand() -> None:
    """Least error 0.10 in row 1; row 2 is 0.01 worse, se 0.02; row 3 is 0.03 worse, se 0.025 (and 0.05 unpaired)."""
    evaluation = seen([0.11, 0.10, 0.11, 0.13, 0.3], [0.01, 0, 0.02, 0.025, 0.04])
    assert one_se(evaluation) == choose_row(evaluation) == 2
    assert one_se(evaluation, paired=False) == 3


def test_one_se_skips_rows_that_differ() -> None:
    """A cheaper row within its standard error is taken even where a dearer one between them is not."""
    assert one_se(seen([0.10, 0.20, 0.11, 0.3], [0, 0.05, 0.01, 0.1])) == 2


def test_one_se_of_one_example_is_refused() -> None:
    """Without a standard error there is no such rule."""
    with pytest.raises(pm.errors.InvalidInputError, match="there is a single example"):
        one_se(seen([0.1, 0.2], [np.nan, np.nan], n=1))


def test_at_most_by_hand() -> None:
    """The unpruned forest errs at 0.105: up to 0.01 more is 0.115, inclusively of rounding; no row is below 0.08."""
    evaluation = seen([0.11, 0.10, 0.115, 0.13], [0] * 4)
    assert at_most(evaluation, 0.01) == 2
    assert at_most(evaluation, 0) == 1
    assert at_most(evaluation, 1) == 3
    assert at_most(seen([0.2, 0.3], [0] * 2), 0.01) is None


def test_knee_by_hand() -> None:
    """Chord from (0, 10) to (10, 0); (1, 5) lies 4 below it, (4, 1) lies 5, (2, 7) above the hull; (12, 0) is dearer in vain."""
    cost, error = np.array([12, 10, 4, 2, 1, 0.0]), np.array([0, 0, 1, 7, 5, 10.0])
    assert falling_hull(cost, error) == [5, 4, 2, 1]
    assert furthest_corner(cost, error) == 2
    assert knee(seen(error.tolist(), [0] * 6, cost=cost.tolist())) == 2
    assert choose_row(seen(error.tolist(), [0] * 6, cost=cost.tolist()), "knee") == 2


def test_knee_of_equally_distant_corners_is_the_cheaper() -> None:
    """(1, 6) and (6, 1) both lie 3 below the chord from (0, 10) to (10, 0)."""
    assert furthest_corner(np.array([10, 6, 1, 0.0]), np.array([0, 1, 6, 10.0])) == 2


@pytest.mark.parametrize(
    ("cost", "error", "row"),
    [([3.0], [0.2], 0), ([5, 1], [0.1, 0.5], 0), ([5, 1], [0.5, 0.1], 1), ([4, 2, 0], [0, 1, 2], 0), ([0, 0], [0.3, 0.2], 1)],
)
def test_without_a_corner_the_least_error_is_taken(cost: list[float], error: list[float], row: int) -> None:
    """One point, two points, points on a line: the cheapest row of least error."""
    assert furthest_corner(np.array(cost, dtype=float), np.array(error, dtype=float)) == row


POINTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12)


@given(POINTS)
def test_the_falling_hull_supports_all_points(points: list[tuple[int, int]]) -> None:
    """Costs rise and errors fall along it, slopes flatten, and no point that is cheaper than its end lies below it."""
    cost, error = np.array(points, dtype=float).T
    hull = falling_hull(cost, error)
    x, y = cost[hull], error[hull]
    assert x[0] == cost.min()
    assert y[-1] == error.min()
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    assert (np.diff(np.diff(y) / np.diff(x)) > 0).all()
    inside = cost <= x[-1]
    assert (error[inside] >= np.interp(cost[inside], x, y) - 1e-9).all()


def test_unknown_rules_are_refused() -> None:
    """The message names the rules there are."""
    with pytest.raises(pm.errors.InvalidInputError, match="rule is 'best'; give one of 'one_se', 'knee'"):
        choose_row(seen([0.1], [0.0]), "best")  # type: ignore[arg-type]
