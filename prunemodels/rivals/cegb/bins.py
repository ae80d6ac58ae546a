"""Features in bins: splits are tried between bins, not between single values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bin of every value; the last bin of each feature holds its missing values.

    Parameters
    ----------
    binned
        uint16, shape (N, F).
    start
        int64, shape (F + 1,): where the bins of each feature begin in a histogram, and the number of all bins.
    edges
        for each feature the thresholds between its bins, rising: bin b holds the values in (edges[b - 1], edges[b]].
    """

    binned: NDArray[np.uint16]
    start: NDArray[np.int64]
    edges: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, X: NDArray[np.float32], weight: NDArray[np.float64], max_bin: int) -> Bins:
        """At most `max_bin` bins for each feature, of about equal weight; with no more distinct values, one bin for each."""
        binned = np.empty(X.shape, dtype=np.uint16)
        edges = []
        for f in range(X.shape[1]):
            column = X[:, f].astype(np.float64)
            present = ~np.isnan(column)
            edges.append(_edges(column[present], weight[present], max_bin))
            binned[:, f] = np.where(present, np.searchsorted(edges[-1], column, side="left"), edges[-1].size + 1)
        sizes = [len(e) + 2 for e in edges]  # len(e) + 1 bins of values, and one for missing values
        return cls(binned, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), tuple(edges))

    def threshold(self, feature: int, last_left: int) -> float:
        """The threshold of a split whose left side has the bins up to `last_left`; `LARGEST` if these hold all values."""
        edges = self.edges[feature]
        return float(edges[last_left]) if last_left < edges.size else LARGEST


def _edges(values: NDArray[np.float64], weight: NDArray[np.float64], max_bin: int) -> NDArray[np.float64]:
    """Midpoints between neighbouring values, at quantiles where there are too many; float32 values stay apart in float64."""
    distinct, place = np.unique(values, return_inverse=True)
    cut = np.arange(distinct.size - 1)
    if distinct.size > max_bin:
        below = np.cumsum(np.bincount(place, weights=weight))
        wanted = below[-1] * np.arange(1, max_bin) / max_bin
        cut = np.unique(np.minimum(np.searchsorted(below, wanted), distinct.size - 2))
    return (distinct[cut] + distinct[cut + 1]) / 2.0 if distinct.size > 1 else np.zeros(0)
