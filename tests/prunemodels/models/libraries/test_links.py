"""Links, thresholds and values of inner nodes as the libraries have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from prunemodels.models.response import Response
from prunemodels.models.trees import LARGEST, Cells, before, cast_rows, cells_of, mean_of_leaves


def response(link: Any, a: float = 1.0, n: int = 1, labels: int | None = 2, second: Any = "probability > 1/2") -> Response:
    """Of sums of the n outputs; None: of numbers, else the labels are 0, 1, ..."""
    classes = None if labels is None else np.arange(labels)
    return Response(np.zeros((1, n)), np.zeros(n), 1, np.float64, link, a, classes, second=second)


def probabilities(sums: NDArray[Any], link: Any, a: float = 1.0, n: int = 1) -> NDArray[Any]:
    found = response(link, a, n).probabilities(sums)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("second", "expected"), [("probability > 1/2", [0, 0, 0, 1]), ("margin > 0", [0, 0, 1, 1]), ("margin >= 0", [0, 1, 1, 1])]
)
def test_each_rule_for_the_second_class_has_its_own_ties(second: str, expected: list[int]) -> None:
    """A margin of 0 is a tie of the margins, and 1e-20 is one of the probabilities: 1 / (1 + exp(-1e-20)) rounds to 1/2."""
    sums = np.array([[-1.0], [0.0], [1e-20], [1.0]])
    assert response("sigmoid", second=second).predictions(sums).tolist() == expected


def test_of_saturated_probabilities_the_first_is_taken() -> None:
    """1 / (1 + exp(-50)) and 1 / (1 + exp(-60)) both round to 1: one-vs-rest libraries compare these, softmax has no such tie."""
    sums = np.array([[50.0, 60.0, 0.0]])
    assert response("one_vs_rest", n=3, labels=3).predictions(sums).tolist() == [0]
    assert response("softmax", n=3, labels=3).predictions(sums).tolist() == [1]


def test_probabilities_and_numbers_by_hand() -> None:
    """With a = 2 and s = log(3) / 2, 1 / (1 + exp(-log 3)) is 3/4; softmax of log(1), log(3) is 1/4, 3/4; types are kept."""
    half = np.array([[np.log(3.0) / 2]])
    assert probabilities(half, "sigmoid", 2.0)[0] == pytest.approx([0.25, 0.75])
    assert response("sigmoid", 2.0, labels=None).predictions(half) == pytest.approx([0.75])
    assert response("identity", 2.0, labels=None).predictions(half) == pytest.approx(half[0])
    thirds = np.log([[1.0, 3.0]]).astype(np.float32)
    assert probabilities(thirds, "softmax", n=2)[0] == pytest.approx([0.25, 0.75], rel=1e-6)
    assert probabilities(thirds, "one_vs_rest", n=2)[0] == pytest.approx([0.5, 0.75], rel=1e-6)
    assert probabilities(thirds, "softmax", n=2).dtype == np.float32


doubles = st.floats(allow_nan=False)
close = st.integers(-6, 6).map(lambda k: 1.0 + k * 2.0**-26)  # nine to a float32
shared = st.one_of(doubles, close, st.sampled_from([0.0, -0.0, np.inf, -np.inf, 1e300, -1e300, 3.5e38, float(LARGEST)]))


@pytest.mark.slow
@given(st.lists(shared, min_size=1, max_size=12), st.lists(shared, max_size=12))
@example([-3.402823364973241e38], [])  # the lower neighbour of the lowest float32, not needed, overflowed
@settings(max_examples=300, deadline=None)
def test_a_double_routes_as_its_float32(thresholds: list[float], data: list[float]) -> None:
    """For any doubles, infinities and ties among them: float32(x) <= s exactly where x <= t."""
    t = np.array(thresholds)
    cells = Cells.of(t)
    x = np.array([*data, *thresholds])
    cast = cells.cast(x).astype(np.float64)
    s = cells.stand_in(t).astype(np.float64)
    assert np.isfinite(cast).all()
    assert np.array_equal(cast[:, None] <= s, x[:, None] <= t)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(width=32, allow_nan=False))
def test_strictly_below_is_at_most_the_number_before(x: float, t: float) -> None:
    """(1) in float32, zeros of both signs and subnormal numbers among them."""
    moved = before(np.array([t], dtype=np.float32))[0]
    assert (np.float32(x) < np.float32(t)) == (np.float32(x) <= moved)


def test_data_that_float32_holds_stays_as_it_is() -> None:
    """Only what lies within rounding of a threshold moves: 0.1 as a double is left of float32(0.1), and goes there."""
    x = np.array([[0.25, np.nan, 7.0], [-3.0, 1e30, 1e300]])
    cells = cells_of(np.array([0, 0], dtype=np.int32), np.array([0.1, 0.25]))
    rows = cast_rows(x, cells)
    assert np.array_equal(rows, np.array([[0.25, np.nan, 7.0], [-3.0, 1e30, LARGEST]], dtype=np.float32), equal_nan=True)
    assert np.float64(np.float32(0.1)) > 0.1
    assert Cells.of(np.array([0.1])).cast(np.array([0.1]))[0] < np.float32(0.1)


LEFT, RIGHT = np.array([1, -1, 3, -1, -1], dtype=np.int32), np.array([2, -1, 4, -1, -1], dtype=np.int32)


@pytest.mark.parametrize(
    ("cover", "mean"),
    [
        ([7.0, 1.0, 7.0, 2.0, 6.0], [26 / 9, 6.0, 2.5, 1.0, 3.0]),  # the lower split (2 + 18) / 8, the root (6 + 2 + 18) / 9
        ([0.0] * 5, [10 / 3, 6.0, 2.0, 1.0, 3.0]),  # no leaf has cover: (6 + 1 + 3) / 3, not the mean of means
        ([0.0, 5.0, 0.0, 0.0, 0.0], [6.0, 6.0, 2.0, 1.0, 3.0]),  # a subtree with cover outweighs one without
    ],
)
def test_the_mean_of_the_leaves_by_cover(cover: list[float], mean: list[float]) -> None:
    """Of the leaves 6, 1 and 3; what stands at splits does not count."""
    value = mean_of_leaves(LEFT, RIGHT, np.array([[9.0], [6.0], [9.0], [1.0], [3.0]]), np.array(cover))
    assert np.allclose(value[:, 0], mean, rtol=1e-15)


def test_values_keep_the_type_of_the_leaves() -> None:
    """float32 leaves give float32 means, rounded once; vectors are averaged by component."""
    leaf = np.array([[0, 0], [0.1, 0.9], [0, 0], [0.3, 0.7], [0.7, 0.3]], dtype=np.float32)
    value = mean_of_leaves(LEFT, RIGHT, leaf, np.array([0.0, 1, 0, 1, 1]))
    assert value.dtype == np.float32
    assert np.array_equal(value[[1, 3, 4]], leaf[[1, 3, 4]])
    assert np.array_equal(value[0], (leaf[[1, 3, 4]].astype(float).sum(axis=0) / 3).astype(np.float32))
