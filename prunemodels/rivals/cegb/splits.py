"""The best split of a leaf by each feature, from histograms.

    gain = 1/2 [ G_l^2 / (H_l + mu) + G_r^2 / (H_r + mu) - G_p^2 / (H_p + mu) ]                     (1)

G and H are the weighted sums of g and h over the examples left, right and in the leaf: CEGB17 eq. (12) without its penalty, which
does not depend on the threshold. The ridge mu on leaf values, 0 in the paper, is XGBoost's. Missing values go to the better side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from prunemodels.rivals.cegb.bins import Bins

NOTICEABLE_GAIN = 1e-10
"""A gain, or a lead over another one, counts above this share of its terms: less is rounding. The first of equals wins."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best split of one leaf by each feature, shape (F,): gain (1), the last bin on the left, the side of missing values.

    The gain is minus infinity if no split leaves enough rows on both sides.
    """

    gain: NDArray[np.float64]
    last_left: NDArray[np.int64]
    missing_left: NDArray[np.bool_]


def histogram(bins: Bins, rows: NDArray[np.int64], terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each bin, the sums of w g and w h (the columns of `terms`) over its rows, and their number; shape (all bins, 3)."""
    sums = np.zeros((int(bins.start[-1]), 3))
    _add_rows(rows, bins.binned, bins.start, terms, sums)
    return sums


def candidates(
    bins: Bins, sums: NDArray[np.float64], totals: NDArray[np.float64], mu: float, least: tuple[float, float]
) -> Candidates:
    """The best splits of the leaf with these sums; `least`: the least number of rows and the least sum of h on each side."""
    n = bins.start.size - 1
    found = Candidates(np.full(n, -np.inf), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_))
    _scan(sums, bins.start, totals, mu, least[0], least[1], found.gain, found.last_left, found.missing_left)
    return found


@njit(cache=True)
def _add_rows(rows, binned, start, terms, sums):  # type: ignore[no-untyped-def]
    for i in rows:
        g, h = terms[i, 0], terms[i, 1]
        for f in range(binned.shape[1]):
            b = start[f] + binned[i, f]
            sums[b, 0] += g
            sums[b, 1] += h
            sums[b, 2] += 1.0


@njit(cache=True)
def _scan(sums, start, totals, mu, least_rows, least_hessian, gain, last_left, missing_left):  # type: ignore[no-untyped-def]
    of_leaf = totals[0] ** 2 / (totals[1] + mu) if totals[1] + mu > 0 else 0.0
    h_min = least_hessian * (1 - 1e-9)  # sums are differences of sums, so slightly less than the least sum is accepted
    left = np.zeros(3)
    for f in range(start.size - 1):
        missing = sums[start[f + 1] - 1]
        n_values = start[f + 1] - start[f] - 1
        for side in range(2 if missing[2] > 0 else 1):
            left[:] = missing * side
            # with all values on the left, only missing ones are on the right: allowed for side 0 only
            for b in range(n_values if missing[2] > 0 and side == 0 else n_values - 1):
                left += sums[start[f] + b]
                h_right = totals[1] - left[1]
                if left[2] < least_rows or totals[2] - left[2] < least_rows or left[1] < h_min or h_right < h_min:
                    continue
                if left[1] + mu <= 0 or h_right + mu <= 0:
                    continue
                halves = left[0] ** 2 / (left[1] + mu) + (totals[0] - left[0]) ** 2 / (h_right + mu)
                new_gain = 0.5 * (halves - of_leaf)
                if new_gain > max(gain[f], 0.0) + NOTICEABLE_GAIN * halves:
                    gain[f], last_left[f], missing_left[f] = new_gain, b, side == 1


def goes_left(bins: Bins, rows: NDArray[np.int64], feature: int, last_left: int, missing_left: bool) -> NDArray[np.bool_]:
    """Which of the rows go left."""
    bin_of: NDArray[Any] = bins.binned[rows, feature]
    is_missing = bin_of == bins.start[feature + 1] - bins.start[feature] - 1
    return np.where(is_missing, missing_left, bin_of <= last_left)
