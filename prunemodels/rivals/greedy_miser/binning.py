"""Features as small integers: the bins of the histograms, and the thresholds between them.

Feature f has its own rising cuts t_0 < t_1 < ..., and

    code(x) = number of cuts below x,  so  code(x) <= b  <=>  x <= t_b;  a NaN has the code after the last          (1)

Every cut lies between two neighbouring values of the training rows, and separates them in float32 as in float64. So a tree grown
on codes and the same tree with thresholds send every row the same way. A feature with few values has a cut between every two
neighbours; one with many has cuts at quantiles of the weighted rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

MOST_BINS = 255
"""Largest number of bins of values for a feature: with the bin of missing values they fill a uint8."""

ABOVE_ALL = float(np.finfo(np.float32).max)
"""The threshold of a split that separates missing values from all others."""


@dataclass(frozen=True, eq=False)
class Binning:
    """Cuts of every feature.

    Parameters
    ----------
    cuts
        for each of F features float64, rising; one less than its bins of values.
    """

    cuts: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, X: NDArray[np.float32], weight: NDArray[np.float64] | None, max_bins: int) -> Binning:
        """Cuts for at most `max_bins` bins of values for each feature; weights > 0."""
        return cls(tuple(_cuts(X[:, f], weight, max_bins) for f in range(X.shape[1])))

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """int64, shape (F + 1,): where each feature's cells begin in a histogram: its bins of values, then missing values."""
        return np.cumsum([0] + [len(c) + 2 for c in self.cuts])

    def codes(self, X: NDArray[np.float32]) -> NDArray[np.uint8]:
        """(1) of every value, uint8, shape (F, N): one row for each feature."""
        codes = np.empty(X.shape[::-1], dtype=np.uint8)
        for f, cuts in enumerate(self.cuts):
            column = X[:, f].astype(np.float64)
            codes[f] = np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column))
        return codes

    def threshold(self, feature: int, last_left: int) -> float:
        """The threshold at which exactly the codes up to `last_left` go left."""
        cuts = self.cuts[feature]
        return float(cuts[last_left]) if last_left < len(cuts) else ABOVE_ALL


def _cuts(column: NDArray[np.float32], weight: NDArray[np.float64] | None, max_bins: int) -> NDArray[np.float64]:
    """Midpoints between neighbouring values: all, or those nearest above the quantiles 1/max_bins, 2/max_bins ..."""
    known = ~np.isnan(column)
    values, inverse = np.unique(column[known].astype(np.float64), return_inverse=True)
    last_left = np.arange(len(values) - 1)
    if len(values) > max_bins:
        weights = None if weight is None else weight[known]
        up_to = np.cumsum(np.bincount(inverse, weights=weights, minlength=len(values)))
        wanted = up_to[-1] * np.arange(1, max_bins) / max_bins
        last_left = np.unique(np.minimum(np.searchsorted(up_to, wanted), len(values) - 2))
    return np.asarray((values[last_left] + values[last_left + 1]) / 2)
