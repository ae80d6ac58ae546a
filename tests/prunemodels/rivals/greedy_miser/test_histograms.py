"""Best splits from sums over bins."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prunemodels.rivals.histograms import Binning, Needed, best_splits, histograms

N = 9
INTEGERS = st.integers(-4, 4).map(float)
VALUES = st.integers(0, 3).map(float) | st.just(float("nan"))


def fall(r: np.ndarray, w: np.ndarray, left: np.ndarray) -> float:
    """By how much the weighted sum of squares falls when each side has its own mean: from the definition."""

    def squares(part: np.ndarray) -> float:
        mean = np.average(r[part], weights=w[part])
        return float((w[part] * (r[part] - mean) ** 2).sum())

    return squares(np.ones(len(r), dtype=bool)) - squares(left) - squares(~left)


def all_splits(x: np.ndarray, least: int) -> list[np.ndarray]:
    """Who goes left, for every threshold and both sides of missing values, where both sides have enough rows."""
    found = []
    for t, with_missing in product(np.unique(x[~np.isnan(x)]), (False, True)):
        left = np.where(np.isnan(x), with_missing, x <= t).astype(bool)
        if min(left.sum(), (~left).sum()) >= least:
            found.append(left)
    return found


@settings(deadline=None)
@given(
    X=arrays(np.float32, (N, 2), elements=VALUES),
    r=arrays(float, N, elements=INTEGERS),
    w=st.none() | arrays(float, N, elements=st.integers(1, 3).map(float)),
    node=arrays(np.int64, N, elements=st.integers(0, 1)),
    least=st.integers(1, 3),
)
def test_every_best_split_is_the_best_of_all(X: Any, r: Any, w: Any, node: Any, least: int) -> None:
    """For each node and feature the gain is the greatest over all thresholds and sides, and the split found has it."""
    node[0], node[1] = 0, 1  # neither is empty
    binning = Binning.of(X, None, 255)
    codes = binning.codes(X)
    weight = np.ones(N) if w is None else w
    sums = histograms(codes, binning.start, np.arange(N), node, r * weight, w, 2)
    found = best_splits(sums, binning.start, Needed(least))
    for s, f in product((0, 1), (0, 1)):
        here = node == s
        x, rs, ws = X[here, f], r[here], weight[here]
        gains = [fall(rs, ws, left) for left in all_splits(x, least)]
        assert found.weight[s] == ws.sum()
        if max(gains, default=0.0) < 1e-9:
            assert found.gain[s, f] < 1e-9
        else:
            assert found.gain[s, f] == pytest.approx(max(gains), abs=1e-9)
            left = np.where(np.isnan(x), found.missing_left[s, f], x <= binning.threshold(f, found.last_left[s, f]))
            assert fall(rs, ws, left.astype(bool)) == pytest.approx(max(gains), abs=1e-9)
            if not np.isnan(x).any():
                assert found.missing_left[s, f] == (2 * left.sum() > len(x))  # to the side of more rows


def test_some_rows_only() -> None:
    """Rows that are not named add nothing, and a node without a good split has gain -inf."""
    X = np.array([[0.0], [1.0], [1.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    sums = histograms(
        binning.codes(X), binning.start, np.array([0, 2]), np.zeros(2, dtype=np.int64), np.array([1.0, 9, 3]), None, 1
    )
    np.testing.assert_array_equal(sums[0], [[1, 1], [3, 1], [0, 0]])
    assert best_splits(sums, binning.start, Needed(1)).gain[0, 0] == pytest.approx(2)  # 1 + 9 - 16 / 2
    assert best_splits(sums, binning.start, Needed(2)).gain[0, 0] == -np.inf


def test_equal_gains_go_to_the_lowest_threshold() -> None:
    """Residuals 1, 0, 1 gain the same at both cuts; the first is taken, and missing values would follow the two rows."""
    X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    sums = histograms(binning.codes(X), binning.start, np.arange(3), np.zeros(3, dtype=np.int64), np.array([1.0, 0, 1]), None, 1)
    found = best_splits(sums, binning.start, Needed(1))
    assert (found.last_left[0, 0], found.missing_left[0, 0]) == (0, False)


def test_weights_that_vanish_beside_others_part_no_row() -> None:
    """A row of weight 1e-20 beside rows of weight 1 could be rounding: its side would have weight 0."""
    X = np.array([[0.0], [0.0], [1.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    w = np.array([1.0, 1.0, 1e-20])
    sums = histograms(binning.codes(X), binning.start, np.arange(3), np.zeros(3, dtype=np.int64), np.array([1.0, 2, 3]) * w, w, 1)
    assert best_splits(sums, binning.start, Needed(1)).gain[0, 0] == -np.inf
