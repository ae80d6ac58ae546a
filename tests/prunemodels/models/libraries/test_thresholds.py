"""Doubles and strict comparisons, brought exactly to float32 and `<=`."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prunemodels.models.trees import LARGEST, Cells, before, cast_rows, cells_of

doubles = st.floats(allow_nan=False)
close = st.integers(-6, 6).map(lambda k: 1.0 + k * 2.0**-26)  # nine to a float32
shared = st.one_of(doubles, close, st.sampled_from([0.0, -0.0, np.inf, -np.inf, 1e300, -1e300, 3.5e38, float(LARGEST)]))


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
