"""Bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prunemodels.rivals.histograms import ABOVE_ALL, Binning

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.just(float("nan"))


def test_few_values_have_a_cut_between_each_two() -> None:
    """A feature of three values and one missing has the codes 0, 1, 2, and 3 for the missing one."""
    X = np.array([[5.0], [1.0], [np.nan], [2.0], [5.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    np.testing.assert_array_equal(binning.cuts[0], [1.5, 3.5])
    np.testing.assert_array_equal(binning.codes(X), [[2, 0, 3, 1, 2]])
    np.testing.assert_array_equal(binning.start, [0, 4])  # three bins of values and the missing one


def test_many_values_are_cut_at_quantiles() -> None:
    """Of 100 even values in 4 bins each takes 25; a heavy value fills a bin, and the bins are never more than allowed."""
    even = np.arange(100, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(Binning.of(even, None, 4).cuts[0], [24.5, 49.5, 74.5])
    heavy = np.concatenate([np.zeros(90, dtype=np.float32), np.arange(1, 11, dtype=np.float32)])[:, None]
    np.testing.assert_array_equal(Binning.of(heavy, None, 10).cuts[0], [0.5])  # nine tenths are zeros


@settings(deadline=None)
@given(X=arrays(np.float32, (30, 1), elements=VALUES), weight=arrays(np.int64, 30, elements=st.integers(1, 3)))
def test_a_weight_is_the_row_so_many_times(X: np.ndarray, weight: np.ndarray) -> None:
    """Cuts of weighted rows are those of the rows written out."""
    weighted = Binning.of(X, weight.astype(float), 4).cuts[0]
    np.testing.assert_array_equal(weighted, Binning.of(np.repeat(X, weight, axis=0), None, 4).cuts[0])
    assert len(weighted) <= 3


@settings(deadline=None)
@given(X=arrays(np.float32, (12, 2), elements=VALUES), max_bins=st.integers(2, 6))
def test_codes_and_thresholds_part_rows_alike(X: np.ndarray, max_bins: int) -> None:
    """Code <= b exactly where float32(x) <= threshold(b), for any finite float32s, neighbours and huge ones among them."""
    binning = Binning.of(X, None, max_bins)
    codes = binning.codes(X)
    for f in range(2):
        for b in range(len(binning.cuts[f])):
            np.testing.assert_array_equal(codes[f] <= b, X[:, f].astype(float) <= binning.threshold(f, b))


def test_other_rows_may_stand_on_a_cut() -> None:
    """Values that training never saw are coded by the same rule: 2, on the cut between 1 and 3, goes left with 1."""
    binning = Binning.of(np.array([[1.0], [3.0]], dtype=np.float32), None, 255)
    np.testing.assert_array_equal(binning.codes(np.array([[2.0], [2.5], [-9], [np.nan]], dtype=np.float32)), [[0, 1, 0, 2]])
    assert binning.threshold(0, 0) == 2


def test_neighbouring_floats_are_parted() -> None:
    """Two float32s with none between them have a cut that is above the one and not above the other."""
    one = np.float32(1.0)
    X = np.array([[one], [np.nextafter(one, np.float32(2))]])
    np.testing.assert_array_equal(Binning.of(X, None, 2).codes(X), [[0, 1]])


def test_a_split_behind_all_values_parts_the_missing() -> None:
    """Its threshold is the greatest float32: no number goes right."""
    X = np.array([[1.0], [np.finfo(np.float32).max], [np.nan]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    assert binning.threshold(0, 1) == ABOVE_ALL == pytest.approx(3.4028235e38)
    assert X[1, 0].astype(float) <= ABOVE_ALL
